//===- comm.h - phases of a collective, and parts of a dimension -*- C++ -*-===//
//
// The two things every collective is made of: a call that goes through phases
// in step with the group, and the places of the ranks' parts by the sharding
// rule. What is read and written in a phase is left to collectives.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_COMM_H
#define PPLAN_RT_CPU_COMM_H

#include "context.h"

namespace pplan::rt::cpu {

/// A rank's part of a dimension: `Valid` elements from `Offset` on.
struct Part {
  int64_t Offset;
  int64_t Valid;
};

/// The part of group rank `Rank` of a dimension of `Full` elements whose shards
/// have `Shard` elements.
Part partOf(const pplan_comm &Comm, int32_t Rank, int64_t Full, int64_t Shard);

/// Checks that `Shard` is a shard size for `Full` over the axes of `Comm`.
pplan_status *checkShard(const pplan_comm &Comm, const CallInfo &Info,
                         const char *Dim, int64_t Full, int64_t Shard);

/// One collective call of this rank, from the first check to its end.
class Call {
public:
  Call(pplan_comm *Comm, const CallInfo &Info)
      : Comm(*Comm), Info(Info), Parity(Comm->NumCalls & 1),
        Time(Comm->Context->Profile, Info.Loc) {}

  /// Checks communicator-independent arguments: sizes not negative and their
  /// product representable, dtype and operation known.
  pplan_status *check() const;

  /// Publishes the call, waits until all ranks have entered theirs, and checks
  /// that they match.
  pplan_status *enter();

  /// Waits until all ranks have called this as often as this rank has.
  pplan_status *phase();

  /// What group rank `Rank` published; valid after enter() until this rank makes
  /// another call.
  const CallInfo &info(int32_t Rank) const {
    return Comm.Group->Slots[Rank].Info[Parity];
  }
  /// The scratch buffer that goes with the info; a rank fills its own before it
  /// enters.
  unsigned char *scratch(int32_t Rank) const {
    return Comm.Group->Slots[Rank].Scratch[Parity];
  }
  const char *src(int32_t Rank) const {
    return static_cast<const char *>(info(Rank).Src);
  }
  int32_t rank() const { return Comm.Rank; }
  int32_t size() const { return Comm.size(); }
  /// Counts bytes taken from group rank `From`.
  void received(int32_t From, int64_t Bytes) const {
    if (From != Comm.Rank)
      Comm.Context->BytesReceived += Bytes;
  }

private:
  pplan_comm &Comm;
  const CallInfo &Info;
  unsigned Parity;
  CommunicationScope Time;
};

} // namespace pplan::rt::cpu

#endif // PPLAN_RT_CPU_COMM_H
