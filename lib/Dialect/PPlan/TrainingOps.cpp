//===- TrainingOps.cpp - Losses and what gradients are made of ------------===//
//
// Verifiers, sharding rules and device forms of the operations that training
// adds; attention's gradient is with attention.
//
//===----------------------------------------------------------------------===//
#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pplan;

using MaybeValues = FailureOr<SmallVector<Value>>;

/// A factor for a dimension of the given size; none for size 1.
static DimFactors makeFactor(ShardingRule &rule, int64_t size,
                             FactorKind kind) {
  if (size == 1)
    return {};
  return {rule.addFactor(size, size == 0 ? FactorKind::Replicated : kind)};
}

//===----------------------------------------------------------------------===//
// cross_entropy
//===----------------------------------------------------------------------===//

LogicalResult CrossEntropyOp::verify() {
  RankedTensorType logits = getTensorType(getLogits());
  if (logits.getRank() == 0)
    return emitOpError("logits need a dimension of classes, found ") << logits;
  ArrayRef<int64_t> rows = logits.getShape().drop_back();
  if (getTensorType(getTargets()).getShape() != rows)
    return emitOpError("targets of logits ")
           << logits << " should have their shape without the last dimension, "
           << "found " << getTargets().getType();
  if (getType() != withShape(logits, rows))
    return emitOpError("result should be ")
           << withShape(logits, rows) << ", found " << getType();
  return success();
}

ShardingRule CrossEntropyOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors rows;
  for (int64_t size : getType().getShape())
    rows.push_back(makeFactor(rule, size, FactorKind::Parallel));
  TensorFactors logits = rows;
  logits.push_back(makeFactor(rule, getTensorType(getLogits()).getShape().back(),
                              FactorKind::Replicated));
  rule.operands = {logits, rows};
  rule.results = {rows};
  return rule;
}

double CrossEntropyOp::getFlopsPerPoint() { return 16; }

//===----------------------------------------------------------------------===//
// accumulate
//===----------------------------------------------------------------------===//

ShardingRule AccumulateOp::getShardingRule() {
  return getElementwiseRule(*this);
}

bool AccumulateOp::passesPartialSums(const llvm::SmallBitVector &) {
  return true;
}

//===----------------------------------------------------------------------===//
// scatter_add
//===----------------------------------------------------------------------===//

/// Shape of the result, or none when indices and updates do not fit.
static std::optional<SmallVector<int64_t>>
getScatterShape(ArrayRef<int64_t> indices, ArrayRef<int64_t> updates,
                int64_t dim, int64_t size) {
  if (dim < 0 || size < 0 || updates.size() < dim + indices.size() ||
      updates.slice(dim, indices.size()) != indices)
    return std::nullopt;
  SmallVector<int64_t> shape(updates.take_front(dim));
  shape.push_back(size);
  llvm::append_range(shape, updates.drop_front(dim + indices.size()));
  return shape;
}

void ScatterAddOp::build(OpBuilder &builder, OperationState &state,
                         Value indices, Value updates, int64_t dim,
                         int64_t size) {
  auto shape = getScatterShape(getTensorType(indices).getShape(),
                               getTensorType(updates).getShape(), dim, size);
  build(builder, state,
        withShape(getTensorType(updates),
                  shape.value_or(SmallVector<int64_t>())),
        indices, updates, dim, size);
}

LogicalResult ScatterAddOp::verify() {
  RankedTensorType updates = getTensorType(getUpdates());
  auto shape = getScatterShape(getTensorType(getIndices()).getShape(),
                               updates.getShape(), getDim(), getSize());
  if (!shape)
    return emitOpError("updates ")
           << updates << " should have the shape of the indices "
           << getIndices().getType() << " from dimension " << getDim()
           << " on, and the size " << getSize() << " must not be negative";
  if (getType() != withShape(updates, *shape))
    return emitOpError("result should be ")
           << withShape(updates, *shape) << ", found " << getType();
  return success();
}

ShardingRule ScatterAddOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors indices, updates, result;
  for (int64_t size : getTensorType(getIndices()).getShape())
    indices.push_back(makeFactor(rule, size, FactorKind::Reduction));
  RankedTensorType from = getTensorType(getUpdates());
  int64_t dim = getDim(), count = indices.size();
  for (int64_t i = 0; i < from.getRank(); ++i) {
    if (i == dim)
      result.push_back(makeFactor(rule, getSize(), FactorKind::Parallel));
    if (i >= dim && i < dim + count) {
      updates.push_back(indices[i - dim]);
      continue;
    }
    updates.push_back(
        makeFactor(rule, from.getDimSize(i), FactorKind::Parallel));
    result.push_back(updates.back());
  }
  if (dim == from.getRank())
    result.push_back(makeFactor(rule, getSize(), FactorKind::Parallel));
  rule.operands = {indices, updates};
  rule.results = {result};
  return rule;
}

bool ScatterAddOp::passesPartialSums(const llvm::SmallBitVector &partial) {
  return !partial.test(0);
}

MaybeValues ScatterAddOp::partition(OpBuilder &builder,
                                    PartitionContext &context,
                                    ValueRange operands,
                                    TypeRange resultTypes) {
  ShardingRule rule = getShardingRule();
  const DimFactors &rows = rule.results[0][getDim()];
  Value indices = operands[0];
  if (!rows.empty() && !context.getFactorAxes()[rows[0]].empty()) {
    // Count the places from this device's first; what falls outside is dropped.
    Location loc = getLoc();
    auto type = RankedTensorType::get(getTensorType(indices).getShape(),
                                      builder.getI64Type());
    if (indices.getType() != type)
      indices = ConvertOp::create(builder, loc, type, indices);
    Value offset = context.getShardOffset(builder, loc, getSize(),
                                          context.getFactorAxes()[rows[0]]);
    offset =
        BroadcastOp::create(builder, loc, type, offset, ArrayRef<int64_t>());
    indices = SubOp::create(builder, loc, type, indices, offset);
  }
  int64_t localSize =
      cast<RankedTensorType>(resultTypes.front()).getDimSize(getDim());
  return SmallVector<Value>{
      ScatterAddOp::create(builder, getLoc(), indices, operands[1], getDim(),
                           localSize)};
}
