//===- attention.cpp - attention without a score matrix -------------------===//
//
// Blocks of query rows against blocks of keys with an online softmax, so that
// the workspace depends on the block sizes and not on the sequence. The softmax
// of a block is in isa/softmax.h, the products in gemm.cpp. After Dao et al.,
// "FlashAttention", 2022, with blocks for a second-level cache.
//
//===----------------------------------------------------------------------===//
#include "attention.h"

#include <limits>

using namespace pplan::rt;
using namespace pplan::rt::cpu;

namespace {

constexpr int64_t KeyBlock = 512;

/// The pointers of one head.
template <typename T> struct Head {
  const T *Q, *K, *V;
  T *O;
  const T *AddMask;
  const uint8_t *BoolMask;
};

/// The parts of the workspace.
template <typename T> struct Workspace {
  T *Scores; ///< QueryBlock x ScoreLd
  T *Result; ///< QueryBlock x v_dim, used with more than one key block
  T *Max, *Sum, *Correction;
  int64_t ScoreLd;
};

template <typename T>
Workspace<T> partition(const pplan_attention_desc &D, void *Memory) {
  Workspace<T> W;
  W.ScoreLd = roundUp16(std::min(D.k_len, KeyBlock));
  W.Scores = static_cast<T *>(Memory);
  W.Result = W.Scores + QueryBlock * W.ScoreLd;
  W.Max = W.Result + QueryBlock * roundUp16(D.v_dim);
  W.Sum = W.Max + QueryBlock;
  W.Correction = W.Sum + QueryBlock;
  return W;
}

/// Adds the keys [J0, J1) to the results of the queries [I0, I0 + Rows).
template <typename T>
void addKeyBlock(const pplan_attention_desc &D, const Head<T> &H,
                 const Workspace<T> &W, T *Out, int64_t OutLd, int64_t I0,
                 int64_t Rows, int64_t J0, int64_t J1, void *Buffer) {
  int64_t Limit[QueryBlock];
  for (int64_t R = 0; R < Rows; ++R)
    Limit[R] = visibleKeys(D, I0 + R) - J0;
  bool KeysInRows = keysAreRows(D.k_stride, D);
  GemmArgs<T> ScoreGemm{Rows,
                        J1 - J0,
                        D.head_dim,
                        H.Q + I0 * D.q_stride[2],
                        D.q_stride[2],
                        /*TransA=*/false,
                        H.K + J0 * D.k_stride[2],
                        KeysInRows ? D.k_stride[2] : D.k_stride[3],
                        /*TransB=*/KeysInRows,
                        W.Scores,
                        W.ScoreLd,
                        T(1),
                        T(0)};
  gemm(ScoreGemm, Buffer);
  SoftmaxArgs<T> Softmax{W.Scores,
                         Rows,
                         J1 - J0,
                         W.ScoreLd,
                         static_cast<T>(D.scale),
                         Limit,
                         nullptr,
                         nullptr,
                         D.mask_stride[2],
                         D.mask_stride[3],
                         W.Max,
                         W.Sum,
                         W.Correction};
  int64_t MaskAt = I0 * D.mask_stride[2] + J0 * D.mask_stride[3];
  if (H.AddMask)
    Softmax.AddMask = H.AddMask + MaskAt;
  if (H.BoolMask)
    Softmax.BoolMask = H.BoolMask + MaskAt;
  softmaxBlock(Softmax);
  bool First = J0 == 0;
  if (!First)
    scaleRows(Out, Rows, D.v_dim, OutLd, W.Correction);
  GemmArgs<T> ResultGemm{Rows,
                         D.v_dim,
                         J1 - J0,
                         W.Scores,
                         W.ScoreLd,
                         /*TransA=*/false,
                         H.V + J0 * D.v_stride[2],
                         D.v_stride[2],
                         /*TransB=*/false,
                         Out,
                         OutLd,
                         T(1),
                         First ? T(0) : T(1)};
  gemm(ResultGemm, Buffer);
}

/// All keys for the queries [I0, I0 + Rows) of one head.
template <typename T>
void queryBlock(const pplan_attention_desc &D, const Head<T> &H,
                const Workspace<T> &W, int64_t I0, int64_t Rows,
                void *Buffer) {
  int64_t Keys = visibleKeys(D, I0 + Rows - 1); // the last query sees most
  T *Out = H.O + I0 * D.o_stride[2];
  const T Infinity = std::numeric_limits<T>::infinity();
  std::fill(W.Max, W.Max + Rows, -Infinity);
  std::fill(W.Sum, W.Sum + Rows, T(0));
  bool Direct = Keys <= KeyBlock; // one block: no results to rescale
  T *Target = Direct ? Out : W.Result;
  int64_t TargetLd = Direct ? D.o_stride[2] : roundUp16(D.v_dim);
  for (int64_t J = 0; J < Keys; J += KeyBlock)
    addKeyBlock(D, H, W, Target, TargetLd, I0, Rows, J,
                std::min(J + KeyBlock, Keys), Buffer);
  // A row that saw nothing has sum 0 and gets zeros, whatever V holds.
  for (int64_t R = 0; R < Rows; ++R) {
    T *Row = Out + R * D.o_stride[2];
    const T *From = Target + R * TargetLd;
    if (W.Sum[R] == T(0)) {
      std::fill(Row, Row + D.v_dim, T(0));
      continue;
    }
    T Factor = T(1) / W.Sum[R];
    for (int64_t C = 0; C < D.v_dim; ++C)
      Row[C] = From[C] * Factor;
  }
}

template <typename T>
void attention(const pplan_attention_desc &D, const void *Q, const void *K,
               const void *V, const void *Mask, void *O, void *Memory,
               void *Buffer) {
  Workspace<T> W = partition<T>(D, Memory);
  int64_t HeadsPerKey = D.q_heads / D.kv_heads;
  for (int64_t B = 0; B < D.batch; ++B)
    for (int64_t H = 0; H < D.q_heads; ++H) {
      int64_t KvHead = H / HeadsPerKey;
      int64_t MaskAt = B * D.mask_stride[0] + H * D.mask_stride[1];
      Head<T> Pointers = {
          static_cast<const T *>(Q) + B * D.q_stride[0] + H * D.q_stride[1],
          static_cast<const T *>(K) + B * D.k_stride[0] + KvHead * D.k_stride[1],
          static_cast<const T *>(V) + B * D.v_stride[0] + KvHead * D.v_stride[1],
          static_cast<T *>(O) + B * D.o_stride[0] + H * D.o_stride[1],
          D.mask_kind == PPLAN_MASK_ADD ? static_cast<const T *>(Mask) + MaskAt
                                        : nullptr,
          D.mask_kind == PPLAN_MASK_BOOL
              ? static_cast<const uint8_t *>(Mask) + MaskAt
              : nullptr};
      for (int64_t I = 0; I < D.q_len; I += QueryBlock)
        queryBlock(D, Pointers, W, I, std::min(QueryBlock, D.q_len - I),
                   Buffer);
    }
}

} // namespace

const char *pplan::rt::cpu::attentionProblem(const pplan_attention_desc &D) {
  if (D.batch < 0 || D.q_heads < 0 || D.kv_heads < 0 || D.q_len < 0 ||
      D.k_len < 0 || D.head_dim < 0 || D.v_dim < 0)
    return "a size is negative";
  if (D.q_heads != 0 && (D.kv_heads == 0 || D.q_heads % D.kv_heads != 0))
    return "q_heads is not a multiple of kv_heads";
  if (D.dtype != PPLAN_F32 && D.dtype != PPLAN_F64)
    return "the dtype is neither f32 nor f64";
  if (D.mask_kind < PPLAN_MASK_NONE || D.mask_kind > PPLAN_MASK_BOOL)
    return "the kind of mask is unknown";
  if ((D.q_stride[3] != 1 && D.head_dim > 1) ||
      ((D.v_stride[3] != 1 || D.o_stride[3] != 1) && D.v_dim > 1))
    return "the feature stride of q, v or o is not 1";
  if (D.k_stride[3] != 1 && D.k_stride[2] != 1 && D.head_dim > 1 && D.k_len > 1)
    return "neither the sequence nor the feature stride of k is 1";
  return nullptr;
}

uint64_t pplan_rt_attention_workspace(const pplan_attention_desc *desc) {
  if (!desc || attentionProblem(*desc))
    return 0;
  int64_t Elements = QueryBlock * roundUp16(std::min(desc->k_len, KeyBlock)) +
                     QueryBlock * roundUp16(desc->v_dim) + 4 * QueryBlock;
  return static_cast<uint64_t>(Elements) * pplan_rt_dtype_size(desc->dtype);
}

pplan_status *pplan_rt_attention(pplan_stream *stream,
                                 const pplan_attention_desc *desc,
                                 const void *q, const void *k, const void *v,
                                 const void *mask, void *o, void *workspace) {
  if (!stream || !desc)
    return pplan_rt_error(PPLAN_INVALID_ARGUMENT,
                          "attention: no stream or descriptor", nullptr);
  const char *Problem = attentionProblem(*desc);
  bool Empty = desc->batch == 0 || desc->q_heads == 0 || desc->q_len == 0 ||
               desc->v_dim == 0;
  if (!Problem && !Empty &&
      (!q || !o || !workspace || (desc->k_len > 0 && (!k || !v)) ||
       (desc->k_len > 0 && desc->mask_kind != PPLAN_MASK_NONE && !mask)))
    Problem = "a tensor or the workspace is null";
  if (Problem)
    return makeError(PPLAN_INVALID_ARGUMENT, desc->loc, stream->Context->Rank,
                     "attention: %s", Problem);
  if (Empty)
    return nullptr;
  void *Buffer = gemmBuffer(stream->Context);
  if (desc->dtype == PPLAN_F32)
    attention<float>(*desc, q, k, v, mask, o, workspace, Buffer);
  else
    attention<double>(*desc, q, k, v, mask, o, workspace, Buffer);
  return nullptr;
}
