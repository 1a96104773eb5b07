//===- CostModel.cpp - Times of computation, places of groups -------------===//
//
// Decides the time of one operation on one device (a roofline) and how the
// groups of a collective lie in the machine. The time of a collective on such
// a topology is decided by CollectiveTime.cpp.
//
//===----------------------------------------------------------------------===//
#include "pplan/CostModel/CostModel.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace pplan;

CostModel::CostModel(ClusterDescription cluster)
    : cluster(std::move(cluster)) {}

/// Peak rate for `type`, or the nearest that the device has: a type without
/// units of its own is computed in f32, and f32 in whatever there is.
static double peakRate(const DeviceDescription &device, DataType type) {
  double rate = device.peakFlops[static_cast<unsigned>(type)];
  if (rate > 0)
    return rate;
  rate = device.peakFlops[static_cast<unsigned>(DataType::F32)];
  if (rate > 0)
    return rate;
  return *llvm::max_element(device.peakFlops);
}

// The roofline of Williams, Waterman and Patterson, "Roofline: an insightful
// visual performance model for multicore architectures", CACM 52(4), 2009, with
// each roof lowered by a measured curve, plus the time to start a kernel.
double CostModel::computeTime(double flops, double bytes, DataType type,
                              std::optional<GemmShape> gemm) const {
  const DeviceDescription &device = cluster.device;
  if (!(flops > 0) && !(bytes > 0))
    return 0;
  double compute = 0, memory = 0;
  if (flops > 0) {
    double rate = peakRate(device, type);
    if (gemm)
      rate *= device.gemmEfficiency.at(flops);
    compute = rate > 0 ? flops / rate : 0;
  }
  if (bytes > 0 && device.memoryBandwidth > 0)
    memory =
        bytes / (device.memoryBandwidth * device.bandwidthEfficiency.at(bytes));
  return device.kernelLaunch + std::max(compute, memory);
}

/// Group of each device along `axes`: the row-major number of its coordinates
/// on the other axes.
static std::vector<int64_t> assignGroups(const MeshShape &mesh,
                                         llvm::ArrayRef<unsigned> axes) {
  std::vector<int64_t> group(mesh.numDevices());
  for (int64_t id = 0, e = group.size(); id < e; ++id) {
    int64_t rest = id, stride = 1, number = 0;
    for (size_t a = mesh.axes.size(); a-- > 0;) {
      int64_t coordinate = rest % mesh.axes[a];
      rest /= mesh.axes[a];
      if (llvm::is_contained(axes, a))
        continue;
      number += coordinate * stride;
      stride *= mesh.axes[a];
    }
    group[id] = number;
  }
  return group;
}

GroupTopology CostModel::getTopology(const MeshShape &mesh,
                                     llvm::ArrayRef<unsigned> axes) const {
  GroupTopology topology;
  llvm::SmallVector<unsigned> distinct;
  for (unsigned axis : axes)
    if (axis < mesh.axes.size() && !llvm::is_contained(distinct, axis))
      distinct.push_back(axis);
  topology.size = mesh.numDevices(distinct);
  if (topology.size <= 1)
    return topology;
  std::vector<int64_t> group = assignGroups(mesh, distinct);
  int64_t numDevices = group.size(), inner = 1;
  using Key = std::pair<int64_t, int64_t>;
  for (const InterconnectLevel &level : cluster.levels) {
    // A mesh larger than the machine extends its outermost level.
    bool outermost = &level == &cluster.levels.back();
    int64_t span = outermost ? std::max(level.span, numDevices) : level.span;
    // Members of each group in each unit of the level below, then the units
    // that each group joins inside each domain of this level.
    llvm::DenseMap<Key, int64_t> members;
    for (int64_t id = 0; id < numDevices; ++id)
      ++members[{group[id], id / inner}];
    llvm::DenseMap<Key, int64_t> joined;
    for (const auto &[key, count] : members)
      ++joined[{key.first, key.second * inner / span}];
    GroupTopology::Level result;
    result.latency = level.latency;
    llvm::DenseMap<int64_t, int64_t> crossing;
    int64_t fewest = numDevices;
    for (const auto &[key, count] : members) {
      if (joined[{key.first, key.second * inner / span}] < 2)
        continue;
      ++crossing[key.second];
      fewest = std::min(fewest, count);
    }
    int64_t sharers = 1;
    for (const auto &[unit, count] : crossing)
      sharers = std::max(sharers, count);
    for (const auto &[key, count] : joined)
      result.units = std::max(result.units, count);
    result.unitBandwidth = level.shared
                               ? level.bandwidth / static_cast<double>(sharers)
                               : level.bandwidth * static_cast<double>(fewest);
    topology.levels.push_back(result);
    inner = span;
  }
  return topology;
}

double CostModel::collectiveTime(CollectiveKind kind, double bytes,
                                 const MeshShape &mesh,
                                 llvm::ArrayRef<unsigned> axes) const {
  if (!(bytes > 0))
    return 0;
  return collectiveTime(kind, bytes, getTopology(mesh, axes));
}

double CostModel::sendTime(double bytes, int64_t fromDevice,
                           int64_t toDevice) const {
  if (fromDevice == toDevice || !(bytes > 0) || cluster.levels.empty())
    return 0;
  for (const InterconnectLevel &level : cluster.levels)
    if (fromDevice / level.span == toDevice / level.span)
      return level.latency + bytes / level.bandwidth;
  const InterconnectLevel &last = cluster.levels.back();
  return last.latency + bytes / last.bandwidth;
}
