/*===- kernels.h - GEMM, attention and scatter ------------------------------===*\
|*
|* The two kernels that generated code calls instead of making loops. A
|* descriptor holds sizes and strides only, so that it can be a constant of the
|* program; pointers are given with each call. All strides are in elements.
|*
\*===----------------------------------------------------------------------===*/
#ifndef PPLAN_RT_KERNELS_H
#define PPLAN_RT_KERNELS_H

#include "pplan_rt/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** C[b] = alpha * op(A[b]) * op(B[b]) + beta * C[b], for each index b of up to
 * three batch dimensions, all row-major.
 *
 * op(A) is m x k: with trans_a = 0, A is stored m x k with lda elements from row
 * to row, else k x m. op(B) is k x n: with trans_b = 0, B is stored k x n, else
 * n x k. C is m x n. Leading dimensions are at least the row length. Element
 * pointers of batch (b0, b1, b2) are base + sum of b_i * stride_x[i]; a stride of
 * 0 uses the same matrix again (not for C). With beta = 0, C is not read; with
 * k = 0, C becomes beta * C. m, n, k or a batch size may be 0.
 *
 * f32 and f64 go to CBLAS, or to a kernel of pplan where that is quicker. f16 and
 * bf16 accumulate in f32 and round once; i8, u8 and i32 accumulate in their own
 * type's 32-bit arithmetic and wrap, i64 in 64 bits; for integers alpha and beta
 * are truncated. i1 is not supported. */
typedef struct pplan_gemm_desc {
  int64_t m, n, k;
  int64_t lda, ldb, ldc;
  int64_t batch[3]; /**< unused trailing (or leading) dimensions are 1 */
  int64_t stride_a[3], stride_b[3], stride_c[3];
  double alpha, beta;
  int32_t trans_a, trans_b;
  int32_t dtype;
  int32_t reserved; /**< 0 */
  const char *loc;  /**< source location of the user's layer, or NULL */
} pplan_gemm_desc;

/** See pplan_gemm_desc. C must not overlap A or B. */
pplan_status *pplan_rt_gemm(pplan_stream *stream, const pplan_gemm_desc *desc,
                            const void *a, const void *b, void *c);

/** How the mask of an attention is given. */
typedef enum pplan_mask_kind {
  PPLAN_MASK_NONE = 0,
  PPLAN_MASK_ADD = 1, /**< of the type of q; added to the scaled scores */
  PPLAN_MASK_BOOL = 2 /**< bytes; a key is seen where it is not 0 */
} pplan_mask_kind;

/** O = softmax(scale * Q K^T + mask) V for f32 or f64, without ever holding the
 * q_len x k_len scores.
 *
 * Shapes: Q [batch, q_heads, q_len, head_dim], K [batch, kv_heads, k_len,
 * head_dim], V [batch, kv_heads, k_len, v_dim], O [batch, q_heads, q_len, v_dim],
 * mask [batch, q_heads, q_len, k_len]. q_heads is a multiple of kv_heads; query
 * head h uses key/value head h / (q_heads / kv_heads).
 *
 * Strides are {batch, head, sequence, feature} in elements (for the mask {batch,
 * head, query, key}); 0 repeats. The feature stride of Q, V and O is 1. Of K one
 * of sequence and feature is 1, so that K may be stored transposed.
 *
 * Key j is seen by query i if j < key_limit, and, with causal, j <= i +
 * query_offset, and the mask allows it. A query that sees no key (or whose
 * scores are all -inf) gives a row of zeros. */
typedef struct pplan_attention_desc {
  int64_t batch, q_heads, kv_heads;
  int64_t q_len, k_len, head_dim, v_dim;
  int64_t q_stride[4], k_stride[4], v_stride[4], o_stride[4];
  int64_t mask_stride[4]; /**< ignored with PPLAN_MASK_NONE */
  int64_t key_limit;      /**< keys from here on are not seen; k_len for all */
  int64_t query_offset;   /**< position of query 0 among the keys */
  double scale;
  int32_t causal;    /**< 1: a query sees no later key */
  int32_t mask_kind; /**< pplan_mask_kind */
  int32_t dtype;     /**< PPLAN_F32 or PPLAN_F64 */
  int32_t reserved;  /**< 0 */
  const char *loc;   /**< source location of the user's layer, or NULL */
} pplan_attention_desc;

/** Bytes of workspace (aligned to 64) that an attention needs. Depends on
 * head_dim, v_dim, k_len and dtype only, never on batch or q_len; at most
 *   64 * min(k_len rounded up to 16, 512) + 64 * v_dim rounded up to 16 + 256
 * elements. 0 for an invalid descriptor. Pure: compilers link it too. */
uint64_t pplan_rt_attention_workspace(const pplan_attention_desc *desc);

/** See pplan_attention_desc. `mask` is NULL with PPLAN_MASK_NONE. O must not
 * overlap the others. */
pplan_status *pplan_rt_attention(pplan_stream *stream,
                                 const pplan_attention_desc *desc,
                                 const void *q, const void *k, const void *v,
                                 const void *mask, void *o, void *workspace);

/** Gradients of pplan_rt_attention with respect to Q, K and V, given G, that of
 * O. The probabilities are computed again, 64 query rows at a time:
 *
 *   P = softmax(scale * Q K^T + mask)      dV = P^T G
 *   dS = scale * P * (G V^T - rowsum(P * (G V^T)))
 *   dQ = dS K                              dK = dS^T Q
 *
 * (Dao et al., "FlashAttention", 2022, appendix B.2.) dK and dV sum over the
 * query heads that share a key/value head. `forward` is the descriptor of the
 * attention, its o_stride the strides of G. The gradients have strides of their
 * own; the feature stride of dQ and dV is 1, of dK one of sequence and feature. */
typedef struct pplan_attention_backward_desc {
  pplan_attention_desc forward;
  int64_t dq_stride[4], dk_stride[4], dv_stride[4];
} pplan_attention_backward_desc;

/** Bytes of workspace (aligned to 64): at most
 *   128 * k_len rounded up to 16 + 256 elements
 * Depends on k_len and dtype only. 0 for an invalid descriptor. Pure. */
uint64_t pplan_rt_attention_backward_workspace(
    const pplan_attention_backward_desc *desc);

/** See pplan_attention_backward_desc. dQ, dK and dV must not overlap anything. */
pplan_status *pplan_rt_attention_backward(
    pplan_stream *stream, const pplan_attention_backward_desc *desc,
    const void *q, const void *k, const void *v, const void *mask,
    const void *g, void *dq, void *dk, void *dv, void *workspace);

/** dst[o, i, :] = sum of src[o, j, :] over all j with indices[j] = i.
 *
 * src is [outer, count, inner], dst [outer, size, inner], both row-major and of
 * one dtype: f32, f64, i32 or i64. An index outside [0, size) is skipped. Sums
 * are made in the order of j. */
typedef struct pplan_scatter_add_desc {
  int64_t outer, count, size, inner;
  int32_t dtype;       /**< of src and dst */
  int32_t index_dtype; /**< PPLAN_I32 or PPLAN_I64 */
  const char *loc;     /**< source location of the user's layer, or NULL */
} pplan_scatter_add_desc;

/** See pplan_scatter_add_desc. dst must not overlap src or indices. */
pplan_status *pplan_rt_scatter_add(pplan_stream *stream,
                                   const pplan_scatter_add_desc *desc,
                                   const void *indices, const void *src,
                                   void *dst);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PPLAN_RT_KERNELS_H */
