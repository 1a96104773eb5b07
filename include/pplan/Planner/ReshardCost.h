//===- ReshardCost.h - Time to change a sharding ----------------*- C++ -*-===//
//
// Decides what the planner believes a reshard costs. The partitioner carries
// out the same movements: one collective for all axes that move alike.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PLANNER_RESHARDCOST_H
#define PPLAN_PLANNER_RESHARDCOST_H

#include "pplan/CostModel/CostModel.h"
#include "pplan/Dialect/PPlan/ShardingRule.h"
#include "llvm/ADT/DenseMap.h"
#include <map>

namespace pplan {

class ReshardCost {
public:
  ReshardCost(const CostModel &model, const DeviceMesh &mesh);

  /// Seconds to bring a tensor of `shape` and `elementBytes` from one sharding
  /// to another; infinite when the target is partial where the source is not.
  double getTime(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                 const TensorSharding &from, const TensorSharding &to);

private:
  double collective(CollectiveKind kind, double bytes,
                    llvm::ArrayRef<int8_t> axes);

  const CostModel &model;
  DeviceMesh mesh;
  MeshShape meshShape;
  /// Topologies by axis mask: they depend on nothing else.
  std::map<uint32_t, GroupTopology> topologies;
};

} // namespace pplan

#endif // PPLAN_PLANNER_RESHARDCOST_H
