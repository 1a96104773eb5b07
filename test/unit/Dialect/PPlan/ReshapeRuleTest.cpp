//===- ReshapeRuleTest.cpp - Splits through a reshape, by brute force -----===//
//
// Decides whether a reshape's rule is right: when the operand and the result
// are split as the rule's factors say, each device's part of the result must
// be its part of the operand, reshaped, without any communication.
//
//===----------------------------------------------------------------------===//
#include "RandomSharding.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pplan;
using namespace pplan::test;

namespace {

/// Splits the list of prime factors into the sizes of up to four dimensions.
SmallVector<int64_t> drawShape(const std::vector<int64_t> &primes) {
  SmallVector<int64_t> shape(*rc::gen::inRange(1, 5), 1);
  for (int64_t prime : primes)
    shape[*rc::gen::inRange<size_t>(0, shape.size())] *= prime;
  return shape;
}

/// For each element of a device's padded part, row-major: the row-major number
/// of that element in the whole tensor, or -1 in the padding.
Indices listLocal(ArrayRef<int64_t> shape, const TensorSharding &sharding,
                  const DeviceMesh &mesh, const Indices &coordinates) {
  SmallVector<int64_t> local = getLocalShape(shape, sharding, mesh);
  int64_t count = 1;
  for (int64_t size : local)
    count *= size;
  Indices result;
  for (int64_t element = 0; element < count; ++element) {
    int64_t rest = element, scale = 1, global = 0;
    bool valid = true;
    for (size_t dim = local.size(); dim-- > 0;) {
      ShardRange range =
          getShardRange(shape[dim], sharding.dims[dim], mesh, coordinates);
      int64_t index = rest % local[dim];
      valid &= index < range.length;
      global += (range.offset + index) * scale;
      scale *= shape[dim];
      rest /= local[dim];
    }
    result.push_back(valid ? global : -1);
  }
  return result;
}

class ReshapeRule : public ::testing::Test {
protected:
  ReshapeRule() : builder(&context) {
    context.loadDialect<PPlanDialect>();
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToEnd(module->getBody());
  }

  ShardingRule getRule(ArrayRef<int64_t> from, ArrayRef<int64_t> to) {
    Location loc = builder.getUnknownLoc();
    auto type = [&](ArrayRef<int64_t> shape) {
      return RankedTensorType::get(shape, builder.getF32Type());
    };
    Value input = IotaOp::create(builder, loc, type(from), 0);
    auto op = ReshapeOp::create(builder, loc, type(to), input);
    ShardingRule rule = op.getShardingRule();
    op.erase();
    input.getDefiningOp()->erase();
    return rule;
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
};

TEST_F(ReshapeRule, PartsHoldTheSameElements) {
  EXPECT_TRUE(rc::check([&] {
    int count = *rc::gen::inRange(0, 6);
    std::vector<int64_t> primes;
    for (int i = 0; i < count; ++i)
      primes.push_back(*rc::gen::element<int64_t>(2, 2, 3, 5));
    SmallVector<int64_t> from = drawShape(primes), to = drawShape(primes);
    ShardingRule rule = getRule(from, to);
    DeviceMesh mesh = drawMesh();
    FactorAxes axes = drawAxes(mesh, rule.factors.size());
    for (auto [id, factor] : llvm::enumerate(rule.factors))
      if (factor.kind != FactorKind::Parallel)
        axes[id].clear();
    auto before = projectFactors(rule, rule.operands[0], axes, mesh);
    auto after = projectFactors(rule, rule.results[0], axes, mesh);
    bool splits = before && after && !before->isReplicated();
    RC_TAG(splits);
    if (!before || !after)
      return;
    forEachDevice(mesh, [&](const Indices &coordinates) {
      Indices left = listLocal(from, *before, mesh, coordinates);
      Indices right = listLocal(to, *after, mesh, coordinates);
      RC_ASSERT(left == right);
    });
  }));
}

// A factor of a reshape's rule is never lost: products are the sizes.
TEST_F(ReshapeRule, FactorsMultiplyToTheSizes) {
  EXPECT_TRUE(rc::check([&] {
    int count = *rc::gen::inRange(0, 7);
    std::vector<int64_t> primes;
    for (int i = 0; i < count; ++i)
      primes.push_back(*rc::gen::element<int64_t>(2, 3, 5, 7));
    SmallVector<int64_t> from = drawShape(primes), to = drawShape(primes);
    ShardingRule rule = getRule(from, to);
    auto check = [&](const TensorFactors &dims, ArrayRef<int64_t> shape) {
      RC_ASSERT(dims.size() == shape.size());
      for (auto [factors, size] : llvm::zip(dims, shape)) {
        int64_t product = 1;
        for (int id : factors)
          product *= rule.factors[id].size;
        RC_ASSERT(product == size);
      }
    };
    check(rule.operands[0], from);
    check(rule.results[0], to);
  }));
}

// Splitting heads: the model dimension is heads times head size.
TEST_F(ReshapeRule, HeadsAreTheMajorFactor) {
  ShardingRule rule = getRule({4, 128, 768}, {4, 128, 12, 64});
  ASSERT_EQ(rule.operands[0][2].size(), 2u);
  EXPECT_EQ(rule.operands[0][2][0], rule.results[0][2][0]);
  EXPECT_EQ(rule.operands[0][2][1], rule.results[0][3][0]);
  EXPECT_EQ(rule.factors[rule.operands[0][2][0]].size, 12);
}

// 6 and 4 share 2 only; 3 x 4 against 6 x 2 cannot be told apart by factors of
// their own, so what is left must stay whole.
TEST_F(ReshapeRule, SizesWithoutCommonBoundaryStayWhole) {
  ShardingRule rule = getRule({3, 4}, {4, 3});
  for (const Factor &factor : rule.factors)
    EXPECT_EQ(factor.kind, FactorKind::Replicated);
}

TEST_F(ReshapeRule, EmptyTensorsAreNotSplit) {
  ShardingRule rule = getRule({0, 3}, {5, 0});
  for (const Factor &factor : rule.factors)
    EXPECT_EQ(factor.kind, FactorKind::Replicated);
}

} // namespace
