//===- WorkModel.cpp - A problem that shrinks while it is solved ----------===//
//
// Decides how the working copy of a problem is set up, filtered, evaluated and
// led back to where it came from. The reductions themselves are decided by
// Reduction.cpp.
//
//===----------------------------------------------------------------------===//
#include "WorkModel.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace pplan;
using llvm::ArrayRef;
using llvm::BitVector;

WorkModel::WorkModel(const IntraOpProblem &problem, bool dropUsages) {
  vars.resize(problem.getNumNodes());
  for (unsigned i = 0; i < problem.getNumNodes(); ++i)
    vars[i].unary = problem.getNode(i).costs;
  if (problem.usageLimit && !dropUsages) {
    hasLimit = true;
    limit = *problem.usageLimit;
    buildSlots(problem);
  }
  for (const IntraOpProblem::Edge &edge : problem.getEdges())
    addEdge(edge.first, edge.second, edge.costs);
}

/// For each distinct time, its slot or, between slots, the next one. A time is
/// a slot when a usage started since the last slot and one ends right after
/// it: the usages alive at any other time are alive together at some slot.
static unsigned assignSlots(std::vector<std::pair<int64_t, bool>> events,
                            llvm::DenseMap<int64_t, unsigned> &slotOf) {
  llvm::sort(events);
  unsigned slot = 0;
  bool started = false;
  for (size_t i = 0; i < events.size();) {
    size_t j = i;
    bool ends = false, starts = false;
    for (; j < events.size() && events[j].first == events[i].first; ++j)
      (events[j].second ? starts : ends) = true;
    if (ends && started) {
      ++slot;
      started = false;
    }
    slotOf[events[i].first] = slot;
    started |= starts;
    i = j;
  }
  return slot;
}

void WorkModel::buildSlots(const IntraOpProblem &problem) {
  std::vector<std::pair<int64_t, bool>> events;
  for (const IntraOpProblem::Node &node : problem.getNodes())
    for (const NodeUsage &usage : node.usages)
      if (usage.start < usage.end) {
        events.emplace_back(usage.start, true);
        events.emplace_back(usage.end, false);
      }
  // Keys that the map reserves are not times of any schedule; moving them by
  // one step could only matter beside another such time.
  for (auto &[time, starts] : events)
    time = std::clamp<int64_t>(time, INT64_MIN + 2, INT64_MAX - 2);
  llvm::DenseMap<int64_t, unsigned> slotOf;
  baseUsage.assign(assignSlots(events, slotOf), 0);
  auto lookup = [&](int64_t time) {
    return slotOf.lookup(
        std::clamp<int64_t>(time, INT64_MIN + 2, INT64_MAX - 2));
  };
  for (unsigned i = 0; i < problem.getNumNodes(); ++i) {
    for (const NodeUsage &usage : problem.getNode(i).usages)
      if (usage.start < usage.end)
        vars[i].terms.push_back(
            {lookup(usage.start), lookup(usage.end), usage.bytes});
    normaliseTerms(vars[i]);
  }
}

/// Moves what a variable uses under every strategy to the base, drops terms
/// that say nothing, and joins terms of one interval.
void WorkModel::normaliseTerms(Var &var) {
  llvm::sort(var.terms, [](const UsageTerm &a, const UsageTerm &b) {
    return std::tie(a.start, a.end) < std::tie(b.start, b.end);
  });
  std::vector<UsageTerm> joined;
  for (UsageTerm &term : var.terms) {
    if (!joined.empty() && joined.back().start == term.start &&
        joined.back().end == term.end) {
      for (auto [sum, bytes] : llvm::zip(joined.back().bytes, term.bytes))
        sum += bytes;
    } else {
      joined.push_back(std::move(term));
    }
  }
  var.terms.clear();
  for (UsageTerm &term : joined) {
    int64_t least = *llvm::min_element(term.bytes);
    bool varies = false;
    for (int64_t &bytes : term.bytes) {
      bytes -= least;
      varies |= bytes != 0;
    }
    for (unsigned t = term.start; least && t < term.end; ++t)
      baseUsage[t] += least;
    if (varies && term.start < term.end)
      var.terms.push_back(std::move(term));
  }
}

void WorkModel::addEdge(unsigned first, unsigned second,
                        std::vector<double> costs) {
  bool infinite = llvm::any_of(costs, [](double c) { return std::isinf(c); });
  auto known = vars[first].edges.find(second);
  if (known == vars[first].edges.end()) {
    unsigned number = static_cast<unsigned>(edges.size());
    vars[first].edges[second] = number;
    vars[second].edges[first] = number;
    edges.push_back({first, second, std::move(costs), infinite});
    return;
  }
  Edge &edge = edges[known->second];
  edge.hasInfinity |= infinite;
  size_t rows = sizeOf(first), columns = sizeOf(second);
  for (size_t a = 0; a < rows; ++a)
    for (size_t b = 0; b < columns; ++b) {
      size_t index = edge.first == first ? a * columns + b : b * rows + a;
      edge.costs[index] += costs[a * columns + b];
    }
}

void WorkModel::removeEdge(unsigned number) {
  Edge &edge = edges[number];
  vars[edge.first].edges.erase(edge.second);
  vars[edge.second].edges.erase(edge.first);
  std::vector<double>().swap(edge.costs);
}

std::vector<BitVector> WorkModel::allStrategies() const {
  std::vector<BitVector> keep;
  keep.reserve(vars.size());
  for (const Var &var : vars)
    keep.emplace_back(var.alive ? var.size() : 0, true);
  return keep;
}

bool WorkModel::filter(ArrayRef<BitVector> keep) {
  std::vector<std::vector<unsigned>> kept(vars.size());
  std::vector<unsigned> oldSize(vars.size());
  std::vector<char> changed(vars.size(), false);
  for (unsigned v = 0; v < vars.size(); ++v) {
    oldSize[v] = sizeOf(v);
    if (!vars[v].alive)
      continue;
    if (keep[v].none())
      return false;
    changed[v] = !keep[v].all();
    for (unsigned s : keep[v].set_bits())
      kept[v].push_back(s);
  }
  for (Edge &edge : edges) {
    if (edge.costs.empty() || (!changed[edge.first] && !changed[edge.second]))
      continue;
    std::vector<double> costs;
    costs.reserve(kept[edge.first].size() * kept[edge.second].size());
    edge.hasInfinity = false;
    for (unsigned a : kept[edge.first])
      for (unsigned b : kept[edge.second]) {
        costs.push_back(edge.costs[size_t(a) * oldSize[edge.second] + b]);
        edge.hasInfinity |= std::isinf(costs.back());
      }
    edge.costs = std::move(costs);
  }
  for (unsigned v = 0; v < vars.size(); ++v) {
    if (!changed[v])
      continue;
    Var &var = vars[v];
    std::vector<double> unary;
    for (unsigned s : kept[v])
      unary.push_back(var.unary[s]);
    var.unary = std::move(unary);
    for (UsageTerm &term : var.terms) {
      std::vector<int64_t> bytes;
      for (unsigned s : kept[v])
        bytes.push_back(term.bytes[s]);
      term.bytes = std::move(bytes);
    }
    normaliseTerms(var);
    log.push_back({v, v, std::move(kept[v])});
  }
  return true;
}

WorkModel WorkModel::restricted(ArrayRef<BitVector> keep) const {
  WorkModel copy;
  copy.vars = vars;
  copy.edges = edges;
  copy.constant = constant;
  copy.baseUsage = baseUsage;
  copy.limit = limit;
  copy.hasLimit = hasLimit;
  copy.filter(keep);
  return copy;
}

WorkModel WorkModel::compacted(std::vector<unsigned> &oldIndex) const {
  WorkModel copy;
  copy.constant = constant;
  copy.baseUsage = baseUsage;
  copy.limit = limit;
  copy.hasLimit = hasLimit;
  std::vector<unsigned> newIndex(vars.size(), 0);
  oldIndex.clear();
  for (unsigned v = 0; v < vars.size(); ++v) {
    if (!vars[v].alive)
      continue;
    newIndex[v] = copy.getNumVars();
    oldIndex.push_back(v);
    copy.vars.emplace_back();
    copy.vars.back().unary = vars[v].unary;
    copy.vars.back().terms = vars[v].terms;
  }
  for (const Edge &edge : edges)
    if (!edge.costs.empty())
      copy.addEdge(newIndex[edge.first], newIndex[edge.second], edge.costs);
  return copy;
}

std::vector<unsigned> WorkModel::expand(std::vector<unsigned> choice) const {
  for (const Record &record : llvm::reverse(log))
    choice[record.var] = record.before[choice[record.into]];
  return choice;
}

std::vector<std::vector<double>>
WorkModel::expandMarginals(std::vector<std::vector<double>> marginals) const {
  for (const Record &record : llvm::reverse(log)) {
    const std::vector<double> &after = marginals[record.into];
    unsigned size = *llvm::max_element(record.before) + 1;
    std::vector<double> result(size, kInfiniteCost);
    // A later filter that dropped the last strategies left a shorter list.
    unsigned count = std::min<size_t>(record.before.size(), after.size());
    for (unsigned s = 0; s < count; ++s) {
      double &value = result[record.before[s]];
      value = std::min(value, after[s]);
    }
    marginals[record.var] = std::move(result);
  }
  return marginals;
}

double WorkModel::evaluate(ArrayRef<unsigned> choice) const {
  double total = constant;
  for (unsigned v = 0; v < vars.size(); ++v)
    if (vars[v].alive)
      total += vars[v].unary[choice[v]];
  for (const Edge &edge : edges)
    if (!edge.costs.empty())
      total += edge.costs[size_t(choice[edge.first]) * sizeOf(edge.second) +
                          choice[edge.second]];
  return total;
}

double WorkModel::costChange(ArrayRef<unsigned> choice, unsigned v,
                             unsigned s) const {
  double change = vars[v].unary[s] - vars[v].unary[choice[v]];
  for (auto [other, number] : vars[v].edges)
    change += pairCost(edges[number], v, s, choice[other]) -
              pairCost(edges[number], v, choice[v], choice[other]);
  return change;
}

std::vector<int64_t> WorkModel::profile(ArrayRef<unsigned> choice) const {
  std::vector<int64_t> change(baseUsage.size() + 1, 0);
  for (unsigned v = 0; v < vars.size(); ++v)
    if (vars[v].alive)
      for (const UsageTerm &term : vars[v].terms) {
        change[term.start] += term.bytes[choice[v]];
        change[term.end] -= term.bytes[choice[v]];
      }
  std::vector<int64_t> usage = baseUsage;
  int64_t live = 0;
  for (size_t t = 0; t < usage.size(); ++t)
    usage[t] += live += change[t];
  return usage;
}

/// Least usage of one variable over each run of slots in which the same terms
/// are alive: (first slot, end slot, terms alive).
template <typename Fn>
static void forEachRun(ArrayRef<UsageTerm> terms, Fn fn) {
  llvm::SmallVector<unsigned, 16> cuts;
  for (const UsageTerm &term : terms) {
    cuts.push_back(term.start);
    cuts.push_back(term.end);
  }
  llvm::sort(cuts);
  cuts.erase(llvm::unique(cuts), cuts.end());
  // Terms are sorted by start.
  llvm::SmallVector<const UsageTerm *, 8> alive;
  size_t next = 0;
  for (size_t c = 0; c + 1 < cuts.size(); ++c) {
    llvm::erase_if(alive,
                   [&](const UsageTerm *t) { return t->end <= cuts[c]; });
    while (next < terms.size() && terms[next].start <= cuts[c])
      alive.push_back(&terms[next++]);
    if (!alive.empty())
      fn(cuts[c], cuts[c + 1], alive);
  }
}

std::vector<int64_t> WorkModel::leastProfile() const {
  std::vector<int64_t> change(baseUsage.size() + 1, 0);
  for (const Var &var : vars) {
    if (!var.alive || var.terms.size() < 2)
      continue; // The least of a single term has been moved to the base.
    forEachRun(var.terms, [&](unsigned start, unsigned end,
                              ArrayRef<const UsageTerm *> alive) {
      int64_t least = INT64_MAX;
      for (unsigned s = 0; s < var.size(); ++s) {
        int64_t sum = 0;
        for (const UsageTerm *term : alive)
          sum += term->bytes[s];
        least = std::min(least, sum);
      }
      change[start] += least;
      change[end] -= least;
    });
  }
  std::vector<int64_t> usage = baseUsage;
  int64_t live = 0;
  for (size_t t = 0; t < usage.size(); ++t)
    usage[t] += live += change[t];
  return usage;
}

bool WorkModel::propagateUsage(std::vector<BitVector> &keep) const {
  std::vector<int64_t> least = leastProfile();
  for (int64_t usage : least)
    if (usage > limit)
      return false;
  for (unsigned v = 0; v < vars.size(); ++v) {
    const Var &var = vars[v];
    if (!var.alive)
      continue;
    forEachRun(var.terms, [&](unsigned start, unsigned end,
                              ArrayRef<const UsageTerm *> alive) {
      llvm::SmallVector<int64_t, 64> sums(var.size(), 0);
      for (const UsageTerm *term : alive)
        for (unsigned s = 0; s < var.size(); ++s)
          sums[s] += term->bytes[s];
      int64_t own = *llvm::min_element(sums);
      int64_t most =
          *std::max_element(least.begin() + start, least.begin() + end);
      for (unsigned s = 0; s < var.size(); ++s)
        if (sums[s] - own > limit - most)
          keep[v].reset(s);
    });
  }
  return true;
}

unsigned WorkModel::getNumAlive() const {
  return llvm::count_if(vars, [](const Var &var) { return var.alive; });
}
