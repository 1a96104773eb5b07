//===- VerifyTraces.cpp - Communication of all ranks, simulated -----------===//
//
// Every rank runs until it blocks. When nobody can go on and somebody is not
// done, the blocked ranks and what they wait for are the proof of a deadlock.
//
//===----------------------------------------------------------------------===//
#include "pplan/Partition/VerifyTraces.h"
#include <algorithm>
#include <deque>
#include <map>
#include <set>

using namespace pplan;

static std::string print(const std::vector<int64_t> &ranks) {
  std::string text = "{";
  for (size_t i = 0; i < ranks.size(); ++i)
    text += (i ? ", " : "") + std::to_string(ranks[i]);
  return text + "}";
}

std::string pplan::describeEvent(const TraceEvent &event) {
  switch (event.kind) {
  case TraceKind::Collective:
    return event.name + " of " + std::to_string(event.bytes) + " bytes in " +
           print(event.group);
  case TraceKind::Send:
    return "send of " + std::to_string(event.bytes) + " bytes to rank " +
           std::to_string(event.peer) + ", tag " + std::to_string(event.tag);
  case TraceKind::Recv:
    return "receive of " + std::to_string(event.bytes) + " bytes from rank " +
           std::to_string(event.peer) + ", tag " + std::to_string(event.tag);
  case TraceKind::Wait:
    return "wait for handle " + std::to_string(event.handle);
  }
  return "";
}

namespace {
class Simulation {
public:
  explicit Simulation(const std::vector<RankTrace> &traces)
      : traces(traces), next(traces.size(), 0), handles(traces.size()) {}

  TraceReport run() {
    // Ranks to look at again: those that an event may have set free.
    for (int64_t rank = 0; rank < getNumRanks() && report.ok; ++rank) {
      checkOrder(rank);
      ready.push_back(rank);
    }
    while (!ready.empty() && report.ok) {
      int64_t rank = ready.front();
      ready.pop_front();
      while (report.ok && !isDone(rank) && step(rank))
        ;
    }
    if (report.ok)
      checkEnd();
    return report;
  }

private:
  /// A message that has been posted on one side.
  struct Post {
    int64_t rank, index;
  };
  int64_t getNumRanks() const { return traces.size(); }
  bool isDone(int64_t rank) const {
    return next[rank] == static_cast<int64_t>(traces[rank].size());
  }
  const TraceEvent &getNext(int64_t rank) const {
    return traces[rank][next[rank]];
  }
  bool fail(int64_t rank, const std::string &message) {
    report = {false, message, rank, next[rank]};
    return false;
  }
  std::string at(int64_t rank, int64_t index) const {
    return "rank " + std::to_string(rank) + ", event " + std::to_string(index) +
           " (" + describeEvent(traces[rank][index]) + ")";
  }

  /// Lets a rank do its next event; false when it blocks.
  bool step(int64_t rank) {
    const TraceEvent &event = getNext(rank);
    switch (event.kind) {
    case TraceKind::Collective:
      return enter(rank, event);
    case TraceKind::Send:
    case TraceKind::Recv:
      return post(rank, event);
    case TraceKind::Wait:
      break;
    }
    auto found = handles[rank].find(event.handle);
    if (found == handles[rank].end())
      return fail(rank,
                  at(rank, next[rank]) + " waits for what was never started");
    if (!found->second)
      return false;
    handles[rank].erase(found);
    ++next[rank];
    return true;
  }

  bool checkGroup(int64_t rank, const TraceEvent &event) {
    std::set<int64_t> members(event.group.begin(), event.group.end());
    if (members.size() != event.group.size() || !members.count(rank) ||
        *members.begin() < 0 || *members.rbegin() >= getNumRanks())
      return fail(rank, at(rank, next[rank]) +
                            " is in a group that is not one of distinct ranks "
                            "with this one");
    return true;
  }

  /// All ranks enter collectives in the order of the program, even where
  /// another order would complete with blocking groups.
  void checkOrder(int64_t rank) {
    const RankTrace &trace = traces[rank];
    int64_t before = -1;
    for (int64_t index = 0; index < static_cast<int64_t>(trace.size());
         ++index) {
      if (trace[index].kind != TraceKind::Collective)
        continue;
      if (before >= 0 && trace[before].site >= trace[index].site) {
        next[rank] = index;
        fail(rank, at(rank, index) +
                       " comes before, in the order of the program, " +
                       at(rank, before));
        return;
      }
      before = index;
    }
  }

  /// Goes on once the whole group stands before the same collective.
  bool enter(int64_t rank, const TraceEvent &event) {
    if (!checkGroup(rank, event))
      return false;
    for (int64_t member : event.group) {
      if (isDone(member))
        return fail(rank, at(rank, next[rank]) + " waits for rank " +
                              std::to_string(member) + ", which has ended");
      const TraceEvent &other = getNext(member);
      if (other.kind == TraceKind::Wait)
        return false;
      if (other.kind != TraceKind::Collective)
        return false; // it will come to post and go on
      if (other.name == event.name && other.group == event.group &&
          other.bytes == event.bytes && other.site == event.site)
        continue;
      bool isElsewhere = std::find(other.group.begin(), other.group.end(),
                                   rank) == other.group.end();
      if (isElsewhere)
        return false; // in another group first; this rank waits
      return fail(rank, at(rank, next[rank]) + " does not match " +
                            at(member, next[member]));
    }
    for (int64_t member : event.group) {
      ++next[member];
      if (member != rank)
        ready.push_back(member);
    }
    return true;
  }

  bool post(int64_t rank, const TraceEvent &event) {
    bool isSend = event.kind == TraceKind::Send;
    if (event.peer < 0 || event.peer >= getNumRanks() || event.peer == rank)
      return fail(rank, at(rank, next[rank]) + " names no other rank");
    if (!handles[rank].emplace(event.handle, false).second)
      return fail(rank, at(rank, next[rank]) + " uses a handle that is in use");
    auto channel =
        isSend ? std::pair(rank, event.peer) : std::pair(event.peer, rank);
    std::deque<Post> &others = (isSend ? receives : sends)[channel];
    if (others.empty()) {
      (isSend ? sends : receives)[channel].push_back({rank, next[rank]});
      ++next[rank];
      return true;
    }
    Post match = others.front();
    others.pop_front();
    const TraceEvent &other = traces[match.rank][match.index];
    if (other.bytes != event.bytes || other.tag != event.tag)
      return fail(rank, at(rank, next[rank]) + " does not match " +
                            at(match.rank, match.index));
    handles[rank][event.handle] = true;
    handles[match.rank][other.handle] = true;
    ready.push_back(match.rank);
    ++next[rank];
    return true;
  }

  void checkEnd() {
    std::string blocked;
    int64_t first = -1;
    for (int64_t rank = 0; rank < getNumRanks(); ++rank) {
      if (isDone(rank))
        continue;
      if (first < 0)
        first = rank;
      blocked += (blocked.empty() ? "" : "; ") + at(rank, next[rank]);
    }
    if (first >= 0) {
      fail(first, "these wait for each other: " + blocked);
      return;
    }
    for (auto *posts : {&sends, &receives})
      for (auto &[channel, queue] : *posts)
        if (!queue.empty()) {
          Post post = queue.front();
          report = {false, at(post.rank, post.index) + " has no partner",
                    post.rank, post.index};
          return;
        }
    for (int64_t rank = 0; rank < getNumRanks(); ++rank)
      if (!handles[rank].empty()) {
        fail(rank, "rank " + std::to_string(rank) +
                       " ends without waiting for handle " +
                       std::to_string(handles[rank].begin()->first));
        return;
      }
  }

  const std::vector<RankTrace> &traces;
  std::vector<int64_t> next;
  /// Per rank: started operations and whether they are complete.
  std::vector<std::map<int64_t, bool>> handles;
  std::map<std::pair<int64_t, int64_t>, std::deque<Post>> sends, receives;
  std::deque<int64_t> ready;
  TraceReport report;
};
} // namespace

TraceReport pplan::verifyTraces(const std::vector<RankTrace> &traces) {
  return Simulation(traces).run();
}
