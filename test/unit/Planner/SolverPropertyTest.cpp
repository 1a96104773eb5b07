//===- SolverPropertyTest.cpp - Solvers against brute force ---------------===//
//
// Decides whether every algorithm agrees with brute force on random problems,
// in what each promises: the optimum, or a bound below and a valid choice
// above it, and exact marginals.
//
//===----------------------------------------------------------------------===//
#include "RandomProblem.h"
#include "pplan/Planner/IntraOpFormat.h"
#include "pplan/Planner/Solver.h"
#include <gtest/gtest.h>
#include <rapidcheck.h>

using namespace pplan;
using Status = IntraOpSolution::Status;

static std::string toText(const IntraOpProblem &problem) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printIntraOpText(problem, os);
  return text;
}

static IntraOpProblem drawProblem(bool limited) {
  RandomProblemOptions options;
  options.kind = *rc::gen::element(GraphKind::Tree, GraphKind::Chain,
                                   GraphKind::Band, GraphKind::Dense);
  options.nodes = *rc::gen::inRange(1, 9);
  options.maxStrategies = *rc::gen::inRange(1, 5);
  options.infinite = *rc::gen::inRange(0, 4);
  options.functional = *rc::gen::inRange(0, 6);
  options.integral = *rc::gen::arbitrary<bool>();
  options.limited = limited;
  IntraOpProblem problem =
      RandomProblem(*rc::gen::inRange(0, 1 << 30)).make(options);
  RC_LOG(toText(problem));
  RC_ASSERT(!problem.check());
  return problem;
}

template <typename T> static T unwrap(llvm::Expected<T> value) {
  if (!value)
    RC_FAIL(llvm::toString(value.takeError()));
  return std::move(*value);
}

static void assertValid(const IntraOpProblem &problem,
                        const IntraOpSolution &solution) {
  if (llvm::Error e = problem.verify(solution))
    RC_FAIL(llvm::toString(std::move(e)));
}

static bool near(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-9 * (1 + std::abs(b));
}

static void assertSameAnswer(const IntraOpProblem &problem,
                             const IntraOpSolution &solution,
                             const IntraOpSolution &oracle) {
  assertValid(problem, solution);
  RC_ASSERT(stringifyStatus(solution.status).str() ==
            stringifyStatus(oracle.status).str());
  RC_ASSERT(near(solution.objective, oracle.objective));
}

TEST(SolverProperty, EliminationIsBruteForceWithoutLimit) {
  EXPECT_TRUE(rc::check([] {
    IntraOpProblem problem = drawProblem(/*limited=*/false);
    IntraOpSolution oracle = unwrap(solveBruteForce(problem));
    assertValid(problem, oracle);
    assertSameAnswer(problem, unwrap(solveElimination(problem)), oracle);
  }));
}

TEST(SolverProperty, SolveIsBruteForceWithLimit) {
  EXPECT_TRUE(rc::check([] {
    IntraOpProblem problem = drawProblem(/*limited=*/true);
    IntraOpSolution oracle = unwrap(solveBruteForce(problem));
    assertSameAnswer(problem, unwrap(solve(problem)), oracle);
  }));
}

TEST(SolverProperty, MessagePassingBracketsTheOptimum) {
  EXPECT_TRUE(rc::check([] {
    IntraOpProblem problem = drawProblem(*rc::gen::arbitrary<bool>());
    IntraOpSolution oracle = unwrap(solveBruteForce(problem));
    SolverOptions options;
    options.timeoutSeconds = 2;
    IntraOpSolution solution = solveMessagePassing(problem, options);
    assertValid(problem, solution);
    if (oracle.status == Status::Infeasible) {
      RC_ASSERT(!solution.hasChoice());
      return;
    }
    RC_ASSERT(solution.status != Status::Infeasible);
    RC_ASSERT(solution.lowerBound <=
              oracle.objective + 1e-9 * (1 + oracle.objective));
    if (solution.hasChoice())
      RC_ASSERT(solution.objective >= oracle.objective - 1e-9);
  }));
}

TEST(SolverProperty, MarginalsAreThoseOfBruteForce) {
  EXPECT_TRUE(rc::check([] {
    IntraOpProblem problem = drawProblem(/*limited=*/false);
    std::vector<unsigned> nodes;
    for (unsigned i = 0; i < problem.getNumNodes(); ++i)
      nodes.push_back(i);
    MinMarginals marginals = unwrap(computeMinMarginals(problem, nodes));
    RC_ASSERT(marginals.exact);
    for (unsigned i : nodes)
      for (unsigned s = 0; s < problem.getNode(i).size(); ++s) {
        // Forbid all other strategies and solve.
        IntraOpProblem fixed = problem;
        for (unsigned t = 0; t < fixed.getNode(i).size(); ++t)
          if (t != s)
            fixed.getNode(i).costs[t] = kInfiniteCost;
        IntraOpSolution oracle = unwrap(solveBruteForce(fixed));
        RC_ASSERT(near(marginals.values[i][s], oracle.objective));
      }
  }));
}

TEST(SolverProperty, MarginalsWithLimitAreBounds) {
  EXPECT_TRUE(rc::check([] {
    IntraOpProblem problem = drawProblem(/*limited=*/true);
    std::vector<unsigned> nodes = {0};
    MinMarginals marginals = unwrap(computeMinMarginals(problem, nodes));
    for (unsigned s = 0; s < problem.getNode(0).size(); ++s) {
      IntraOpProblem fixed = problem;
      for (unsigned t = 0; t < fixed.getNode(0).size(); ++t)
        if (t != s)
          fixed.getNode(0).costs[t] = kInfiniteCost;
      IntraOpSolution oracle = unwrap(solveBruteForce(fixed));
      double value = marginals.values[0][s];
      RC_ASSERT(value <= oracle.objective + 1e-9 * (1 + oracle.objective));
      if (marginals.exact)
        RC_ASSERT(near(value, oracle.objective));
    }
  }));
}

TEST(SolverProperty, TextReadsBack) {
  EXPECT_TRUE(rc::check([] {
    IntraOpProblem problem = drawProblem(*rc::gen::arbitrary<bool>());
    std::string text = toText(problem);
    IntraOpProblem back = unwrap(parseIntraOpText(text, "text"));
    RC_ASSERT(toText(back) == text);
    IntraOpSolution a = unwrap(solveBruteForce(problem));
    IntraOpSolution b = unwrap(solveBruteForce(back));
    RC_ASSERT(a.choice == b.choice);
    RC_ASSERT(a.objective == b.objective);
  }));
}
