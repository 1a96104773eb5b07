//===- IntraOpProblemTest.cpp - check, evaluate, verify -------------------===//
//
// Decides whether malformed problems and wrong solutions are told from right
// ones, each with the message it deserves.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/IntraOpProblem.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace pplan;
using Status = IntraOpSolution::Status;

/// Two nodes that are alive together at time 4 only.
static IntraOpProblem makeProblem() {
  IntraOpProblem problem;
  problem.addNode("a", {1, 4});
  problem.addNode("b", {2, 3});
  problem.addUsage(0, 0, 5, {8, 2});
  problem.addUsage(1, 4, 9, {7, 7});
  problem.addEdge(0, 1, {0, kInfiniteCost, 5, 1});
  problem.usageLimit = 10;
  return problem;
}

static std::string message(llvm::Error error) {
  return llvm::toString(std::move(error));
}

TEST(IntraOpProblem, EvaluatesCostAndPeak) {
  IntraOpProblem problem = makeProblem();
  EXPECT_EQ(message(problem.check()), "");
  EXPECT_EQ(problem.evaluate({1, 1}), 8);
  EXPECT_EQ(problem.evaluate({0, 1}), kInfiniteCost);
  EXPECT_EQ(problem.peakUsage({0, 0}).bytes, 15);
  EXPECT_EQ(problem.peakUsage({0, 0}).time, 4);
}

TEST(IntraOpProblem, IntervalsAreHalfOpen) {
  IntraOpProblem problem;
  problem.addNode("a", {0});
  problem.addNode("b", {0});
  problem.addUsage(0, 0, 5, {8});
  problem.addUsage(1, 5, 9, {7});
  problem.addUsage(1, 3, 3, {100});
  EXPECT_EQ(problem.peakUsage({0, 0}).bytes, 8);
}

static IntraOpSolution rightSolution() {
  IntraOpSolution solution;
  solution.status = Status::Optimal;
  solution.choice = {1, 1};
  solution.objective = solution.lowerBound = 8;
  return solution;
}

TEST(IntraOpProblem, VerifiesWhatIsRight) {
  IntraOpProblem problem = makeProblem();
  EXPECT_EQ(message(problem.verify(rightSolution())), "");
  EXPECT_EQ(rightSolution().gap(), 0);
  IntraOpSolution none;
  EXPECT_EQ(message(problem.verify(none)), "");
  EXPECT_EQ(none.gap(), kInfiniteCost);
}

TEST(IntraOpProblem, VerifyCatchesCorruption) {
  IntraOpProblem problem = makeProblem();
  struct Case {
    void (*corrupt)(IntraOpSolution &);
    const char *message;
  };
  const Case cases[] = {
      {[](IntraOpSolution &s) { s.choice.pop_back(); },
       "the solution has 1 choices for 2 nodes"},
      {[](IntraOpSolution &s) { s.choice[1] = 2; },
       "node 1 'b' takes strategy 2, but has 2"},
      {[](IntraOpSolution &s) { s.choice[0] = 0; },
       "the solution takes a forbidden strategy or pair"},
      {[](IntraOpSolution &s) { s.objective = 7; },
       "the solution states the objective 7, but costs "
       "8"},
      {[](IntraOpSolution &s) {
         s.choice = {0, 0};
         s.objective = s.lowerBound = 3;
       },
       "the usage 15 at time 4 exceeds the limit 10"},
      {[](IntraOpSolution &s) { s.lowerBound = 9; },
       "the lower bound 9 exceeds the objective 8"},
      {[](IntraOpSolution &s) { s.lowerBound = 4; },
       "the solution says optimal, but its lower bound 4 is below "
       "the objective 8"},
      {[](IntraOpSolution &s) { s.status = Status::Infeasible; },
       "the solution has a choice, but says infeasible"},
  };
  for (const Case &c : cases) {
    IntraOpSolution solution = rightSolution();
    c.corrupt(solution);
    EXPECT_EQ(message(problem.verify(solution)), c.message);
  }
}

TEST(IntraOpProblem, CheckCatchesMalformedData) {
  struct Case {
    void (*corrupt)(IntraOpProblem &);
    const char *message;
  };
  const Case cases[] = {
      {[](IntraOpProblem &p) { p.addNode("c", {}); },
       "node 2 'c' has no strategy"},
      {[](IntraOpProblem &p) { p.getNode(0).costs[1] = NAN; },
       "node 0 'a' has cost nan for strategy 1; a cost is a number or plus "
       "infinity"},
      {[](IntraOpProblem &p) { p.getNode(0).strategies = {"x"}; },
       "node 0 'a' has 1 strategy names for 2 costs"},
      {[](IntraOpProblem &p) { p.addUsage(1, 0, 1, {3}); },
       "node 1 'b' has 1 usages for 2 costs"},
      {[](IntraOpProblem &p) {
         p.addUsage(1, 0, 1, {3, -4});
       },
       "node 1 'b' has the negative usage -4"},
      {[](IntraOpProblem &p) {
         p.addUsage(1, 0, 1, {int64_t(1) << 62, 0});
       },
       "usages up to node 1 'b' add up to more than 4611686018427387904 "
       "bytes"},
      {[](IntraOpProblem &p) { p.addEdge(0, 5, {1}); },
       "edge 1 ends at node 5, but there are 2 nodes"},
      {[](IntraOpProblem &p) {
         p.addEdge(1, 1, {1, 2, 3, 4});
       },
       "edge 1 joins node 1 'b' to itself; add its diagonal to the node's "
       "costs"},
      {[](IntraOpProblem &p) {
         p.addEdge(1, 0, {1, 2});
       },
       "edge 1 between node 1 'b' and node 0 'a' has 2 costs for 2 x 2 "
       "strategies"},
      {[](IntraOpProblem &p) {
         p.addEdge(1, 0, {1, 2, -kInfiniteCost, 3});
       },
       "edge 1 has cost -INF at [1][0]; a cost is a number or plus infinity"},
      {[](IntraOpProblem &p) { p.usageLimit = -1; },
       "the usage limit -1 is negative"},
  };
  for (const Case &c : cases) {
    IntraOpProblem problem = makeProblem();
    c.corrupt(problem);
    EXPECT_EQ(message(problem.check()), c.message);
  }
}
