//===- SolverTest.cpp - Solvers on known problems -------------------------===//
//
// Decides whether the algorithms answer problems whose answer is known, keep
// to their budgets, and are quick on graphs of a transformer's shape.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/Solver.h"
#include "RandomProblem.h"
#include "pplan/Planner/IntraOpFormat.h"
#include <gtest/gtest.h>

using namespace pplan;
using Status = IntraOpSolution::Status;

template <typename T> static T unwrap(llvm::Expected<T> value) {
  if (!value) {
    ADD_FAILURE() << llvm::toString(value.takeError());
    exit(1);
  }
  return std::move(*value);
}

TEST(Solver, EmptyProblemCostsNothing) {
  IntraOpProblem problem;
  for (auto solution :
       {unwrap(solve(problem)), unwrap(solveBruteForce(problem)),
        unwrap(solveElimination(problem))}) {
    EXPECT_EQ(solution.status, Status::Optimal);
    EXPECT_EQ(solution.objective, 0);
  }
}

TEST(Solver, BruteForceRefusesWhatIsTooLarge) {
  IntraOpProblem problem;
  for (int i = 0; i < 40; ++i)
    problem.addNode("", {0, 1});
  auto solution = solveBruteForce(problem);
  ASSERT_FALSE(bool(solution));
  EXPECT_EQ(llvm::toString(solution.takeError()),
            "brute force would try more than 20000000 assignments; use "
            "elimination");
}

TEST(Solver, EliminationStatesWhatItWouldNeed) {
  RandomProblemOptions shape;
  shape.kind = GraphKind::Dense;
  shape.nodes = 40;
  shape.infinite = 0;
  shape.functional = 0;
  shape.integral = false;
  IntraOpProblem problem = RandomProblem(1).make(shape);
  SolverOptions options;
  options.timeoutSeconds = 5;
  options.maxTableBytes = 1 << 20;
  auto solution = solveElimination(problem, options);
  ASSERT_FALSE(bool(solution));
  EXPECT_NE(llvm::toString(solution.takeError()).find("more than its budget"),
            std::string::npos);
}

TEST(Solver, RefusesMalformedProblems) {
  IntraOpProblem problem;
  problem.addNode("a", {});
  auto solution = solve(problem);
  ASSERT_FALSE(bool(solution));
  EXPECT_EQ(llvm::toString(solution.takeError()), "node 0 'a' has no strategy");
}

/// Layers of a transformer's shape: a residual stream, branches of several
/// nodes, and one mask that every layer reads.
static IntraOpProblem makeLayers(unsigned layers, unsigned strategies) {
  IntraOpProblem problem;
  std::mt19937 random(7);
  auto node = [&](std::vector<unsigned> inputs) {
    std::vector<double> costs;
    for (unsigned s = 0; s < strategies; ++s)
      costs.push_back((random() % 1000) * 1e-6);
    unsigned v = problem.addNode("", std::move(costs));
    for (unsigned input : inputs) {
      std::vector<double> reshard;
      for (unsigned a = 0; a < strategies; ++a)
        for (unsigned b = 0; b < strategies; ++b)
          reshard.push_back(a == b ? 0 : (random() % 1000) * 1e-6);
      problem.addEdge(input, v, std::move(reshard));
    }
    return v;
  };
  unsigned mask = node({}), x = node({});
  for (unsigned l = 0; l < layers; ++l) {
    unsigned norm = node({x});
    unsigned q = node({norm}), k = node({norm}), v = node({norm});
    unsigned scores = node({q, k});
    unsigned soft = node({node({scores, mask})});
    unsigned out = node({node({soft, v})});
    unsigned y = node({x, out});
    unsigned up = node({node({y})});
    x = node({y, node({node({up})})});
  }
  return problem;
}

TEST(Solver, TransformerShapeIsSolvedExactly) {
  IntraOpProblem problem = makeLayers(/*layers=*/24, /*strategies=*/24);
  SolverOptions options;
  options.timeoutSeconds = 120;
  IntraOpSolution solution = unwrap(solve(problem, options));
  EXPECT_EQ(solution.status, Status::Optimal);
  EXPECT_EQ(llvm::toString(problem.verify(solution)), "");
  std::vector<unsigned> nodes = {0, 1, 100, problem.getNumNodes() - 1};
  MinMarginals marginals = unwrap(computeMinMarginals(problem, nodes, options));
  EXPECT_TRUE(marginals.exact);
  for (size_t k = 0; k < nodes.size(); ++k) {
    double least = kInfiniteCost;
    for (double value : marginals.values[k])
      least = std::min(least, value);
    EXPECT_NEAR(least, solution.objective, 1e-9 * solution.objective);
    EXPECT_NEAR(marginals.values[k][solution.choice[nodes[k]]],
                solution.objective, 1e-9 * solution.objective);
  }
}
