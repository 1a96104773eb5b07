//===- PricedSearch.cpp - Search under a usage limit ----------------------===//
//
// Decides which part of the problem is looked at next (the one with the lowest
// bound), which strategies a bound excludes, and how a part is split. Bounds
// are decided by UsagePrices.cpp, choices by Repair.cpp.
//
//===----------------------------------------------------------------------===//
#include "PricedSearch.h"
#include "Repair.h"
#include "UsagePrices.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <queue>

using namespace pplan;
using llvm::BitVector;

namespace {
/// A part of the problem: the strategies that are left, and what is known.
struct Branch {
  std::vector<BitVector> keep;
  double bound = -kInfiniteCost;
  Prices prices;
  /// Message passing has taken what it can; only tables help.
  bool shrunk = false;
  bool operator<(const Branch &other) const { return bound > other.bound; }
};

class Search {
public:
  Search(const WorkModel &root, const SolverOptions &options,
         const Deadline &deadline);
  SearchResult run();

private:
  /// Bounds a part and puts what is left of it into the queue. False: time was
  /// up before the part was done with; its bound is up to date.
  bool process(Branch &branch);
  void split(const WorkModel &model, const Branch &branch,
             const UsagePrices &prices,
             const std::vector<std::vector<double>> &marginals);
  void pushPart(const WorkModel &model, const Branch &branch, unsigned var,
                const BitVector &part,
                std::vector<std::vector<double>> allowed);
  void offer(const WorkModel &model, std::vector<unsigned> choice);
  /// A part whose bound reaches this has nothing better than the incumbent.
  double cutoff() const;

  const WorkModel &root;
  const SolverOptions &options;
  const Deadline &deadline;
  std::priority_queue<Branch> queue;
  std::vector<unsigned> incumbent;
  double upper = kInfiniteCost;
  bool integral;
  unsigned branches = 0;
  size_t mostPrices = 0;
};
} // namespace

/// Whether every cost is a whole number that doubles add exactly.
static bool hasIntegralCosts(const WorkModel &model) {
  double sum = std::fabs(model.constant);
  bool whole = model.constant == std::floor(model.constant);
  auto visit = [&](const std::vector<double> &costs) {
    double largest = 0;
    for (double cost : costs)
      if (!std::isinf(cost)) {
        whole &= cost == std::floor(cost);
        largest = std::max(largest, std::fabs(cost));
      }
    sum += largest;
  };
  for (const WorkModel::Var &var : model.vars)
    visit(var.unary);
  for (const WorkModel::Edge &edge : model.edges)
    visit(edge.costs);
  return whole && sum < 1e15;
}

Search::Search(const WorkModel &root, const SolverOptions &options,
               const Deadline &deadline)
    : root(root), options(options), deadline(deadline),
      integral(hasIntegralCosts(root)) {}

double Search::cutoff() const {
  if (upper == kInfiniteCost)
    return kInfiniteCost;
  // Bounds are sums of products with prices: they carry rounding errors.
  double rounding = 1e-12 * std::fabs(upper);
  double relative = upper - 1e-10 * std::fabs(upper);
  if (!integral || rounding > 0.1)
    return relative;
  return std::min(relative, upper - 1 + std::max(1e-6, rounding));
}

void Search::offer(const WorkModel &model, std::vector<unsigned> choice) {
  // Repair costs more than a bound: only a choice that could still lead to
  // something is worth it.
  if (!repairChoice(model, choice, deadline))
    return;
  std::vector<unsigned> full = model.expand(std::move(choice));
  double cost = root.evaluate(full);
  if (cost < upper) {
    upper = cost;
    incumbent = std::move(full);
  }
}

/// Which strategies of the model's origin are left when the model's are
/// restricted to those with a finite entry.
static std::vector<BitVector> originOf(const WorkModel &model,
                                       std::vector<std::vector<double>> allowed,
                                       const WorkModel &root) {
  allowed = model.expandMarginals(std::move(allowed));
  std::vector<BitVector> keep;
  for (unsigned v = 0; v < root.getNumVars(); ++v) {
    BitVector bits(root.sizeOf(v));
    for (unsigned s = 0; s < allowed[v].size() && s < bits.size(); ++s)
      if (allowed[v][s] < kInfiniteCost)
        bits.set(s);
    // A variable that was fixed without a record has one strategy.
    keep.push_back(std::move(bits));
  }
  return keep;
}

void Search::pushPart(const WorkModel &model, const Branch &branch,
                      unsigned var, const BitVector &part,
                      std::vector<std::vector<double>> allowed) {
  for (unsigned s = 0; s < part.size(); ++s)
    if (!part.test(s))
      allowed[var][s] = kInfiniteCost;
  if (llvm::all_of(allowed[var], [](double v) { return std::isinf(v); }))
    return;
  Branch child;
  child.keep = originOf(model, std::move(allowed), root);
  child.bound = branch.bound;
  child.prices = branch.prices;
  queue.push(std::move(child));
}

/// Splits at the variable whose strategies left differ most in priced usage:
/// those that use less than the middle, and those that use more. Without such
/// a difference, the cheapest strategy of the variable with the most, and all
/// others.
void Search::split(const WorkModel &model, const Branch &branch,
                   const UsagePrices &prices,
                   const std::vector<std::vector<double>> &marginals) {
  std::vector<std::vector<double>> weights = prices.pricedUsage();
  unsigned chosen = ~0u, largest = ~0u;
  double widest = 0, middle = 0;
  size_t most = 1;
  for (unsigned v = 0; v < model.getNumVars(); ++v) {
    if (!model.vars[v].alive)
      continue;
    double low = kInfiniteCost, high = -kInfiniteCost;
    size_t count = 0;
    for (unsigned s = 0; s < model.sizeOf(v); ++s) {
      if (std::isinf(marginals[v][s]))
        continue;
      low = std::min(low, weights[v][s]);
      high = std::max(high, weights[v][s]);
      ++count;
    }
    if (count > most) {
      most = count;
      largest = v;
    }
    if (count > 1 && high - low > widest) {
      widest = high - low;
      middle = (low + high) / 2;
      chosen = v;
    }
  }
  if (largest == ~0u)
    return;
  unsigned var = chosen != ~0u ? chosen : largest;
  BitVector part(model.sizeOf(var));
  if (chosen != ~0u) {
    for (unsigned s = 0; s < part.size(); ++s)
      if (weights[var][s] <= middle)
        part.set(s);
  } else {
    part.set(llvm::min_element(marginals[var]) - marginals[var].begin());
  }
  pushPart(model, branch, var, part, marginals);
  part.flip();
  pushPart(model, branch, var, part, marginals);
}

bool Search::process(Branch &branch) {
  WorkModel model = root.restricted(branch.keep);
  if (!model.reduce(/*dominance=*/true, deadline))
    return true;
  EliminationOrder order = findOrder(model);
  // With a limit there are many inner minima, without it one.
  double seconds = deadline.left() * (model.hasLimit ? 0.2 : 0.5);
  bool fits =
      order.tableBytes <= static_cast<double>(options.maxTableBytes) &&
      order.work <= std::min(options.maxTableWork, kWorkPerSecond * seconds);
  // Where tables are large, message passing first removes strategies.
  std::optional<EliminationOrder> exact;
  if (fits && (branch.shrunk || order.work <= kCheapWork))
    exact = std::move(order);
  bool bounded = !exact;
  UsagePrices prices(model, std::move(exact), branch.prices, deadline);
  bool isFirst = branches == 1;
  unsigned offers = 0;
  prices.maximise(
      isFirst ? 200 : 25, [&] { return cutoff(); },
      [&](const std::vector<unsigned> &choice) {
        // Every choice at first, then one of eight.
        if (++offers <= 4 || offers % 8 == 0 || upper == kInfiniteCost)
          offer(model, choice);
      });
  branch.bound = std::max(branch.bound, prices.bound());
  branch.prices = prices.prices();
  mostPrices = std::max(mostPrices, branch.prices.size());
  if (branch.bound >= cutoff() || branch.bound == kInfiniteCost)
    return true;
  std::vector<std::vector<double>> marginals;
  if (deadline.passed() || !prices.marginals(marginals, deadline))
    return false;
  size_t total = 0, removed = 0;
  for (std::vector<double> &values : marginals)
    for (double &value : values) {
      ++total;
      if (value >= cutoff()) {
        value = kInfiniteCost;
        ++removed;
      }
    }
  // A variable without strategies: nothing better is left here.
  for (const std::vector<double> &values : marginals)
    if (llvm::all_of(values, [](double v) { return std::isinf(v); }))
      return true;
  if (removed * 5 > total || (bounded && fits)) {
    Branch smaller;
    smaller.shrunk = bounded && removed * 5 <= total;
    smaller.keep = originOf(model, std::move(marginals), root);
    smaller.bound = branch.bound;
    smaller.prices = branch.prices;
    queue.push(std::move(smaller));
    return true;
  }
  split(model, branch, prices, marginals);
  return true;
}

SearchResult Search::run() {
  Branch first;
  for (const WorkModel::Var &var : root.vars)
    first.keep.emplace_back(var.size(), true);
  queue.push(std::move(first));
  double open = kInfiniteCost;
  while (!queue.empty()) {
    Branch branch = queue.top();
    queue.pop();
    if (branch.bound >= cutoff())
      continue;
    open = branch.bound;
    if (deadline.passed())
      break;
    ++branches;
    bool finished = process(branch);
    open = kInfiniteCost;
    if (!finished) {
      open = branch.bound;
      if (!queue.empty())
        open = std::min(open, queue.top().bound);
      break;
    }
  }
  SearchResult result;
  result.choice = incumbent;
  result.bound = std::min(open, upper);
  result.summary =
      llvm::formatv("{0} prices, {1} parts", mostPrices, branches).str();
  return result;
}

SearchResult pplan::searchPriced(const WorkModel &model,
                                 const SolverOptions &options,
                                 const Deadline &deadline) {
  std::vector<unsigned> oldIndex;
  WorkModel compact = model.compacted(oldIndex);
  SearchResult result = Search(compact, options, deadline).run();
  if (!std::isfinite(result.bound) && result.choice.empty())
    return result;
  if (!result.choice.empty() || compact.getNumVars() == 0) {
    std::vector<unsigned> choice(model.getNumVars(), 0);
    for (auto [v, s] : llvm::zip(oldIndex, result.choice))
      choice[v] = s;
    result.choice = std::move(choice);
  }
  return result;
}
