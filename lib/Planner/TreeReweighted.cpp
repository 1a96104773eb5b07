//===- TreeReweighted.cpp - Bounds for wide models ------------------------===//
//
// Decides the order of messages (that of the variables) and their updates, as
// in Kolmogorov 2006, section 5: the trees are the monotonic chains.
//
//===----------------------------------------------------------------------===//
#include "TreeReweighted.h"
#include "MinPlus.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace pplan;
using llvm::ArrayRef;

TreeReweighted::TreeReweighted(const WorkModel &model)
    : model(model), before(model.getNumVars()), after(model.getNumVars()),
      weight(model.getNumVars(), 1), slack(model.getNumVars()) {
  for (unsigned number = 0; number < model.edges.size(); ++number) {
    const WorkModel::Edge &edge = model.edges[number];
    toFirst.emplace_back();
    toSecond.emplace_back();
    if (edge.costs.empty())
      continue;
    toFirst.back().assign(model.sizeOf(edge.first), 0);
    toSecond.back().assign(model.sizeOf(edge.second), 0);
    after[std::min(edge.first, edge.second)].push_back(number);
    before[std::max(edge.first, edge.second)].push_back(number);
  }
  for (unsigned v = 0; v < model.getNumVars(); ++v)
    weight[v] =
        1.0 / std::max<size_t>({before[v].size(), after[v].size(), size_t(1)});
}

const std::vector<double> &TreeReweighted::incoming(unsigned edge,
                                                    unsigned var) const {
  return model.edges[edge].first == var ? toFirst[edge] : toSecond[edge];
}

void TreeReweighted::gather(unsigned var, const std::vector<double> &unary,
                            std::vector<double> &sum) const {
  sum = unary;
  for (unsigned edge : before[var])
    addRow(sum.data(), incoming(edge, var).data(), sum.size());
  for (unsigned edge : after[var])
    addRow(sum.data(), incoming(edge, var).data(), sum.size());
}

/// Sends from `from` along an edge; returns what is subtracted to make the
/// least entry of the message zero.
double TreeReweighted::send(unsigned number, unsigned from,
                            const std::vector<double> &sum) {
  const WorkModel::Edge &edge = model.edges[number];
  bool forward = edge.first == from;
  const std::vector<double> &back =
      forward ? toFirst[number] : toSecond[number];
  std::vector<double> &out = forward ? toSecond[number] : toFirst[number];
  size_t columns = model.sizeOf(edge.second);
  scratch.resize(sum.size());
  for (size_t a = 0; a < sum.size(); ++a)
    scratch[a] = weight[from] * sum[a] - back[a];
  if (forward) {
    std::fill(out.begin(), out.end(), kInfiniteCost);
    for (size_t a = 0; a < scratch.size(); ++a)
      minPlusRow(out.data(), edge.costs.data() + a * columns, scratch[a],
                 columns);
  } else {
    for (size_t b = 0; b < out.size(); ++b)
      out[b] =
          minOfSum(edge.costs.data() + b * columns, scratch.data(), columns);
  }
  double least = minOfRow(out.data(), out.size());
  for (double &value : out)
    value -= least;
  return least;
}

double TreeReweighted::sweep(ArrayRef<std::vector<double>> unary) {
  std::vector<double> sum;
  for (unsigned v = 0; v < model.getNumVars(); ++v) {
    if (!model.vars[v].alive)
      continue;
    gather(v, unary[v], sum);
    for (unsigned edge : after[v])
      send(edge, v, sum);
  }
  double bound = 0;
  for (unsigned v = model.getNumVars(); v-- > 0;) {
    if (!model.vars[v].alive)
      continue;
    gather(v, unary[v], sum);
    double least = minOfRow(sum.data(), sum.size());
    bound += least;
    for (double &value : sum)
      value -= least;
    slack[v] = sum;
    for (unsigned edge : before[v])
      bound += send(edge, v, sum);
  }
  return bound;
}

std::vector<unsigned>
TreeReweighted::decode(ArrayRef<std::vector<double>> unary) const {
  std::vector<unsigned> choice(model.getNumVars(), 0);
  for (unsigned v = 0; v < model.getNumVars(); ++v) {
    if (!model.vars[v].alive)
      continue;
    std::vector<double> costs = unary[v];
    for (unsigned number : before[v]) {
      const WorkModel::Edge &edge = model.edges[number];
      unsigned other = edge.first == v ? edge.second : edge.first;
      for (unsigned s = 0; s < costs.size(); ++s)
        costs[s] += model.pairCost(edge, v, s, choice[other]);
    }
    for (unsigned number : after[v])
      addRow(costs.data(), incoming(number, v).data(), costs.size());
    choice[v] = static_cast<unsigned>(llvm::min_element(costs) - costs.begin());
  }
  return choice;
}
