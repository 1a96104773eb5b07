//===- CollectiveTimeTest.cpp - Times of collectives ----------------------===//
//
// Decides whether collectives take the closed forms' times where there is one,
// and behave as they must everywhere else.
//
//===----------------------------------------------------------------------===//
#include "pplan/CostModel/CostModel.h"
#include <gtest/gtest.h>

using namespace pplan;

static constexpr double kBus = 100e9, kNet = 10e9;

/// `nodes` nodes of four devices.
static CostModel makeModel(int64_t nodes, double busLatency, double netLatency,
                           bool shared = false) {
  ClusterDescription cluster;
  cluster.devicesPerNode = 4;
  cluster.numNodes = nodes;
  cluster.levels.push_back({"bus", 4, kBus, busLatency, false});
  cluster.levels.push_back({"net", 4 * nodes, kNet, netLatency, shared});
  return CostModel(cluster);
}

static const CollectiveKind kAll[] = {
    CollectiveKind::AllReduce,     CollectiveKind::AllGather,
    CollectiveKind::ReduceScatter, CollectiveKind::AllToAll,
    CollectiveKind::Permute,       CollectiveKind::Broadcast};

TEST(CollectiveTime, ClosedFormsOnOneLevel) {
  CostModel model = makeModel(2, 1e-6, 5e-6);
  double v = 1e9;
  auto time = [&](CollectiveKind kind) {
    return model.collectiveTime(kind, v, {2, 4}, {1});
  };
  // Large enough that bandwidth decides between the algorithms.
  EXPECT_DOUBLE_EQ(time(CollectiveKind::AllGather), 3e-6 + 0.75 * v / kBus);
  EXPECT_DOUBLE_EQ(time(CollectiveKind::ReduceScatter), 3e-6 + 0.75 * v / kBus);
  EXPECT_DOUBLE_EQ(time(CollectiveKind::AllReduce), 6e-6 + 1.5 * v / kBus);
  EXPECT_DOUBLE_EQ(time(CollectiveKind::AllToAll), 3e-6 + 3.0 / 16 * v / kBus);
  EXPECT_DOUBLE_EQ(time(CollectiveKind::Permute), 1e-6 + 0.25 * v / kBus);
  EXPECT_DOUBLE_EQ(time(CollectiveKind::Broadcast), 3e-6 + v / kBus);
}

TEST(CollectiveTime, SmallMessagesTakeTheDepthOfTheTree) {
  CostModel model = makeModel(2, 1e-6, 5e-6);
  EXPECT_NEAR(model.collectiveTime(CollectiveKind::AllReduce, 1, {2, 4}, {1}),
              4e-6, 1e-9);
  EXPECT_NEAR(model.collectiveTime(CollectiveKind::Broadcast, 1, {2, 4}, {1}),
              2e-6, 1e-9);
  EXPECT_NEAR(model.collectiveTime(CollectiveKind::AllToAll, 1, {2, 4}, {1}),
              2e-6, 1e-9);
}

TEST(CollectiveTime, AcrossNodesTheNetworkDecides) {
  CostModel model = makeModel(2, 0, 0);
  double v = 1e9;
  // One device of each node: two devices, each with its own way out.
  EXPECT_DOUBLE_EQ(
      model.collectiveTime(CollectiveKind::AllReduce, v, {2, 4}, {0}),
      v / kNet);
  // All eight: a ring that leaves each node by four ways at once.
  EXPECT_DOUBLE_EQ(
      model.collectiveTime(CollectiveKind::AllReduce, v, {2, 4}, {0, 1}),
      std::min(2 * 7.0 / 8 * v / (4 * kNet),
               2 * (0.75 * v / kBus + 0.5 * v / (4 * kNet))));
}

TEST(CollectiveTime, SharedLinksAreDivided) {
  CostModel own = makeModel(2, 0, 0, /*shared=*/false);
  CostModel shared = makeModel(2, 0, 0, /*shared=*/true);
  auto time = [](CostModel &model, MeshShape mesh) {
    return model.collectiveTime(CollectiveKind::AllGather, 1e9, mesh, {0});
  };
  // Four groups cross at once, one from each device of a node.
  EXPECT_DOUBLE_EQ(time(shared, {2, 4}), 4 * time(own, {2, 4}));
  // One group of all devices: alone on the link, but it is one link, not four.
  EXPECT_GT(time(shared, {8}), time(own, {8}));
}

TEST(CollectiveTime, InnerAxesAreClose) {
  CostModel model = makeModel(4, 1e-6, 5e-6);
  for (CollectiveKind kind : kAll)
    EXPECT_LT(model.collectiveTime(kind, 1e8, {4, 4}, {1}),
              model.collectiveTime(kind, 1e8, {4, 4}, {0}))
        << stringifyCollectiveKind(kind).str();
}

TEST(CollectiveTime, OrderOfAxesAndSplittingThemChangesNothing) {
  CostModel model = makeModel(4, 1e-6, 5e-6);
  for (CollectiveKind kind : kAll) {
    double whole = model.collectiveTime(kind, 1e7, {16}, {0});
    EXPECT_DOUBLE_EQ(whole, model.collectiveTime(kind, 1e7, {4, 4}, {0, 1}));
    EXPECT_DOUBLE_EQ(whole, model.collectiveTime(kind, 1e7, {4, 4}, {1, 0}));
    EXPECT_DOUBLE_EQ(whole,
                     model.collectiveTime(kind, 1e7, {2, 4, 2}, {2, 0, 1}));
  }
}

TEST(CollectiveTime, NothingTakesNoTime) {
  CostModel model = makeModel(2, 1e-6, 5e-6);
  for (CollectiveKind kind : kAll) {
    EXPECT_EQ(model.collectiveTime(kind, 0, {2, 4}, {0}), 0);
    EXPECT_EQ(model.collectiveTime(kind, 1e6, {2, 4}, {}), 0);
    EXPECT_EQ(model.collectiveTime(kind, 1e6, {8, 1}, {1}), 0);
    EXPECT_EQ(model.collectiveTime(kind, 1e6, {2, 4}, {7}), 0);
  }
}

TEST(CollectiveTime, GrowsWithBytes) {
  CostModel model = makeModel(4, 1e-6, 5e-6, /*shared=*/true);
  for (CollectiveKind kind : kAll)
    for (MeshShape mesh : {MeshShape{16}, MeshShape{2, 8}, MeshShape{8, 2}}) {
      double last = 0;
      for (double bytes = 1; bytes < 1e12; bytes *= 3) {
        double time = model.collectiveTime(kind, bytes, mesh, {0});
        EXPECT_GT(time, last);
        last = time;
      }
    }
}

TEST(CollectiveTime, AllReduceIsAtMostItsTwoHalves) {
  CostModel model = makeModel(4, 1e-6, 5e-6);
  for (double bytes = 1; bytes < 1e12; bytes *= 10) {
    double half =
        model.collectiveTime(CollectiveKind::AllGather, bytes, {16}, {0});
    EXPECT_LE(model.collectiveTime(CollectiveKind::AllReduce, bytes, {16}, {0}),
              2 * half * (1 + 1e-12));
  }
}

TEST(CollectiveTime, MeshesThatDoNotFollowNodes) {
  // Three devices a group on nodes of four: the second group straddles them.
  CostModel model = makeModel(2, 1e-6, 5e-6);
  GroupTopology topology = model.getTopology({2, 3}, {1});
  EXPECT_EQ(topology.size, 3);
  ASSERT_EQ(topology.levels.size(), 2u);
  EXPECT_EQ(topology.levels[0].units, 3);
  EXPECT_EQ(topology.levels[1].units, 2);
  // A mesh larger than the machine stays defined.
  EXPECT_GT(model.collectiveTime(CollectiveKind::AllReduce, 1e6, {64}, {0}), 0);
}

TEST(CollectiveTime, SendTakesTheInnermostCommonLevel) {
  CostModel model = makeModel(2, 1e-6, 5e-6);
  EXPECT_DOUBLE_EQ(model.sendTime(1e9, 0, 3), 1e-6 + 1e9 / kBus);
  EXPECT_DOUBLE_EQ(model.sendTime(1e9, 3, 4), 5e-6 + 1e9 / kNet);
  EXPECT_EQ(model.sendTime(1e9, 3, 3), 0);
}
