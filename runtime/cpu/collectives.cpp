//===- collectives.cpp - collectives on shared memory ---------------------===//
//
// The algorithms. Each rank publishes its source, waits until all have, reads
// what it needs directly from the others' sources into its own destination, and
// waits until nobody reads its source any more. docs/runtime.md has steps and
// bytes. Matching and waiting are in comm.cpp, arithmetic in isa/reduce.cpp.
//
//===----------------------------------------------------------------------===//
#include "comm.h"
#include "copy.h"
#include "kernels.h"

#include <algorithm>
#include <vector>

using namespace pplan::rt;
using namespace pplan::rt::cpu;

namespace {

pplan_status *badArgument(const pplan_comm *Comm, const CallInfo &Info,
                          const char *What) {
  return makeError(PPLAN_INVALID_ARGUMENT, Info.Loc,
                   Comm ? Comm->Context->Rank : -1, "%s: %s",
                   callName(Info.Kind), What);
}

bool overlap(const void *A, int64_t ABytes, const void *B, int64_t BBytes) {
  auto *X = static_cast<const char *>(A), *Y = static_cast<const char *>(B);
  return X < Y + BBytes && Y < X + ABytes;
}

/// Checks what does not need the other ranks.
pplan_status *checkLocal(pplan_comm *Comm, pplan_stream *Stream,
                         const CallInfo &Info) {
  if (!Comm || !Stream)
    return badArgument(Comm, Info, "no communicator or stream");
  if (Comm->Context != Stream->Context)
    return badArgument(Comm, Info, "the stream belongs to another rank");
  return nullptr;
}

/// Checks source and destination of `SrcBytes` and `DstBytes`, which must not
/// overlap.
pplan_status *checkBuffers(pplan_comm *Comm, const CallInfo &Info,
                           int64_t SrcBytes, int64_t DstBytes) {
  if ((SrcBytes > 0 && !Info.Src) || (DstBytes > 0 && !Info.Dst))
    return badArgument(Comm, Info, "a buffer is null");
  if (SrcBytes > 0 && DstBytes > 0 &&
      overlap(Info.Src, SrcBytes, Info.Dst, DstBytes))
    return badArgument(Comm, Info, "source and destination overlap");
  return nullptr;
}

/// The sources of a call, all at one byte offset.
class Sources {
public:
  explicit Sources(const Call &C) : C(C), Pointers(C.size()) {}
  const void *const *at(int64_t Offset) {
    for (int32_t R = 0; R < C.size(); ++R)
      Pointers[R] = C.src(R) + Offset;
    return Pointers.data();
  }

private:
  const Call &C;
  std::vector<const void *> Pointers;
};

/// all_reduce of at most a scratch buffer: every rank leaves a copy in its slot
/// and combines all copies. One phase; nothing of the caller's is read by others.
pplan_status *allReduceSmall(Call &C, const CallInfo &Info, int64_t Bytes) {
  if (Bytes)
    std::memcpy(C.scratch(C.rank()), Info.Src, Bytes);
  if (pplan_status *Error = C.enter())
    return Error;
  std::vector<const void *> Copies(C.size());
  for (int32_t R = 0; R < C.size(); ++R) {
    Copies[R] = C.scratch(R);
    C.received(R, Bytes);
  }
  kernels().Reduce[Info.Dtype][Info.Op](Info.Dst, Copies.data(), C.size(),
                                        Info.Sizes[0]);
  return nullptr;
}

/// all_reduce in two steps: each rank combines its chunk of all sources, then
/// takes the other chunks from those who combined them.
pplan_status *allReduceLarge(Call &C, const CallInfo &Info, int64_t Size) {
  int64_t Count = Info.Sizes[0];
  constexpr int64_t Granule = 64; // elements; keeps chunks off shared lines
  int64_t Chunk = (Count + C.size() - 1) / C.size();
  Chunk = (Chunk + Granule - 1) / Granule * Granule;
  auto chunkOf = [&](int32_t R) {
    int64_t Offset = std::min<int64_t>(R * Chunk, Count);
    return Part{Offset, std::min(Chunk, Count - Offset)};
  };
  if (pplan_status *Error = C.enter())
    return Error;
  Part Mine = chunkOf(C.rank());
  char *Dst = static_cast<char *>(Info.Dst);
  kernels().Reduce[Info.Dtype][Info.Op](Dst + Mine.Offset * Size,
                                        Sources(C).at(Mine.Offset * Size),
                                        C.size(), Mine.Valid);
  for (int32_t R = 0; R < C.size(); ++R)
    C.received(R, Mine.Valid * Size);
  if (pplan_status *Error = C.phase())
    return Error;
  for (int32_t I = 1; I < C.size(); ++I) {
    int32_t R = (C.rank() + I) % C.size();
    Part Theirs = chunkOf(R);
    if (Theirs.Valid == 0)
      continue;
    std::memcpy(Dst + Theirs.Offset * Size,
                static_cast<const char *>(C.info(R).Dst) + Theirs.Offset * Size,
                Theirs.Valid * Size);
    C.received(R, Theirs.Valid * Size);
  }
  return C.phase();
}

} // namespace

pplan_status *pplan_rt_all_reduce(pplan_comm *comm, pplan_stream *stream,
                                  const void *src, void *dst, int64_t count,
                                  int32_t dtype, int32_t op, const char *loc) {
  CallInfo Info;
  Info.Kind = CallKind::AllReduce;
  Info.Dtype = dtype;
  Info.Op = op;
  Info.NumSizes = 1;
  Info.Sizes[0] = count;
  Info.Src = src;
  Info.Dst = dst;
  Info.Loc = loc;
  return guarded(loc, [&]() -> pplan_status * {
    if (pplan_status *Error = checkLocal(comm, stream, Info))
      return Error;
    Call C(comm, Info);
    if (pplan_status *Error = C.check())
      return Error;
    int64_t Size = static_cast<int64_t>(pplan_rt_dtype_size(dtype));
    if (src != dst || count == 0)
      if (pplan_status *Error =
              checkBuffers(comm, Info, count * Size, count * Size))
        return Error;
    if (C.size() == 1) {
      if (src != dst)
        copyBytes(dst, src, count * Size);
      return nullptr;
    }
    if (count * Size <= static_cast<int64_t>(Slot::ScratchBytes))
      return allReduceSmall(C, Info, count * Size);
    return allReduceLarge(C, Info, Size);
  });
}

pplan_status *pplan_rt_all_gather(pplan_comm *comm, pplan_stream *stream,
                                  const void *src, void *dst, int64_t outer,
                                  int64_t shard_dim, int64_t full_dim,
                                  int64_t inner, int32_t dtype,
                                  const char *loc) {
  CallInfo Info;
  Info.Kind = CallKind::AllGather;
  Info.Dtype = dtype;
  Info.NumSizes = 4;
  Info.Sizes[0] = outer;
  Info.Sizes[1] = shard_dim;
  Info.Sizes[2] = full_dim;
  Info.Sizes[3] = inner;
  Info.Src = src;
  Info.Dst = dst;
  Info.Loc = loc;
  return guarded(loc, [&]() -> pplan_status * {
    if (pplan_status *Error = checkLocal(comm, stream, Info))
      return Error;
    Call C(comm, Info);
    if (pplan_status *Error = C.check())
      return Error;
    if (pplan_status *Error =
            checkShard(*comm, Info, "the gathered", full_dim, shard_dim))
      return Error;
    int64_t Row = inner * static_cast<int64_t>(pplan_rt_dtype_size(dtype));
    if (pplan_status *Error = checkBuffers(comm, Info, outer * shard_dim * Row,
                                           outer * full_dim * Row))
      return Error;
    if (pplan_status *Error = C.enter())
      return Error;
    for (int32_t I = 0; I < C.size(); ++I) {
      int32_t R = (C.rank() + I) % C.size();
      Part P = partOf(*comm, R, full_dim, shard_dim);
      copyRows(static_cast<char *>(dst) + P.Offset * Row, full_dim * Row,
               C.src(R), shard_dim * Row, outer, P.Valid * Row);
      C.received(R, outer * P.Valid * Row);
    }
    return C.phase();
  });
}

pplan_status *pplan_rt_reduce_scatter(pplan_comm *comm, pplan_stream *stream,
                                      const void *src, void *dst, int64_t outer,
                                      int64_t full_dim, int64_t shard_dim,
                                      int64_t inner, int32_t dtype, int32_t op,
                                      const char *loc) {
  CallInfo Info;
  Info.Kind = CallKind::ReduceScatter;
  Info.Dtype = dtype;
  Info.Op = op;
  Info.NumSizes = 4;
  Info.Sizes[0] = outer;
  Info.Sizes[1] = full_dim;
  Info.Sizes[2] = shard_dim;
  Info.Sizes[3] = inner;
  Info.Src = src;
  Info.Dst = dst;
  Info.Loc = loc;
  return guarded(loc, [&]() -> pplan_status * {
    if (pplan_status *Error = checkLocal(comm, stream, Info))
      return Error;
    Call C(comm, Info);
    if (pplan_status *Error = C.check())
      return Error;
    if (pplan_status *Error =
            checkShard(*comm, Info, "the scattered", full_dim, shard_dim))
      return Error;
    int64_t Row = inner * static_cast<int64_t>(pplan_rt_dtype_size(dtype));
    if (pplan_status *Error = checkBuffers(comm, Info, outer * full_dim * Row,
                                           outer * shard_dim * Row))
      return Error;
    if (pplan_status *Error = C.enter())
      return Error;
    Part P = partOf(*comm, C.rank(), full_dim, shard_dim);
    Sources From(C);
    for (int64_t O = 0; O < outer; ++O) {
      char *Row0 = static_cast<char *>(dst) + O * shard_dim * Row;
      kernels().Reduce[dtype][op](
          Row0, From.at((O * full_dim + P.Offset) * Row), C.size(),
          P.Valid * inner);
      zeroBytes(Row0 + P.Valid * Row, (shard_dim - P.Valid) * Row);
    }
    for (int32_t R = 0; R < C.size(); ++R)
      C.received(R, outer * P.Valid * Row);
    return C.phase();
  });
}

//===----------------------------------------------------------------------===//
// all_to_all
//===----------------------------------------------------------------------===//

/// Copies, from the source of group rank `R`, this rank's part of the split
/// dimension and R's part of the concat dimension.
static void takeTile(const Call &C, int32_t R, const pplan_comm &Comm,
                     const pplan_all_to_all_desc &D, char *Dst, int64_t Size) {
  Part Split = partOf(Comm, C.rank(), D.split_full, D.split_shard);
  Part Concat = partOf(Comm, R, D.concat_full, D.concat_shard);
  int64_t Row = D.inner * Size;
  const char *Src = C.src(R);
  C.received(R, D.outer * Split.Valid * D.middle * Concat.Valid * Row);
  if (D.split_first) {
    // src [o, split_full, m, concat_shard], dst [o, split_shard, m, concat_full]
    for (int64_t O = 0; O < D.outer; ++O)
      copyRows(Dst + (O * D.split_shard * D.middle * D.concat_full +
                      Concat.Offset) *
                         Row,
               D.concat_full * Row,
               Src + (O * D.split_full + Split.Offset) * D.middle *
                         D.concat_shard * Row,
               D.concat_shard * Row, Split.Valid * D.middle,
               Concat.Valid * Row);
    return;
  }
  // src [o, concat_shard, m, split_full], dst [o, concat_full, m, split_shard]
  for (int64_t O = 0; O < D.outer; ++O)
    copyRows(Dst + (O * D.concat_full + Concat.Offset) * D.middle *
                       D.split_shard * Row,
             D.split_shard * Row,
             Src + (O * D.concat_shard * D.middle * D.split_full +
                    Split.Offset) *
                       Row,
             D.split_full * Row, Concat.Valid * D.middle, Split.Valid * Row);
}

/// Writes zero where this rank's part of the split dimension is padding.
static void zeroPadding(const pplan_comm &Comm, const pplan_all_to_all_desc &D,
                        char *Dst, int64_t Size) {
  Part Split = partOf(Comm, Comm.Rank, D.split_full, D.split_shard);
  int64_t Missing = D.split_shard - Split.Valid;
  if (Missing == 0)
    return;
  // The split dimension as the middle one of [rows, split_shard, row].
  int64_t Rows = D.split_first ? D.outer : D.outer * D.concat_full * D.middle;
  int64_t Row =
      D.split_first ? D.middle * D.concat_full * D.inner * Size : D.inner * Size;
  for (int64_t I = 0; I < Rows; ++I)
    zeroBytes(Dst + (I * D.split_shard + Split.Valid) * Row, Missing * Row);
}

pplan_status *pplan_rt_all_to_all(pplan_comm *comm, pplan_stream *stream,
                                  const void *src, void *dst,
                                  const pplan_all_to_all_desc *desc,
                                  const char *loc) {
  CallInfo Info;
  Info.Kind = CallKind::AllToAll;
  Info.Loc = loc;
  if (!desc)
    return badArgument(comm, Info, "no descriptor");
  const pplan_all_to_all_desc D = *desc;
  Info.Dtype = D.dtype;
  Info.Arg = D.split_first != 0;
  Info.NumSizes = 7;
  const int64_t Sizes[] = {D.outer,       D.split_full,   D.split_shard,
                           D.middle,      D.concat_full,  D.concat_shard,
                           D.inner};
  std::copy(std::begin(Sizes), std::end(Sizes), Info.Sizes);
  Info.Src = src;
  Info.Dst = dst;
  return guarded(loc, [&]() -> pplan_status * {
    if (pplan_status *Error = checkLocal(comm, stream, Info))
      return Error;
    Call C(comm, Info);
    if (pplan_status *Error = C.check())
      return Error;
    if (pplan_status *Error =
            checkShard(*comm, Info, "the split", D.split_full, D.split_shard))
      return Error;
    if (pplan_status *Error = checkShard(*comm, Info, "the concatenated",
                                         D.concat_full, D.concat_shard))
      return Error;
    int64_t Size = static_cast<int64_t>(pplan_rt_dtype_size(D.dtype));
    int64_t Rest = D.outer * D.middle * D.inner * Size;
    if (pplan_status *Error =
            checkBuffers(comm, Info, Rest * D.split_full * D.concat_shard,
                         Rest * D.split_shard * D.concat_full))
      return Error;
    if (pplan_status *Error = C.enter())
      return Error;
    char *Dst = static_cast<char *>(dst);
    for (int32_t I = 0; I < C.size(); ++I)
      takeTile(C, (C.rank() + I) % C.size(), *comm, D, Dst, Size);
    zeroPadding(*comm, D, Dst, Size);
    return C.phase();
  });
}
