//===- BruteForce.cpp - Tries every assignment ----------------------------===//
//
// Decides nothing cleverly: the oracle that the other algorithms are tested
// against, kept so plain that it can be trusted.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/Solver.h"
#include <chrono>

using namespace pplan;

llvm::Expected<IntraOpSolution>
pplan::solveBruteForce(const IntraOpProblem &problem,
                       const SolverOptions &options) {
  auto begin = std::chrono::steady_clock::now();
  uint64_t assignments = 1;
  for (const IntraOpProblem::Node &node : problem.getNodes()) {
    if (assignments > options.maxAssignments / node.size())
      return llvm::createStringError(
          "brute force would try more than %llu assignments; use elimination",
          (unsigned long long)options.maxAssignments);
    assignments *= node.size();
  }
  IntraOpSolution best;
  best.algorithm = "brute force";
  best.status = IntraOpSolution::Status::Infeasible;
  std::vector<unsigned> choice(problem.getNumNodes(), 0);
  for (uint64_t n = 0; n < assignments; ++n) {
    double cost = problem.evaluate(choice);
    if (cost < best.objective &&
        (!problem.usageLimit ||
         problem.peakUsage(choice).bytes <= *problem.usageLimit)) {
      best.objective = cost;
      best.choice = choice;
      best.status = IntraOpSolution::Status::Optimal;
    }
    // The next assignment, the last node fastest.
    for (size_t i = choice.size(); i-- > 0;) {
      if (++choice[i] < problem.getNode(i).size())
        break;
      choice[i] = 0;
    }
  }
  best.lowerBound = best.objective;
  best.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
          .count();
  return best;
}
