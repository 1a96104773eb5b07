//===- IntraOpProblem.cpp - Choose a strategy for every node --------------===//
//
// Decides whether a problem is well formed and whether a solution is right.
// Nothing here knows how problems are solved, so that it can judge.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/IntraOpProblem.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <cmath>

using namespace pplan;
using llvm::ArrayRef;
using llvm::Error;
using llvm::formatv;
using llvm::StringRef;
using llvm::Twine;

// Usages at one time must add up without overflow.
static constexpr int64_t kMaxUsageSum = int64_t(1) << 62;

double IntraOpSolution::gap() const {
  if (status == Status::Optimal)
    return 0;
  if (!hasChoice() || !std::isfinite(lowerBound))
    return kInfiniteCost;
  double difference = std::max(0.0, objective - lowerBound);
  if (difference == 0)
    return 0;
  return objective == 0 ? kInfiniteCost : difference / std::fabs(objective);
}

StringRef pplan::stringifyStatus(IntraOpSolution::Status status) {
  switch (status) {
  case IntraOpSolution::Status::Optimal:
    return "optimal";
  case IntraOpSolution::Status::Feasible:
    return "feasible";
  case IntraOpSolution::Status::Infeasible:
    return "infeasible";
  case IntraOpSolution::Status::NoFeasibleFound:
    return "no feasible solution found";
  }
  return "unknown";
}

unsigned IntraOpProblem::addNode(std::string name, std::vector<double> costs,
                                 std::vector<std::string> strategies) {
  Node node;
  node.name = std::move(name);
  node.costs = std::move(costs);
  node.strategies = std::move(strategies);
  nodes.push_back(std::move(node));
  return getNumNodes() - 1;
}

void IntraOpProblem::addUsage(unsigned node, int64_t start, int64_t end,
                              std::vector<int64_t> bytes) {
  nodes[node].usages.push_back({start, end, std::move(bytes)});
}

unsigned IntraOpProblem::addEdge(unsigned first, unsigned second,
                                 std::vector<double> costs) {
  edges.push_back({first, second, std::move(costs)});
  return static_cast<unsigned>(edges.size()) - 1;
}

static Error fail(const Twine &message) {
  return llvm::createStringError(message);
}

/// "node 3 'matmul'".
static std::string describe(const IntraOpProblem &problem, unsigned i) {
  std::string text = "node " + std::to_string(i);
  const std::string &name = problem.getNode(i).name;
  if (!name.empty())
    text += " '" + name + "'";
  return text;
}

/// Index of the first cost that is NaN or minus infinity, or -1.
static int64_t findBadCost(ArrayRef<double> costs) {
  for (size_t i = 0; i < costs.size(); ++i)
    if (std::isnan(costs[i]) || costs[i] == -kInfiniteCost)
      return static_cast<int64_t>(i);
  return -1;
}

static Error checkNode(const IntraOpProblem &problem, unsigned i,
                       int64_t &usageSum) {
  const IntraOpProblem::Node &node = problem.getNode(i);
  if (node.costs.empty())
    return fail(describe(problem, i) + " has no strategy");
  if (int64_t bad = findBadCost(node.costs); bad >= 0)
    return fail(formatv("{0} has cost {1} for strategy {2}; a cost is a number "
                        "or plus infinity",
                        describe(problem, i), node.costs[bad], bad));
  if (!node.strategies.empty() && node.strategies.size() != node.costs.size())
    return fail(formatv("{0} has {1} strategy names for {2} costs",
                        describe(problem, i), node.strategies.size(),
                        node.costs.size()));
  for (const NodeUsage &usage : node.usages) {
    if (usage.bytes.size() != node.costs.size())
      return fail(formatv("{0} has {1} usages for {2} costs",
                          describe(problem, i), usage.bytes.size(),
                          node.costs.size()));
    int64_t largest = 0;
    for (int64_t bytes : usage.bytes) {
      if (bytes < 0)
        return fail(formatv("{0} has the negative usage {1}",
                            describe(problem, i), bytes));
      largest = std::max(largest, bytes);
    }
    if (largest > kMaxUsageSum - usageSum)
      return fail(formatv("usages up to {0} add up to more than {1} bytes",
                          describe(problem, i), kMaxUsageSum));
    usageSum += largest;
  }
  return Error::success();
}

static Error checkEdge(const IntraOpProblem &problem, size_t i) {
  const IntraOpProblem::Edge &edge = problem.getEdges()[i];
  for (unsigned end : {edge.first, edge.second})
    if (end >= problem.getNumNodes())
      return fail(formatv("edge {0} ends at node {1}, but there are {2} nodes",
                          i, end, problem.getNumNodes()));
  if (edge.first == edge.second)
    return fail(formatv("edge {0} joins {1} to itself; add its diagonal to the "
                        "node's costs",
                        i, describe(problem, edge.first)));
  size_t rows = problem.getNode(edge.first).size();
  size_t columns = problem.getNode(edge.second).size();
  if (edge.costs.size() != rows * columns)
    return fail(formatv("edge {0} between {1} and {2} has {3} costs for {4} x "
                        "{5} strategies",
                        i, describe(problem, edge.first),
                        describe(problem, edge.second), edge.costs.size(), rows,
                        columns));
  if (int64_t bad = findBadCost(edge.costs); bad >= 0)
    return fail(formatv("edge {0} has cost {1} at [{2}][{3}]; a cost is a "
                        "number or plus infinity",
                        i, edge.costs[bad], bad / columns, bad % columns));
  return Error::success();
}

Error IntraOpProblem::check() const {
  if (usageLimit && *usageLimit < 0)
    return fail(formatv("the usage limit {0} is negative", *usageLimit));
  int64_t usageSum = 0;
  for (unsigned i = 0; i < getNumNodes(); ++i)
    if (Error e = checkNode(*this, i, usageSum))
      return e;
  for (size_t i = 0; i < edges.size(); ++i)
    if (Error e = checkEdge(*this, i))
      return e;
  return Error::success();
}

double IntraOpProblem::evaluate(ArrayRef<unsigned> choice) const {
  double total = 0;
  for (size_t i = 0; i < nodes.size(); ++i)
    total += nodes[i].costs[choice[i]];
  for (const Edge &edge : edges)
    total += edge.costs[size_t(choice[edge.first]) * nodes[edge.second].size() +
                        choice[edge.second]];
  return total;
}

IntraOpProblem::Peak
IntraOpProblem::peakUsage(ArrayRef<unsigned> choice) const {
  std::vector<std::pair<int64_t, int64_t>> changes;
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const NodeUsage &usage : nodes[i].usages)
      if (usage.start < usage.end && usage.bytes[choice[i]]) {
        changes.emplace_back(usage.start, usage.bytes[choice[i]]);
        changes.emplace_back(usage.end, -usage.bytes[choice[i]]);
      }
  // Of changes at one time the negative ones sort first, so that the running
  // sum never exceeds what is really alive.
  std::sort(changes.begin(), changes.end());
  Peak peak;
  int64_t live = 0;
  for (auto [time, delta] : changes) {
    live += delta;
    if (live > peak.bytes)
      peak = {live, time};
  }
  return peak;
}

/// A cost as people write it, with nine digits.
static std::string number(double cost) {
  char text[40];
  snprintf(text, sizeof(text), "%.9g", cost);
  return text;
}

/// Whether two costs are equal up to rounding.
static bool sameCost(double a, double b) {
  return a == b ||
         std::fabs(a - b) <=
             kCostTolerance * std::max({1e-300, std::fabs(a), std::fabs(b)});
}

static Error verifyChoice(const IntraOpProblem &problem,
                          const IntraOpSolution &solution) {
  ArrayRef<unsigned> choice = solution.choice;
  if (choice.size() != problem.getNumNodes())
    return fail(formatv("the solution has {0} choices for {1} nodes",
                        choice.size(), problem.getNumNodes()));
  for (unsigned i = 0; i < problem.getNumNodes(); ++i)
    if (choice[i] >= problem.getNode(i).size())
      return fail(formatv("{0} takes strategy {1}, but has {2}",
                          describe(problem, i), choice[i],
                          problem.getNode(i).size()));
  double cost = problem.evaluate(choice);
  if (!std::isfinite(cost))
    return fail("the solution takes a forbidden strategy or pair");
  if (!sameCost(cost, solution.objective))
    return fail(formatv("the solution states the objective {0}, but costs "
                        "{1}",
                        number(solution.objective), number(cost)));
  if (!problem.usageLimit)
    return Error::success();
  IntraOpProblem::Peak peak = problem.peakUsage(choice);
  if (peak.bytes > *problem.usageLimit)
    return fail(formatv("the usage {0} at time {1} exceeds the limit {2}",
                        peak.bytes, peak.time, *problem.usageLimit));
  return Error::success();
}

Error IntraOpProblem::verify(const IntraOpSolution &solution) const {
  using Status = IntraOpSolution::Status;
  if (!solution.hasChoice()) {
    if (!solution.choice.empty())
      return fail("the solution has a choice, but says " +
                  stringifyStatus(solution.status));
    return Error::success();
  }
  if (Error e = verifyChoice(*this, solution))
    return e;
  double bound = solution.lowerBound;
  bool equal = sameCost(bound, solution.objective);
  if (std::isnan(bound) || (bound > solution.objective && !equal))
    return fail(formatv("the lower bound {0} exceeds the objective {1}",
                        number(bound), number(solution.objective)));
  if (solution.status == Status::Optimal && !equal)
    return fail(formatv("the solution says optimal, but its lower bound {0} "
                        "is below the objective {1}",
                        number(bound), number(solution.objective)));
  return Error::success();
}
