//===- ProjectionTest.cpp - Factors to shardings and back -----------------===//
//
// Decides whether projectFactors tells the truth (the device's part of each
// dimension is what splitting the factors gives) and whether inferFactorAxes
// undoes it, on random rules.
//
//===----------------------------------------------------------------------===//
#include "RandomSharding.h"
#include <gtest/gtest.h>

using namespace pplan;
using namespace pplan::test;

namespace {

/// A tensor of random dimensions, each made of up to three factors.
struct Case {
  DeviceMesh mesh;
  ShardingRule rule;
  TensorFactors dims;
  FactorAxes axes;
};

Case drawCase() {
  Case drawn;
  drawn.mesh = drawMesh();
  int rank = *rc::gen::inRange(0, 4);
  for (int dim = 0; dim < rank; ++dim) {
    DimFactors factors;
    int count = *rc::gen::inRange(0, 4);
    for (int i = 0; i < count; ++i)
      factors.push_back(drawn.rule.addFactor(*rc::gen::inRange<int64_t>(1, 7),
                                             FactorKind::Parallel));
    drawn.dims.push_back(factors);
  }
  drawn.rule.operands = {drawn.dims};
  drawn.axes = drawAxes(drawn.mesh, drawn.rule.factors.size());
  return drawn;
}

int64_t getSize(const ShardingRule &rule, const DimFactors &factors) {
  int64_t size = 1;
  for (int id : factors)
    size *= rule.factors[id].size;
  return size;
}

/// The elements of a dimension whose every factor index is in the part of that
/// factor that the device holds.
Indices splitByFactors(const Case &drawn, const DimFactors &factors,
                       const Indices &coordinates) {
  Indices held;
  int64_t size = getSize(drawn.rule, factors);
  for (int64_t element = 0; element < size; ++element) {
    int64_t rest = element;
    bool inside = true;
    for (size_t place = factors.size(); place-- > 0;) {
      int id = factors[place];
      int64_t factor = drawn.rule.factors[id].size;
      ShardRange range = getShardRange(factor, drawn.axes[id], drawn.mesh,
                                       coordinates);
      int64_t index = rest % factor;
      inside &= index >= range.offset && index < range.offset + range.length;
      rest /= factor;
    }
    if (inside)
      held.push_back(element);
  }
  return held;
}

TEST(Projection, SplitsWhatTheFactorsSplit) {
  EXPECT_TRUE(rc::check([] {
    Case drawn = drawCase();
    auto sharding =
        projectFactors(drawn.rule, drawn.dims, drawn.axes, drawn.mesh);
    RC_TAG(sharding.has_value());
    if (!sharding)
      return;
    for (auto [dim, factors] : llvm::enumerate(drawn.dims)) {
      int64_t size = getSize(drawn.rule, factors), local = 1;
      for (int id : factors)
        local *= getLocalSize(drawn.rule.factors[id].size, drawn.axes[id],
                              drawn.mesh);
      RC_ASSERT(getLocalSize(size, sharding->dims[dim], drawn.mesh) == local);
      forEachDevice(drawn.mesh, [&, &factors = factors,
                                 dim = dim](const Indices &coordinates) {
        ShardRange range = getShardRange(size, sharding->dims[dim], drawn.mesh,
                                         coordinates);
        Indices expected(range.length);
        std::iota(expected.begin(), expected.end(), range.offset);
        RC_ASSERT(splitByFactors(drawn, factors, coordinates) == expected);
      });
    }
  }));
}

// Whatever inference returns gives the sharding it was made from. (It need not
// return the same axes: an axis of size 1 may belong to either neighbour.)
TEST(Projection, InferenceUndoesProjection) {
  EXPECT_TRUE(rc::check([] {
    Case drawn = drawCase();
    auto sharding =
        projectFactors(drawn.rule, drawn.dims, drawn.axes, drawn.mesh);
    if (!sharding)
      return;
    auto inferred =
        inferFactorAxes(drawn.rule, drawn.dims, *sharding, drawn.mesh);
    bool unitAxis = llvm::is_contained(drawn.mesh.sizes, 1);
    bool unitFactor = llvm::any_of(
        drawn.rule.factors, [](const Factor &f) { return f.size == 1; });
    RC_TAG(inferred.has_value());
    if (!unitAxis && !unitFactor) {
      RC_ASSERT(inferred.has_value());
      RC_ASSERT(*inferred == drawn.axes);
    }
    if (inferred) {
      auto back =
          projectFactors(drawn.rule, drawn.dims, *inferred, drawn.mesh);
      RC_ASSERT(back.has_value());
      RC_ASSERT(back->dims == sharding->dims);
    }
  }));
}

// Any sharding at all: inference either refuses it or is exact.
TEST(Projection, InferenceIsExactOrRefuses) {
  EXPECT_TRUE(rc::check([] {
    Case drawn = drawCase();
    TensorSharding sharding = TensorSharding::getReplicated(drawn.dims.size());
    FactorAxes perDim = drawAxes(drawn.mesh, drawn.dims.size());
    for (auto [dim, axes] : llvm::enumerate(perDim))
      sharding.dims[dim] = axes;
    auto inferred =
        inferFactorAxes(drawn.rule, drawn.dims, sharding, drawn.mesh);
    RC_TAG(inferred.has_value());
    if (!inferred)
      return;
    auto back = projectFactors(drawn.rule, drawn.dims, *inferred, drawn.mesh);
    RC_ASSERT(back.has_value());
    RC_ASSERT(back->dims == sharding.dims);
  }));
}

TEST(Projection, MinorFactorOnlyAfterWholeMajorOne) {
  ShardingRule rule;
  DimFactors dim = {rule.addFactor(2, FactorKind::Parallel),
                    rule.addFactor(6, FactorKind::Parallel)};
  DeviceMesh mesh{{2, 3}};
  FactorAxes axes(2);
  axes[1] = {1};
  EXPECT_FALSE(projectFactors(rule, {dim}, axes, mesh).has_value());
  axes[0] = {0};
  auto sharding = projectFactors(rule, {dim}, axes, mesh);
  ASSERT_TRUE(sharding.has_value());
  EXPECT_EQ(sharding->dims[0], (AxisList{0, 1}));
}

TEST(Projection, MajorFactorOnlyEvenly) {
  ShardingRule rule;
  DimFactors dim = {rule.addFactor(3, FactorKind::Parallel),
                    rule.addFactor(2, FactorKind::Parallel)};
  FactorAxes axes(2);
  axes[0] = {0};
  // 6 over 2 is two parts of 3 elements; 3 rows over 2 would be 4 and 2.
  EXPECT_FALSE(projectFactors(rule, {dim}, axes, DeviceMesh{{2}}).has_value());
  EXPECT_TRUE(projectFactors(rule, {dim}, axes, DeviceMesh{{3}}).has_value());
}

TEST(Projection, ReductionFactorsLeavePartialAxes) {
  ShardingRule rule;
  int row = rule.addFactor(4, FactorKind::Parallel);
  int inner = rule.addFactor(8, FactorKind::Reduction, ReductionKind::Max);
  rule.operands = {{{row}, {inner}}};
  rule.results = {{{row}}};
  FactorAxes axes(2);
  axes[row] = {1};
  axes[inner] = {2, 0};
  auto result = projectResult(rule, 0, axes, DeviceMesh{{2, 2, 2}});
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->dims[0], (AxisList{1}));
  EXPECT_EQ(result->partial, (AxisList{0, 2})) << "sorted";
  EXPECT_EQ(result->partialKind, ReductionKind::Max);
}

} // namespace
