//===- MinMarginals.cpp - The cost of every other strategy ----------------===//
//
// Decides what each strategy of each node would cost at best, so that a plan
// can be explained. All of them come out of one elimination with messages up
// and down its tree, at the best prices when there is a limit.
//
//===----------------------------------------------------------------------===//
#include "UsagePrices.h"
#include "pplan/Planner/Solver.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace pplan;

/// Whether no choice at all can exceed the limit.
static bool limitCannotBind(const IntraOpProblem &problem) {
  if (!problem.usageLimit)
    return true;
  WorkModel model(problem);
  std::vector<int64_t> most = model.baseUsage;
  for (const WorkModel::Var &var : model.vars)
    for (const UsageTerm &term : var.terms)
      for (unsigned t = term.start; t < term.end; ++t)
        most[t] += *llvm::max_element(term.bytes);
  return llvm::all_of(
      most, [&](int64_t bytes) { return bytes <= *problem.usageLimit; });
}

llvm::Expected<MinMarginals>
pplan::computeMinMarginals(const IntraOpProblem &problem,
                           llvm::ArrayRef<unsigned> nodes,
                           const SolverOptions &options) {
  Deadline deadline(options.timeoutSeconds);
  MinMarginals result;
  for (unsigned node : nodes) {
    if (node >= problem.getNumNodes())
      return llvm::createStringError("no node %u; there are %u", node,
                                     problem.getNumNodes());
    result.values.emplace_back(problem.getNode(node).size(), kInfiniteCost);
  }
  result.exact = limitCannotBind(problem);
  WorkModel model(problem, /*dropUsages=*/result.exact);
  if (!model.reduce(/*dominance=*/false, deadline))
    return result;
  EliminationOrder order = findOrder(model);
  if (order.tableBytes > static_cast<double>(options.maxTableBytes) ||
      order.work > options.maxTableWork)
    return llvm::createStringError(
        llvm::formatv("min-marginals need tables of {0:e2} bytes and {1:e2} "
                      "additions (width {2}), more than the budget",
                      order.tableBytes, order.work, order.width)
            .str());
  // Half of the time for prices leaves the other half for the marginals.
  Deadline pricesDeadline(deadline.left() / 2);
  UsagePrices prices(model, std::move(order), {}, pricesDeadline);
  if (!result.exact)
    prices.maximise(
        /*evaluations=*/60, [] { return kInfiniteCost; },
        [](const std::vector<unsigned> &) {});
  std::vector<std::vector<double>> marginals;
  if (!prices.marginals(marginals, deadline))
    return llvm::createStringError("the time for min-marginals is up");
  marginals = model.expandMarginals(std::move(marginals));
  for (auto [node, values] : llvm::zip(nodes, result.values))
    for (unsigned s = 0; s < marginals[node].size(); ++s)
      values[s] = marginals[node][s];
  return result;
}
