/*===- collectives.h - communicators and communication ---------------------===*\
|*
|* What ranks say to each other. All calls are tile-aware: the tensor is viewed
|* as [outer, dim, inner], so that any dimension of a row-major tensor can be
|* the sharded one without packing.
|*
|* Sharding rule. A dimension of n elements over mesh axes (a1, a2, ..) of sizes
|* (k1, k2, ..) is cut by a1 into parts of c1 = ceil(n / k1), each of those by a2
|* into parts of c2 = ceil(c1 / k2), and so on; the rank at (i1, i2, ..) has the
|* c = c_last elements from offset i1*c1 + i2*c2 + .. of which
|* clamp(.. clamp(n - i1*c1, 0, c1) - i2*c2 .., 0, c2) are valid. The rest is
|* padding: unspecified on input and never read into valid output; calls write
|* zero there. (c = ceil(n / k) with k = k1*k2*..)
|*
|* Every rank of a group must make the same call with the same sizes, type and
|* operation. Each call checks that; a difference is PPLAN_MISMATCH on every rank
|* of the group, with both ranks and both locations in the message. A wait ends
|* with PPLAN_ABORTED when a rank has failed, with PPLAN_MISMATCH when a rank it
|* waits for has ended, and with PPLAN_DEADLOCK when all ranks wait.
|*
|* Reductions combine in the order of group ranks and give the same bits on all
|* ranks. f16 and bf16 are combined in f32 and rounded once. For i1, sum and max
|* are "or", prod and min are "and". Integers wrap.
|*
|* `loc` in each call is the source location of the user's layer, or NULL; it
|* must live as long as the context.
|*
\*===----------------------------------------------------------------------===*/
#ifndef PPLAN_RT_COLLECTIVES_H
#define PPLAN_RT_COLLECTIVES_H

#include "pplan_rt/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The group of ranks that differ from this one only in some mesh axes. */
typedef struct pplan_comm pplan_comm;

/** How values are combined. The numbers are part of the ABI. */
typedef enum pplan_reduce {
  PPLAN_SUM = 0,
  PPLAN_PROD = 1,
  PPLAN_MAX = 2,
  PPLAN_MIN = 3
} pplan_reduce;

/** The communicator over `num_axes` distinct mesh axes. Ranks in the group are
 * numbered row-major over the axes in the order given, the last one fastest, so
 * {0, 1} and {1, 0} are different communicators of the same ranks. No axes is
 * the group of this rank alone. Owned by the context; the second call with the
 * same axes returns the same object and is quick. Not a collective call. */
pplan_status *pplan_rt_comm(pplan_context *ctx, const int32_t *axes,
                            int32_t num_axes, pplan_comm **out);
/** Number of ranks in the group. */
int32_t pplan_rt_comm_size(const pplan_comm *comm);
/** This rank's number in the group. */
int32_t pplan_rt_comm_rank(const pplan_comm *comm);
/** Global rank of group rank `group_rank`; -1 if there is none. */
int32_t pplan_rt_comm_global_rank(const pplan_comm *comm, int32_t group_rank);

/** dst[i] = combination over the group of src[i], for `count` elements. `src`
 * may equal `dst`; otherwise they must not overlap. */
pplan_status *pplan_rt_all_reduce(pplan_comm *comm, pplan_stream *stream,
                                  const void *src, void *dst, int64_t count,
                                  int32_t dtype, int32_t op, const char *loc);

/** Makes a sharded dimension whole. `src` is [outer, shard_dim, inner], `dst` is
 * [outer, full_dim, inner]; the parts lie by the sharding rule for full_dim over
 * the communicator's axes. full_dim <= group size * shard_dim; with more than
 * one axis shard_dim must be ceil(full_dim / group size). No overlap. */
pplan_status *pplan_rt_all_gather(pplan_comm *comm, pplan_stream *stream,
                                  const void *src, void *dst, int64_t outer,
                                  int64_t shard_dim, int64_t full_dim,
                                  int64_t inner, int32_t dtype,
                                  const char *loc);

/** Combines and keeps this rank's part. `src` is [outer, full_dim, inner], `dst`
 * is [outer, shard_dim, inner]; zero beyond full_dim. Sizes as for all_gather.
 * No overlap. */
pplan_status *pplan_rt_reduce_scatter(pplan_comm *comm, pplan_stream *stream,
                                      const void *src, void *dst, int64_t outer,
                                      int64_t full_dim, int64_t shard_dim,
                                      int64_t inner, int32_t dtype, int32_t op,
                                      const char *loc);

/** Sizes of an all_to_all, which moves the sharding from one dimension (concat:
 * sharded in src, whole in dst) to another (split: whole in src, sharded in
 * dst). With split_first the shapes are
 *   src [outer, split_full,  middle, concat_shard, inner]
 *   dst [outer, split_shard, middle, concat_full,  inner]
 * and without it
 *   src [outer, concat_shard, middle, split_full,  inner]
 *   dst [outer, concat_full,  middle, split_shard, inner].
 * Both dimensions follow the sharding rule over the communicator's axes. */
typedef struct pplan_all_to_all_desc {
  int64_t outer;
  int64_t split_full;
  int64_t split_shard;
  int64_t middle;
  int64_t concat_full;
  int64_t concat_shard;
  int64_t inner;
  int32_t split_first; /**< 1 if the split dimension is left of the other */
  int32_t dtype;
} pplan_all_to_all_desc;

/** See pplan_all_to_all_desc. No overlap. The part of dst beyond split_full is
 * zero. */
pplan_status *pplan_rt_all_to_all(pplan_comm *comm, pplan_stream *stream,
                                  const void *src, void *dst,
                                  const pplan_all_to_all_desc *desc,
                                  const char *loc);

/** Group rank r sends its `count` elements to group rank targets[r] (-1: to
 * none). No target occurs twice; a rank that is no target gets zeros. `targets`
 * has one entry per rank of the group and is the same on all. No overlap. */
pplan_status *pplan_rt_permute(pplan_comm *comm, pplan_stream *stream,
                               const void *src, void *dst, int64_t count,
                               int32_t dtype, const int32_t *targets,
                               const char *loc);

/** dst on every rank = src of group rank `root`. `src` is read on the root only
 * and may be NULL elsewhere; on the root it may equal `dst`. */
pplan_status *pplan_rt_broadcast(pplan_comm *comm, pplan_stream *stream,
                                 const void *src, void *dst, int64_t count,
                                 int32_t dtype, int32_t root, const char *loc);

/** Returns when every rank of the group has called it. */
pplan_status *pplan_rt_barrier(pplan_comm *comm, pplan_stream *stream,
                               const char *loc);

/** Sends to global rank `peer`; complete when the peer has received. Sends from
 * one rank to another are received in order; a receive whose tag, count or type
 * is not that of the send is a PPLAN_MISMATCH on both sides. */
pplan_status *pplan_rt_send(pplan_context *ctx, pplan_stream *stream,
                            const void *src, int64_t count, int32_t dtype,
                            int32_t peer, int32_t tag, const char *loc);
/** Receives from global rank `peer`; see pplan_rt_send. */
pplan_status *pplan_rt_recv(pplan_context *ctx, pplan_stream *stream, void *dst,
                            int64_t count, int32_t dtype, int32_t peer,
                            int32_t tag, const char *loc);

/** Bytes that this rank has taken from other ranks' memory so far, by all
 * calls above. Diagnostics and tests. */
uint64_t pplan_rt_bytes_received(const pplan_context *ctx);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* PPLAN_RT_COLLECTIVES_H */
