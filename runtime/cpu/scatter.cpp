//===- scatter.cpp - adding rows to the places that indices name ----------===//
//
// The transpose of taking rows of a table. Rows are added in the order of the
// indices, so that a run repeats bit for bit.
//
//===----------------------------------------------------------------------===//
#include "context.h"
#include "pplan_rt/kernels.h"

#include <cstring>

using namespace pplan::rt;
using namespace pplan::rt::cpu;

namespace {

template <typename T, typename Index>
void scatterAdd(const pplan_scatter_add_desc &D, const Index *Indices,
                const T *Src, T *Dst) {
  for (int64_t O = 0; O < D.outer; ++O)
    for (int64_t J = 0; J < D.count; ++J) {
      Index I = Indices[J];
      if (I < 0 || I >= D.size)
        continue;
      const T *__restrict From = Src + (O * D.count + J) * D.inner;
      T *__restrict To = Dst + (O * D.size + I) * D.inner;
      for (int64_t C = 0; C < D.inner; ++C)
        To[C] += From[C];
    }
}

template <typename T>
void scatterAdd(const pplan_scatter_add_desc &D, const void *Indices,
                const void *Src, void *Dst) {
  auto From = static_cast<const T *>(Src);
  auto To = static_cast<T *>(Dst);
  if (D.index_dtype == PPLAN_I32)
    scatterAdd(D, static_cast<const int32_t *>(Indices), From, To);
  else
    scatterAdd(D, static_cast<const int64_t *>(Indices), From, To);
}

} // namespace

pplan_status *pplan_rt_scatter_add(pplan_stream *stream,
                                   const pplan_scatter_add_desc *desc,
                                   const void *indices, const void *src,
                                   void *dst) {
  if (!stream || !desc)
    return pplan_rt_error(PPLAN_INVALID_ARGUMENT,
                          "scatter_add: no stream or descriptor", nullptr);
  const pplan_scatter_add_desc &D = *desc;
  const char *Problem = nullptr;
  if (D.outer < 0 || D.count < 0 || D.size < 0 || D.inner < 0)
    Problem = "a size is negative";
  else if (D.index_dtype != PPLAN_I32 && D.index_dtype != PPLAN_I64)
    Problem = "indices are neither i32 nor i64";
  else if (D.dtype != PPLAN_F32 && D.dtype != PPLAN_F64 &&
           D.dtype != PPLAN_I32 && D.dtype != PPLAN_I64)
    Problem = "the dtype is not f32, f64, i32 or i64";
  else if ((D.outer && D.size && D.inner && !dst) ||
           (D.outer && D.count && D.inner && (!src || !indices)))
    Problem = "a tensor is null";
  if (Problem)
    return makeError(PPLAN_INVALID_ARGUMENT, D.loc, stream->Context->Rank,
                     "scatter_add: %s", Problem);
  if (size_t Bytes = static_cast<size_t>(D.outer * D.size * D.inner) *
                     pplan_rt_dtype_size(D.dtype))
    std::memset(dst, 0, Bytes);
  switch (D.dtype) {
  case PPLAN_F32:
    scatterAdd<float>(D, indices, src, dst);
    break;
  case PPLAN_F64:
    scatterAdd<double>(D, indices, src, dst);
    break;
  case PPLAN_I32:
    scatterAdd<int32_t>(D, indices, src, dst);
    break;
  default:
    scatterAdd<int64_t>(D, indices, src, dst);
    break;
  }
  return nullptr;
}
