//===- CostModelTest.cpp - Times of computation ---------------------------===//
//
// Decides whether the roofline has its corners in the right places and its
// curves keep it monotonic, for every shipped machine.
//
//===----------------------------------------------------------------------===//
#include "pplan/CostModel/CostModel.h"
#include <gtest/gtest.h>

using namespace pplan;

static ClusterDescription makeCluster() {
  ClusterDescription cluster;
  cluster.device.peakFlops[unsigned(DataType::F32)] = 10e12;
  cluster.device.peakFlops[unsigned(DataType::BF16)] = 100e12;
  cluster.device.memoryBandwidth = 1e12;
  cluster.device.kernelLaunch = 2e-6;
  cluster.levels.push_back({"bus", 1, 1e9, 0, false});
  return cluster;
}

TEST(Roofline, TheHigherOfTwoTimesAndTheLaunch) {
  CostModel model(makeCluster());
  EXPECT_DOUBLE_EQ(model.computeTime(1e12, 1e9, DataType::F32), 2e-6 + 0.1);
  EXPECT_DOUBLE_EQ(model.computeTime(1e12, 1e9, DataType::BF16), 2e-6 + 0.01);
  EXPECT_DOUBLE_EQ(model.computeTime(1e9, 1e9, DataType::BF16), 2e-6 + 1e-3);
  EXPECT_EQ(model.computeTime(0, 0, DataType::F32), 0);
}

TEST(Roofline, MissingTypesRunAsF32) {
  CostModel model(makeCluster());
  EXPECT_EQ(model.computeTime(1e12, 0, DataType::F16),
            model.computeTime(1e12, 0, DataType::F32));
}

TEST(Roofline, CurvesScaleThePeaks) {
  ClusterDescription cluster = makeCluster();
  cluster.device.gemmEfficiency.points = {{1e6, 0.1}, {1e10, 0.9}};
  cluster.device.bandwidthEfficiency.points = {{1e3, 0.5}};
  CostModel model(cluster);
  GemmShape shape;
  EXPECT_DOUBLE_EQ(model.computeTime(1e10, 0, DataType::F32, shape),
                   2e-6 + 1e10 / 9e12);
  EXPECT_DOUBLE_EQ(model.computeTime(1e5, 0, DataType::F32, shape),
                   2e-6 + 1e5 / 1e12);
  EXPECT_DOUBLE_EQ(model.computeTime(0, 1e9, DataType::F32), 2e-6 + 2e-3);
}

TEST(EfficiencyCurve, InterpolatesLogarithms) {
  EfficiencyCurve curve;
  EXPECT_EQ(curve.at(5), 1);
  curve.points = {{1e2, 0.01}, {1e4, 0.04}};
  EXPECT_EQ(curve.at(0), 0.01);
  EXPECT_EQ(curve.at(1e9), 0.04);
  EXPECT_NEAR(curve.at(1e3), 0.02, 1e-12);
}

TEST(Roofline, MoreWorkNeverTakesLessTimeOnShippedMachines) {
  std::vector<std::string> dirs = {PPLAN_CLUSTER_DIR};
  for (const std::string &name : listClusters(dirs)) {
    auto cluster = loadCluster(name, dirs);
    ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
    CostModel model(*cluster);
    double lastCompute = 0, lastMemory = 0;
    for (double work = 1; work < 1e16; work *= 1.3) {
      double compute = model.computeTime(work, 0, DataType::BF16, GemmShape());
      double memory = model.computeTime(0, work, DataType::BF16);
      EXPECT_GE(compute, lastCompute * (1 - 1e-12)) << name << " " << work;
      EXPECT_GE(memory, lastMemory * (1 - 1e-12)) << name << " " << work;
      lastCompute = compute;
      lastMemory = memory;
    }
  }
}
