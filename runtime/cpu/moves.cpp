//===- moves.cpp - permute, broadcast, barrier ----------------------------===//
//
// The collectives that move whole buffers. See collectives.cpp.
//
//===----------------------------------------------------------------------===//
#include "comm.h"
#include "copy.h"

#include <vector>

using namespace pplan::rt;
using namespace pplan::rt::cpu;

static pplan_status *badCall(const CallInfo &Info, const char *What) {
  return makeError(PPLAN_INVALID_ARGUMENT, Info.Loc, -1, "%s: %s",
                   callName(Info.Kind), What);
}

static CallInfo infoOf(CallKind Kind, const void *Src, void *Dst, int64_t Count,
                       int32_t Dtype, const char *Loc) {
  CallInfo Info;
  Info.Kind = Kind;
  Info.Dtype = Dtype;
  Info.NumSizes = 1;
  Info.Sizes[0] = Count;
  Info.Src = Src;
  Info.Dst = Dst;
  Info.Loc = Loc;
  return Info;
}

/// Checks a permute's table and finds who sends to this rank (-1: nobody).
static pplan_status *checkTargets(const pplan_comm &Comm, CallInfo &Info,
                                  const int32_t *Targets, int32_t &From) {
  std::vector<bool> Taken(Comm.size());
  From = -1;
  uint64_t Hash = 1469598103934665603u; // FNV-1a
  for (int32_t R = 0; R < Comm.size(); ++R) {
    int32_t To = Targets[R];
    Hash = (Hash ^ static_cast<uint32_t>(To)) * 1099511628211u;
    if (To == -1)
      continue;
    if (To < 0 || To >= Comm.size())
      return makeError(PPLAN_INVALID_ARGUMENT, Info.Loc, Comm.Context->Rank,
                       "permute: group rank %d has target %d in a group of %d",
                       R, To, Comm.size());
    if (Taken[To])
      return makeError(PPLAN_INVALID_ARGUMENT, Info.Loc, Comm.Context->Rank,
                       "permute: group rank %d is the target of two ranks", To);
    Taken[To] = true;
    if (To == Comm.Rank)
      From = R;
  }
  Info.TargetsHash = Hash;
  return nullptr;
}

pplan_status *pplan_rt_permute(pplan_comm *comm, pplan_stream *stream,
                               const void *src, void *dst, int64_t count,
                               int32_t dtype, const int32_t *targets,
                               const char *loc) {
  CallInfo Info = infoOf(CallKind::Permute, src, dst, count, dtype, loc);
  return guarded(loc, [&]() -> pplan_status * {
    if (!comm || !stream || !targets)
      return badCall(Info, "no communicator, stream or targets");
    int32_t From;
    if (pplan_status *Error = checkTargets(*comm, Info, targets, From))
      return Error;
    Call C(comm, Info);
    if (pplan_status *Error = C.check())
      return Error;
    int64_t Bytes = count * static_cast<int64_t>(pplan_rt_dtype_size(dtype));
    if (Bytes > 0 && (!src || !dst || src == dst))
      return badCall(Info, "a buffer is null, or source and destination are "
                           "the same");
    if (pplan_status *Error = C.enter())
      return Error;
    if (From < 0) {
      zeroBytes(dst, Bytes);
    } else {
      copyBytes(dst, C.src(From), Bytes);
      C.received(From, Bytes);
    }
    return C.phase();
  });
}

pplan_status *pplan_rt_broadcast(pplan_comm *comm, pplan_stream *stream,
                                 const void *src, void *dst, int64_t count,
                                 int32_t dtype, int32_t root, const char *loc) {
  CallInfo Info = infoOf(CallKind::Broadcast, src, dst, count, dtype, loc);
  Info.Arg = root;
  return guarded(loc, [&]() -> pplan_status * {
    if (!comm || !stream)
      return badCall(Info, "no communicator or stream");
    if (root < 0 || root >= comm->size())
      return makeError(PPLAN_INVALID_ARGUMENT, loc, comm->Context->Rank,
                       "broadcast: root %d in a group of %d", root,
                       comm->size());
    Call C(comm, Info);
    if (pplan_status *Error = C.check())
      return Error;
    int64_t Bytes = count * static_cast<int64_t>(pplan_rt_dtype_size(dtype));
    if (Bytes > 0 && (!dst || (C.rank() == root && !src)))
      return badCall(Info, "a buffer is null");
    if (pplan_status *Error = C.enter())
      return Error;
    if (C.src(root) != dst)
      copyBytes(dst, C.src(root), Bytes);
    C.received(root, Bytes);
    return C.phase();
  });
}

pplan_status *pplan_rt_barrier(pplan_comm *comm, pplan_stream *stream,
                               const char *loc) {
  CallInfo Info;
  Info.Loc = loc;
  return guarded(loc, [&]() -> pplan_status * {
    if (!comm || !stream)
      return badCall(Info, "no communicator or stream");
    return Call(comm, Info).enter();
  });
}
