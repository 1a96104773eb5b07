//===- CostModel.h - Times of computation and communication -----*- C++ -*-===//
//
// Decides how long one operation or one collective takes on a cluster. What a
// step takes, with overlap and schedule, is left to the planner. Each formula
// is stated with its source where it is coded and in docs/CostModel.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_COSTMODEL_COSTMODEL_H
#define PPLAN_COSTMODEL_COSTMODEL_H

#include "pplan/CostModel/ClusterDescription.h"
#include "pplan/CostModel/Mesh.h"
#include <optional>

namespace pplan {

/// A (batched) matrix product [m, k] x [k, n].
struct GemmShape {
  int64_t m = 1;
  int64_t n = 1;
  int64_t k = 1;
  int64_t batch = 1;
};

enum class CollectiveKind {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Permute,
  Broadcast,
};
llvm::StringRef stringifyCollectiveKind(CollectiveKind kind);

/// How the groups of a collective lie in the machine, one entry for each level
/// of the interconnect (innermost first).
struct GroupTopology {
  struct Level {
    /// Units of the level below (devices, for the first level) that one group
    /// joins here; 1: the group does not cross this level.
    int64_t units = 1;
    /// Bytes/s in one direction that one group has out of one such unit, after
    /// dividing a shared link by the groups that use it at the same time.
    double unitBandwidth = 0;
    double latency = 0;
  };
  std::vector<Level> levels;
  /// Devices in one group.
  int64_t size = 1;
};

class CostModel {
public:
  explicit CostModel(ClusterDescription cluster);

  const ClusterDescription &getCluster() const { return cluster; }

  /// Seconds for `flops` operations on `bytes` of memory traffic by one device:
  /// launch + max(flops / rate, bytes / bandwidth), each peak scaled by its
  /// efficiency curve. With `gemm` the rate is that of a matrix product,
  /// without it that of element-wise work (the peak of `type`, bandwidth
  /// decides). A type the device lacks runs at the rate of f32. Zero work on
  /// zero bytes takes no time.
  double computeTime(double flops, double bytes, DataType type,
                     std::optional<GemmShape> gemm = std::nullopt) const;

  /// Seconds for a collective over `axes` of `mesh` (indices of axes; their
  /// order does not matter), all groups at once. `bytes` is the size of the
  /// whole tensor of one group:
  ///   all_reduce      each device holds `bytes` before and after
  ///   all_gather      each device holds `bytes` after, bytes / n before
  ///   reduce_scatter  each device holds `bytes` before, bytes / n after
  ///   all_to_all      each device holds bytes / n before and after
  ///   permute         each device sends bytes / n to one other
  ///   broadcast       one device holds `bytes` before, all of them after
  /// A group of one device, or no bytes, takes no time.
  double collectiveTime(CollectiveKind kind, double bytes,
                        const MeshShape &mesh,
                        llvm::ArrayRef<unsigned> axes) const;

  /// Seconds to send `bytes` from one device to another, through the
  /// innermost level that joins them.
  double sendTime(double bytes, int64_t fromDevice, int64_t toDevice) const;

  /// The same on a topology that is known already.
  double collectiveTime(CollectiveKind kind, double bytes,
                        const GroupTopology &topology) const;

  /// How the groups along `axes` lie in the machine. When groups differ, the
  /// worst of them at each level.
  GroupTopology getTopology(const MeshShape &mesh,
                            llvm::ArrayRef<unsigned> axes) const;

private:
  ClusterDescription cluster;
};

} // namespace pplan

#endif // PPLAN_COSTMODEL_COSTMODEL_H
