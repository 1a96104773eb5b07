//===- UsagePrices.cpp - The limit as prices ------------------------------===//
//
// Decides how prices move: along one slot's price to the top of the concave
// bound, where its slopes meet, and, with several slots, in steps along all
// slopes at once.
//
//===----------------------------------------------------------------------===//
#include "UsagePrices.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace pplan;
using llvm::ArrayRef;

UsagePrices::UsagePrices(const WorkModel &model,
                         std::optional<EliminationOrder> order, Prices start,
                         const Deadline &deadline)
    : model(model), deadline(deadline), bestPrices(std::move(start)),
      ceiling(findCeiling()),
      scale(std::max<double>(1, static_cast<double>(model.limit))) {
  if (order)
    exact = std::make_unique<Elimination>(model, std::move(*order));
  else
    bounded = std::make_unique<TreeReweighted>(model);
}

/// No finite choice costs more than this.
double UsagePrices::findCeiling() const {
  auto largestFinite = [](ArrayRef<double> costs) {
    double largest = 0;
    for (double cost : costs)
      if (!std::isinf(cost))
        largest = std::max(largest, cost);
    return largest;
  };
  double sum = std::max(0.0, model.constant);
  for (const WorkModel::Var &var : model.vars)
    if (var.alive)
      sum += largestFinite(var.unary);
  for (const WorkModel::Edge &edge : model.edges)
    sum += largestFinite(edge.costs);
  return sum;
}

std::vector<std::vector<double>>
UsagePrices::pricedUnary(const Prices &prices) const {
  std::vector<std::vector<double>> unary;
  unary.reserve(model.getNumVars());
  for (const WorkModel::Var &var : model.vars)
    unary.push_back(var.unary);
  for (auto [slot, price] : prices) {
    if (price <= 0)
      continue;
    for (unsigned v = 0; v < model.getNumVars(); ++v)
      for (const UsageTerm &term : model.vars[v].terms)
        if (term.start <= slot && slot < term.end)
          for (unsigned s = 0; s < unary[v].size(); ++s)
            unary[v][s] += price * (static_cast<double>(term.bytes[s]) / scale);
  }
  return unary;
}

double UsagePrices::slope(const Point &point, unsigned slot) const {
  return static_cast<double>(point.usage[slot] - model.limit) / scale;
}

/// The inner minimum at `prices`. False: time or evaluations are used up, and
/// `point` is as before.
bool UsagePrices::evaluate(const Prices &prices, Point &point) {
  if (evaluationsLeft == 0 || deadline.passed())
    return false;
  --evaluationsLeft;
  std::vector<std::vector<double>> unary = pricedUnary(prices);
  double value = model.constant;
  Point next;
  if (exact) {
    if (!exact->run(unary, deadline))
      return false;
    value += exact->value();
    if (std::isfinite(value))
      next.choice = exact->decode();
  } else {
    double bound = -kInfiniteCost;
    // Messages are kept: after the first time a few sweeps follow the prices.
    unsigned sweeps = model.hasLimit ? (swept ? 8 : 40) : 200;
    swept = true;
    for (unsigned sweep = 0; sweep < sweeps; ++sweep) {
      double raised = bounded->sweep(unary);
      bool stalls = raised <= bound + 1e-5 * std::fabs(raised);
      bound = std::max(bound, raised);
      if (deadline.passed() || (stalls && sweep > 3))
        break;
    }
    value += bound;
    next.choice = bounded->decode(unary);
  }
  for (auto [slot, price] : prices)
    value += price * static_cast<double>(model.baseUsage[slot] - model.limit) /
             scale;
  next.value = value > ceiling * (1 + 1e-9) ? kInfiniteCost : value;
  if (next.value > best) {
    best = next.value;
    bestPrices = prices;
  }
  if (!next.choice.empty() || model.getNumVars() == 0) {
    next.usage = model.profile(next.choice);
    visit(next.choice);
  }
  point = std::move(next);
  return true;
}

bool UsagePrices::done() const { return best >= cutoff(); }

/// Adds the fullest slot of each run of slots above the limit, at price 0.
bool UsagePrices::addRows(const Point &point, Prices &prices) const {
  constexpr unsigned mostAtOnce = 4;
  std::vector<std::pair<int64_t, unsigned>> peaks;
  bool inside = false;
  for (unsigned t = 0; t < point.usage.size(); ++t) {
    bool over = point.usage[t] > model.limit;
    if (over && !inside)
      peaks.emplace_back(0, t);
    if (over && point.usage[t] > peaks.back().first)
      peaks.back() = {point.usage[t], t};
    inside = over;
  }
  llvm::sort(peaks, [](const auto &a, const auto &b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  bool added = false;
  for (auto [bytes, slot] : llvm::ArrayRef(peaks).take_front(
           std::min<size_t>(peaks.size(), mostAtOnce))) {
    if (llvm::any_of(prices, [&, slot = slot](const auto &p) {
          return p.first == slot;
        }))
      continue;
    prices.emplace_back(slot, 0.0);
    added = true;
  }
  return added;
}

bool UsagePrices::tryPrice(Prices &prices, size_t row, double price,
                           Point &point) {
  prices[row].second = price;
  return evaluate(prices, point) && !point.usage.empty() && !done();
}

/// Finds two prices of a slot, the lower with a positive slope and the higher
/// without. False: there are none, or nothing more can be tried.
bool UsagePrices::findBracket(Prices &prices, size_t row, Point &point,
                              Bracket &bracket) {
  auto [slot, start] = prices[row];
  Tangent first = {start, point.value, slope(point, slot)};
  if (first.slope <= 0) {
    bracket.high = first;
    if (start <= 0 || !tryPrice(prices, row, 0, point))
      return false;
    bracket.low = {0, point.value, slope(point, slot)};
    return bracket.low.slope > 0;
  }
  bracket.low = first;
  double target = std::min(cutoff(), ceiling);
  double step = std::max((target - first.value) / first.slope,
                         std::max(start, 1e-6 * std::fabs(first.value)));
  if (!(step > 0) || !std::isfinite(step))
    step = 1;
  while (tryPrice(prices, row, bracket.low.price + step, point)) {
    Tangent next = {prices[row].second, point.value, slope(point, slot)};
    if (next.slope <= 0) {
      bracket.high = next;
      return true;
    }
    bracket.low = next;
    step *= 4;
  }
  return false;
}

/// Moves one price to where the bound is highest along it: between a price with
/// a positive slope and one without, the next try is where the two tangents
/// meet, until the bound there is on them. Exact after finitely many tries.
void UsagePrices::searchLine(Prices &prices, size_t row, Point &point) {
  Bracket bracket;
  if (!findBracket(prices, row, point, bracket))
    return;
  auto &[low, high] = bracket;
  for (unsigned tries = 0; tries < 30; ++tries) {
    double width = low.slope - high.slope;
    if (!(width > 0))
      return;
    double price = (high.value - low.value + low.slope * low.price -
                    high.slope * high.price) /
                   width;
    double meet = low.value + low.slope * (price - low.price);
    if (!(price > low.price && price < high.price) ||
        !tryPrice(prices, row, price, point))
      return;
    double gain = meet - std::max(low.value, high.value);
    if (point.value >= meet - 1e-3 * gain - 1e-13 * std::fabs(meet))
      return;
    Tangent middle = {price, point.value, slope(point, prices[row].first)};
    (middle.slope > 0 ? low : high) = middle;
  }
}

void UsagePrices::stepAlongSlope(Prices &prices, Point &point, double step) {
  double norm = 0;
  for (auto [slot, price] : prices) {
    double g = slope(point, slot);
    if (price > 0 || g > 0)
      norm += g * g;
  }
  double target = std::min(cutoff(), ceiling);
  if (norm <= 0 || !std::isfinite(target))
    return;
  double length = step * std::max(target - point.value, 0.0) / norm;
  for (auto &[slot, price] : prices)
    price = std::max(0.0, price + length * slope(point, slot));
  evaluate(prices, point);
}

void UsagePrices::maximise(
    unsigned evaluations, llvm::function_ref<double()> cutoffFn,
    llvm::function_ref<void(const std::vector<unsigned> &)> visitFn) {
  evaluationsLeft = evaluations;
  cutoff = cutoffFn;
  visit = visitFn;
  Prices prices = bestPrices;
  Point point;
  if (!evaluate(prices, point) || point.usage.empty() || done() ||
      !model.hasLimit)
    return;
  double step = 1, lastBest = best;
  while (evaluationsLeft > 0 && !deadline.passed() && !done()) {
    bool added = addRows(point, prices);
    if (prices.empty())
      return;
    // The price whose slope promises most.
    size_t row = 0;
    double promise = 0;
    for (size_t r = 0; r < prices.size(); ++r) {
      double g = slope(point, prices[r].first);
      double worth = g > 0 ? g : std::min(prices[r].second, 1.0) * -g;
      if (worth > promise) {
        promise = worth;
        row = r;
      }
    }
    if (promise <= 0)
      return; // The choice keeps the limit, and no price is paid for nothing.
    searchLine(prices, row, point);
    if (point.usage.empty())
      return;
    if (prices.size() > 1) {
      prices = bestPrices;
      addRows(point, prices);
      if (!evaluate(prices, point))
        return;
      for (unsigned i = 0; i < 6 && !done() && !point.usage.empty(); ++i)
        stepAlongSlope(prices, point, step);
      if (point.usage.empty())
        return;
    }
    bool raised = best > lastBest + 1e-7 * std::fabs(best);
    lastBest = best;
    if (!raised && !added) {
      if (prices.size() == 1 || (step /= 2) < 0.1)
        return;
    }
    prices = bestPrices;
    addRows(point, prices);
    if (!evaluate(prices, point) || point.usage.empty())
      return;
  }
}

bool UsagePrices::marginals(std::vector<std::vector<double>> &result,
                            const Deadline &until) {
  std::vector<std::vector<double>> unary = pricedUnary(bestPrices);
  double shift = model.constant;
  for (auto [slot, price] : bestPrices)
    shift += price * static_cast<double>(model.baseUsage[slot] - model.limit) /
             scale;
  if (exact) {
    if (!exact->run(unary, until) || !exact->marginals(result, until))
      return false;
  } else {
    double base = bounded->sweep(unary);
    bounded->sweep(unary);
    result = bounded->excess();
    for (std::vector<double> &values : result)
      for (double &value : values)
        value += base;
  }
  for (std::vector<double> &values : result)
    for (double &value : values)
      value += shift;
  // A variable that has been fixed has the cost of the whole.
  double least = model.constant;
  for (unsigned v = 0; v < model.getNumVars(); ++v)
    if (model.vars[v].alive)
      least = *llvm::min_element(result[v]);
  for (unsigned v = 0; v < model.getNumVars(); ++v)
    if (!model.vars[v].alive)
      result[v] = {least};
  return true;
}

std::vector<std::vector<double>> UsagePrices::pricedUsage() const {
  std::vector<std::vector<double>> weights;
  for (const WorkModel::Var &var : model.vars)
    weights.emplace_back(var.size(), 0.0);
  bool any = llvm::any_of(bestPrices,
                          [](const auto &price) { return price.second > 0; });
  for (auto [slot, price] : bestPrices) {
    double worth = any ? price : 1.0;
    for (unsigned v = 0; worth > 0 && v < model.getNumVars(); ++v)
      for (const UsageTerm &term : model.vars[v].terms)
        if (term.start <= slot && slot < term.end)
          for (unsigned s = 0; s < weights[v].size(); ++s)
            weights[v][s] +=
                worth * (static_cast<double>(term.bytes[s]) / scale);
  }
  return weights;
}
