//===- PartitionPass.cpp - Global view to device view ---------------------===//
//
// Builds each function's device body beside the old one, operation by
// operation. Reshards are planned by ReshardPlan; an operation's local form is
// its own (`ShardableOpInterface::partition`).
//
//===----------------------------------------------------------------------===//
#include "EmitReshard.h"
#include "mlir/IR/IRMapping.h"
#include "pplan/Partition/Neutral.h"
#include "pplan/Partition/Passes.h"

namespace pplan {
#define GEN_PASS_DEF_PARTITION
#include "pplan/Partition/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

namespace {
/// Marks what is inserted with the phase of what it replaces, if that has one.
class PhaseKeeper : public OpBuilder::Listener {
public:
  explicit PhaseKeeper(Attribute phase) : phase(phase) {}
  void notifyOperationInserted(Operation *op, OpBuilder::InsertPoint) override {
    if (phase)
      op->setAttr(kPhaseAttr, phase);
  }

private:
  Attribute phase;
};
} // namespace

namespace {
/// Lends offsets and slices to operations that need more than a clone.
class ContextImpl : public PartitionContext {
public:
  ContextImpl(const ProgramMesh &mesh, ReshardPlanner &planner, FactorAxes axes)
      : mesh(mesh), planner(planner), axes(std::move(axes)) {}
  const FactorAxes &getFactorAxes() const override { return axes; }
  const DeviceMesh &getMesh() const override { return mesh.sizes; }
  Value getShardOffset(OpBuilder &builder, Location loc, int64_t n,
                       ArrayRef<int8_t> dimAxes) override {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    return spmd::ShardOffsetOp::create(builder, loc, type, n,
                                       mesh.name.getValue(),
                                       spmd::getAxisNames(dimAxes, mesh.attr));
  }
  Value sliceShard(OpBuilder &builder, Value value,
                   const TensorSharding &sharding) override {
    auto type = getTensorType(value);
    const ReshardPlan &plan =
        planner.get(type.getShape(), getElementBytes(type.getElementType()),
                    TensorSharding::getReplicated(type.getRank()), sharding);
    return emitReshard(builder, value.getLoc(), mesh, value, type, plan);
  }

private:
  const ProgramMesh &mesh;
  ReshardPlanner &planner;
  FactorAxes axes;
};

class FunctionPartitioner {
public:
  FunctionPartitioner(func::FuncOp function, const ProgramMesh &mesh)
      : function(function), mesh(mesh), planner(mesh.sizes),
        builder(function.getContext()) {}

  LogicalResult run() {
    if (failed(checkBoundary(function)))
      return failure();
    Region &body = function.getBody();
    Block *old = &body.front();
    Block *block = new Block();
    body.push_back(block);
    builder.setInsertionPointToEnd(block);
    for (BlockArgument argument : old->getArguments())
      local.map(argument, block->addArgument(getLocalType(argument.getType(),
                                                          mesh.read(argument)),
                                             argument.getLoc()));
    for (Operation &op : *old)
      if (failed(visit(&op))) {
        block->erase();
        return failure();
      }
    rewriteBoundary(old, block);
    block->moveBefore(old);
    old->erase();
    return success();
  }

private:
  RankedTensorType getLocalType(Type type, const TensorSharding &sharding) {
    auto tensor = cast<RankedTensorType>(type);
    return withShape(tensor,
                     getLocalShape(tensor.getShape(), sharding, mesh.sizes));
  }

  LogicalResult visit(Operation *op) {
    if (auto ret = dyn_cast<func::ReturnOp>(op))
      return visitReturn(ret);
    if (auto reshard = dyn_cast<ReshardOp>(op)) {
      auto type = getTensorType(reshard.getResult());
      const ReshardPlan &plan = planner.get(
          type.getShape(), getElementBytes(type.getElementType()),
          mesh.read(reshard.getInput()), mesh.read(reshard.getResult()));
      // What a phase gathers for itself stays its own: its mark keeps it from
      // being merged with another phase's.
      PhaseKeeper keeper(op->getAttr(kPhaseAttr));
      builder.setListener(&keeper);
      local.map(reshard.getResult(),
                emitReshard(builder, op->getLoc(), mesh,
                            local.lookup(reshard.getInput()), type, plan));
      builder.setListener(nullptr);
      return success();
    }
    auto shardable = dyn_cast<ShardableOpInterface>(op);
    if (!shardable)
      return op->emitOpError("has no sharding rule; only operations of the "
                             "pplan dialect are partitioned");
    return visitShardable(shardable);
  }

  LogicalResult visitReturn(func::ReturnOp ret) {
    SmallVector<Value> operands;
    for (OpOperand &operand : ret->getOpOperands()) {
      TensorSharding has = mesh.read(operand.get());
      TensorSharding wants =
          mesh.readResult(function, operand.getOperandNumber());
      if (has != wants)
        return ret.emitOpError("operand ")
               << operand.getOperandNumber() << " has the sharding "
               << has.str(mesh.attr) << ", but the function's result is "
               << wants.str(mesh.attr) << "; run pplan-insert-reshards before";
      operands.push_back(local.lookup(operand.get()));
    }
    func::ReturnOp::create(builder, ret.getLoc(), operands);
    return success();
  }

  LogicalResult visitShardable(ShardableOpInterface op) {
    ShardingRule rule = op.getShardingRule();
    SmallVector<TensorSharding> operands;
    SmallVector<Value> values;
    for (Value operand : op->getOperands()) {
      operands.push_back(mesh.read(operand));
      values.push_back(local.lookup(operand));
    }
    SmallVector<TensorSharding, 1> results;
    SmallVector<Type, 1> types;
    for (Value result : op->getResults()) {
      results.push_back(mesh.read(result));
      types.push_back(getLocalType(result.getType(), results.back()));
    }
    std::string why;
    std::optional<FactorAxes> axes = getCompatibleFactorAxes(
        op, rule, operands, results, mesh.sizes, &why);
    if (!axes)
      return op.emitOpError("does not fit its shardings: ")
             << why << "; run pplan-insert-reshards before";
    maskPadding(op, rule, *axes, values);
    ContextImpl context(mesh, planner, *axes);
    FailureOr<SmallVector<Value>> parts =
        op.partition(builder, context, values, types);
    if (failed(parts) || TypeRange(ValueRange(*parts)) != TypeRange(types)) {
      InFlightDiagnostic diag =
          op.emitOpError("has no form on one device with result sharding");
      for (const TensorSharding &sharding : results)
        diag << ' ' << sharding.str(mesh.attr);
      return diag;
    }
    if (results.size() > 1) {
      annotateAll(*parts, op->getResults(), results);
      return success();
    }
    local.map(op->getResult(0),
              annotate(parts->front(), getTensorType(op->getResult(0)),
                       results.front()));
    return success();
  }

  /// Fills the padding that a reduction would read. `gather` compares its
  /// indices with the range from its offset on, which is enough as long as the
  /// ranges of two devices do not overlap.
  void maskPadding(Operation *op, const ShardingRule &rule,
                   const FactorAxes &axes, SmallVector<Value> &values) {
    for (auto [index, dims] : llvm::enumerate(rule.operands)) {
      if (!readsPadding(op, index))
        continue;
      for (auto [dim, factors] : llvm::enumerate(dims))
        for (int id : factors) {
          const Factor &factor = rule.factors[id];
          if (!rule.isReduced(id) ||
              isEvenlySplit(factor.size, axes[id], mesh.sizes) ||
              (isa<GatherOp>(op) && isFlat(factor.size, axes[id], mesh.sizes)))
            continue;
          Type element = getTensorType(values[index]).getElementType();
          // A dimension of several factors is split by the axes of all.
          AxisList all;
          for (int part : factors)
            llvm::append_range(all, axes[part]);
          values[index] = spmd::MaskPaddingOp::create(
              builder, op->getLoc(), values[index].getType(), values[index],
              dim, getTensorType(op->getOperand(index)).getDimSize(dim),
              getNeutralElement(factor.combiner, element),
              mesh.name.getValue(), spmd::getAxisNames(all, mesh.attr));
          break;
        }
    }
  }

  /// Says on the operation what its result is. Constants are merged whatever
  /// they say, so a split one becomes a broadcast scalar.
  Value annotate(Value value, RankedTensorType globalType,
                 const TensorSharding &sharding) {
    if (auto constant = value.getDefiningOp<ConstantOp>()) {
      auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
      if (sharding.isReplicated() || !splat)
        return value;
      auto scalar = withShape(globalType, {});
      Value element = ConstantOp::create(builder, constant.getLoc(), scalar,
                                         splat.resizeSplat(scalar));
      value =
          BroadcastOp::create(builder, constant.getLoc(), getTensorType(value),
                              element, ArrayRef<int64_t>());
      constant.erase();
    }
    value.getDefiningOp()->setAttr(kStateAttr,
                                   makeStateAttr(mesh, sharding, globalType));
    return value;
  }

  /// The same for an operation of several results: one state for each.
  void annotateAll(ArrayRef<Value> parts, ResultRange globals,
                   ArrayRef<TensorSharding> shardings) {
    SmallVector<Attribute> states;
    for (auto [part, global, sharding] : llvm::zip(parts, globals, shardings)) {
      states.push_back(makeStateAttr(mesh, sharding, getTensorType(global)));
      local.map(global, part);
    }
    parts.front().getDefiningOp()->setAttr(kStateAttr,
                                           builder.getArrayAttr(states));
  }

  /// Changes the function's type and replaces shardings by layouts.
  void rewriteBoundary(Block *old, Block *block) {
    SmallVector<Type> inputs(block->getArgumentTypes()), results;
    for (BlockArgument argument : old->getArguments()) {
      unsigned i = argument.getArgNumber();
      function.setArgAttr(
          i, spmd::kLayoutAttr,
          makeStateAttr(mesh, mesh.read(argument), getTensorType(argument)));
      function.removeArgAttr(i, kShardingAttr);
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto type = cast<RankedTensorType>(function.getResultTypes()[i]);
      TensorSharding sharding = mesh.readResult(function, i);
      function.setResultAttr(i, spmd::kLayoutAttr,
                             makeStateAttr(mesh, sharding, type));
      function.removeResultAttr(
          i, StringAttr::get(function.getContext(), kShardingAttr));
      results.push_back(getLocalType(type, sharding));
    }
    function.setFunctionType(
        FunctionType::get(function.getContext(), inputs, results));
  }

  func::FuncOp function;
  const ProgramMesh &mesh;
  ReshardPlanner planner;
  OpBuilder builder;
  IRMapping local;
};

struct PartitionPass : pplan::impl::PartitionBase<PartitionPass> {
  void runOnOperation() override {
    FailureOr<ProgramMesh> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() &&
          failed(FunctionPartitioner(function, *mesh).run()))
        return signalPassFailure();
  }
};
} // namespace
