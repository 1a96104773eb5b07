//===- profile.h - time per op on one rank ----------------------*- C++ -*-===//
//
// Counts calls and self time per source location, communication apart. Used by
// the back ends' contexts; printing is left to the program's main().
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_PROFILE_H
#define PPLAN_RT_CORE_PROFILE_H

#include "pplan_rt/base.h"

#include <chrono>
#include <map>
#include <utility>
#include <vector>

namespace pplan::rt {

/// The profile of one rank; used by its thread only.
class Profile {
public:
  bool enabled() const { return Enabled; }

  /// Starts anew or stops.
  void enable(bool On) {
    Enabled = On;
    if (!On)
      return;
    Rows.clear();
    Index.clear();
    Stack.clear();
  }

  void begin(const char *Loc, bool Communication) {
    Stack.push_back({Loc, Communication, Clock::now(), 0.0});
  }

  /// Ends the op begun last; an end without a begin is ignored.
  void end() {
    if (Stack.empty())
      return;
    Frame F = Stack.back();
    Stack.pop_back();
    double Total = std::chrono::duration<double>(Clock::now() - F.Start).count();
    if (!Stack.empty())
      Stack.back().Inside += Total;
    auto [It, New] = Index.try_emplace({F.Loc, F.Communication}, Rows.size());
    if (New)
      Rows.push_back({F.Loc, F.Communication, 0, 0, 0.0});
    pplan_profile_row &Row = Rows[It->second];
    ++Row.calls;
    Row.seconds += Total - F.Inside;
  }

  const std::vector<pplan_profile_row> &rows() const { return Rows; }

private:
  using Clock = std::chrono::steady_clock;
  struct Frame {
    const char *Loc;
    bool Communication;
    Clock::time_point Start;
    double Inside; // seconds of the ops inside this one
  };
  bool Enabled = false;
  std::vector<Frame> Stack;
  std::vector<pplan_profile_row> Rows;
  std::map<std::pair<const char *, bool>, size_t> Index;
};

/// Counts the time from here to the end of the scope as communication.
class CommunicationScope {
public:
  CommunicationScope(Profile &P, const char *Loc) : P(P), On(P.enabled()) {
    if (On)
      P.begin(Loc, /*Communication=*/true);
  }
  ~CommunicationScope() {
    if (On)
      P.end();
  }

private:
  Profile &P;
  bool On;
};

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_PROFILE_H
