//===- HostTensor.h - A tensor in host memory, in double --------*- C++ -*-===//
//
// The value that the reference interpreter computes with.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_REFERENCE_HOSTTENSOR_H
#define PPLAN_REFERENCE_HOSTTENSOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace pplan {

/// Elements in row-major order, each a double whatever the element type is:
/// floats are not rounded, integers are exact to 2^53, i1 is 0 or 1.
struct HostTensor {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> data;

  HostTensor() = default;
  explicit HostTensor(llvm::ArrayRef<int64_t> shape, double fill = 0);

  int64_t size() const { return static_cast<int64_t>(data.size()); }
  /// Place of an index in `data`.
  int64_t getOffset(llvm::ArrayRef<int64_t> index) const;
  double &at(llvm::ArrayRef<int64_t> index) { return data[getOffset(index)]; }
  double at(llvm::ArrayRef<int64_t> index) const {
    return data[getOffset(index)];
  }
};

/// Calls `visit` with every index of the shape, in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

} // namespace pplan

#endif // PPLAN_REFERENCE_HOSTTENSOR_H
