//===- UsagePrices.h - The limit as prices ----------------------*- C++ -*-===//
//
// Decides a lower bound of a working model with a usage limit, by Lagrangian
// relaxation: each byte alive in a slot costs a price, and the limit's worth
// is given back. For any prices p >= 0
//
//   L(p) = min_x cost(x) + sum_t p_t (usage_t(x) - limit) / limit
//
// is below the optimum; L is concave, and usage_t(x) - limit at the minimiser
// is its slope. Slots get prices only when a minimiser exceeds the limit there.
// Which choice is good, and branching, are left to PricedSearch.h.
//
// Source: A. Geoffrion, "Lagrangean relaxation for integer programming", Math.
// Programming Study 2, 1974; the step of B. Polyak, 1969.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_PLANNER_USAGEPRICES_H
#define PPLAN_LIB_PLANNER_USAGEPRICES_H

#include "Deadline.h"
#include "Elimination.h"
#include "TreeReweighted.h"
#include "WorkModel.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>

namespace pplan {

/// Price of each slot that has one, in units of cost for the whole limit.
using Prices = std::vector<std::pair<unsigned, double>>;

class UsagePrices {
public:
  /// With an order the inner minimum is exact, without it is bounded by
  /// message passing.
  UsagePrices(const WorkModel &model, std::optional<EliminationOrder> order,
              Prices start, const Deadline &deadline);

  /// Raises the bound by changing prices, up to `evaluations` inner minima or
  /// until it reaches `cutoff()`. Each minimiser is given to `visit`, which may
  /// lower the cutoff.
  void maximise(unsigned evaluations, llvm::function_ref<double()> cutoff,
                llvm::function_ref<void(const std::vector<unsigned> &)> visit);

  /// The best bound, with the model's constant; infinite when it exceeds what
  /// any finite choice costs, which proves that there is none.
  double bound() const { return best; }
  const Prices &prices() const { return bestPrices; }
  /// For each alive variable and strategy a bound with it, at the best prices.
  /// False: time was up.
  bool marginals(std::vector<std::vector<double>> &result,
                 const Deadline &until);
  /// Usage of each strategy, weighted with the best prices.
  std::vector<std::vector<double>> pricedUsage() const;

private:
  /// One inner minimum.
  struct Point {
    double value = -kInfiniteCost;
    std::vector<unsigned> choice;
    std::vector<int64_t> usage;
  };
  bool evaluate(const Prices &prices, Point &point);
  std::vector<std::vector<double>> pricedUnary(const Prices &prices) const;
  double slope(const Point &point, unsigned slot) const;
  bool addRows(const Point &point, Prices &prices) const;
  /// The bound and its slope along one price.
  struct Tangent {
    double price = 0, value = 0, slope = 0;
  };
  struct Bracket {
    Tangent low, high;
  };
  bool tryPrice(Prices &prices, size_t row, double price, Point &point);
  bool findBracket(Prices &prices, size_t row, Point &point, Bracket &bracket);
  void searchLine(Prices &prices, size_t row, Point &point);
  void stepAlongSlope(Prices &prices, Point &point, double step);
  bool done() const;
  double findCeiling() const;

  const WorkModel &model;
  const Deadline &deadline;
  std::unique_ptr<Elimination> exact;
  std::unique_ptr<TreeReweighted> bounded;
  Prices bestPrices;
  double best = -kInfiniteCost;
  double ceiling;
  double scale;
  unsigned evaluationsLeft = 0;
  bool swept = false;
  llvm::function_ref<double()> cutoff = nullptr;
  llvm::function_ref<void(const std::vector<unsigned> &)> visit = nullptr;
};

} // namespace pplan

#endif // PPLAN_LIB_PLANNER_USAGEPRICES_H
