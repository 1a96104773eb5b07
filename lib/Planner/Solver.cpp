//===- Solver.cpp - Picks an algorithm ------------------------------------===//
//
// Decides what happens to a problem from end to end: reduced, then eliminated
// where the tables fit the budget, else bounded and searched. How each of
// these works is decided by WorkModel.h, Elimination.h and PricedSearch.h.
// Min-marginals are left to MinMarginals.cpp.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/Solver.h"
#include "Elimination.h"
#include "PricedSearch.h"
#include "WorkModel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace pplan;
using llvm::Expected;

static bool fitsBudget(const EliminationOrder &order,
                       const SolverOptions &options, double seconds) {
  return order.tableBytes <= static_cast<double>(options.maxTableBytes) &&
         order.work <= options.maxTableWork &&
         order.work <= std::max(seconds, 0.0) * kWorkPerSecond;
}

static llvm::Error budgetError(const EliminationOrder &order) {
  return llvm::createStringError(
      llvm::formatv("elimination needs tables of {0:e2} bytes and {1:e2} "
                    "additions (width {2}), more than its budget; raise the "
                    "budget or use message passing",
                    order.tableBytes, order.work, order.width)
          .str());
}

static IntraOpSolution infeasible(const Deadline &deadline) {
  IntraOpSolution solution;
  solution.status = IntraOpSolution::Status::Infeasible;
  solution.lowerBound = kInfiniteCost;
  solution.algorithm = "propagation";
  solution.seconds = deadline.elapsed();
  return solution;
}

/// Unary costs of all variables, as algorithms take them.
static std::vector<std::vector<double>> unaryCosts(const WorkModel &model) {
  std::vector<std::vector<double>> unary;
  for (const WorkModel::Var &var : model.vars)
    unary.push_back(var.unary);
  return unary;
}

/// Checks a choice against the problem itself and states what is proven. The
/// bound that equals the objective up to rounding is stated as equal.
static IntraOpSolution finish(const IntraOpProblem &problem,
                              std::vector<unsigned> choice, double bound,
                              std::string algorithm, const Deadline &deadline) {
  IntraOpSolution solution;
  solution.algorithm = std::move(algorithm);
  solution.lowerBound = bound;
  if (!choice.empty() || problem.getNumNodes() == 0) {
    solution.objective = problem.evaluate(choice);
    solution.choice = std::move(choice);
    double slack = kCostTolerance * std::fabs(solution.objective);
    bool proven = bound >= solution.objective - slack;
    solution.lowerBound = proven ? solution.objective : bound;
    solution.status = proven ? IntraOpSolution::Status::Optimal
                             : IntraOpSolution::Status::Feasible;
  } else if (bound == kInfiniteCost) {
    solution.status = IntraOpSolution::Status::Infeasible;
  }
  solution.seconds = deadline.elapsed();
  return solution;
}

static std::string describeOrder(const EliminationOrder &order) {
  return llvm::formatv("elimination of {0} variables, width {1}",
                       order.order.size(), order.width)
      .str();
}

/// Whether `choice` keeps the limit of the model.
static bool keepsLimit(const WorkModel &model,
                       llvm::ArrayRef<unsigned> choice) {
  return !model.hasLimit ||
         llvm::all_of(model.profile(choice),
                      [&](int64_t bytes) { return bytes <= model.limit; });
}

static IntraOpSolution search(const IntraOpProblem &problem,
                              const WorkModel &model,
                              const SolverOptions &options,
                              const Deadline &deadline, std::string how) {
  SearchResult result = searchPriced(model, options, deadline);
  std::vector<unsigned> choice;
  if (!result.choice.empty() || model.getNumVars() == 0)
    choice = model.expand(result.choice);
  return finish(problem, std::move(choice), result.bound,
                how + ", " + result.summary, deadline);
}

/// Eliminates a reduced model without heed of the limit; a choice that keeps
/// it all the same is optimal. None: the budget or the time was too short, or
/// the limit binds.
static std::optional<IntraOpSolution>
tryElimination(const IntraOpProblem &problem, const WorkModel &model,
               const EliminationOrder &order, const Deadline &deadline) {
  Elimination elimination(model, order);
  std::vector<std::vector<double>> unary = unaryCosts(model);
  if (!elimination.run(unary, deadline))
    return std::nullopt;
  if (elimination.value() == kInfiniteCost)
    return infeasible(deadline);
  std::vector<unsigned> choice = elimination.decode();
  if (!keepsLimit(model, choice))
    return std::nullopt;
  choice = model.expand(std::move(choice));
  double cost = problem.evaluate(choice);
  return finish(problem, std::move(choice), cost, describeOrder(order),
                deadline);
}

Expected<IntraOpSolution>
pplan::solveElimination(const IntraOpProblem &problem,
                        const SolverOptions &options) {
  Deadline deadline(options.timeoutSeconds);
  WorkModel model(problem);
  if (!model.reduce(/*dominance=*/true, deadline))
    return infeasible(deadline);
  EliminationOrder order = findOrder(model);
  if (!fitsBudget(order, options, deadline.left()))
    return budgetError(order);
  if (auto solution = tryElimination(problem, model, order, deadline))
    return std::move(*solution);
  return search(problem, model, options, deadline, describeOrder(order));
}

IntraOpSolution pplan::solveMessagePassing(const IntraOpProblem &problem,
                                           const SolverOptions &options) {
  Deadline deadline(options.timeoutSeconds);
  WorkModel model(problem);
  if (!model.reduce(/*dominance=*/true, deadline))
    return infeasible(deadline);
  SolverOptions noTables = options;
  noTables.maxTableBytes = 0;
  return search(problem, model, noTables, deadline, "message passing");
}

Expected<IntraOpSolution> pplan::solve(const IntraOpProblem &problem,
                                       const SolverOptions &options) {
  if (llvm::Error e = problem.check())
    return std::move(e);
  Deadline deadline(options.timeoutSeconds);
  WorkModel model(problem);
  if (!model.reduce(/*dominance=*/true, deadline))
    return infeasible(deadline);
  EliminationOrder order = findOrder(model);
  std::string how = "message passing";
  if (fitsBudget(order, options, deadline.left())) {
    how = describeOrder(order);
    // Larger tables are worth the search's bounds first, which shrink them.
    if (order.work <= kCheapWork)
      if (auto solution = tryElimination(problem, model, order, deadline))
        return std::move(*solution);
  }
  return search(problem, model, options, deadline, how);
}
