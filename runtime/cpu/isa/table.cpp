//===- table.cpp - the inner loops of one instruction set -----------------===//
//
// Compiled once per instruction set; see isa.h and kernels.h.
//
//===----------------------------------------------------------------------===//
#include "../kernels.h"
#include "gemm.h"
#include "reduce.h"
#include "softmax.h"

namespace pplan::rt::cpu::PPLAN_ISA {

#define PPLAN_REDUCE_ROW(T)                                                    \
  { reduce<T, Sum>, reduce<T, Prod>, reduce<T, Max>, reduce<T, Min> }

#define PPLAN_STRING_(X) #X
#define PPLAN_STRING(X) PPLAN_STRING_(X)

extern const KernelTable Table;
const KernelTable Table = {
    PPLAN_STRING(PPLAN_ISA),
    {PPLAN_REDUCE_ROW(float), PPLAN_REDUCE_ROW(double), PPLAN_REDUCE_ROW(Half),
     PPLAN_REDUCE_ROW(BFloat),
     // i1: sum is "or" and prod is "and", like max and min.
     {reduce<Bool, Max>, reduce<Bool, Min>, reduce<Bool, Max>,
      reduce<Bool, Min>},
     PPLAN_REDUCE_ROW(int8_t), PPLAN_REDUCE_ROW(uint8_t),
     PPLAN_REDUCE_ROW(int32_t), PPLAN_REDUCE_ROW(int64_t)},
    PPLAN_VECTOR_BYTES > 16,
    gemmOwn<float>,
    gemmOwn<double>,
    softmax<float>,
    softmax<double>,
    scaleRows<float>,
    scaleRows<double>,
    softmaxGradient<float>,
    softmaxGradient<double>};

} // namespace pplan::rt::cpu::PPLAN_ISA
