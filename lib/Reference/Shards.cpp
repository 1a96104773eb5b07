//===- Shards.cpp - Whole tensors to parts and back -----------------------===//
//
// What `#pplan.sharding` means, element by element.
//
//===----------------------------------------------------------------------===//
#include "Evaluate.h"
#include <cmath>
#include <limits>
#include <map>

using namespace mlir;
using namespace pplan;

SmallVector<int64_t> pplan::getCoordinates(int64_t device,
                                           const DeviceMesh &mesh) {
  SmallVector<int64_t> coordinates(mesh.sizes.size());
  for (size_t axis = mesh.sizes.size(); axis-- > 0;) {
    coordinates[axis] = device % mesh.sizes[axis];
    device /= mesh.sizes[axis];
  }
  return coordinates;
}

double pplan::getGarbage(Type element) {
  if (isa<FloatType>(element))
    return std::numeric_limits<double>::quiet_NaN();
  unsigned bits = element.getIntOrFloatBitWidth();
  if (bits == 1)
    return 1;
  if (bits == 8)
    return element.isUnsignedInteger() ? 201 : -77;
  return -98765432;
}

/// The ranges of a device's part, one per dimension.
static SmallVector<ShardRange> getRanges(ArrayRef<int64_t> shape,
                                         const TensorSharding &sharding,
                                         const DeviceMesh &mesh,
                                         ArrayRef<int64_t> coordinates) {
  SmallVector<ShardRange> ranges;
  for (auto [size, axes] : llvm::zip(shape, sharding.dims))
    ranges.push_back(getShardRange(size, axes, mesh, coordinates));
  return ranges;
}

/// Calls `visit` with each valid local index and the global index of it.
template <typename Fn>
static void forEachValid(ArrayRef<int64_t> local, ArrayRef<ShardRange> ranges,
                         Fn visit) {
  forEachIndex(local, [&](ArrayRef<int64_t> index) {
    SmallVector<int64_t> global;
    for (auto [i, range] : llvm::zip(index, ranges)) {
      if (i >= range.length)
        return;
      global.push_back(range.offset + i);
    }
    visit(index, global);
  });
}

/// A summand on each device: 3 everywhere, the rest on the first. For other
/// combiners the first device has the value, the rest the neutral element.
static double getSummand(double whole, const TensorSharding &sharding,
                         const DeviceMesh &mesh,
                         ArrayRef<int64_t> coordinates) {
  if (sharding.partial.empty())
    return whole;
  bool isFirst = llvm::all_of(
      sharding.partial, [&](int8_t axis) { return coordinates[axis] == 0; });
  constexpr double other = 3;
  switch (sharding.partialKind) {
  case ReductionKind::Sum:
    return isFirst ? whole - other * (mesh.getProduct(sharding.partial) - 1)
                   : other;
  case ReductionKind::Prod:
    return isFirst ? whole : 1;
  case ReductionKind::Max:
    return isFirst ? whole : -std::numeric_limits<double>::infinity();
  case ReductionKind::Min:
    return isFirst ? whole : std::numeric_limits<double>::infinity();
  }
  return whole;
}

HostTensor pplan::getShard(const HostTensor &whole,
                           const TensorSharding &sharding,
                           const DeviceMesh &mesh,
                           ArrayRef<int64_t> coordinates, double fill) {
  HostTensor part(getLocalShape(whole.shape, sharding, mesh), fill);
  forEachValid(part.shape, getRanges(whole.shape, sharding, mesh, coordinates),
               [&](ArrayRef<int64_t> local, ArrayRef<int64_t> global) {
                 part.at(local) =
                     getSummand(whole.at(global), sharding, mesh, coordinates);
               });
  return part;
}

static bool isClose(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) == std::isnan(b);
  return a == b || std::fabs(a - b) <=
                       tolerance * (1 + std::max(std::fabs(a), std::fabs(b)));
}

std::optional<HostTensor> pplan::joinShards(ArrayRef<int64_t> shape,
                                            const DeviceTensors &parts,
                                            const TensorSharding &sharding,
                                            const DeviceMesh &mesh,
                                            double tolerance) {
  double infinity = std::numeric_limits<double>::infinity();
  double neutrals[] = {0, 1, -infinity, infinity};
  double neutral = neutrals[static_cast<int>(sharding.partialKind)];
  uint32_t split = sharding.getAxisMask();
  std::map<std::vector<int64_t>, HostTensor> copies;
  for (size_t device = 0; device < parts.size(); ++device) {
    SmallVector<int64_t> coordinates = getCoordinates(device, mesh);
    std::vector<int64_t> key(coordinates.begin(), coordinates.end());
    for (size_t axis = 0; axis < key.size(); ++axis)
      if (split & (1u << axis))
        key[axis] = 0;
    HostTensor &copy =
        copies.try_emplace(key, HostTensor(shape, neutral)).first->second;
    forEachValid(parts[device].shape,
                 getRanges(shape, sharding, mesh, coordinates),
                 [&](ArrayRef<int64_t> local, ArrayRef<int64_t> global) {
                   double value = parts[device].at(local);
                   copy.at(global) = sharding.partial.empty()
                                         ? value
                                         : combine(sharding.partialKind,
                                                   copy.at(global), value);
                 });
  }
  const HostTensor &first = copies.begin()->second;
  for (auto &[key, copy] : copies)
    for (int64_t i = 0; i < first.size(); ++i)
      if (!isClose(first.data[i], copy.data[i], tolerance))
        return std::nullopt;
  return first;
}
