//===- TraceTest.cpp - Mutated traces must be rejected --------------------===//
//
// Correct traces pass; one rank's trace changed in any way does not.
//
//===----------------------------------------------------------------------===//
#include "pplan/Partition/VerifyTraces.h"
#include <gtest/gtest.h>
#include <random>

using namespace pplan;

namespace {
/// Traces of collectives on a mesh of `rows` by `columns` ranks and of messages
/// around a ring, `numSteps` of them.
std::vector<RankTrace> makeTraces(std::mt19937 &random, int64_t rows,
                                  int64_t columns, int numSteps) {
  std::vector<RankTrace> traces(rows * columns);
  int64_t ranks = rows * columns;
  for (int step = 0; step < numSteps; ++step) {
    int kind = random() % 4;
    int64_t bytes = 16 << random() % 4;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      int64_t row = rank / columns, column = rank % columns;
      if (kind == 3) {
        TraceEvent send, recv, wait;
        send.kind = TraceKind::Send;
        send.peer = (rank + 1) % ranks;
        recv.kind = TraceKind::Recv;
        recv.peer = (rank + ranks - 1) % ranks;
        send.bytes = recv.bytes = bytes;
        send.tag = recv.tag = step;
        send.handle = 2 * step;
        recv.handle = 2 * step + 1;
        wait.kind = TraceKind::Wait;
        traces[rank].push_back(send);
        traces[rank].push_back(recv);
        wait.handle = 2 * step;
        traces[rank].push_back(wait);
        wait.handle = 2 * step + 1;
        traces[rank].push_back(wait);
        continue;
      }
      TraceEvent event;
      event.name = kind == 0 ? "all_reduce sum f32" : "all_gather 0 f32";
      event.bytes = bytes;
      event.site = step;
      if (kind == 2)
        for (int64_t other = 0; other < ranks; ++other)
          event.group.push_back(other);
      else if (kind == 0)
        for (int64_t i = 0; i < columns; ++i)
          event.group.push_back(row * columns + i);
      else
        for (int64_t i = 0; i < rows; ++i)
          event.group.push_back(i * columns + column);
      traces[rank].push_back(event);
    }
  }
  return traces;
}

/// Changes one event of one trace; false if nothing could be changed there.
bool mutate(std::mt19937 &random, RankTrace &trace, int kind,
            int64_t numRanks) {
  size_t index = random() % trace.size();
  TraceEvent &event = trace[index];
  switch (kind) {
  case 0: // drop
    trace.erase(trace.begin() + index);
    return true;
  case 1: // swap with the next collective
    if (index + 1 == trace.size() || event.kind != TraceKind::Collective ||
        trace[index + 1].kind != TraceKind::Collective)
      return false;
    std::swap(event, trace[index + 1]);
    return true;
  case 2: // retarget
    if (event.kind == TraceKind::Wait)
      return false;
    if (event.kind != TraceKind::Collective)
      event.peer = (event.peer + 1) % numRanks;
    else
      event.group.back() = (event.group.back() + 1) % numRanks;
    return true;
  default: // resize
    if (event.kind == TraceKind::Wait)
      return false;
    event.bytes += 4;
    return true;
  }
}

TraceEvent makeEvent(TraceKind kind, int64_t peer, int64_t handle) {
  TraceEvent event;
  event.kind = kind;
  event.peer = peer;
  event.handle = handle;
  event.bytes = 8;
  return event;
}

TraceEvent makeCollective(std::vector<int64_t> group, int64_t site) {
  TraceEvent event;
  event.name = "all_reduce sum f32";
  event.group = std::move(group);
  event.bytes = 8;
  event.site = site;
  return event;
}
} // namespace

TEST(Traces, CorrectOnesPass) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    TraceReport report = verifyTraces(
        makeTraces(random, 1 + random() % 3, 2 + random() % 3, 1 + i % 12));
    ASSERT_TRUE(report.ok) << report.message;
  }
}

TEST(Traces, EveryMutationOfOneRankIsRejected) {
  std::mt19937 random(2);
  int rejected[4] = {};
  for (int i = 0; i < 4000; ++i) {
    int64_t rows = 2 + random() % 2, columns = 2 + random() % 3;
    std::vector<RankTrace> traces =
        makeTraces(random, rows, columns, 1 + i % 9);
    int64_t rank = random() % traces.size();
    if (!mutate(random, traces[rank], i % 4, traces.size()))
      continue;
    ASSERT_FALSE(verifyTraces(traces).ok)
        << "mutation " << i % 4 << " of case " << i;
    ++rejected[i % 4];
  }
  for (int count : rejected)
    EXPECT_GT(count, 100);
}

TEST(Traces, CircularWaitsAreNamed) {
  // Three groups of two, each rank in another one first.
  std::vector<RankTrace> traces = {
      {makeCollective({0, 1}, 0), makeCollective({0, 2}, 1)},
      {makeCollective({1, 2}, 0), makeCollective({0, 1}, 1)},
      {makeCollective({0, 2}, 0), makeCollective({1, 2}, 1)}};
  TraceReport report = verifyTraces(traces);
  EXPECT_FALSE(report.ok);
  EXPECT_NE(report.message.find("wait for each other"), std::string::npos);
  EXPECT_NE(report.message.find("rank 2, event 0"), std::string::npos);
}

TEST(Traces, SendsThatWaitBeforeTheirReceivesDeadlock) {
  using K = TraceKind;
  std::vector<RankTrace> blocking = {
      {makeEvent(K::Send, 1, 0), makeEvent(K::Wait, -1, 0),
       makeEvent(K::Recv, 1, 1), makeEvent(K::Wait, -1, 1)},
      {makeEvent(K::Send, 0, 0), makeEvent(K::Wait, -1, 0),
       makeEvent(K::Recv, 0, 1), makeEvent(K::Wait, -1, 1)}};
  EXPECT_FALSE(verifyTraces(blocking).ok);
  for (RankTrace &trace : blocking)
    std::swap(trace[1], trace[2]);
  EXPECT_TRUE(verifyTraces(blocking).ok);
}

TEST(Traces, LooseEndsAreRejected) {
  using K = TraceKind;
  auto message = [](std::vector<RankTrace> traces) {
    return verifyTraces(traces).message;
  };
  EXPECT_NE(message({{makeEvent(K::Send, 1, 0)}, {}}).find("no partner"),
            std::string::npos);
  EXPECT_NE(message({{makeEvent(K::Wait, -1, 3)}}).find("never started"),
            std::string::npos);
  EXPECT_NE(message({{makeEvent(K::Send, 0, 0)}}).find("no other rank"),
            std::string::npos);
  EXPECT_NE(message({{makeEvent(K::Send, 1, 0)}, {makeEvent(K::Recv, 0, 0)}})
                .find("without waiting"),
            std::string::npos);
  EXPECT_NE(message({{makeCollective({0, 1}, 0)}, {}}).find("has ended"),
            std::string::npos);
  EXPECT_NE(message({{makeCollective({1}, 0)}, {}}).find("distinct ranks"),
            std::string::npos);
  EXPECT_NE(message({{makeCollective({0}, 1), makeCollective({0}, 0)}})
                .find("order of the program"),
            std::string::npos);
}
