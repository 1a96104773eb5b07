//===- Elimination.h - Exact minimisation of narrow models ------*- C++ -*-===//
//
// Decides the least cost of a working model by eliminating one variable after
// the other (non-serial dynamic programming, bucket elimination), and its
// min-marginals by a second pass down the tree. Usage limits are left to
// PricedSearch.h, which puts prices into the unary costs.
//
// Sources: U. Bertele, F. Brioschi, "Nonserial Dynamic Programming", 1972;
// R. Dechter, "Bucket elimination: a unifying framework for reasoning",
// Artificial Intelligence 113, 1999.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_PLANNER_ELIMINATION_H
#define PPLAN_LIB_PLANNER_ELIMINATION_H

#include "Deadline.h"
#include "WorkModel.h"

namespace pplan {

/// An order in which to eliminate, and what it costs.
struct EliminationOrder {
  std::vector<unsigned> order;
  /// For each position, the later neighbours of that variable when it goes.
  std::vector<std::vector<unsigned>> scopes;
  /// Bytes of all messages together.
  double tableBytes = 0;
  /// Additions: the sum over all variables of the joint size with the scope.
  double work = 0;
  /// Variables in the largest scope (the width of the order).
  unsigned width = 0;
};

/// The better of a min-weight and a min-fill order.
EliminationOrder findOrder(const WorkModel &model);

class Elimination {
public:
  /// The model must outlive this and keep its shape; its unary costs are not
  /// read.
  Elimination(const WorkModel &model, EliminationOrder order);

  /// Minimises with the given unary costs (one vector a variable; those of
  /// dead ones are ignored). False: time was up, or memory is short.
  bool run(llvm::ArrayRef<std::vector<double>> unary, const Deadline &deadline);
  /// The minimum of the last run, without the model's constant.
  double value() const { return minimum; }
  /// A minimiser of the last run; 0 for dead variables.
  std::vector<unsigned> decode() const;
  /// For each alive variable and strategy the least cost with it, in the last
  /// run. False: time was up.
  bool marginals(std::vector<std::vector<double>> &result,
                 const Deadline &deadline);

private:
  /// A table over a bucket's variable and some of its scope: an edge's costs
  /// or a child's message.
  struct Factor {
    const double *data = nullptr;
    /// Child's bucket, or none for an edge.
    int child = -1;
    size_t strideVar = 0;
    /// Strides of the bucket's scope; the last one is that of the row.
    llvm::SmallVector<size_t, 8> strideScope;
    /// Holds the data when it had to be transposed to have rows.
    std::vector<double> copy;
  };
  struct Bucket {
    unsigned var;
    /// Later neighbours; the last has the most strategies, and is the row.
    std::vector<unsigned> scope;
    llvm::SmallVector<unsigned, 4> edges;
    llvm::SmallVector<unsigned, 4> children;
    std::vector<double> message;
    /// From above: least cost of everything outside this bucket's subtree.
    std::vector<double> down;
  };

  size_t messageSize(const Bucket &bucket) const;
  void makeFactor(const Bucket &bucket, llvm::ArrayRef<unsigned> vars,
                  const double *data, Factor &factor) const;
  std::vector<Factor> makeFactors(const Bucket &bucket) const;
  template <typename Fn>
  bool forEachRow(const Bucket &bucket, llvm::ArrayRef<Factor> factors,
                  llvm::ArrayRef<double> unary, const Deadline &deadline,
                  Fn fn) const;
  bool sendUp(Bucket &bucket, const Deadline &deadline);
  bool sendDown(unsigned number, std::vector<double> &marginal,
                const Deadline &deadline);

  const WorkModel &model;
  std::vector<Bucket> buckets;
  std::vector<unsigned> bucketOf;
  llvm::ArrayRef<std::vector<double>> unary;
  double minimum = 0;
};

} // namespace pplan

#endif // PPLAN_LIB_PLANNER_ELIMINATION_H
