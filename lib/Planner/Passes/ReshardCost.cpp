//===- ReshardCost.cpp - Time to change a sharding ------------------------===//
//
// Sorts the axes by how they move and charges one collective for each kind of
// movement, in the order in which the partitioner carries them out: reduce
// first, then exchange, then slice, then gather.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/ReshardCost.h"
#include <limits>

using namespace pplan;

ReshardCost::ReshardCost(const CostModel &model, const DeviceMesh &mesh)
    : model(model), mesh(mesh), meshShape(llvm::ArrayRef<int64_t>(mesh.sizes)) {
}

double ReshardCost::collective(CollectiveKind kind, double bytes,
                               llvm::ArrayRef<int8_t> axes) {
  uint32_t mask = 0;
  llvm::SmallVector<unsigned> list;
  for (int8_t axis : axes) {
    mask |= 1u << axis;
    list.push_back(axis);
  }
  auto [entry, isNew] = topologies.try_emplace(mask);
  if (isNew)
    entry->second = model.getTopology(meshShape, list);
  return model.collectiveTime(kind, bytes, entry->second);
}

/// Dimension that an axis splits, -1 for partial, -2 for none.
static int findAxis(const TensorSharding &sharding, int8_t axis) {
  for (auto [dim, axes] : llvm::enumerate(sharding.dims))
    if (llvm::is_contained(axes, axis))
      return dim;
  return llvm::is_contained(sharding.partial, axis) ? -1 : -2;
}

double ReshardCost::getTime(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                            const TensorSharding &from,
                            const TensorSharding &to) {
  if (from == to)
    return 0;
  TensorSharding now = from;
  double time = 0;
  auto localBytes = [&](const TensorSharding &sharding) {
    double bytes = elementBytes;
    for (auto [size, axes] : llvm::zip(shape, sharding.dims))
      bytes *= static_cast<double>(getLocalSize(size, axes, mesh));
    return bytes;
  };
  auto isIn = [](const AxisList &list, int8_t axis) {
    return llvm::is_contained(list, axis);
  };

  // A dimension whose common axes change their order is gathered and sliced.
  for (auto [dim, axes] : llvm::enumerate(now.dims)) {
    AxisList common;
    for (int8_t axis : to.dims[dim])
      if (isIn(axes, axis))
        common.push_back(axis);
    if (!llvm::equal(common,
                     llvm::ArrayRef<int8_t>(axes).take_front(common.size()))) {
      AxisList gathered = axes;
      axes.clear();
      time += collective(CollectiveKind::AllGather, localBytes(now), gathered);
    }
  }

  AxisList reduced, gathered;
  for (int8_t axis = 0; axis < static_cast<int8_t>(mesh.sizes.size()); ++axis) {
    if (mesh.sizes[axis] == 1)
      continue;
    int source = findAxis(now, axis), target = findAxis(to, axis);
    if (source == target)
      continue;
    if (target == -1)
      return std::numeric_limits<double>::infinity();
    if (source == -1 && target == -2) {
      reduced.push_back(axis);
    } else if (source == -1) {
      time += collective(CollectiveKind::ReduceScatter, localBytes(now),
                         {axis});
      now.dims[target].push_back(axis);
    } else if (source >= 0 && target >= 0) {
      time += collective(CollectiveKind::AllToAll,
                         localBytes(now) * mesh.sizes[axis], {axis});
      llvm::erase(now.dims[source], axis);
      now.dims[target].push_back(axis);
    } else if (source == -2) {
      now.dims[target].push_back(axis); // a local slice
    } else {
      gathered.push_back(axis);
    }
  }
  if (!reduced.empty())
    time += collective(CollectiveKind::AllReduce, localBytes(now), reduced);
  if (!gathered.empty()) {
    for (AxisList &axes : now.dims)
      llvm::erase_if(axes, [&](int8_t axis) { return isIn(gathered, axis); });
    time += collective(CollectiveKind::AllGather, localBytes(now), gathered);
  }
  return time;
}
