//===- attention_cases.h - attentions to test -------------------*- C++ -*-===//
//
// Descriptors in several layouts, with and without masks, and their tensors.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_TEST_CONFORMANCE_ATTENTION_CASES_H
#define PPLAN_TEST_CONFORMANCE_ATTENTION_CASES_H

#include "support.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace conformance {

/// How the dimensions {batch, head, sequence, feature} of a tensor are laid out.
enum class Order { HeadsFirst, SequenceFirst, Transposed };

/// Dense strides of [batch, heads, length, width] in an order; returns the size.
inline int64_t layout(Order O, int64_t Batch, int64_t Heads, int64_t Length,
               int64_t Width, int64_t *Stride) {
  switch (O) {
  case Order::HeadsFirst: // batch, head, sequence, feature
    Stride[0] = Heads * Length * Width, Stride[1] = Length * Width;
    Stride[2] = Width, Stride[3] = 1;
    break;
  case Order::SequenceFirst: // batch, sequence, head, feature
    Stride[0] = Heads * Length * Width, Stride[1] = Width;
    Stride[2] = Heads * Width, Stride[3] = 1;
    break;
  case Order::Transposed: // batch, head, feature, sequence
    Stride[0] = Heads * Length * Width, Stride[1] = Length * Width;
    Stride[2] = 1, Stride[3] = Length;
    break;
  }
  return Batch * Heads * Length * Width;
}

struct Case {
  pplan_attention_desc D = {};
  int64_t QSize, KSize, VSize, OSize, MaskSize = 0;
};

inline Case makeCase(int32_t Dtype, int64_t Batch, int64_t KvHeads, int64_t Group,
              int64_t QLen, int64_t KLen, int64_t HeadDim, int64_t VDim,
              Order QOrder, Order KOrder, Order VOrder) {
  Case T;
  pplan_attention_desc &D = T.D;
  D.batch = Batch, D.q_heads = KvHeads * Group, D.kv_heads = KvHeads;
  D.q_len = QLen, D.k_len = KLen, D.head_dim = HeadDim, D.v_dim = VDim;
  T.QSize = layout(QOrder, Batch, D.q_heads, QLen, HeadDim, D.q_stride);
  T.KSize = layout(KOrder, Batch, KvHeads, KLen, HeadDim, D.k_stride);
  T.VSize = layout(VOrder, Batch, KvHeads, KLen, VDim, D.v_stride);
  T.OSize = layout(QOrder, Batch, D.q_heads, QLen, VDim, D.o_stride);
  D.key_limit = KLen;
  D.scale = 1.0 / std::sqrt(static_cast<double>(std::max<int64_t>(HeadDim, 1)));
  D.dtype = Dtype;
  D.loc = "attention test";
  return T;
}

/// Gives a case a mask of [batch or 1, heads or 1, q_len, k_len].
inline void addMask(Case &T, int32_t Kind, bool PerBatch, bool PerHead) {
  pplan_attention_desc &D = T.D;
  D.mask_kind = Kind;
  int64_t One = D.q_len * D.k_len;
  D.mask_stride[3] = 1, D.mask_stride[2] = D.k_len;
  D.mask_stride[1] = PerHead ? One : 0;
  D.mask_stride[0] = PerBatch ? One * (PerHead ? D.q_heads : 1) : 0;
  T.MaskSize = One * (PerHead ? D.q_heads : 1) * (PerBatch ? D.batch : 1);
}

template <typename T> struct Tensors {
  std::vector<T> Q, K, V, O, Add;
  std::vector<uint8_t> Bool;
};

/// Whether key `J` is seen by query `I` of a head.
template <typename T>
bool seen(const pplan_attention_desc &D, const Tensors<T> &X, int64_t MaskAt,
          int64_t I, int64_t J) {
  if (J >= D.key_limit || (D.causal && J > I + D.query_offset))
    return false;
  return D.mask_kind != PPLAN_MASK_BOOL ||
         X.Bool[MaskAt + I * D.mask_stride[2] + J * D.mask_stride[3]];
}

/// Random values in [-2, 2), with one more than asked for.
template <typename T>
std::vector<T> randomValues(std::mt19937 &Random, int64_t Size) {
  std::uniform_real_distribution<double> Uniform(-2, 2);
  std::vector<T> Values(Size + 1);
  for (T &Value : Values)
    Value = static_cast<T>(Uniform(Random));
  return Values;
}

} // namespace conformance

#endif // PPLAN_TEST_CONFORMANCE_ATTENTION_CASES_H
