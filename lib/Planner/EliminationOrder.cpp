//===- EliminationOrder.cpp - In which order to eliminate -----------------===//
//
// Decides the elimination order greedily: the variable whose joint table with
// its neighbours is smallest, or the one that adds the fewest edges, whichever
// makes the whole cheaper. Finding the best order is NP-hard.
//
//===----------------------------------------------------------------------===//
#include "Elimination.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <queue>

using namespace pplan;

namespace {
enum class Rule { MinWeight, MinFill };

/// The graph while variables are being taken out.
class OrderFinder {
public:
  OrderFinder(const WorkModel &model, Rule rule);
  EliminationOrder find();

private:
  double score(unsigned v) const;
  void push(unsigned v) {
    ++version[v];
    queue.push({score(v), v, version[v]});
  }

  struct Entry {
    double score;
    unsigned var, version;
    bool operator<(const Entry &other) const {
      return std::tie(other.score, other.var) < std::tie(score, var);
    }
  };
  const WorkModel &model;
  Rule rule;
  std::vector<llvm::DenseSet<unsigned>> neighbours;
  std::vector<double> logSize;
  std::vector<unsigned> version;
  std::priority_queue<Entry> queue;
};
} // namespace

OrderFinder::OrderFinder(const WorkModel &model, Rule rule)
    : model(model), rule(rule), neighbours(model.getNumVars()),
      logSize(model.getNumVars()), version(model.getNumVars(), 0) {
  for (unsigned v = 0; v < model.getNumVars(); ++v) {
    logSize[v] = std::log2(std::max(1u, model.sizeOf(v)));
    for (auto [other, edge] : model.vars[v].edges)
      neighbours[v].insert(other);
  }
}

double OrderFinder::score(unsigned v) const {
  double weight = logSize[v];
  for (unsigned other : neighbours[v])
    weight += logSize[other];
  if (rule == Rule::MinWeight)
    return weight;
  double fill = 0;
  for (auto a = neighbours[v].begin(); a != neighbours[v].end(); ++a)
    for (auto b = std::next(a); b != neighbours[v].end(); ++b)
      if (!neighbours[*a].contains(*b))
        fill += logSize[*a] * logSize[*b];
  // Ties go to the smaller table.
  return fill + weight * 1e-6;
}

EliminationOrder OrderFinder::find() {
  EliminationOrder result;
  for (unsigned v = 0; v < model.getNumVars(); ++v)
    if (model.vars[v].alive)
      push(v);
  while (!queue.empty()) {
    Entry entry = queue.top();
    queue.pop();
    unsigned v = entry.var;
    if (entry.version != version[v])
      continue;
    version[v] = ~0u;
    std::vector<unsigned> scope(neighbours[v].begin(), neighbours[v].end());
    llvm::sort(scope);
    double size = 1;
    for (unsigned other : scope)
      size *= model.sizeOf(other);
    result.tableBytes += size * sizeof(double);
    result.work += size * model.sizeOf(v);
    result.width = std::max<unsigned>(result.width, scope.size());
    llvm::DenseSet<unsigned> touched;
    for (unsigned a : scope) {
      neighbours[a].erase(v);
      touched.insert(a);
      for (unsigned b : scope)
        if (a != b && neighbours[a].insert(b).second && rule == Rule::MinFill)
          touched.insert(neighbours[a].begin(), neighbours[a].end());
    }
    for (unsigned a : touched)
      if (version[a] != ~0u)
        push(a);
    neighbours[v].clear();
    result.order.push_back(v);
    result.scopes.push_back(std::move(scope));
  }
  return result;
}

EliminationOrder pplan::findOrder(const WorkModel &model) {
  EliminationOrder light = OrderFinder(model, Rule::MinWeight).find();
  // Min-fill looks at pairs of neighbours, which wide graphs have too many of.
  constexpr unsigned widest = 60, most = 5000;
  if (light.width > widest || light.order.size() > most)
    return light;
  EliminationOrder thin = OrderFinder(model, Rule::MinFill).find();
  return thin.work < light.work ? thin : light;
}
