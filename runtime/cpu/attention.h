//===- attention.h - what attention and its gradient share ------*- C++ -*-===//
//
// Blocks of query rows, which keys they see, and the checks of a descriptor.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_ATTENTION_H
#define PPLAN_RT_CPU_ATTENTION_H

#include "gemm.h"

#include <algorithm>

namespace pplan::rt::cpu {

/// Query rows that are worked on at a time.
constexpr int64_t QueryBlock = 64;

inline int64_t roundUp16(int64_t X) { return (X + 15) / 16 * 16; }

inline void softmaxBlock(const SoftmaxArgs<float> &S) {
  kernels().SoftmaxF32(S);
}
inline void softmaxBlock(const SoftmaxArgs<double> &S) {
  kernels().SoftmaxF64(S);
}
inline void scaleRows(float *X, int64_t Rows, int64_t Cols, int64_t Ld,
                      const float *Factor) {
  kernels().ScaleRowsF32(X, Rows, Cols, Ld, Factor);
}
inline void scaleRows(double *X, int64_t Rows, int64_t Cols, int64_t Ld,
                      const double *Factor) {
  kernels().ScaleRowsF64(X, Rows, Cols, Ld, Factor);
}

/// Keys that query `I` may see by position.
inline int64_t visibleKeys(const pplan_attention_desc &D, int64_t I) {
  int64_t Keys = std::min(D.k_len, std::max<int64_t>(D.key_limit, 0));
  if (!D.causal)
    return Keys;
  // Offsets beyond the lengths are as good as the lengths.
  int64_t Offset = std::clamp(D.query_offset, -D.q_len - 1, D.k_len);
  return std::clamp<int64_t>(I + Offset + 1, 0, Keys);
}

/// Whether the keys are the rows of K rather than its columns.
inline bool keysAreRows(const int64_t Stride[4], const pplan_attention_desc &D) {
  return Stride[3] == 1 || D.head_dim <= 1;
}

/// The mask of one head from its query `I` and key `J` on, or null.
template <typename T> struct MaskOf {
  const T *Add = nullptr;
  const uint8_t *Bool = nullptr;

  MaskOf(const pplan_attention_desc &D, const void *Mask, int64_t B, int64_t H,
         int64_t I, int64_t J) {
    int64_t At = B * D.mask_stride[0] + H * D.mask_stride[1] +
                 I * D.mask_stride[2] + J * D.mask_stride[3];
    if (D.mask_kind == PPLAN_MASK_ADD)
      Add = static_cast<const T *>(Mask) + At;
    if (D.mask_kind == PPLAN_MASK_BOOL)
      Bool = static_cast<const uint8_t *>(Mask) + At;
  }
};

/// NULL, or what is wrong with a descriptor.
const char *attentionProblem(const pplan_attention_desc &D);

} // namespace pplan::rt::cpu

#endif // PPLAN_RT_CPU_ATTENTION_H
