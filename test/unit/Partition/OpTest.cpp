//===- OpTest.cpp - Every operation under every sharding of its rule ------===//
//
// Two properties: with shardings that the rule allows an operation runs without
// communication, and with any shardings at all it computes the same.
//
//===----------------------------------------------------------------------===//
#include "OpCases.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pplan;
using namespace pplan::test;

namespace {
/// A module of one operation whose operands are the arguments. Sizes are `size`,
/// or random when it is 0.
struct SingleOp {
  SingleOp(const OpCase &opCase, ArrayRef<int64_t> meshSizes, Random &random,
           int64_t size = 0)
      : m(&getContext(), meshSizes) {
    Value result = opCase.build(
        m,
        [&](ArrayRef<int64_t> shape, Type element) {
          return m.addArgument(RankedTensorType::get(shape, element),
                               TensorSharding::getReplicated(shape.size()));
        },
        [&] { return size ? size : pick(random, 1, 9); });
    op = result.getDefiningOp();
    SmallVector<Value> values(op->getResults());
    SmallVector<TensorSharding> shardings;
    for (Value value : values)
      shardings.push_back(
          TensorSharding::getReplicated(getTensorType(value).getRank()));
    m.finish(values, shardings);
  }

  void annotate(ArrayRef<TensorSharding> operands,
                ArrayRef<TensorSharding> results) {
    for (auto [operand, sharding] : llvm::zip(op->getOperands(), operands))
      m.annotate(operand, sharding);
    for (auto [index, sharding] : llvm::enumerate(results)) {
      m.annotate(op->getResult(index), sharding);
      m.function.setResultAttr(index, kShardingAttr,
                               sharding.toAttr(m.meshName, m.meshAttr));
    }
  }

  ModuleBuilder m;
  Operation *op;
};

/// Calls `visit` with every way to give the mesh's axes to factors.
void forEachFactorAxes(size_t numFactors, const DeviceMesh &mesh,
                       llvm::function_ref<void(const FactorAxes &)> visit) {
  std::vector<FactorAxes> all = {FactorAxes(numFactors)};
  for (size_t axis = 0; axis < mesh.sizes.size(); ++axis) {
    std::vector<FactorAxes> next = all;
    for (const FactorAxes &base : all)
      for (size_t id = 0; id < numFactors; ++id)
        for (size_t place = 0; place <= base[id].size(); ++place) {
          next.push_back(base);
          AxisList &axes = next.back()[id];
          axes.insert(axes.begin() + place, axis);
        }
    all = std::move(next);
  }
  for (const FactorAxes &axes : all)
    visit(axes);
}

} // namespace

/// Checks an operation under every sharding that its rule allows; returns how
/// many there are.
static int64_t checkEverySharding(SingleOp &single, const OpCase &opCase,
                                  Random &random) {
  ShardingRule rule = cast<ShardableOpInterface>(single.op).getShardingRule();
  int64_t count = 0;
  forEachFactorAxes(
      rule.factors.size(), single.m.mesh, [&](const FactorAxes &axes) {
        if (::testing::Test::HasFailure())
          return;
        SmallVector<TensorSharding> operands;
        for (auto [id, list] : llvm::enumerate(axes))
          if (!list.empty() && rule.factors[id].kind == FactorKind::Replicated)
            return;
        for (const TensorFactors &dims : rule.operands) {
          auto sharding = projectFactors(rule, dims, axes, single.m.mesh);
          if (!sharding)
            return;
          operands.push_back(*sharding);
        }
        SmallVector<TensorSharding> results;
        for (unsigned i = 0; i < single.op->getNumResults(); ++i) {
          auto result = projectResult(rule, i, axes, single.m.mesh);
          if (!result)
            return;
          results.push_back(*result);
        }
        single.annotate(operands, results);
        std::string error = checkSharded(*single.m.module, random);
        EXPECT_TRUE(error.empty()) << opCase.name << ": " << error;
        ++count;
      });
  return count;
}

TEST(Ops, EveryShardingOfTheRule) {
  Random random(3);
  for (const OpCase &opCase : getOpCases())
    for (std::vector<int64_t> sizes :
         {std::vector<int64_t>{2}, {3}, {2, 2}, {2, 4}}) {
      SingleOp single(opCase, sizes, random);
      checkEverySharding(single, opCase, random);
    }
}

TEST(Ops, EverySizeOverEveryNumberOfDevices) {
  Random random(5);
  int64_t count = 0;
  for (const OpCase &opCase : getOpCases())
    for (int64_t devices = 1; devices <= 9; ++devices)
      for (int64_t size = 1; size <= 9; ++size) {
        SingleOp single(opCase, {devices}, random, size);
        count += checkEverySharding(single, opCase, random);
      }
  RecordProperty("shardings", std::to_string(count));
}

TEST(Ops, AnySharding) {
  Random random(4);
  std::vector<std::vector<int64_t>> meshes = {{2}, {3}, {2, 2}, {2, 4}, {3, 2}};
  int64_t rounds = std::max<int64_t>(1, getCases(12000) / getOpCases().size());
  for (const OpCase &opCase : getOpCases())
    for (int64_t round = 0; round < rounds; ++round) {
      SingleOp single(opCase, meshes[pick(random, 0, meshes.size() - 1)],
                      random);
      auto getAny = [&](Value value) {
        auto type = getTensorType(value);
        return getRandomSharding(random, type.getRank(), single.m.mesh,
                                 !type.getElementType().isInteger(1));
      };
      SmallVector<TensorSharding> operands;
      for (Value operand : single.op->getOperands())
        operands.push_back(getAny(operand));
      SmallVector<TensorSharding> results;
      for (Value result : single.op->getResults())
        results.push_back(getAny(result));
      single.annotate(operands, results);
      std::string error = checkSharded(*single.m.module, random);
      ASSERT_TRUE(error.empty())
          << opCase.name << ", round " << round << ": " << error;
    }
}
