//===- OpRuleTest.cpp - What every operation's sharding rule must obey ----===//
//
// Decides whether the rule of each operation in test/Dialect/PPlan/ops.mlir
// (which has them all) is well formed, and whether getCompatibleFactorAxes
// accepts exactly what projection produces.
//
//===----------------------------------------------------------------------===//
#include "RandomSharding.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>
#include <set>

using namespace mlir;
using namespace pplan;
using namespace pplan::test;

namespace {

class OpRule : public ::testing::Test {
protected:
  OpRule() {
    context.loadDialect<PPlanDialect, func::FuncDialect>();
    module = parseSourceFile<ModuleOp>(PPLAN_OPS_FILE, &context);
    if (module)
      module->walk([&](ShardableOpInterface op) { ops.push_back(op); });
  }
  void SetUp() override { ASSERT_FALSE(ops.empty()) << PPLAN_OPS_FILE; }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::vector<ShardableOpInterface> ops;
};

std::string describe(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  return text;
}

TEST_F(OpRule, EveryOperationIsCovered) {
  std::set<std::string> seen, registered;
  for (ShardableOpInterface op : ops)
    seen.insert(op->getName().getStringRef().str());
  for (RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "pplan" &&
        name.hasInterface<ShardableOpInterface>())
      registered.insert(name.getStringRef().str());
  EXPECT_EQ(seen, registered);
}

TEST_F(OpRule, FactorsMultiplyToTheSizes) {
  for (ShardableOpInterface op : ops) {
    ShardingRule rule = op.getShardingRule();
    ASSERT_EQ(rule.operands.size(), op->getNumOperands()) << describe(op);
    ASSERT_EQ(rule.results.size(), op->getNumResults()) << describe(op);
    auto check = [&](const TensorFactors &dims, Value value) {
      auto type = getTensorType(value);
      ASSERT_EQ(static_cast<int64_t>(dims.size()), type.getRank());
      for (auto [dim, factors] : llvm::enumerate(dims)) {
        int64_t product = 1;
        for (int id : factors)
          product *= rule.factors[id].size;
        EXPECT_EQ(product, type.getDimSize(dim))
            << "dimension " << dim << " of " << describe(op);
      }
    };
    for (auto [dims, value] : llvm::zip(rule.operands, op->getOperands()))
      check(dims, value);
    for (auto [dims, value] : llvm::zip(rule.results, op->getResults()))
      check(dims, value);
  }
}

TEST_F(OpRule, KindsFitTheirPlaces) {
  for (ShardableOpInterface op : ops) {
    ShardingRule rule = op.getShardingRule();
    auto has = [](const SmallVectorImpl<TensorFactors> &tensors, int id) {
      return llvm::any_of(tensors, [&](const TensorFactors &dims) {
        return llvm::any_of(dims, [&](const DimFactors &factors) {
          return llvm::is_contained(factors, id);
        });
      });
    };
    for (auto [id, factor] : llvm::enumerate(rule.factors)) {
      bool inResult = has(rule.results, id), inOperand = has(rule.operands, id);
      EXPECT_TRUE(inResult || inOperand) << describe(op);
      if (factor.kind == FactorKind::Parallel)
        EXPECT_TRUE(inResult) << "parallel factor " << id << describe(op);
      if (factor.kind == FactorKind::Reduction)
        EXPECT_TRUE(inOperand && !inResult) << "reduction " << describe(op);
    }
    EXPECT_GE(op.getFlopsPerPoint(), 0) << describe(op);
  }
}

// Operands and results that one choice of factor axes gives belong together;
// a result that is said to be split otherwise does not.
TEST_F(OpRule, ProjectionsAreCompatible) {
  EXPECT_TRUE(rc::check([&] {
    ShardableOpInterface op = *rc::gen::elementOf(ops);
    ShardingRule rule = op.getShardingRule();
    DeviceMesh mesh = drawMesh();
    for (int64_t &size : mesh.sizes)
      size = std::max<int64_t>(size, 2);
    FactorAxes axes = drawAxes(mesh, rule.factors.size());
    for (auto [id, factor] : llvm::enumerate(rule.factors))
      if (factor.kind == FactorKind::Replicated)
        axes[id].clear();
    SmallVector<TensorSharding> operands, results;
    for (const TensorFactors &dims : rule.operands) {
      auto sharding = projectFactors(rule, dims, axes, mesh);
      if (!sharding)
        return;
      operands.push_back(*sharding);
    }
    for (size_t i = 0; i < rule.results.size(); ++i) {
      auto sharding = projectResult(rule, i, axes, mesh);
      if (!sharding)
        return;
      results.push_back(*sharding);
    }
    std::string why;
    auto found =
        getCompatibleFactorAxes(op, rule, operands, results, mesh, &why);
    if (!found)
      RC_LOG() << describe(op) << ": " << why;
    RC_ASSERT(found.has_value());
    RC_ASSERT(*found == axes);

    if (mesh.sizes.empty() || results[0].getAxisMask() != 0)
      return;
    results[0].partial = {0};
    why.clear();
    RC_ASSERT(!getCompatibleFactorAxes(op, rule, operands, results, mesh, &why)
                   .has_value());
    RC_ASSERT(!why.empty());
  }));
}

// A product of partial sums is no partial sum of the product.
TEST_F(OpRule, OnlyOnePartialOperandIsPassedOn) {
  for (ShardableOpInterface op : ops) {
    if (!isa<MulOp>(op.getOperation()))
      continue;
    ShardingRule rule = op.getShardingRule();
    DeviceMesh mesh{{2}};
    TensorSharding whole = TensorSharding::getReplicated(1), partial = whole;
    partial.partial = {0};
    EXPECT_TRUE(getCompatibleFactorAxes(op, rule, {partial, whole}, {partial},
                                        mesh));
    EXPECT_TRUE(getCompatibleFactorAxes(op, rule, {whole, partial}, {partial},
                                        mesh));
    EXPECT_FALSE(getCompatibleFactorAxes(op, rule, {partial, partial},
                                         {partial}, mesh));
    EXPECT_FALSE(
        getCompatibleFactorAxes(op, rule, {partial, whole}, {whole}, mesh));
    TensorSharding maximum = partial;
    maximum.partialKind = ReductionKind::Max;
    EXPECT_FALSE(getCompatibleFactorAxes(op, rule, {maximum, whole}, {maximum},
                                         mesh));
  }
}

// add(partial sum, whole) would count the second operand once per device.
TEST_F(OpRule, AddPassesPartialSumsOfBothOperandsOnly) {
  for (ShardableOpInterface op : ops) {
    bool isSum = isa<AddOp, SubOp>(op.getOperation());
    if (!isSum && !isa<ExpOp, MaxOp, SoftmaxOp>(op.getOperation()))
      continue;
    unsigned count = op->getNumOperands();
    for (unsigned i = 0; i < count; ++i) {
      llvm::SmallBitVector one(count);
      one.set(i);
      EXPECT_FALSE(op.passesPartialSums(one)) << describe(op);
    }
    EXPECT_EQ(op.passesPartialSums(llvm::SmallBitVector(count, true)), isSum)
        << describe(op);
  }
}

} // namespace
