//===- Arena.cpp - Placing buffers with lifetimes in one arena ------------===//
//
// The greedy algorithm of static memory planners (by size, lowest fit; see
// Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
// Inference", 2020), tried in three orders.
//
//===----------------------------------------------------------------------===//
#include "pplan/Memory/Arena.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <numeric>

using namespace pplan;

static bool liveTogether(const ArenaBuffer &x, const ArenaBuffer &y) {
  return x.first <= y.last && y.first <= x.last;
}

int64_t ArenaProblem::getLowerBound() const {
  std::map<int64_t, int64_t> changes;
  for (const ArenaBuffer &buffer : buffers) {
    int64_t bytes = llvm::alignTo(buffer.bytes, alignment);
    changes[buffer.first] += bytes;
    changes[buffer.last + 1] -= bytes;
  }
  int64_t live = 0, most = 0;
  for (auto [point, change] : changes)
    most = std::max(most, live += change);
  return most;
}

/// Places the buffers in the given order, each at its lowest free offset.
static ArenaSolution placeInOrder(const ArenaProblem &problem,
                                  llvm::ArrayRef<unsigned> order) {
  ArenaSolution solution;
  solution.offsets.assign(problem.buffers.size(), 0);
  // Buffers placed so far, by offset.
  std::multimap<int64_t, unsigned> placed;
  for (unsigned index : order) {
    const ArenaBuffer &buffer = problem.buffers[index];
    int64_t bytes = llvm::alignTo(buffer.bytes, problem.alignment);
    if (bytes == 0)
      continue;
    int64_t offset = 0;
    for (auto [begin, other] : placed) {
      if (!liveTogether(buffer, problem.buffers[other]))
        continue;
      if (begin >= offset + bytes)
        break;
      offset = std::max(offset, begin + static_cast<int64_t>(llvm::alignTo(
                                            problem.buffers[other].bytes,
                                            problem.alignment)));
    }
    solution.offsets[index] = offset;
    solution.bytes = std::max(solution.bytes, offset + bytes);
    placed.emplace(offset, index);
  }
  return solution;
}

ArenaSolution pplan::placeBuffers(const ArenaProblem &problem) {
  llvm::SmallVector<unsigned> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), 0u);
  auto at = [&](unsigned i) -> const ArenaBuffer & {
    return problem.buffers[i];
  };
  ArenaSolution best = placeInOrder(problem, order);
  auto attempt = [&](auto less) {
    llvm::sort(order, [&](unsigned x, unsigned y) {
      return less(x, y) || (!less(y, x) && x < y);
    });
    ArenaSolution solution = placeInOrder(problem, order);
    if (solution.bytes < best.bytes)
      best = std::move(solution);
  };
  attempt([&](unsigned x, unsigned y) { return at(x).bytes > at(y).bytes; });
  attempt([&](unsigned x, unsigned y) {
    return static_cast<double>(at(x).bytes) * (at(x).last - at(x).first + 1) >
           static_cast<double>(at(y).bytes) * (at(y).last - at(y).first + 1);
  });
  return best;
}

std::string pplan::checkArena(const ArenaProblem &problem,
                              const ArenaSolution &solution) {
  if (solution.offsets.size() != problem.buffers.size())
    return llvm::formatv("{0} offsets for {1} buffers",
                         solution.offsets.size(), problem.buffers.size());
  for (auto [i, buffer] : llvm::enumerate(problem.buffers)) {
    int64_t begin = solution.offsets[i], end = begin + buffer.bytes;
    if (begin < 0 || begin % problem.alignment != 0)
      return llvm::formatv("buffer {0} is at offset {1}, off the alignment {2}",
                           i, begin, problem.alignment);
    if (end > solution.bytes)
      return llvm::formatv("buffer {0} ends at {1}, outside the arena of {2}",
                           i, end, solution.bytes);
    for (size_t j = 0; j < i; ++j) {
      int64_t otherBegin = solution.offsets[j];
      int64_t otherEnd = otherBegin + problem.buffers[j].bytes;
      if (liveTogether(buffer, problem.buffers[j]) && begin < otherEnd &&
          otherBegin < end)
        return llvm::formatv("buffers {0} and {1} live together and overlap",
                             j, i);
    }
  }
  return {};
}
