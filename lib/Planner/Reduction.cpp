//===- Reduction.cpp - Reductions that keep the optimum -------------------===//
//
// Decides which strategies and variables can go without losing the optimum:
// arc consistency, functional merging, and dominance. Each leaves a record in
// the log of the model. All of them hold with a usage limit.
//
// Sources: A. Mackworth, "Consistency in networks of relations", Artificial
// Intelligence 8, 1977 (arc consistency); R. Goldstein, "Efficient rotamer
// elimination applied to protein side-chains and related spin glasses",
// Biophysical Journal 66, 1994 (dominance).
//
//===----------------------------------------------------------------------===//
#include "WorkModel.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <deque>

using namespace pplan;
using llvm::BitVector;

/// Whether strategy `s` of `var` has a finite partner among those that are
/// kept at the other end of `edge`.
static bool hasSupport(const WorkModel &model, const WorkModel::Edge &edge,
                       unsigned var, unsigned s, const BitVector &others) {
  for (unsigned b : others.set_bits())
    if (!std::isinf(model.pairCost(edge, var, s, b)))
      return true;
  return false;
}

bool WorkModel::propagateEdges(std::vector<BitVector> &keep) const {
  std::deque<unsigned> queue;
  std::vector<char> queued(vars.size(), false);
  auto push = [&](unsigned v) {
    if (!queued[v])
      queue.push_back(v);
    queued[v] = true;
  };
  for (unsigned v = 0; v < vars.size(); ++v)
    if (vars[v].alive)
      push(v);
  // A variable in the queue has lost strategies (or is new): its neighbours
  // may have lost their partners.
  while (!queue.empty()) {
    unsigned v = queue.front();
    queue.pop_front();
    queued[v] = false;
    if (keep[v].none())
      return false;
    for (auto [other, number] : vars[v].edges) {
      const Edge &edge = edges[number];
      if (!edge.hasInfinity)
        continue;
      bool lost = false;
      for (unsigned s : keep[other].set_bits())
        if (!hasSupport(*this, edge, other, s, keep[v])) {
          keep[other].reset(s);
          lost = true;
        }
      if (lost)
        push(other);
    }
  }
  return true;
}

bool WorkModel::propagate() {
  if (std::isinf(constant))
    return false;
  while (true) {
    std::vector<BitVector> keep = allStrategies();
    for (unsigned v = 0; v < vars.size(); ++v)
      if (vars[v].alive)
        for (unsigned s = 0; s < sizeOf(v); ++s)
          if (std::isinf(vars[v].unary[s]))
            keep[v].reset(s);
    if (!propagateEdges(keep) || (hasLimit && !propagateUsage(keep)))
      return false;
    if (llvm::all_of(keep, [](const BitVector &k) { return k.all(); }))
      return true;
    if (!filter(keep))
      return false;
  }
}

/// Whether each strategy of `from` leaves exactly one finite strategy of the
/// other end of `edge`, and which.
bool WorkModel::getFunction(const Edge &edge, unsigned from,
                            std::vector<unsigned> &function) const {
  unsigned other = edge.first == from ? edge.second : edge.first;
  function.assign(sizeOf(from), 0);
  for (unsigned a = 0; a < sizeOf(from); ++a) {
    unsigned count = 0;
    for (unsigned b = 0; b < sizeOf(other) && count < 2; ++b)
      if (!std::isinf(pairCost(edge, from, a, b))) {
        function[a] = b;
        ++count;
      }
    if (count != 1)
      return false;
  }
  return true;
}

void WorkModel::mergeInto(unsigned into, unsigned v,
                          std::vector<unsigned> function) {
  unsigned number = vars[v].edges.lookup(into);
  for (unsigned a = 0; a < sizeOf(into); ++a)
    vars[into].unary[a] += vars[v].unary[function[a]] +
                           pairCost(edges[number], into, a, function[a]);
  removeEdge(number);
  auto rest = llvm::to_vector(vars[v].edges);
  for (auto [other, restNumber] : rest) {
    const Edge &edge = edges[restNumber];
    std::vector<double> costs;
    costs.reserve(size_t(sizeOf(into)) * sizeOf(other));
    for (unsigned a = 0; a < sizeOf(into); ++a)
      for (unsigned b = 0; b < sizeOf(other); ++b)
        costs.push_back(pairCost(edge, v, function[a], b));
    removeEdge(restNumber);
    addEdge(into, other, std::move(costs));
  }
  for (const UsageTerm &term : vars[v].terms) {
    std::vector<int64_t> bytes;
    for (unsigned b : function)
      bytes.push_back(term.bytes[b]);
    vars[into].terms.push_back({term.start, term.end, std::move(bytes)});
  }
  if (!vars[v].terms.empty())
    normaliseTerms(vars[into]);
  vars[v].terms.clear();
  vars[v].alive = false;
  log.push_back({v, into, std::move(function)});
}

void WorkModel::fixSingle(unsigned v) {
  constant += vars[v].unary[0];
  auto rest = llvm::to_vector(vars[v].edges);
  for (auto [other, number] : rest) {
    for (unsigned b = 0; b < sizeOf(other); ++b)
      vars[other].unary[b] += pairCost(edges[number], v, 0, b);
    removeEdge(number);
  }
  // Its only strategy has no choice to follow from: the log needs none.
  vars[v].alive = false;
}

bool WorkModel::mergeFunctional() {
  bool changed = false;
  for (unsigned v = 0; v < vars.size(); ++v)
    if (vars[v].alive && sizeOf(v) == 1) {
      fixSingle(v);
      changed = true;
    }
  // Merging appends edges; they are visited in turn. An entry that has become
  // larger than this stays, so that merging cannot exhaust memory.
  constexpr size_t maxEntries = 4'000'000;
  std::vector<unsigned> function;
  for (size_t number = 0; number < edges.size(); ++number) {
    const Edge &edge = edges[number];
    if (edge.costs.empty() || !edge.hasInfinity)
      continue;
    // The larger end can only be a function of the smaller one when it has
    // unused strategies, which propagation has removed.
    unsigned into = edge.first, v = edge.second;
    if (sizeOf(into) < sizeOf(v))
      std::swap(into, v);
    bool fits = llvm::all_of(vars[v].edges, [&](const auto &neighbour) {
      return size_t(sizeOf(into)) * sizeOf(neighbour.first) <= maxEntries;
    });
    if (fits && getFunction(edge, into, function)) {
      mergeInto(into, v, function);
      changed = true;
    }
  }
  compactEdges();
  return changed;
}

/// Whether `costs` is a sum of one cost for the row and one for the column,
/// exactly.
static bool isSeparable(llvm::ArrayRef<double> costs, size_t rows,
                        size_t columns) {
  for (size_t a = 1; a < rows; ++a)
    for (size_t b = 1; b < columns; ++b)
      if (costs[a * columns + b] + costs[0] != costs[a * columns] + costs[b])
        return false;
  return true;
}

bool WorkModel::dropSeparable() {
  bool changed = false;
  for (unsigned number = 0; number < edges.size(); ++number) {
    const Edge &edge = edges[number];
    size_t rows = sizeOf(edge.first), columns = sizeOf(edge.second);
    if (edge.costs.empty() || edge.hasInfinity ||
        !isSeparable(edge.costs, rows, columns))
      continue;
    for (size_t a = 0; a < rows; ++a)
      vars[edge.first].unary[a] += edge.costs[a * columns];
    for (size_t b = 0; b < columns; ++b)
      vars[edge.second].unary[b] += edge.costs[b] - edge.costs[0];
    removeEdge(number);
    changed = true;
  }
  if (changed)
    compactEdges();
  return changed;
}

void WorkModel::compactEdges() {
  llvm::erase_if(edges, [](const Edge &edge) { return edge.costs.empty(); });
  for (Var &var : vars)
    var.edges.clear();
  for (unsigned number = 0; number < edges.size(); ++number) {
    vars[edges[number].first].edges[edges[number].second] = number;
    vars[edges[number].second].edges[edges[number].first] = number;
  }
}

/// Whether strategy `by` costs and uses no more than `s` whatever the
/// neighbours choose.
bool WorkModel::isDominated(unsigned v, unsigned s, unsigned by) const {
  const Var &var = vars[v];
  for (const UsageTerm &term : var.terms)
    if (term.bytes[by] > term.bytes[s])
      return false;
  double excess = var.unary[by] - var.unary[s];
  for (auto [other, number] : var.edges) {
    const Edge &edge = edges[number];
    double worst = -kInfiniteCost;
    for (unsigned b = 0; b < sizeOf(other); ++b) {
      double cost = pairCost(edge, v, s, b);
      if (std::isinf(cost))
        continue;
      worst = std::max(worst, pairCost(edge, v, by, b) - cost);
    }
    excess += worst;
  }
  return excess <= 0;
}

bool WorkModel::removeDominated(const Deadline &deadline) {
  std::vector<BitVector> keep = allStrategies();
  bool changed = false;
  for (unsigned v = 0; v < vars.size() && !deadline.passed(); ++v) {
    const Var &var = vars[v];
    if (!var.alive || var.size() < 2)
      continue;
    // least[s]: the neighbours' cheapest answers to s, at which alone a
    // strategy that beats s must already be cheaper.
    auto answers = llvm::to_vector(var.edges);
    std::vector<unsigned> best(var.size() * answers.size(), 0);
    for (unsigned s = 0; s < var.size(); ++s)
      for (size_t e = 0; e < answers.size(); ++e) {
        auto [other, number] = answers[e];
        unsigned &answer = best[s * answers.size() + e];
        for (unsigned b = 1; b < sizeOf(other); ++b)
          if (pairCost(edges[number], v, s, b) <
              pairCost(edges[number], v, s, answer))
            answer = b;
      }
    auto costAt = [&](unsigned s, unsigned answersOf) {
      double cost = var.unary[s];
      for (size_t e = 0; e < answers.size(); ++e)
        cost += pairCost(edges[answers[e].second], v, s,
                         best[answersOf * answers.size() + e]);
      return cost;
    };
    for (unsigned s = 0; s < var.size(); ++s) {
      double own = costAt(s, s);
      for (unsigned by : keep[v].set_bits()) {
        if (by == s || costAt(by, s) > own || !isDominated(v, s, by))
          continue;
        keep[v].reset(s);
        changed = true;
        break;
      }
    }
  }
  // Removing a strategy of one variable cannot undo the dominance of another:
  // it only takes choices of neighbours away.
  if (changed)
    filter(keep);
  return changed;
}

bool WorkModel::reduce(bool dominance, const Deadline &deadline) {
  bool changed = true;
  while (changed && !deadline.passed()) {
    if (!propagate())
      return false;
    changed = mergeFunctional();
    dropSeparable();
    if (dominance)
      changed |= removeDominated(deadline);
  }
  return propagate();
}
