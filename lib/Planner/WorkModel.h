//===- WorkModel.h - A problem that shrinks while it is solved --*- C++ -*-===//
//
// Decides how a problem is held while algorithms work on it, the reductions
// that keep its optimum, and how a choice (or a marginal) of what is left
// becomes one of the problem it came from. How what is left is solved is
// decided by Elimination.h, TreeReweighted.h and PricedSearch.h.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_PLANNER_WORKMODEL_H
#define PPLAN_LIB_PLANNER_WORKMODEL_H

#include "Deadline.h"
#include "pplan/Planner/IntraOpProblem.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

namespace pplan {

/// Usage of one variable in the time slots [start, end).
struct UsageTerm {
  unsigned start;
  unsigned end;
  std::vector<int64_t> bytes;
};

class WorkModel {
public:
  struct Var {
    std::vector<double> unary;
    std::vector<UsageTerm> terms;
    /// Neighbour -> edge; one edge between two variables at most.
    llvm::SmallDenseMap<unsigned, unsigned, 4> edges;
    /// False once it has been merged into another one or fixed.
    bool alive = true;
    unsigned size() const { return static_cast<unsigned>(unary.size()); }
  };
  struct Edge {
    unsigned first, second;
    /// Row-major, size(first) x size(second); empty when the edge is gone.
    std::vector<double> costs;
    bool hasInfinity = false;
  };

  /// Variables as the nodes of `problem`. Time becomes slots: the times with
  /// maximal sets of live usages, which imply all others. Without a limit, or
  /// with `dropUsages`, usages are left out.
  explicit WorkModel(const IntraOpProblem &problem, bool dropUsages = false);

  /// A copy with the strategies that `keep` names (one vector a variable, of
  /// the alive variables; others are ignored) and an empty log, so that expand
  /// leads back to this model.
  WorkModel restricted(llvm::ArrayRef<llvm::BitVector> keep) const;

  /// A copy without the variables that are gone, and with an empty log;
  /// `oldIndex` becomes the index in this model of each variable of the copy.
  WorkModel compacted(std::vector<unsigned> &oldIndex) const;

  /// All reductions until nothing changes or time is up. Without `dominance`
  /// every finite strategy of every node survives, as marginals need. False:
  /// no finite choice exists, or none within the limit.
  bool reduce(bool dominance, const Deadline &deadline);

  /// Removes strategies that have no finite partner at an edge, or that exceed
  /// the limit in some slot whatever the others choose, until nothing changes.
  bool propagate();
  /// Merges the ends of edges where each strategy of one end leaves one finite
  /// strategy of the other, and folds variables with one strategy into their
  /// neighbours. True: something changed.
  bool mergeFunctional();
  /// Moves the costs of edges that are a sum of two unary costs, without
  /// infinite entries, to their ends. True: something changed.
  bool dropSeparable();
  /// Removes strategies that some other one of the variable beats whatever the
  /// neighbours choose, in cost and in usage. True: something changed.
  bool removeDominated(const Deadline &deadline);

  /// The choice of the model that this one started from.
  std::vector<unsigned> expand(std::vector<unsigned> choice) const;
  /// Min-marginals of the model that this one started from; infinite for
  /// strategies that were removed.
  std::vector<std::vector<double>>
  expandMarginals(std::vector<std::vector<double>> marginals) const;

  double evaluate(llvm::ArrayRef<unsigned> choice) const;
  /// What the total changes by when `var` goes from its strategy in `choice`
  /// to `s`.
  double costChange(llvm::ArrayRef<unsigned> choice, unsigned var,
                    unsigned s) const;
  /// Cost of a pair of strategies at `edge`, given from the side of `var`.
  double pairCost(const Edge &edge, unsigned var, unsigned s,
                  unsigned other) const {
    return edge.first == var
               ? edge.costs[size_t(s) * sizeOf(edge.second) + other]
               : edge.costs[size_t(other) * sizeOf(edge.second) + s];
  }
  unsigned sizeOf(unsigned var) const { return vars[var].size(); }
  /// Usage in each slot under `choice`, in bytes.
  std::vector<int64_t> profile(llvm::ArrayRef<unsigned> choice) const;
  /// The least usage that any choice has in each slot.
  std::vector<int64_t> leastProfile() const;
  unsigned getNumVars() const { return static_cast<unsigned>(vars.size()); }
  unsigned getNumAlive() const;

  std::vector<Var> vars;
  std::vector<Edge> edges;
  /// Cost and usage of what has been fixed.
  double constant = 0;
  std::vector<int64_t> baseUsage;
  int64_t limit = 0;
  bool hasLimit = false;

private:
  /// A reduction, to be undone from the last to the first.
  struct Record {
    unsigned var;
    /// The variable that `var` was merged into; `var` itself for a filter.
    unsigned into;
    /// Strategy before the reduction for each one after it (of `into`).
    std::vector<unsigned> before;
  };

  WorkModel() = default;
  void buildSlots(const IntraOpProblem &problem);
  void addEdge(unsigned first, unsigned second, std::vector<double> costs);
  void removeEdge(unsigned edge);
  void compactEdges();
  /// Keeps the marked strategies of each variable; false: one has none.
  bool filter(llvm::ArrayRef<llvm::BitVector> keep);
  bool propagateEdges(std::vector<llvm::BitVector> &keep) const;
  bool propagateUsage(std::vector<llvm::BitVector> &keep) const;
  std::vector<llvm::BitVector> allStrategies() const;
  bool getFunction(const Edge &edge, unsigned from,
                   std::vector<unsigned> &function) const;
  void mergeInto(unsigned into, unsigned var, std::vector<unsigned> function);
  void fixSingle(unsigned var);
  void normaliseTerms(Var &var);
  bool isDominated(unsigned var, unsigned s, unsigned by) const;

  std::vector<Record> log;
};

} // namespace pplan

#endif // PPLAN_LIB_PLANNER_WORKMODEL_H
