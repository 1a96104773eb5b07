//===- RandomSharding.h - Meshes, devices and splits for tests --*- C++ -*-===//
//
// Draws what the tests of sharding arithmetic need, and says by enumeration
// which elements a device holds.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_TEST_UNIT_DIALECT_PPLAN_RANDOMSHARDING_H
#define PPLAN_TEST_UNIT_DIALECT_PPLAN_RANDOMSHARDING_H

#include "pplan/Dialect/PPlan/ShardingRule.h"
#include <functional>
#include <numeric>
#include <rapidcheck.h>
#include <vector>

namespace pplan::test {

using Indices = std::vector<int64_t>;

/// A mesh of up to three axes of up to four devices each.
inline DeviceMesh drawMesh() {
  DeviceMesh mesh;
  int axes = *rc::gen::inRange(0, 4);
  for (int axis = 0; axis < axes; ++axis)
    mesh.sizes.push_back(*rc::gen::inRange<int64_t>(1, 5));
  return mesh;
}

/// Calls `visit` with the coordinates of every device.
inline void forEachDevice(const DeviceMesh &mesh,
                          const std::function<void(const Indices &)> &visit) {
  Indices coordinates(mesh.sizes.size(), 0);
  for (int64_t device = 0; device < mesh.getNumDevices(); ++device) {
    int64_t rest = device;
    for (size_t axis = coordinates.size(); axis-- > 0;) {
      coordinates[axis] = rest % mesh.sizes[axis];
      rest /= mesh.sizes[axis];
    }
    visit(coordinates);
  }
}

/// Gives each axis of the mesh to one of `count` places at random, or to none.
inline FactorAxes drawAxes(const DeviceMesh &mesh, size_t count) {
  FactorAxes axes(count);
  std::vector<int> order(mesh.sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (!order.empty() && *rc::gen::arbitrary<bool>())
    std::reverse(order.begin(), order.end());
  for (int axis : order) {
    size_t place = *rc::gen::inRange<size_t>(0, count + 1);
    if (place < count)
      axes[place].push_back(axis);
  }
  return axes;
}

/// The elements of 0 to n - 1 that a device holds, by cutting the list at one
/// axis after the other, and the size to which it pads them.
inline Indices cutOut(int64_t n, llvm::ArrayRef<int8_t> axes,
                      const DeviceMesh &mesh, const Indices &coordinates,
                      int64_t &padded) {
  Indices held(n);
  std::iota(held.begin(), held.end(), 0);
  padded = n;
  for (int8_t axis : axes) {
    padded = (padded + mesh.sizes[axis] - 1) / mesh.sizes[axis];
    Indices part;
    for (int64_t i = 0; i < padded; ++i) {
      size_t from = coordinates[axis] * padded + i;
      if (from < held.size())
        part.push_back(held[from]);
    }
    held = part;
  }
  return held;
}

} // namespace pplan::test

#endif // PPLAN_TEST_UNIT_DIALECT_PPLAN_RANDOMSHARDING_H
