//===- Arena.h - Placing buffers with lifetimes in one arena ----*- C++ -*-===//
//
// The problem of offsets: buffers with sizes and lifetimes, no two that live at
// the same time may overlap. Data and checks are apart from the algorithm, so
// that tests can try both on problems of their own.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_MEMORY_ARENA_H
#define PPLAN_MEMORY_ARENA_H

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>

namespace pplan {

/// A buffer that lives at the points first, first + 1, ..., last.
struct ArenaBuffer {
  int64_t bytes;
  int64_t first;
  int64_t last;
};

/// Buffers, and where a solution puts them.
struct ArenaProblem {
  /// Alignment of offsets, in bytes.
  int64_t alignment = 64;
  llvm::SmallVector<ArenaBuffer> buffers;

  /// Largest sum of aligned sizes of the buffers that live at one point: no
  /// arena can be smaller.
  int64_t getLowerBound() const;
};

/// Offsets in bytes, one per buffer, and the size of the arena.
struct ArenaSolution {
  llvm::SmallVector<int64_t> offsets;
  int64_t bytes = 0;
};

/// Places large buffers first, each at the lowest offset that is free during
/// its life, in several orders; the smallest arena wins.
ArenaSolution placeBuffers(const ArenaProblem &problem);

/// Empty if no two live buffers overlap and all lie inside the arena at aligned
/// offsets; else says what is wrong.
std::string checkArena(const ArenaProblem &problem,
                       const ArenaSolution &solution);

} // namespace pplan

#endif // PPLAN_MEMORY_ARENA_H
