//===- ShardingRules.cpp - The sharding rule of each operation ------------===//
//
// Factors of each operation, its work per point, and its form on one device
// where that is more than a clone. How rules are used is decided elsewhere.
//
//===----------------------------------------------------------------------===//
#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/IR/Builders.h"
#include <numeric>

using namespace mlir;
using namespace pplan;

using MaybeValues = FailureOr<SmallVector<Value>>;

/// A factor for a dimension of the given size; none for size 1.
static DimFactors makeDim(ShardingRule &rule, int64_t size, FactorKind kind) {
  if (size == 1)
    return {};
  if (size == 0)
    kind = FactorKind::Replicated;
  return {rule.addFactor(size, kind)};
}

/// Factors for all dimensions of a type; those in `whole` cannot be split.
static TensorFactors makeDims(ShardingRule &rule, RankedTensorType type,
                              ArrayRef<int64_t> whole = {}) {
  TensorFactors dims;
  for (auto [dim, size] : llvm::enumerate(type.getShape()))
    dims.push_back(makeDim(
        rule, size,
        llvm::is_contained(whole, static_cast<int64_t>(dim))
            ? FactorKind::Replicated
            : FactorKind::Parallel));
  return dims;
}

ShardingRule pplan::getElementwiseRule(Operation *op) {
  ShardingRule rule;
  TensorFactors dims = makeDims(rule, getTensorType(op->getResult(0)));
  rule.operands.assign(op->getNumOperands(), dims);
  rule.results.assign(op->getNumResults(), dims);
  return rule;
}

//===----------------------------------------------------------------------===//
// Structural operations
//===----------------------------------------------------------------------===//

ShardingRule ConstantOp::getShardingRule() { return getElementwiseRule(*this); }

MaybeValues ConstantOp::partition(OpBuilder &builder, PartitionContext &context,
                                  ValueRange, TypeRange resultTypes) {
  if (auto splat = dyn_cast<SplatElementsAttr>(getValue())) {
    auto type = cast<ShapedType>(resultTypes.front());
    return SmallVector<Value>{
        ConstantOp::create(builder, getLoc(), type, splat.resizeSplat(type))};
  }
  Value whole = ConstantOp::create(builder, getLoc(), getType(), getValue());
  std::optional<TensorSharding> sharding =
      projectFactors(getShardingRule(), getShardingRule().results[0],
                     context.getFactorAxes(), context.getMesh());
  if (!sharding)
    return failure();
  return SmallVector<Value>{context.sliceShard(builder, whole, *sharding)};
}

ShardingRule IotaOp::getShardingRule() { return getElementwiseRule(*this); }

/// A scalar tensor converted to the element type of `type` and broadcast to it.
static Value splatTo(OpBuilder &builder, Location loc, Value scalar,
                     RankedTensorType type) {
  auto converted = RankedTensorType::get({}, type.getElementType());
  if (scalar.getType() != converted)
    scalar = ConvertOp::create(builder, loc, converted, scalar);
  return BroadcastOp::create(builder, loc, type, scalar,
                             ArrayRef<int64_t>());
}

MaybeValues IotaOp::partition(OpBuilder &builder, PartitionContext &context,
                              ValueRange, TypeRange resultTypes) {
  auto type = cast<RankedTensorType>(resultTypes.front());
  Value local = IotaOp::create(builder, getLoc(), type, getDimAttr());
  ShardingRule rule = getShardingRule();
  const DimFactors &factors = rule.results[0][getDim()];
  if (factors.empty() || context.getFactorAxes()[factors[0]].empty())
    return SmallVector<Value>{local};
  Value offset = context.getShardOffset(
      builder, getLoc(), getTensorType(getResult()).getDimSize(getDim()),
      context.getFactorAxes()[factors[0]]);
  return SmallVector<Value>{
      AddOp::create(builder, getLoc(), local,
                    splatTo(builder, getLoc(), offset, type))};
}

ShardingRule BroadcastOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors result = makeDims(rule, getTensorType(getResult()));
  TensorFactors operand;
  for (auto [index, dim] : llvm::enumerate(getDims()))
    operand.push_back(getTensorType(getInput()).getDimSize(index) == 1
                          ? DimFactors()
                          : result[dim]);
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

bool BroadcastOp::passesPartialSums(const llvm::SmallBitVector &) {
  return true;
}

/// The dimensions from `begin` on are made of factors whose sizes multiply to
/// `left` and the sizes of further dimensions: they cannot be split.
static void makeWhole(ShardingRule &rule, TensorFactors &dims, size_t begin,
                      size_t end, int64_t left, ArrayRef<int64_t> shape) {
  for (size_t dim = begin; dim < end; ++dim) {
    int64_t size = dim == begin ? left : shape[dim];
    if (size != 1)
      dims[dim].push_back(rule.addFactor(size, FactorKind::Replicated));
  }
}

ShardingRule ReshapeOp::getShardingRule() {
  ShardingRule rule;
  auto fromType = getTensorType(getInput()), toType = getTensorType(getResult());
  ArrayRef<int64_t> from = fromType.getShape(), to = toType.getShape();
  if (fromType.getNumElements() == 0) {
    TensorFactors dims[2];
    RankedTensorType types[] = {fromType, toType};
    for (auto [index, type] : llvm::enumerate(types))
      for (int64_t size : type.getShape())
        dims[index].push_back(makeDim(rule, size, FactorKind::Replicated));
    rule.operands = {dims[0]};
    rule.results = {dims[1]};
    return rule;
  }
  TensorFactors fromDims(from.size()), toDims(to.size());
  size_t i = 0, j = 0;
  int64_t a = 1, b = 1; // what is left of dimensions i - 1 and j - 1
  while (true) {
    while (a == 1 && i < from.size())
      a = from[i++];
    while (b == 1 && j < to.size())
      b = to[j++];
    if (a == 1 || b == 1)
      break;
    int64_t common = std::gcd(a, b);
    if (common > 1) {
      int id = rule.addFactor(common, FactorKind::Parallel);
      fromDims[i - 1].push_back(id);
      toDims[j - 1].push_back(id);
      a /= common;
      b /= common;
    }
    if (a == 1 || b == 1)
      continue;
    // What is left does not divide: find where the two shapes meet again.
    size_t iEnd = i, jEnd = j;
    int64_t x = a, y = b;
    while (x != y) {
      if (x < y)
        x *= from[iEnd++];
      else
        y *= to[jEnd++];
    }
    makeWhole(rule, fromDims, i - 1, iEnd, a, from);
    makeWhole(rule, toDims, j - 1, jEnd, b, to);
    i = iEnd;
    j = jEnd;
    a = b = 1;
  }
  rule.operands = {fromDims};
  rule.results = {toDims};
  return rule;
}

bool ReshapeOp::passesPartialSums(const llvm::SmallBitVector &) {
  return true;
}

ShardingRule TransposeOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors operand = makeDims(rule, getTensorType(getInput()));
  TensorFactors result;
  for (int64_t dim : getPermutation())
    result.push_back(operand[dim]);
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

bool TransposeOp::passesPartialSums(const llvm::SmallBitVector &) {
  return true;
}

ShardingRule SliceOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors operand, result;
  auto from = getTensorType(getInput()), to = getTensorType(getResult());
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    if (isFullDim(dim)) {
      operand.push_back(
          makeDim(rule, from.getDimSize(dim), FactorKind::Parallel));
      result.push_back(operand.back());
      continue;
    }
    operand.push_back(
        makeDim(rule, from.getDimSize(dim), FactorKind::Replicated));
    result.push_back(makeDim(rule, to.getDimSize(dim), FactorKind::Replicated));
  }
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

bool SliceOp::passesPartialSums(const llvm::SmallBitVector &) { return true; }

MaybeValues SliceOp::partition(OpBuilder &builder, PartitionContext &,
                               ValueRange operands, TypeRange resultTypes) {
  return partitionByCloning(*this, builder, operands, resultTypes);
}

ShardingRule ConcatOp::getShardingRule() {
  ShardingRule rule;
  int64_t dim = getDim();
  TensorFactors result = makeDims(rule, getTensorType(getResult()), {dim});
  for (Value input : getInputs()) {
    TensorFactors operand = result;
    operand[dim] = makeDim(rule, getTensorType(input).getDimSize(dim),
                           FactorKind::Replicated);
    rule.operands.push_back(operand);
  }
  rule.results = {result};
  return rule;
}

bool ConcatOp::passesPartialSums(const llvm::SmallBitVector &partial) {
  return partial.all();
}

ShardingRule PadOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors operand, result;
  auto from = getTensorType(getInput()), to = getTensorType(getResult());
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    bool whole = getLow()[dim] == 0 && getHigh()[dim] == 0;
    FactorKind kind = whole ? FactorKind::Parallel : FactorKind::Replicated;
    operand.push_back(makeDim(rule, from.getDimSize(dim), kind));
    result.push_back(whole ? operand.back()
                           : makeDim(rule, to.getDimSize(dim), kind));
  }
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

ShardingRule GatherOp::getShardingRule() {
  ShardingRule rule;
  int64_t dim = getDim();
  auto from = getTensorType(getInput());
  TensorFactors indices = makeDims(rule, getTensorType(getIndices()));
  TensorFactors operand, result;
  for (int64_t i = 0; i < from.getRank(); ++i) {
    if (i == dim) {
      operand.push_back(from.getDimSize(i) <= 1
                            ? makeDim(rule, from.getDimSize(i),
                                      FactorKind::Replicated)
                            : DimFactors{rule.addFactor(
                                  from.getDimSize(i), FactorKind::Reduction)});
      llvm::append_range(result, indices);
      continue;
    }
    operand.push_back(makeDim(rule, from.getDimSize(i), FactorKind::Parallel));
    result.push_back(operand.back());
  }
  // An i1 or unsigned sum would not be the element: such tables stay whole.
  if (!from.getElementType().isIntOrFloat() ||
      from.getElementType().isInteger(1))
    for (int id : operand[dim])
      rule.factors[id].kind = FactorKind::Replicated;
  rule.operands = {operand, indices};
  rule.results = {result};
  return rule;
}

MaybeValues GatherOp::partition(OpBuilder &builder, PartitionContext &context,
                                ValueRange operands, TypeRange resultTypes) {
  ShardingRule rule = getShardingRule();
  int64_t dim = getDim();
  const DimFactors &factors = rule.operands[0][dim];
  if (factors.empty() || context.getFactorAxes()[factors[0]].empty())
    return partitionByCloning(*this, builder, operands, resultTypes);

  // Look up the indices that fall into this device's part, zero elsewhere.
  Location loc = getLoc();
  int64_t size = getTensorType(getInput()).getDimSize(dim);
  int64_t localSize = getTensorType(operands[0]).getDimSize(dim);
  auto indexType = RankedTensorType::get(
      getTensorType(operands[1]).getShape(), builder.getI64Type());
  auto constant = [&](int64_t value) -> Value {
    return ConstantOp::create(
        builder, loc, indexType,
        DenseElementsAttr::get(indexType, builder.getI64IntegerAttr(value)));
  };
  Value index = operands[1];
  if (index.getType() != indexType)
    index = ConvertOp::create(builder, loc, indexType, index);
  index = MaxOp::create(builder, loc, index, constant(0));
  index = MinOp::create(builder, loc, index, constant(size - 1));
  Value offset = context.getShardOffset(builder, loc, size,
                                        context.getFactorAxes()[factors[0]]);
  index = SubOp::create(builder, loc, index,
                        splatTo(builder, loc, offset, indexType));
  Value inside = AndOp::create(
      builder, loc,
      CompareOp::create(builder, loc, Predicate::GE, index, constant(0)),
      CompareOp::create(builder, loc, Predicate::LT, index,
                        constant(localSize)));
  auto type = cast<RankedTensorType>(resultTypes.front());
  Value taken = GatherOp::create(builder, loc, type, operands[0], index,
                                 getDimAttr());
  SmallVector<int64_t> dims(indexType.getRank());
  std::iota(dims.begin(), dims.end(), dim);
  Value mask = BroadcastOp::create(
      builder, loc,
      RankedTensorType::get(type.getShape(), builder.getI1Type()), inside,
      dims);
  Value zero = ConstantOp::create(
      builder, loc, type,
      DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType())));
  return SmallVector<Value>{
      SelectOp::create(builder, loc, type, mask, taken, zero)};
}

ShardingRule GatherElementsOp::getShardingRule() {
  ShardingRule rule;
  int64_t dim = getDim();
  TensorFactors result = makeDims(rule, getTensorType(getResult()), {dim});
  TensorFactors operand = result;
  operand[dim] = makeDim(rule, getTensorType(getInput()).getDimSize(dim),
                         FactorKind::Replicated);
  rule.operands = {operand, result};
  rule.results = {result};
  return rule;
}

//===----------------------------------------------------------------------===//
// Contractions, reductions, fused operations
//===----------------------------------------------------------------------===//

ShardingRule ContractOp::getShardingRule() {
  ShardingRule rule;
  llvm::SmallDenseMap<char, int> ids;
  auto addTensor = [&](StringRef letters, Value value) {
    TensorFactors dims;
    for (auto [dim, letter] : llvm::enumerate(letters)) {
      int64_t size = getTensorType(value).getDimSize(dim);
      auto [known, isNew] = ids.try_emplace(letter, -1);
      if (isNew && size != 1) {
        FactorKind kind = getResultLetters().contains(letter)
                              ? FactorKind::Parallel
                              : FactorKind::Reduction;
        known->second = rule.addFactor(
            size, size == 0 ? FactorKind::Replicated : kind);
      }
      dims.push_back(known->second < 0 ? DimFactors()
                                       : DimFactors{known->second});
    }
    return dims;
  };
  rule.operands.push_back(addTensor(getLhsLetters(), getLhs()));
  rule.operands.push_back(addTensor(getRhsLetters(), getRhs()));
  rule.results.push_back(addTensor(getResultLetters(), getResult()));
  return rule;
}

double ContractOp::getFlopsPerPoint() { return 2; }
bool ContractOp::passesPartialSums(const llvm::SmallBitVector &partial) {
  return partial.count() == 1;
}

ShardingRule ReduceOp::getShardingRule() {
  ShardingRule rule;
  TensorFactors operand, result;
  for (auto [dim, size] :
       llvm::enumerate(getTensorType(getInput()).getShape())) {
    if (!llvm::is_contained(getDims(), static_cast<int64_t>(dim))) {
      operand.push_back(makeDim(rule, size, FactorKind::Parallel));
      result.push_back(operand.back());
    } else if (size > 1) {
      operand.push_back(
          {rule.addFactor(size, FactorKind::Reduction, getKind())});
    } else {
      operand.push_back(makeDim(rule, size, FactorKind::Replicated));
    }
  }
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

bool ReduceOp::passesPartialSums(const llvm::SmallBitVector &) {
  return getKind() == ReductionKind::Sum;
}

ShardingRule ArgReduceOp::getShardingRule() {
  ShardingRule rule;
  int64_t dim = getDim();
  TensorFactors operand = makeDims(rule, getTensorType(getInput()), {dim});
  TensorFactors result = operand;
  result.erase(result.begin() + dim);
  rule.operands = {operand};
  rule.results = {result};
  return rule;
}

/// Operand and result alike, the dimensions in `whole` not split.
static ShardingRule getRowRule(Value input, ArrayRef<int64_t> whole) {
  ShardingRule rule;
  TensorFactors dims = makeDims(rule, getTensorType(input), whole);
  rule.operands = {dims};
  rule.results = {dims};
  return rule;
}

ShardingRule CumSumOp::getShardingRule() {
  return getRowRule(getInput(), {static_cast<int64_t>(getDim())});
}

ShardingRule SoftmaxOp::getShardingRule() {
  return getRowRule(getInput(), {static_cast<int64_t>(getDim())});
}
double SoftmaxOp::getFlopsPerPoint() { return 16; }

/// Rule of a normalisation of the last `numDims` dimensions.
static ShardingRule getNormRule(Operation *op, int64_t numDims) {
  int64_t rank = getTensorType(op->getOperand(0)).getRank();
  SmallVector<int64_t> whole(numDims);
  std::iota(whole.begin(), whole.end(), rank - numDims);
  ShardingRule rule = getRowRule(op->getOperand(0), whole);
  TensorFactors parameter(rule.results[0].end() - numDims,
                          rule.results[0].end());
  rule.operands.append(op->getNumOperands() - 1, parameter);
  return rule;
}

ShardingRule LayerNormOp::getShardingRule() {
  return getNormRule(*this, getNumDims());
}
double LayerNormOp::getFlopsPerPoint() { return 8; }

ShardingRule RMSNormOp::getShardingRule() {
  return getNormRule(*this, getNumDims());
}
double RMSNormOp::getFlopsPerPoint() { return 4; }
