//===- Mesh.h - Shapes of device meshes -------------------------*- C++ -*-===//
//
// Decides how devices are numbered in a mesh and which meshes a number of
// devices can form. Which mesh is good is decided by the planner.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_COSTMODEL_MESH_H
#define PPLAN_COSTMODEL_MESH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <string>
#include <vector>

namespace pplan {

/// Sizes of the mesh axes. Device ids are row-major: the last axis varies
/// fastest, so its neighbours are closest in the machine. An empty shape is
/// one device.
struct MeshShape {
  llvm::SmallVector<int64_t, 4> axes;

  MeshShape() = default;
  MeshShape(std::initializer_list<int64_t> sizes) : axes(sizes) {}
  explicit MeshShape(llvm::ArrayRef<int64_t> sizes)
      : axes(sizes.begin(), sizes.end()) {}

  /// Product of the axis sizes.
  int64_t numDevices() const;
  /// Product of the sizes of `subset` (axis indices).
  int64_t numDevices(llvm::ArrayRef<unsigned> subset) const;
  /// "2x4"; "1" for the empty shape.
  std::string str() const;

  bool operator==(const MeshShape &other) const { return axes == other.axes; }
};

/// Every ordered factorisation of `numDevices` into axes of size >= 2, at most
/// `maxAxes` of them: 8 gives [8], [2,4], [4,2], [2,2,2]. Fewer axes first,
/// then lexicographic. One device gives the single shape [1]; fewer than one,
/// or no axes allowed, gives none.
std::vector<MeshShape> enumerateMeshes(int64_t numDevices,
                                       unsigned maxAxes = 3);

} // namespace pplan

#endif // PPLAN_COSTMODEL_MESH_H
