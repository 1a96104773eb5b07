//===- Repair.cpp - From a choice to a better one -------------------------===//
//
// Decides the moves: in the fullest slot the change that costs least for each
// byte it frees, then cheaper strategies as long as they fit.
//
//===----------------------------------------------------------------------===//
#include "Repair.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace pplan;

namespace {
/// A choice with its usage, kept up to date move by move.
class LocalSearch {
public:
  LocalSearch(const WorkModel &model, std::vector<unsigned> &choice)
      : model(model), choice(choice), usage(model.profile(choice)) {}

  bool makeFinite();
  bool makeFit(const Deadline &deadline);
  void improve(const Deadline &deadline);

private:
  struct Move {
    double price;
    unsigned var, strategy;
  };
  void apply(unsigned var, unsigned s);
  /// Bytes above the limit, summed over all slots.
  double excess() const;
  /// Whether the move keeps every slot within the limit.
  bool fits(unsigned var, unsigned s) const;
  std::vector<Move> findMoves(unsigned slot) const;

  const WorkModel &model;
  std::vector<unsigned> &choice;
  std::vector<int64_t> usage;
};
} // namespace

void LocalSearch::apply(unsigned v, unsigned s) {
  for (const UsageTerm &term : model.vars[v].terms)
    if (int64_t change = term.bytes[s] - term.bytes[choice[v]])
      for (unsigned t = term.start; t < term.end; ++t)
        usage[t] += change;
  choice[v] = s;
}

double LocalSearch::excess() const {
  double sum = 0;
  for (int64_t bytes : usage)
    sum += std::max<double>(0, static_cast<double>(bytes - model.limit));
  return sum;
}

bool LocalSearch::fits(unsigned v, unsigned s) const {
  const std::vector<UsageTerm> &terms = model.vars[v].terms;
  if (terms.size() == 1) {
    const UsageTerm &term = terms.front();
    int64_t change = term.bytes[s] - term.bytes[choice[v]];
    return change <= 0 ||
           *std::max_element(usage.begin() + term.start,
                             usage.begin() + term.end) <= model.limit - change;
  }
  std::vector<int64_t> after = usage;
  for (const UsageTerm &term : terms)
    if (int64_t change = term.bytes[s] - term.bytes[choice[v]])
      for (unsigned t = term.start; t < term.end; ++t)
        after[t] += change;
  return llvm::all_of(after,
                      [&](int64_t bytes) { return bytes <= model.limit; });
}

/// Moves a variable away from forbidden pairs while that leaves fewer of them.
bool LocalSearch::makeFinite() {
  auto forbidden = [&](unsigned v, unsigned s) {
    unsigned count = std::isinf(model.vars[v].unary[s]);
    for (auto [other, edge] : model.vars[v].edges)
      count +=
          std::isinf(model.pairCost(model.edges[edge], v, s, choice[other]));
    return count;
  };
  bool changed = true, clean = false;
  for (unsigned pass = 0; pass < 20 && changed && !clean; ++pass) {
    changed = false;
    clean = true;
    for (unsigned v = 0; v < model.getNumVars(); ++v) {
      if (!model.vars[v].alive)
        continue;
      unsigned now = forbidden(v, choice[v]);
      if (now == 0)
        continue;
      clean = false;
      for (unsigned s = 0; s < model.sizeOf(v); ++s)
        if (unsigned count = forbidden(v, s); count < now) {
          now = count;
          apply(v, s);
          changed = true;
        }
    }
  }
  return std::isfinite(model.evaluate(choice));
}

std::vector<LocalSearch::Move> LocalSearch::findMoves(unsigned slot) const {
  std::vector<Move> moves;
  double over = static_cast<double>(usage[slot] - model.limit);
  for (unsigned v = 0; v < model.getNumVars(); ++v) {
    if (!model.vars[v].alive)
      continue;
    llvm::SmallVector<int64_t, 64> bytes;
    for (const UsageTerm &term : model.vars[v].terms) {
      if (term.start > slot || term.end <= slot)
        continue;
      bytes.resize(model.sizeOf(v), 0);
      for (unsigned s = 0; s < model.sizeOf(v); ++s)
        bytes[s] += term.bytes[s];
    }
    for (unsigned s = 0; s < bytes.size(); ++s) {
      if (bytes[s] >= bytes[choice[v]])
        continue;
      double freed = static_cast<double>(bytes[choice[v]] - bytes[s]);
      double change = model.costChange(choice, v, s);
      if (std::isfinite(change))
        moves.push_back({change / std::min(freed, over), v, s});
    }
  }
  llvm::sort(moves, [](const Move &a, const Move &b) {
    return std::tie(a.price, a.var, a.strategy) <
           std::tie(b.price, b.var, b.strategy);
  });
  return moves;
}

bool LocalSearch::makeFit(const Deadline &deadline) {
  if (!model.hasLimit || usage.empty())
    return true;
  double now = excess();
  while (now > 0 && !deadline.passed()) {
    unsigned slot =
        static_cast<unsigned>(llvm::max_element(usage) - usage.begin());
    bool moved = false;
    // A move that frees the fullest slot may fill others: the sum must fall.
    unsigned tries = 0;
    for (const Move &move : findMoves(slot)) {
      if (++tries > 50)
        break;
      unsigned old = choice[move.var];
      apply(move.var, move.strategy);
      double next = excess();
      if (next < now) {
        now = next;
        moved = true;
        break;
      }
      apply(move.var, old);
    }
    if (!moved)
      return false;
  }
  return now <= 0;
}

void LocalSearch::improve(const Deadline &deadline) {
  bool changed = true;
  for (unsigned pass = 0; pass < 50 && changed; ++pass) {
    changed = false;
    for (unsigned v = 0; v < model.getNumVars(); ++v) {
      if (!model.vars[v].alive)
        continue;
      if (deadline.passed())
        return;
      for (unsigned s = 0; s < model.sizeOf(v); ++s) {
        double change = model.costChange(choice, v, s);
        if (!(change < 0) || (model.hasLimit && !fits(v, s)))
          continue;
        apply(v, s);
        changed = true;
      }
    }
  }
}

bool pplan::repairChoice(const WorkModel &model, std::vector<unsigned> &choice,
                         const Deadline &deadline) {
  LocalSearch search(model, choice);
  if (!search.makeFinite() || !search.makeFit(deadline))
    return false;
  search.improve(deadline);
  return true;
}
