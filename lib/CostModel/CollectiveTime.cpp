//===- CollectiveTime.cpp - Times of collectives --------------------------===//
//
// Decides how long a collective takes on a group that lies in the machine in a
// known way: of the usual algorithms the fastest. Where the group lies is
// decided by CostModel.cpp. Contention with other traffic, and how much of it
// is hidden behind computation, are left to the planner.
//
// Sources: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective
// communication operations in MPICH", IJHPCA 19(1), 2005 [T05]; NCCL 2
// src/graph/tuning.cc, which splits the steps of a ring into those inside a
// node and those between nodes [NCCL]; P. Sanders, J. Speck, J. Traeff,
// "Two-tree algorithms for full bandwidth broadcast, reduction and scan",
// Parallel Computing 35(12), 2009 [S09].
//
// Notation: V bytes of the whole tensor, n devices; at level l: u units
// joined, m devices in one unit, b bytes/s out of one unit, a seconds latency.
//
//===----------------------------------------------------------------------===//
#include "pplan/CostModel/CostModel.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <cmath>

using namespace pplan;

llvm::StringRef pplan::stringifyCollectiveKind(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::Permute:
    return "permute";
  case CollectiveKind::Broadcast:
    return "broadcast";
  }
  return "unknown";
}

namespace {
/// A level that the group crosses, with what the formulas need of it.
struct Hop {
  double units;          ///< u
  double members;        ///< m
  double secondsPerByte; ///< 1 / b
  double latency;        ///< a
  double treeDepth;      ///< ceil(log2 u)
};

/// The levels that the group crosses, innermost first, and sums over them.
struct Path {
  llvm::SmallVector<Hop, 4> hops;
  double size = 1;             ///< n
  double slowest = 0;          ///< max of 1 / b
  double ringLatency = 0;      ///< of n - 1 steps around the ring [NCCL]
  double treeLatency = 0;      ///< of one way through the tree
  double levelRingLatency = 0; ///< of u - 1 steps at each level
  double levelTraffic = 0;     ///< sum of (u - 1) / u / b
};
} // namespace

static Path makePath(const GroupTopology &topology) {
  Path path;
  double members = 1;
  for (const GroupTopology::Level &level : topology.levels) {
    if (level.units < 2)
      continue;
    double u = static_cast<double>(level.units);
    Hop hop{u, members, level.unitBandwidth > 0 ? 1 / level.unitBandwidth : 0,
            level.latency,
            static_cast<double>(llvm::Log2_64_Ceil(level.units))};
    path.hops.push_back(hop);
    members *= u;
  }
  path.size = static_cast<double>(topology.size);
  for (const Hop &hop : path.hops) {
    // Of the ring's hops, those that leave a unit at this level.
    double crossings = (hop.units - 1) * members / (hop.members * hop.units);
    path.ringLatency += crossings * hop.latency;
    path.slowest = std::max(path.slowest, hop.secondsPerByte);
    path.treeLatency += hop.treeDepth * hop.latency;
    path.levelRingLatency += (hop.units - 1) * hop.latency;
    path.levelTraffic += (hop.units - 1) / hop.units * hop.secondsPerByte;
  }
  return path;
}

// One pass of a reduce-scatter or of an all-gather.
// Ring [T05, 3.1 and 4.2; NCCL]: (n-1)/n V / min b, and n-1 steps.
// Level by level: a ring at each level, V/m bytes for each of the m members of
// a unit, which together are V out of the unit: sum of (u-1)/u V / b, and only
// u-1 steps at each level.
static double scatterTime(double bytes, const Path &path) {
  double ring =
      path.ringLatency + (path.size - 1) / path.size * bytes * path.slowest;
  double levels = path.levelRingLatency + bytes * path.levelTraffic;
  return std::min(ring, levels);
}

// Ring or level by level: a reduce-scatter and an all-gather [T05, 4.4].
// Double binary tree [S09, NCCL]: everything up and down, pipelined, so that
// each unit sends 2 V: 2 V / min b and twice the depth of the tree.
static double allReduceTime(double bytes, const Path &path) {
  double tree = 2 * path.treeLatency + 2 * bytes * path.slowest;
  return std::min(2 * scatterTime(bytes, path), tree);
}

// Pairwise exchange [T05, 3.3]: at each level each device sends V/n^2 to each
// of the (u-1) m devices of the other units; m devices share the way out. The
// levels are different links and work at the same time.
// Bruck [T05, 3.3]: ceil(log2 u) steps at each level, each with half of what
// a device holds.
static double allToAllTime(double bytes, const Path &path) {
  double n = path.size;
  double pairwiseLatency = 0, pairwiseTraffic = 0, bruck = 0;
  for (const Hop &hop : path.hops) {
    double others = (hop.units - 1) * hop.members;
    pairwiseLatency += others * hop.latency;
    pairwiseTraffic =
        std::max(pairwiseTraffic,
                 hop.members * others * bytes / (n * n) * hop.secondsPerByte);
    bruck += hop.treeDepth *
             (hop.latency + hop.members * bytes / (2 * n) * hop.secondsPerByte);
  }
  return std::min(pairwiseLatency + pairwiseTraffic, bruck);
}

// Every device sends V/n to one other; at worst all m devices of a unit send
// out of it. The slowest level decides.
static double permuteTime(double bytes, const Path &path) {
  double time = 0;
  for (const Hop &hop : path.hops)
    time = std::max(time, hop.latency + hop.members * bytes / path.size *
                                            hop.secondsPerByte);
  return time;
}

// Binomial tree [T05, 3.2]: everything at each step. Pipelined ring [NCCL]:
// V / min b after n - 1 steps. Two trees [S09]: V / min b after the depth of
// the trees, each half of the data twice through an inner device.
static double broadcastTime(double bytes, const Path &path) {
  double binomial = 0;
  for (const Hop &hop : path.hops)
    binomial += hop.treeDepth * (hop.latency + bytes * hop.secondsPerByte);
  double ring = path.ringLatency + bytes * path.slowest;
  double tree = 2 * path.treeLatency + bytes * path.slowest;
  return std::min({binomial, ring, tree});
}

double CostModel::collectiveTime(CollectiveKind kind, double bytes,
                                 const GroupTopology &topology) const {
  if (topology.size <= 1 || !(bytes > 0))
    return 0;
  Path path = makePath(topology);
  switch (kind) {
  case CollectiveKind::AllReduce:
    return allReduceTime(bytes, path);
  case CollectiveKind::AllGather:
  case CollectiveKind::ReduceScatter:
    return scatterTime(bytes, path);
  case CollectiveKind::AllToAll:
    return allToAllTime(bytes, path);
  case CollectiveKind::Permute:
    return permuteTime(bytes, path);
  case CollectiveKind::Broadcast:
    return broadcastTime(bytes, path);
  }
  return 0;
}
