//===- RandomProblem.h - Small random problems ------------------*- C++ -*-===//
//
// Decides which random problems the property tests see: trees, narrow graphs
// and dense ones, with ties, forbidden entries, and limits from loose to
// impossible.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_TEST_UNIT_PLANNER_RANDOMPROBLEM_H
#define PPLAN_TEST_UNIT_PLANNER_RANDOMPROBLEM_H

#include "pplan/Planner/IntraOpProblem.h"
#include <algorithm>
#include <random>

namespace pplan {

enum class GraphKind { Tree, Chain, Band, Dense };

struct RandomProblemOptions {
  GraphKind kind = GraphKind::Tree;
  unsigned nodes = 6;
  unsigned maxStrategies = 4;
  /// Of ten entries, how many are forbidden.
  unsigned infinite = 1;
  /// Of ten edges, how many map strategies one to one.
  unsigned functional = 1;
  bool limited = false;
  bool integral = true;
};

class RandomProblem {
public:
  explicit RandomProblem(unsigned seed) : random(seed) {}

  IntraOpProblem make(const RandomProblemOptions &options) {
    IntraOpProblem problem;
    for (unsigned i = 0; i < options.nodes; ++i) {
      std::vector<double> costs;
      for (unsigned s = 1 + draw(options.maxStrategies); s > 0; --s)
        costs.push_back(cost(options));
      problem.addNode("", std::move(costs));
    }
    for (unsigned i = 1; i < options.nodes; ++i)
      for (unsigned j = 0; j < i; ++j)
        if (joined(options.kind, i, j))
          addEdge(problem, i, j, options);
    if (options.limited)
      addUsages(problem);
    return problem;
  }

private:
  unsigned draw(unsigned below) { return random() % below; }

  double cost(const RandomProblemOptions &options) {
    if (draw(10) < options.infinite)
      return kInfiniteCost;
    return options.integral ? draw(20) : draw(1000000) / 7e5;
  }

  bool joined(GraphKind kind, unsigned i, unsigned j) {
    switch (kind) {
    case GraphKind::Tree:
      if (j == 0)
        parent = draw(i);
      return j == parent;
    case GraphKind::Chain:
      return j + 1 == i;
    case GraphKind::Band:
      return j + 3 > i && draw(4) != 0;
    case GraphKind::Dense:
      return draw(3) != 0;
    }
    return false;
  }

  void addEdge(IntraOpProblem &problem, unsigned i, unsigned j,
               const RandomProblemOptions &options) {
    if (draw(2))
      std::swap(i, j);
    unsigned rows = problem.getNode(i).size();
    unsigned columns = problem.getNode(j).size();
    std::vector<double> costs;
    bool functional = draw(10) < options.functional;
    for (unsigned a = 0; a < rows; ++a)
      for (unsigned b = 0; b < columns; ++b)
        costs.push_back(functional && (a + i) % columns != b ? kInfiniteCost
                                                             : cost(options));
    problem.addEdge(i, j, std::move(costs));
    if (draw(8) == 0) // A parallel edge, the other way round.
      problem.addEdge(j, i, std::vector<double>(rows * columns, draw(3)));
  }

  void addUsages(IntraOpProblem &problem) {
    int64_t sum = 0;
    for (unsigned i = 0; i < problem.getNumNodes(); ++i)
      for (unsigned count = draw(3); count > 0; --count) {
        int64_t start = draw(10), end = start + draw(6);
        std::vector<int64_t> bytes;
        for (unsigned s = 0; s < problem.getNode(i).size(); ++s)
          bytes.push_back(draw(12));
        sum += bytes[0];
        problem.addUsage(i, start, end, std::move(bytes));
      }
    problem.usageLimit = draw(static_cast<unsigned>(sum) + 2);
  }

  std::mt19937 random;
  unsigned parent = 0;
};

} // namespace pplan

#endif // PPLAN_TEST_UNIT_PLANNER_RANDOMPROBLEM_H
