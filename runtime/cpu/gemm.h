//===- gemm.h - one matrix product ------------------------------*- C++ -*-===//
//
// The products that pplan_rt_gemm and pplan_rt_attention are made of. Decides
// which library or kernel computes one.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_GEMM_H
#define PPLAN_RT_CPU_GEMM_H

#include "context.h"
#include "kernels.h"
#include "pplan_rt/kernels.h"

namespace pplan::rt::cpu {

/// The packing buffer of a rank, GemmBufferBytes long; null without memory.
void *gemmBuffer(pplan_context *Ctx);

/// C = Alpha * op(A) * op(B) + Beta * C; see pplan_gemm_desc. `Buffer` is
/// gemmBuffer of the rank.
void gemm(const GemmArgs<float> &Args, void *Buffer);
void gemm(const GemmArgs<double> &Args, void *Buffer);

} // namespace pplan::rt::cpu

#endif // PPLAN_RT_CPU_GEMM_H
