//===- PricedSearch.h - Search under a usage limit --------------*- C++ -*-===//
//
// Decides the answer where elimination alone does not: because the usage limit
// binds, or because the model is too wide for tables. Prices on usage turn the
// limit into unary costs; the priced minimum, by elimination or by message
// passing, bounds the optimum from below; repair and local search give
// choices; strategies that the bound excludes go; branching does the rest.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_PLANNER_PRICEDSEARCH_H
#define PPLAN_LIB_PLANNER_PRICEDSEARCH_H

#include "Deadline.h"
#include "WorkModel.h"
#include "pplan/Planner/Solver.h"

namespace pplan {

/// Additions of an elimination that is quicker than trying to avoid it.
inline constexpr double kCheapWork = 5e7;

/// Additions a second that tables take at least; measured on one core.
inline constexpr double kWorkPerSecond = 5e8;

struct SearchResult {
  /// Of the model; empty when none was found.
  std::vector<unsigned> choice;
  /// Proven; infinite when there is no choice at all.
  double bound = -kInfiniteCost;
  /// "3 prices, 12 branches", ...
  std::string summary;
};

SearchResult searchPriced(const WorkModel &model, const SolverOptions &options,
                          const Deadline &deadline);

} // namespace pplan

#endif // PPLAN_LIB_PLANNER_PRICEDSEARCH_H
