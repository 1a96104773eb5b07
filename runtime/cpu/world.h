//===- world.h - the ranks of one launch and how they wait ------*- C++ -*-===//
//
// What all ranks (threads) of a launch share: the mesh, the groups that
// communicators stand for, the channels between pairs of ranks, and the rules
// by which a wait ends: its condition holds, a rank failed, a rank that it needs
// has ended, or all ranks wait for each other. Leaves what is communicated to
// collectives.cpp and p2p.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_WORLD_H
#define PPLAN_RT_CPU_WORLD_H

#include "../core/status.h"
#include "pplan_rt/collectives.h"
#include "waitword.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace pplan::rt::cpu {

enum class CallKind : int32_t {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Permute,
  Broadcast,
  Barrier,
  Send,
  Recv
};

/// The name users know a call by.
const char *callName(CallKind Kind);

/// What a rank tells the others about the call it makes. Everything but the
/// pointers and `Loc` must be the same on all ranks of a group.
struct CallInfo {
  CallKind Kind = CallKind::Barrier;
  int32_t Dtype = -1; ///< -1: none
  int32_t Op = -1;    ///< -1: none
  int32_t Arg = 0;    ///< root, tag or split_first
  int32_t NumSizes = 0;
  int64_t Sizes[7] = {};
  uint64_t TargetsHash = 0; ///< of a permute's table
  const void *Src = nullptr;
  void *Dst = nullptr;
  const char *Loc = nullptr;

  bool matches(const CallInfo &Other) const;
  /// As in `all_reduce sum f32 [128] at "layer/3"`.
  std::string text() const;
};

/// One rank's place in a group. Calls alternate between two infos (and scratch
/// buffers), so that a small call needs no second wait: when a place is used
/// again, every rank has entered the call between and so has left the old one.
struct alignas(64) Slot {
  static constexpr size_t ScratchBytes = 4096;
  CallInfo Info[2];
  std::atomic<uint64_t> Arrived{0}; ///< phases that this rank has reached
  alignas(64) unsigned char Scratch[2][ScratchBytes];
};

/// The ranks of a communicator. Each call is a sequence of phases; a phase is
/// complete when all ranks have arrived at it.
struct Group {
  explicit Group(std::vector<int32_t> Members)
      : Members(std::move(Members)), Slots(this->Members.size()) {}

  std::vector<int32_t> Members; ///< global ranks by group rank
  std::vector<Slot> Slots;
  alignas(64) std::atomic<uint64_t> NumArrived{0};
  alignas(64) std::atomic<uint64_t> Complete{0}; ///< last complete phase
  WaitWord Word;
};

/// From one rank to another. At most one message is under way, in place.
struct Channel {
  enum : int32_t { Empty, Posted, Taken, Refused };
  std::atomic<int32_t> State{Empty};
  CallInfo Send; ///< of the sender while Posted
  CallInfo Recv; ///< of the receiver while Refused
  WaitWord Word;
};

/// A condition that a rank waits for.
class Waiting {
public:
  virtual ~Waiting() = default;
  /// Whether the condition holds.
  virtual bool done() const = 0;
  /// A rank that has ended although the condition needs it, or -1.
  virtual int32_t missing() const = 0;
  /// What is waited for, as in `all_reduce ... with rank 1`.
  virtual std::string text() const = 0;
  /// The location of the waiting call.
  virtual const char *loc() const = 0;
};

/// The ranks of one launch.
class World {
public:
  explicit World(std::vector<int64_t> AxisSizes);

  const std::vector<int64_t> &axisSizes() const { return AxisSizes; }
  int32_t numRanks() const { return NumRanks; }

  /// The group of `Rank` over `Axes`, in their order; made when first asked for.
  Group &group(int32_t Rank, const std::vector<int32_t> &Axes);
  Channel &channel(int32_t From, int32_t To);

  /// Waits for `W` on behalf of `Rank`; `Word` changes whenever `W` may have.
  /// Returns PPLAN_ABORTED, PPLAN_MISMATCH or PPLAN_DEADLOCK otherwise.
  pplan_status *wait(int32_t Rank, WaitWord &Word, const Waiting &W);

  bool hasEnded(int32_t Rank) const {
    return States[Rank].Ended.load(std::memory_order_acquire);
  }

  /// Notes that `Rank` has returned `Status` and takes it over.
  void end(int32_t Rank, pplan_status *Status);
  /// The error that came first, for the caller to own; NULL if there is none.
  pplan_status *takeError() { return FirstError.release(); }

private:
  struct RankState {
    std::atomic<bool> Ended{false};
    const Waiting *Blocked = nullptr; // guarded by Mutex
  };

  void wakeAll();
  bool giveUp(const Waiting &W) const;
  void checkDeadlock();
  pplan_status *reason(int32_t Rank, const Waiting &W);

  std::vector<int64_t> AxisSizes;
  int32_t NumRanks;
  int SpinCount;
  std::vector<RankState> States;
  std::atomic<bool> Aborted{false};
  std::atomic<bool> Deadlocked{false};

  std::mutex Mutex; // never taken by a wait that ends within milliseconds
  int32_t NumLive;
  int32_t NumBlocked = 0;
  StatusPtr FirstError;
  std::string DeadlockText;
  std::map<std::pair<std::vector<int32_t>, int32_t>, std::unique_ptr<Group>>
      Groups;
  std::map<std::pair<int32_t, int32_t>, std::unique_ptr<Channel>> Channels;
};

} // namespace pplan::rt::cpu

#endif // PPLAN_RT_CPU_WORLD_H
