//===- kernels.h - inner loops per instruction set --------------*- C++ -*-===//
//
// The table of inner loops, compiled once per instruction set from cpu/isa, and
// the choice of one for the processor at hand. Blocking, argument checks and
// threads are left to the callers.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_KERNELS_H
#define PPLAN_RT_CPU_KERNELS_H

#include <cstdint>

namespace pplan::rt::cpu {

/// Dst[i] = combination of Srcs[0..NumSrcs)[i] in that order, for `Count`
/// elements. Dst may be one of the sources.
using ReduceFn = void (*)(void *Dst, const void *const *Srcs, int32_t NumSrcs,
                          int64_t Count);

/// Operands of a GEMM of one matrix; see pplan_gemm_desc.
template <typename T> struct GemmArgs {
  int64_t M, N, K;
  const T *A;
  int64_t Lda;
  bool TransA;
  const T *B;
  int64_t Ldb;
  bool TransB;
  T *C;
  int64_t Ldc;
  T Alpha, Beta;
};

/// One block of attention scores, Rows x Cols with row pitch Ld, on its way to
/// probabilities.
template <typename T> struct SoftmaxArgs {
  T *Scores;
  int64_t Rows, Cols, Ld;
  T Scale;
  /// Cols of row r that may be seen: those below Limit[r].
  const int64_t *Limit;
  /// Added to scaled scores if not null; element (r, c) at r * MaskRow + c *
  /// MaskCol.
  const T *AddMask;
  /// Where it is 0 the score is -inf, if not null; strides as for AddMask.
  const uint8_t *BoolMask;
  int64_t MaskRow, MaskCol;
  /// Running maximum, running sum, and what former results must be multiplied
  /// by, per row. Max starts as -inf, Sum as 0.
  T *Max, *Sum, *Correction;
};

/// Inner loops for one instruction set.
struct KernelTable {
  const char *Name;
  /// Indexed by pplan_dtype and pplan_reduce.
  ReduceFn Reduce[9][4];
  /// Whether to use the next two where there is CBLAS.
  bool PreferOwnGemm;
  /// GEMM without CBLAS; M, N and K are positive.
  void (*GemmF32)(const GemmArgs<float> &, void *Buffer);
  void (*GemmF64)(const GemmArgs<double> &, void *Buffer);
  /// Turns scores into exp(score - new maximum) and updates the running values.
  void (*SoftmaxF32)(const SoftmaxArgs<float> &);
  void (*SoftmaxF64)(const SoftmaxArgs<double> &);
  /// Row r of X (Rows x Cols, pitch Ld) is multiplied by Factor[r].
  void (*ScaleRowsF32)(float *X, int64_t Rows, int64_t Cols, int64_t Ld,
                       const float *Factor);
  void (*ScaleRowsF64)(double *X, int64_t Rows, int64_t Cols, int64_t Ld,
                       const double *Factor);
  /// Turns gradients of probabilities P, in G, into those of scores:
  /// G = Scale * P * (G - rowsum(P * G)). P and G are Rows x Cols, pitch Ld.
  void (*SoftmaxGradientF32)(const float *P, float *G, int64_t Rows,
                             int64_t Cols, int64_t Ld, float Scale);
  void (*SoftmaxGradientF64)(const double *P, double *G, int64_t Rows,
                             int64_t Cols, int64_t Ld, double Scale);
};

/// Bytes of the buffer that GemmF32 and GemmF64 need, aligned to 64.
constexpr int64_t GemmBufferBytes = 2 << 20;

/// The table for this processor; chosen on the first call.
const KernelTable &kernels();

} // namespace pplan::rt::cpu

#endif // PPLAN_RT_CPU_KERNELS_H
