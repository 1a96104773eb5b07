//===- VerifyTraces.h - Communication of all ranks, simulated ---*- C++ -*-===//
//
// Decides whether what the ranks of a program communicate can complete: every
// collective is entered alike by its whole group, every send meets its receive,
// and nobody waits for somebody who waits for them. Plain data; knows nothing
// of how traces are made.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PARTITION_VERIFYTRACES_H
#define PPLAN_PARTITION_VERIFYTRACES_H

#include <cstdint>
#include <string>
#include <vector>

namespace pplan {

/// What a rank does.
enum class TraceKind {
  Collective, ///< blocks until all members of `group` are in it
  Send,       ///< posts a message to `peer`; does not block
  Recv,       ///< posts a receive from `peer`; does not block
  Wait,       ///< blocks until the operation with `handle` is complete
};

/// One event of a rank. Fields that the kind does not name are ignored.
struct TraceEvent {
  TraceKind kind = TraceKind::Collective;
  std::string name; ///< collective: its kind, element type and details
  std::vector<int64_t> group; ///< collective: ranks in group order
  int64_t bytes = 0; ///< collective: sent from each rank; else the message
  /// Collective: its place in the program. Places increase along each trace.
  int64_t site = 0;
  int64_t peer = -1;   ///< send, receive: the other rank
  int64_t tag = 0;     ///< send, receive
  int64_t handle = -1; ///< send, receive: unique in the rank; wait: which
};

/// The events of one rank in program order.
using RankTrace = std::vector<TraceEvent>;

/// The outcome; `rank` and `index` say at which event it failed.
struct TraceReport {
  bool ok = true;
  std::string message;
  int64_t rank = -1;
  int64_t index = -1;
};

/// Simulates all ranks to the end. Messages between two ranks match in the
/// order in which they are posted; a send completes when its receive is posted
/// (no buffering is assumed), so what passes here completes with any buffering.
TraceReport verifyTraces(const std::vector<RankTrace> &traces);

/// One line for an event: `all_reduce sum f32 of 128 bytes in {0, 1}`.
std::string describeEvent(const TraceEvent &event);

} // namespace pplan

#endif // PPLAN_PARTITION_VERIFYTRACES_H
