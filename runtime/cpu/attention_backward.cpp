//===- attention_backward.cpp - gradients of attention --------------------===//
//
// Computes the probabilities of a block of query rows again and from them the
// three gradients. The workspace grows with the number of keys, never with its
// product with that of queries.
//
//===----------------------------------------------------------------------===//
#include "attention.h"

#include <limits>

using namespace pplan::rt;
using namespace pplan::rt::cpu;

namespace {

void softmaxGradient(const float *P, float *G, int64_t Rows, int64_t Cols,
                     int64_t Ld, float Scale) {
  kernels().SoftmaxGradientF32(P, G, Rows, Cols, Ld, Scale);
}
void softmaxGradient(const double *P, double *G, int64_t Rows, int64_t Cols,
                     int64_t Ld, double Scale) {
  kernels().SoftmaxGradientF64(P, G, Rows, Cols, Ld, Scale);
}

/// The pointers of one head.
template <typename T> struct Head {
  const T *Q, *K, *V, *G;
  T *DQ, *DK, *DV;
};

/// The parts of the workspace.
template <typename T> struct Workspace {
  int64_t Ld;
  T *P, *S; ///< QueryBlock x Ld: probabilities, and gradients of them or of scores
  T *Max, *Sum, *Factor;

  Workspace(const pplan_attention_desc &D, void *Memory)
      : Ld(roundUp16(D.k_len)), P(static_cast<T *>(Memory)),
        S(P + QueryBlock * Ld), Max(S + QueryBlock * Ld), Sum(Max + QueryBlock),
        Factor(Sum + QueryBlock) {}
};

/// W.P = probabilities of `Keys` keys for the queries [I0, I0 + Rows).
template <typename T>
void computeProbabilities(const pplan_attention_desc &D, const Head<T> &H,
                          const MaskOf<T> &Mask, const Workspace<T> &W,
                          int64_t I0, int64_t Rows, int64_t Keys,
                          void *Buffer) {
  bool InRows = keysAreRows(D.k_stride, D);
  gemm(GemmArgs<T>{Rows, Keys, D.head_dim, H.Q + I0 * D.q_stride[2],
                   D.q_stride[2], false, H.K,
                   InRows ? D.k_stride[2] : D.k_stride[3], InRows, W.P, W.Ld,
                   T(1), T(0)},
       Buffer);
  int64_t Limit[QueryBlock];
  for (int64_t R = 0; R < Rows; ++R)
    Limit[R] = visibleKeys(D, I0 + R);
  std::fill(W.Max, W.Max + Rows, -std::numeric_limits<T>::infinity());
  std::fill(W.Sum, W.Sum + Rows, T(0));
  softmaxBlock(SoftmaxArgs<T>{W.P, Rows, Keys, W.Ld, static_cast<T>(D.scale),
                              Limit, Mask.Add, Mask.Bool, D.mask_stride[2],
                              D.mask_stride[3], W.Max, W.Sum, W.Factor});
  // A row that saw nothing has probabilities 0.
  for (int64_t R = 0; R < Rows; ++R)
    W.Factor[R] = W.Sum[R] == T(0) ? T(0) : T(1) / W.Sum[R];
  scaleRows(W.P, Rows, Keys, W.Ld, W.Factor);
}

/// dQ of the queries [I0, I0 + Rows), and what they add to dK and dV.
template <typename T>
void queryBlock(const pplan_attention_backward_desc &B, const Head<T> &H,
                const MaskOf<T> &Mask, const Workspace<T> &W, int64_t I0,
                int64_t Rows, void *Buffer) {
  const pplan_attention_desc &D = B.forward;
  T *DQ = H.DQ + I0 * B.dq_stride[2];
  int64_t Keys = visibleKeys(D, I0 + Rows - 1); // the last query sees most
  if (Keys == 0) {
    for (int64_t R = 0; R < Rows; ++R)
      std::fill_n(DQ + R * B.dq_stride[2], D.head_dim, T(0));
    return;
  }
  computeProbabilities(D, H, Mask, W, I0, Rows, Keys, Buffer);
  const T *G = H.G + I0 * D.o_stride[2], *Q = H.Q + I0 * D.q_stride[2];
  int64_t LdG = D.o_stride[2], LdQ = D.q_stride[2];
  // dV += P^T G
  gemm(GemmArgs<T>{Keys, D.v_dim, Rows, W.P, W.Ld, true, G, LdG, false, H.DV,
                   B.dv_stride[2], T(1), T(1)},
       Buffer);
  if (D.head_dim == 0)
    return;
  // S = G V^T, and from it the gradient of the scores
  gemm(GemmArgs<T>{Rows, Keys, D.v_dim, G, LdG, false, H.V, D.v_stride[2], true,
                   W.S, W.Ld, T(1), T(0)},
       Buffer);
  softmaxGradient(W.P, W.S, Rows, Keys, W.Ld, static_cast<T>(D.scale));
  // dQ = S K
  bool InRows = keysAreRows(D.k_stride, D);
  gemm(GemmArgs<T>{Rows, D.head_dim, Keys, W.S, W.Ld, false, H.K,
                   InRows ? D.k_stride[2] : D.k_stride[3], !InRows, DQ,
                   B.dq_stride[2], T(1), T(0)},
       Buffer);
  // dK += S^T Q, or its transpose
  if (keysAreRows(B.dk_stride, D))
    gemm(GemmArgs<T>{Keys, D.head_dim, Rows, W.S, W.Ld, true, Q, LdQ, false,
                     H.DK, B.dk_stride[2], T(1), T(1)},
         Buffer);
  else
    gemm(GemmArgs<T>{D.head_dim, Keys, Rows, Q, LdQ, true, W.S, W.Ld, false,
                     H.DK, B.dk_stride[3], T(1), T(1)},
         Buffer);
}

template <typename T>
void clear(T *X, const int64_t Stride[4], int64_t Length, int64_t Features) {
  for (int64_t I = 0; I < Length; ++I)
    for (int64_t J = 0; J < Features; ++J)
      X[I * Stride[2] + J * Stride[3]] = T(0);
}

template <typename T>
void attentionBackward(const pplan_attention_backward_desc &D, const void *Q,
                       const void *K, const void *V, const void *Mask,
                       const void *G, void *DQ, void *DK, void *DV,
                       void *Memory, void *Buffer) {
  const pplan_attention_desc &F = D.forward;
  Workspace<T> W(F, Memory);
  int64_t HeadsPerKey = F.kv_heads ? F.q_heads / F.kv_heads : 0;
  // Without features of keys all that are seen are equally probable.
  bool Empty = F.q_len == 0 || F.k_len == 0 || F.v_dim == 0;
  auto In = [](const void *P, const int64_t S[4], int64_t B, int64_t H) {
    return static_cast<const T *>(P) + B * S[0] + H * S[1];
  };
  auto Out = [](void *P, const int64_t S[4], int64_t B, int64_t H) {
    return static_cast<T *>(P) + B * S[0] + H * S[1];
  };
  for (int64_t B = 0; B < F.batch; ++B)
    for (int64_t KvHead = 0; KvHead < F.kv_heads; ++KvHead) {
      Head<T> H = {};
      H.K = In(K, F.k_stride, B, KvHead);
      H.V = In(V, F.v_stride, B, KvHead);
      H.DK = Out(DK, D.dk_stride, B, KvHead);
      H.DV = Out(DV, D.dv_stride, B, KvHead);
      clear(H.DK, D.dk_stride, F.k_len, F.head_dim);
      clear(H.DV, D.dv_stride, F.k_len, F.v_dim);
      for (int64_t Head = KvHead * HeadsPerKey;
           Head < (KvHead + 1) * HeadsPerKey; ++Head) {
        H.Q = In(Q, F.q_stride, B, Head);
        H.G = In(G, F.o_stride, B, Head);
        H.DQ = Out(DQ, D.dq_stride, B, Head);
        if (Empty)
          clear(H.DQ, D.dq_stride, F.q_len, F.head_dim);
        for (int64_t I = 0; !Empty && I < F.q_len; I += QueryBlock)
          queryBlock(D, H, MaskOf<T>(F, Mask, B, Head, I, 0), W, I,
                     std::min(QueryBlock, F.q_len - I), Buffer);
      }
    }
}

/// NULL, or what is wrong with a descriptor.
const char *problem(const pplan_attention_backward_desc &D) {
  if (const char *Problem = attentionProblem(D.forward))
    return Problem;
  if ((D.dq_stride[3] != 1 && D.forward.head_dim > 1) ||
      (D.dv_stride[3] != 1 && D.forward.v_dim > 1))
    return "the feature stride of dq or dv is not 1";
  if (D.dk_stride[3] != 1 && D.dk_stride[2] != 1 && D.forward.head_dim > 1 &&
      D.forward.k_len > 1)
    return "neither the sequence nor the feature stride of dk is 1";
  return nullptr;
}

} // namespace

uint64_t pplan_rt_attention_backward_workspace(
    const pplan_attention_backward_desc *desc) {
  if (!desc || problem(*desc))
    return 0;
  int64_t Elements =
      2 * QueryBlock * roundUp16(desc->forward.k_len) + 4 * QueryBlock;
  return static_cast<uint64_t>(Elements) *
         pplan_rt_dtype_size(desc->forward.dtype);
}

pplan_status *pplan_rt_attention_backward(
    pplan_stream *stream, const pplan_attention_backward_desc *desc,
    const void *q, const void *k, const void *v, const void *mask,
    const void *g, void *dq, void *dk, void *dv, void *workspace) {
  if (!stream || !desc)
    return pplan_rt_error(PPLAN_INVALID_ARGUMENT,
                          "attention_backward: no stream or descriptor",
                          nullptr);
  const pplan_attention_desc &D = desc->forward;
  const char *Problem = problem(*desc);
  bool HasQueries = D.batch && D.q_heads && D.q_len;
  bool HasKeys = D.batch && D.kv_heads && D.k_len;
  if (!Problem &&
      ((HasQueries && D.head_dim && (!q || !dq)) ||
       (HasQueries && D.v_dim && !g) ||
       (HasKeys && ((D.head_dim && (!k || !dk)) || (D.v_dim && (!v || !dv)))) ||
       (HasQueries && HasKeys &&
        (!workspace || (D.mask_kind != PPLAN_MASK_NONE && !mask)))))
    Problem = "a tensor or the workspace is null";
  if (Problem)
    return makeError(PPLAN_INVALID_ARGUMENT, D.loc, stream->Context->Rank,
                     "attention_backward: %s", Problem);
  void *Buffer = gemmBuffer(stream->Context);
  if (D.dtype == PPLAN_F32)
    attentionBackward<float>(*desc, q, k, v, mask, g, dq, dk, dv, workspace,
                             Buffer);
  else
    attentionBackward<double>(*desc, q, k, v, mask, g, dq, dk, dv, workspace,
                              Buffer);
  return nullptr;
}
