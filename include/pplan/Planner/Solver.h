//===- Solver.h - Algorithms for intra-operator problems --------*- C++ -*-===//
//
// Decides which algorithms there are, what each promises, and which one
// solve() picks. The problem itself is in IntraOpProblem.h. Every algorithm
// expects a problem that has passed check(), and returns an error only when
// it refuses the problem; an infeasible one is a solution with that status.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PLANNER_SOLVER_H
#define PPLAN_PLANNER_SOLVER_H

#include "pplan/Planner/IntraOpProblem.h"

namespace pplan {

struct SolverOptions {
  /// Wall-clock seconds after which the best solution so far is returned.
  double timeoutSeconds = 60;
  /// Bytes that all tables of one elimination may take together.
  uint64_t maxTableBytes = uint64_t(1) << 30;
  /// Additions that one elimination may take (1e10 is a few seconds).
  double maxTableWork = 2e10;
  /// Assignments that solveBruteForce is willing to enumerate.
  uint64_t maxAssignments = 20'000'000;
};

/// Tries every assignment, with the limit. The oracle for tests. Error: more
/// than `maxAssignments` of them.
llvm::Expected<IntraOpSolution>
solveBruteForce(const IntraOpProblem &problem,
                const SolverOptions &options = {});

/// Exact when the graph is narrow: reductions, then variable elimination over
/// a min-fill order. Without a limit, or with one that the cheapest choice
/// keeps, the answer is optimal. When the limit binds, prices on usage give a
/// bound, repair gives a solution, and branching closes the gap as far as the
/// timeout allows. Error: the tables would not fit the budget; it says what
/// they would need.
llvm::Expected<IntraOpSolution>
solveElimination(const IntraOpProblem &problem,
                 const SolverOptions &options = {});

/// For graphs too wide to eliminate: a bound from reparametrisation by
/// sequential tree-reweighted message passing, a decoded choice, and local
/// search. Always answers within the timeout, with the gap.
IntraOpSolution solveMessagePassing(const IntraOpProblem &problem,
                                    const SolverOptions &options = {});

/// Picks: elimination where its tables fit the budget, else message passing.
/// Error: the problem fails check().
llvm::Expected<IntraOpSolution> solve(const IntraOpProblem &problem,
                                      const SolverOptions &options = {});

/// The best total cost with each strategy of each node.
struct MinMarginals {
  /// values[k][s]: cost of the best solution in which nodes[k] takes strategy
  /// s; infinite when there is none.
  std::vector<std::vector<double>> values;
  /// Whether the values are exact: they are when no choice can exceed the
  /// usage limit. Otherwise they are lower bounds, at the best prices found.
  bool exact = true;
};

/// Min-marginals of `nodes` by messages up and down the elimination tree, all
/// of them in about the time of three solves. Error: the tables would not fit
/// the budget.
llvm::Expected<MinMarginals>
computeMinMarginals(const IntraOpProblem &problem,
                    llvm::ArrayRef<unsigned> nodes,
                    const SolverOptions &options = {});

} // namespace pplan

#endif // PPLAN_PLANNER_SOLVER_H
