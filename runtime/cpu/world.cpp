//===- world.cpp - the ranks of one launch and how they wait --------------===//
//
// See world.h. A wait first spins if every rank can have a core, then sleeps.
// Only a wait that has slept for a while reports itself as blocked; when all
// ranks that have not ended are blocked, and none of their conditions holds,
// nobody is left who could make one hold.
//
//===----------------------------------------------------------------------===//
#include "world.h"

#include <algorithm>
#include <thread>

namespace pplan::rt::cpu {

/// How often a wait looks before it sleeps if every rank can have a core: about
/// as long (10 microseconds) as sleeping and waking take. Longer only hurts, above
/// all where other programs want the cores too.
static constexpr int SpinIfCores = 200;
/// How long a wait sleeps before it takes part in deadlock detection.
static constexpr int BlockedAfterMilliseconds = 20;
/// How often a blocked wait looks again by itself.
static constexpr int RecheckMilliseconds = 1000;

World::World(std::vector<int64_t> Sizes)
    : AxisSizes(std::move(Sizes)), NumRanks(1), SpinCount(0) {
  for (int64_t Size : AxisSizes)
    NumRanks *= static_cast<int32_t>(Size);
  NumLive = NumRanks;
  States = std::vector<RankState>(NumRanks);
  if (static_cast<unsigned>(NumRanks) <= std::thread::hardware_concurrency())
    SpinCount = SpinIfCores;
}

Group &World::group(int32_t Rank, const std::vector<int32_t> &Axes) {
  // Strides of the axes in the numbering of ranks.
  std::vector<int64_t> Strides(AxisSizes.size(), 1);
  for (size_t I = AxisSizes.size(); I-- > 1;)
    Strides[I - 1] = Strides[I] * AxisSizes[I];
  int64_t First = Rank;
  int64_t Size = 1;
  for (int32_t Axis : Axes) {
    First -= Rank / Strides[Axis] % AxisSizes[Axis] * Strides[Axis];
    Size *= AxisSizes[Axis];
  }
  std::lock_guard<std::mutex> Lock(Mutex);
  auto &Entry = Groups[{Axes, static_cast<int32_t>(First)}];
  if (Entry)
    return *Entry;
  std::vector<int32_t> Members(Size);
  for (int64_t I = 0; I < Size; ++I) {
    int64_t Member = First;
    int64_t Rest = I;
    for (size_t A = Axes.size(); A-- > 0;) {
      Member += Rest % AxisSizes[Axes[A]] * Strides[Axes[A]];
      Rest /= AxisSizes[Axes[A]];
    }
    Members[I] = static_cast<int32_t>(Member);
  }
  Entry = std::make_unique<Group>(std::move(Members));
  return *Entry;
}

Channel &World::channel(int32_t From, int32_t To) {
  std::lock_guard<std::mutex> Lock(Mutex);
  auto &Entry = Channels[{From, To}];
  if (!Entry)
    Entry = std::make_unique<Channel>();
  return *Entry;
}

bool World::giveUp(const Waiting &W) const {
  return Aborted.load(std::memory_order_acquire) ||
         Deadlocked.load(std::memory_order_acquire) || W.missing() >= 0;
}

pplan_status *World::wait(int32_t Rank, WaitWord &Word, const Waiting &W) {
  for (int I = 0; I < SpinCount; ++I) {
    if (W.done())
      return nullptr;
    __builtin_ia32_pause();
  }
  bool Blocked = false;
  pplan_status *Result = nullptr;
  while (true) {
    uint32_t Ticket = Word.ticket();
    if (W.done())
      break;
    if (giveUp(W)) {
      // The peer may have made the condition hold just before it ended.
      if (!W.done())
        Result = reason(Rank, W);
      break;
    }
    if (!Blocked) {
      Word.sleep(Ticket, BlockedAfterMilliseconds);
      if (Word.ticket() != Ticket || W.done())
        continue;
      std::lock_guard<std::mutex> Lock(Mutex);
      Blocked = true;
      States[Rank].Blocked = &W;
      ++NumBlocked;
      checkDeadlock();
      continue;
    }
    Word.sleep(Ticket, RecheckMilliseconds);
  }
  if (Blocked) {
    std::lock_guard<std::mutex> Lock(Mutex);
    States[Rank].Blocked = nullptr;
    --NumBlocked;
  }
  return Result;
}

void World::checkDeadlock() {
  if (NumBlocked != NumLive || NumLive == 0 || Deadlocked.load() ||
      Aborted.load())
    return;
  std::string Text = "every rank waits for another one:";
  for (int32_t R = 0; R < NumRanks; ++R) {
    const Waiting *W = States[R].Blocked;
    if (!W)
      continue;
    if (W->done() || W->missing() >= 0)
      return;
    Text += format("\n  rank %d: %s", R, W->text().c_str());
  }
  DeadlockText = std::move(Text);
  Deadlocked.store(true, std::memory_order_release);
  wakeAll();
}

pplan_status *World::reason(int32_t Rank, const Waiting &W) {
  std::unique_lock<std::mutex> Lock(Mutex);
  if (Deadlocked.load(std::memory_order_acquire))
    return makeError(PPLAN_DEADLOCK, W.loc(), Rank, "%s", DeadlockText.c_str());
  if (FirstError) {
    int32_t Culprit = pplan_rt_status_rank(FirstError.get());
    return makeError(PPLAN_ABORTED, W.loc(), Rank,
                     "ended because rank %d failed: %s", Culprit,
                     pplan_rt_status_message(FirstError.get()));
  }
  Lock.unlock();
  int32_t Missing = W.missing();
  return makeError(PPLAN_MISMATCH, W.loc(), Rank,
                   "rank %d has ended, but rank %d waits for it in %s", Missing,
                   Rank, W.text().c_str());
}

void World::end(int32_t Rank, pplan_status *Status) {
  setRank(Status, Rank);
  std::lock_guard<std::mutex> Lock(Mutex);
  if (Status) {
    // An error that only says that another rank failed is never the first.
    if (!FirstError)
      FirstError.reset(Status);
    else
      pplan_rt_status_free(Status);
    Aborted.store(true, std::memory_order_release);
  }
  States[Rank].Ended.store(true, std::memory_order_release);
  --NumLive;
  wakeAll();
  checkDeadlock();
}

void World::wakeAll() {
  for (auto &Entry : Groups)
    Entry.second->Word.notifyAll();
  for (auto &Entry : Channels)
    Entry.second->Word.notifyAll();
}

//===----------------------------------------------------------------------===//
// CallInfo
//===----------------------------------------------------------------------===//

const char *callName(CallKind Kind) {
  static constexpr const char *Names[] = {
      "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "permute",
      "broadcast",  "barrier",    "send",           "recv"};
  return Names[static_cast<int32_t>(Kind)];
}

bool CallInfo::matches(const CallInfo &Other) const {
  return Kind == Other.Kind && Dtype == Other.Dtype && Op == Other.Op &&
         Arg == Other.Arg && NumSizes == Other.NumSizes &&
         TargetsHash == Other.TargetsHash &&
         std::equal(Sizes, Sizes + NumSizes, Other.Sizes);
}

std::string CallInfo::text() const {
  static constexpr const char *Ops[] = {"sum", "prod", "max", "min"};
  std::string Text = callName(Kind);
  if (Op >= PPLAN_SUM && Op <= PPLAN_MIN)
    Text += format(" %s", Ops[Op]);
  if (Dtype >= 0)
    Text += format(" %s", pplan_rt_dtype_name(Dtype));
  for (int32_t I = 0; I < NumSizes; ++I)
    Text += format("%s%lld", I ? ", " : " [", static_cast<long long>(Sizes[I]));
  if (NumSizes)
    Text += "]";
  if (Kind == CallKind::Broadcast)
    Text += format(" root %d", Arg);
  if (Kind == CallKind::Send || Kind == CallKind::Recv)
    Text += format(" tag %d", Arg);
  if (Kind == CallKind::AllToAll)
    Text += Arg ? " split first" : " concat first";
  if (Kind == CallKind::Permute)
    Text += format(" targets #%04x", static_cast<unsigned>(TargetsHash & 0xffff));
  return Text + (Loc ? format(" at \"%s\"", Loc) : " at unknown location");
}

} // namespace pplan::rt::cpu
