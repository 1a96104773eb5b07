//===- ReshardTest.cpp - Any sharding to any other ------------------------===//
//
// Pairs of shardings, dimensions from 1 to 9, meshes of one and two axes.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"
#include "pplan/Partition/ReshardPlan.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pplan;
using namespace pplan::test;

static std::string checkReshard(ArrayRef<int64_t> meshSizes,
                                ArrayRef<int64_t> shape,
                                const TensorSharding &from,
                                const TensorSharding &to, Random &random) {
  ModuleBuilder m(&getContext(), meshSizes);
  auto type = RankedTensorType::get(shape, m.builder.getF32Type());
  Value argument = m.addArgument(type, from);
  m.finish({argument}, {to});
  return checkSharded(*m.module, random);
}

TEST(Reshard, EveryPairOfOneDimension) {
  Random random(1);
  for (std::vector<int64_t> sizes :
       {std::vector<int64_t>{1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9},
        {2, 2}, {2, 3}, {2, 4}, {3, 2}, {1, 3}}) {
    DeviceMesh mesh{{sizes.begin(), sizes.end()}};
    for (ReductionKind kind : {ReductionKind::Sum, ReductionKind::Max})
      for (const TensorSharding &from : getAllShardings(1, mesh, kind))
        for (const TensorSharding &to : getAllShardings(1, mesh, kind))
          for (int64_t n = 1; n <= 9; ++n) {
            if (kind == ReductionKind::Max && from.partial.empty() &&
                to.partial.empty())
              continue;
            std::string error = checkReshard(sizes, {n}, from, to, random);
            ASSERT_TRUE(error.empty()) << error;
          }
  }
}

TEST(Reshard, RandomPairs) {
  Random random(2);
  std::vector<std::vector<int64_t>> meshes = {
      {2}, {4}, {2, 2}, {2, 4}, {3, 2}, {2, 2, 2}, {2, 3, 2}, {1, 4, 2}};
  int64_t cases = getCases(20000);
  for (int64_t i = 0; i < cases; ++i) {
    const std::vector<int64_t> &sizes =
        meshes[pick(random, 0, meshes.size() - 1)];
    DeviceMesh mesh{{sizes.begin(), sizes.end()}};
    SmallVector<int64_t> shape;
    for (int64_t rank = pick(random, 0, 3); rank > 0; --rank)
      shape.push_back(pick(random, 1, 9));
    std::string error = checkReshard(
        sizes, shape, getRandomSharding(random, shape.size(), mesh, true),
        getRandomSharding(random, shape.size(), mesh, true), random);
    ASSERT_TRUE(error.empty()) << "case " << i << ": " << error;
  }
}

/// Kinds of the steps of a plan.
static std::vector<ReshardKind> getKinds(const ReshardPlan &plan) {
  std::vector<ReshardKind> kinds;
  for (const ReshardStep &step : plan.steps)
    kinds.push_back(step.kind);
  return kinds;
}

static TensorSharding makeSharding(std::vector<AxisList> dims,
                                   AxisList partial = {}) {
  TensorSharding sharding;
  sharding.dims.assign(dims.begin(), dims.end());
  sharding.partial = partial;
  return sharding;
}

TEST(ReshardPlan, PrefersTheCheapCollective) {
  DeviceMesh mesh{{2, 4}};
  using Kinds = std::vector<ReshardKind>;
  auto plan = [&](TensorSharding from, TensorSharding to) {
    return planReshard({16, 16}, 4, from, to, mesh);
  };
  // A partial sum that is split afterward.
  EXPECT_EQ(
      getKinds(plan(makeSharding({{}, {}}, {1}), makeSharding({{1}, {}}))),
      Kinds{ReshardKind::ReduceScatter});
  // An axis that changes dimension: 4 of 16 rows, three quarters of them go.
  ReshardPlan moved = plan(makeSharding({{1}, {}}), makeSharding({{}, {1}}));
  EXPECT_EQ(getKinds(moved), Kinds{ReshardKind::AllToAll});
  EXPECT_EQ(moved.bytes, 4 * 16 * 4 * 3 / 4);
  // Both axes in one gather.
  EXPECT_EQ(getKinds(plan(makeSharding({{0, 1}, {}}), makeSharding({{}, {}}))),
            Kinds{ReshardKind::AllGather});
  // Another order of the axes moves a part, not the whole.
  EXPECT_EQ(
      getKinds(plan(makeSharding({{0, 1}, {}}), makeSharding({{1, 0}, {}}))),
      Kinds{ReshardKind::Permute});
  // Adding axes is free.
  ReshardPlan sliced = plan(makeSharding({{}, {}}), makeSharding({{0}, {1}}));
  EXPECT_EQ(sliced.bytes, 0);
}

TEST(ReshardPlan, GathersAxisByAxisWhenPartsAreNested) {
  // 5 over (2, 2): parts of 3, of them 2: offsets 0, 2, 3, 5, not 0, 2, 4, 6.
  DeviceMesh mesh{{2, 2}};
  EXPECT_FALSE(isFlat(5, {0, 1}, mesh));
  EXPECT_TRUE(isFlat(8, {0, 1}, mesh));
  ReshardPlan plan =
      planReshard({5}, 4, makeSharding({{0, 1}}), makeSharding({{}}), mesh);
  EXPECT_EQ(plan.steps.size(), 2u);
}

TEST(ReshardPlan, SucceedsOnAMeshOfManyAxes) {
  for (int8_t numAxes : {10, 16}) {
    DeviceMesh mesh;
    mesh.sizes.assign(numAxes, 2);
    TensorSharding from = TensorSharding::getReplicated(3), to = from;
    for (int8_t axis = 0; axis < numAxes; ++axis) {
      from.dims[axis % 3].push_back(axis);
      to.dims[(axis + 1) % 3].push_back(numAxes - 1 - axis);
    }
    ReshardPlan plan = planReshard({64, 63, 9}, 4, from, to, mesh);
    ASSERT_FALSE(plan.steps.empty());
    EXPECT_EQ(plan.steps.back().after, to);
  }
}
