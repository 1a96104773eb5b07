//===- InsertReshards.cpp - Make annotations fit the sharding rules -------===//
//
// Walks each function once, in order. How one operation runs is decided by
// FactorChoice; here operands and results are brought there and back, and equal
// reshards are shared.
//
//===----------------------------------------------------------------------===//
#include "FactorChoice.h"
#include "pplan/Partition/Passes.h"

namespace pplan {
#define GEN_PASS_DEF_INSERTRESHARDS
#include "pplan/Partition/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

namespace {
class ReshardInserter {
public:
  ReshardInserter(func::FuncOp function, const ProgramMesh &mesh,
                  int64_t reportBytes)
      : function(function), mesh(mesh), planner(mesh.sizes),
        reportBytes(reportBytes) {}

  LogicalResult run() {
    if (failed(checkBoundary(function)))
      return failure();
    for (Operation &op : llvm::make_early_inc_range(function.getBody().front()))
      if (failed(visit(&op)))
        return failure();
    return success();
  }

private:
  LogicalResult visit(Operation *op) {
    if (auto ret = dyn_cast<func::ReturnOp>(op)) {
      for (OpOperand &operand : ret->getOpOperands())
        reshardOperand(operand,
                       mesh.readResult(function, operand.getOperandNumber()),
                       "declare the result with the sharding it has");
      return success();
    }
    if (isa<ReshardOp>(op))
      return success();
    auto shardable = dyn_cast<ShardableOpInterface>(op);
    if (!shardable)
      return op->emitOpError("has no sharding rule; only operations of the "
                             "pplan dialect are partitioned");
    SmallVector<TensorSharding> operands, results;
    for (Value operand : op->getOperands())
      operands.push_back(mesh.read(operand));
    for (Value result : op->getResults())
      results.push_back(mesh.read(result));
    ShardingRule rule = shardable.getShardingRule();
    if (getCompatibleFactorAxes(op, rule, operands, results, mesh.sizes))
      return success();
    FactorChoice choice = chooseFactors(op, rule, operands, results, planner);
    for (auto [operand, target] :
         llvm::zip(op->getOpOperands(), choice.operands))
      reshardOperand(operand, target,
                     "give the operand the sharding that this operation uses");
    for (auto [result, natural, wanted] :
         llvm::zip(op->getResults(), choice.results, results))
      reshardResult(result, natural, wanted);
    return success();
  }

  /// Brings one use of a value to a sharding.
  void reshardOperand(OpOperand &operand, const TensorSharding &target,
                      StringRef remedy) {
    Value value = operand.get();
    if (mesh.read(value) == target)
      return;
    // What has been resharded before starts again from its source if that is
    // no dearer.
    if (auto source = value.getDefiningOp<ReshardOp>())
      if (getBytes(source.getInput(), target) <= getBytes(value, target))
        value = source.getInput();
    if (mesh.read(value) != target) {
      Value &shared = reshards[{value, mesh.write(target)}];
      if (!shared) {
        OpBuilder builder(operand.getOwner());
        shared = create(builder, value, target);
        report(operand.getOwner(), value, target, remedy);
      }
      value = shared;
    }
    operand.set(value);
  }

  /// Annotates a result with what it naturally is and reshards it after.
  void reshardResult(OpResult result, const TensorSharding &natural,
                     const TensorSharding &wanted) {
    if (natural == wanted)
      return;
    setSharding(result, mesh.write(natural));
    OpBuilder builder(result.getContext());
    builder.setInsertionPointAfter(result.getOwner());
    Value reshard = create(builder, result, wanted);
    result.replaceAllUsesExcept(reshard, reshard.getDefiningOp());
    report(result.getOwner(), result, wanted,
           "annotate the result with the sharding it has naturally");
  }

  Value create(OpBuilder &builder, Value value, const TensorSharding &target) {
    auto reshard =
        ReshardOp::create(builder, value.getLoc(), value.getType(), value);
    setSharding(reshard, mesh.write(target));
    return reshard;
  }

  double getBytes(Value value, const TensorSharding &target) {
    auto type = getTensorType(value);
    return planner
        .get(type.getShape(), getElementBytes(type.getElementType()),
             mesh.read(value), target)
        .bytes;
  }

  void report(Operation *op, Value value, const TensorSharding &target,
              StringRef remedy) {
    if (reportBytes <= 0)
      return;
    double bytes = getBytes(value, target);
    if (bytes < static_cast<double>(reportBytes))
      return;
    op->emitRemark("resharding a ")
        << value.getType() << " from " << mesh.read(value).str(mesh.attr)
        << " to " << target.str(mesh.attr) << " sends each device "
        << static_cast<int64_t>(bytes) << " bytes; to avoid it, " << remedy;
  }

  func::FuncOp function;
  const ProgramMesh &mesh;
  ReshardPlanner planner;
  int64_t reportBytes;
  llvm::DenseMap<std::pair<Value, Attribute>, Value> reshards;
};

struct InsertReshardsPass
    : pplan::impl::InsertReshardsBase<InsertReshardsPass> {
  using InsertReshardsBase::InsertReshardsBase;
  void runOnOperation() override {
    FailureOr<ProgramMesh> mesh = findProgramMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() &&
          failed(ReshardInserter(function, *mesh, reportBytes).run()))
        return signalPassFailure();
  }
};
} // namespace
