//===- TreeReweighted.h - Bounds for wide models ----------------*- C++ -*-===//
//
// Decides a lower bound of a working model and a choice near it, by sequential
// tree-reweighted message passing: each sweep takes time linear in the model,
// and never lowers the bound. Where tables fit, Elimination.h is exact.
//
// Source: V. Kolmogorov, "Convergent tree-reweighted message passing for
// energy minimization", IEEE PAMI 28(10), 2006.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_PLANNER_TREEREWEIGHTED_H
#define PPLAN_LIB_PLANNER_TREEREWEIGHTED_H

#include "WorkModel.h"

namespace pplan {

class TreeReweighted {
public:
  /// The model must outlive this and be propagated: a strategy without a
  /// finite partner would make messages infinite. Its unary costs are not
  /// read.
  explicit TreeReweighted(const WorkModel &model);

  /// One pass forward and one back. Returns the bound, without the model's
  /// constant. Messages stay for the next sweep, whose costs may differ.
  double sweep(llvm::ArrayRef<std::vector<double>> unary);

  /// A choice by going through the variables once, each the best for those
  /// before it and the messages from those after it.
  std::vector<unsigned> decode(llvm::ArrayRef<std::vector<double>> unary) const;

  /// After a sweep: by how much the bound grows at least when a variable takes
  /// a strategy.
  const std::vector<std::vector<double>> &excess() const { return slack; }

private:
  const std::vector<double> &incoming(unsigned edge, unsigned var) const;
  void gather(unsigned var, const std::vector<double> &unary,
              std::vector<double> &sum) const;
  double send(unsigned edge, unsigned from, const std::vector<double> &sum);

  const WorkModel &model;
  /// Messages of each edge to its first and to its second end.
  std::vector<std::vector<double>> toFirst, toSecond;
  /// Neighbours before and after each variable, as edges.
  std::vector<llvm::SmallVector<unsigned, 4>> before, after;
  std::vector<double> weight;
  std::vector<std::vector<double>> slack;
  std::vector<double> scratch;
};

} // namespace pplan

#endif // PPLAN_LIB_PLANNER_TREEREWEIGHTED_H
