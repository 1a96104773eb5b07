//===- gemm.h - GEMM for one instruction set --------------------*- C++ -*-===//
#ifndef PPLAN_RT_CPU_ISA_GEMM_H
#define PPLAN_RT_CPU_ISA_GEMM_H
#include "../kernels.h"
#include "isa.h"
namespace pplan::rt::cpu::PPLAN_ISA {
static inline void (*gemmF32())(const GemmArgs<float> &, void *) { return nullptr; }
static inline void (*gemmF64())(const GemmArgs<double> &, void *) { return nullptr; }
} // namespace pplan::rt::cpu::PPLAN_ISA
#endif // PPLAN_RT_CPU_ISA_GEMM_H
