//===- ConvertReductions.cpp - reduce, arg_reduce, cumsum -----------------===//
//
// Reductions become linalg loops with a filled destination. f16 and bf16 are
// summed in f32 and rounded once. Running sums rely on the order of the loop
// over their dimension, which lowering keeps.
//
//===----------------------------------------------------------------------===//
#include "Convert.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

using utils::IteratorType;

/// Type of the accumulators for elements of type `element`.
static RankedTensorType getAccumulatorType(ArrayRef<int64_t> shape,
                                           Type element) {
  return RankedTensorType::get(shape, getComputeType(element));
}

/// Rounds accumulators to the storage type.
static Value roundAccumulators(Emitter &e, Value tensor, Type element) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getElementType() == getStorageType(element))
    return tensor;
  return e.map(type.clone(getStorageType(element)), tensor,
               [&](Emitter &inner, ValueRange args) {
                 return inner.store(args[0], element);
               });
}

/// Iterators and output map of a loop over `rank` dimensions that reduces `dims`.
static AffineMap getReducedMap(Emitter &e, int64_t rank, ArrayRef<int64_t> dims,
                               SmallVectorImpl<IteratorType> &iterators) {
  SmallVector<AffineExpr> kept;
  for (int64_t i = 0; i < rank; ++i) {
    bool reduced = llvm::is_contained(dims, i);
    iterators.push_back(reduced ? IteratorType::reduction
                                : IteratorType::parallel);
    if (!reduced)
      kept.push_back(e.b.getAffineDimExpr(i));
  }
  return AffineMap::get(rank, 0, kept, e.b.getContext());
}

static Value convertReduce(Emitter &e, ReduceOp op, Value input) {
  RankedTensorType type = getTensorType(op.getInput());
  Type element = type.getElementType();
  bool isUnsigned = element.isUnsignedInteger();
  auto accumulators =
      getAccumulatorType(op.getType().getShape(), element);
  Value init = e.fill(accumulators,
                      emitNeutral(e, op.getKind(),
                                  accumulators.getElementType(), isUnsigned));
  if (type.getNumElements() == 0)
    return roundAccumulators(e, init, element);
  SmallVector<IteratorType> iterators;
  AffineMap out = getReducedMap(e, type.getRank(), op.getDims(), iterators);
  AffineMap in = e.b.getMultiDimIdentityMap(type.getRank());
  auto loop = e.generic(
      input, init, {in, out}, iterators,
      [&](Emitter &inner, ValueRange args) -> SmallVector<Value> {
        return {emitCombine(inner, op.getKind(), args[1],
                            inner.load(args[0], element), isUnsigned)};
      });
  return roundAccumulators(e, loop.getResult(0), element);
}

/// True where `value` replaces `best`: strictly better, so that the first wins.
static Value emitIsBetter(Emitter &e, bool isMax, Value value, Value best,
                          bool isUnsigned) {
  if (isa<FloatType>(value.getType()))
    return e.create<arith::CmpFOp>(isMax ? arith::CmpFPredicate::OGT
                                         : arith::CmpFPredicate::OLT,
                                   value, best);
  using P = arith::CmpIPredicate;
  P predicate = isMax ? (isUnsigned ? P::ugt : P::sgt)
                      : (isUnsigned ? P::ult : P::slt);
  return e.create<arith::CmpIOp>(predicate, value, best);
}

static Value convertArgReduce(Emitter &e, ArgReduceOp op, Value input) {
  RankedTensorType type = getTensorType(op.getInput());
  Type element = type.getElementType();
  bool isUnsigned = element.isUnsignedInteger();
  bool isMax = op.getKind() == ReductionKind::Max;
  auto best = getAccumulatorType(op.getType().getShape(), element);
  Type i64 = e.b.getI64Type();
  auto positions = RankedTensorType::get(op.getType().getShape(), i64);
  Value bestInit =
      e.fill(best, emitNeutral(e, op.getKind(), best.getElementType(),
                               isUnsigned));
  Value positionInit = e.fill(positions, e.constantInt(i64, 0));
  SmallVector<IteratorType> iterators;
  int64_t dim = op.getDim();
  AffineMap out = getReducedMap(e, type.getRank(), dim, iterators);
  AffineMap in = e.b.getMultiDimIdentityMap(type.getRank());
  auto loop = e.generic(
      input, {bestInit, positionInit}, {in, out, out}, iterators,
      [&](Emitter &inner, ValueRange args) -> SmallVector<Value> {
        Value value = inner.load(args[0], element);
        Value better = emitIsBetter(inner, isMax, value, args[1], isUnsigned);
        Value index = inner.create<arith::IndexCastOp>(i64,
                                                       inner.loopIndex(dim));
        return {inner.create<arith::SelectOp>(better, value, args[1]),
                inner.create<arith::SelectOp>(better, index, args[2])};
      });
  Type resultElement = op.getType().getElementType();
  if (resultElement == i64)
    return loop.getResult(1);
  return e.map(getStorageTensor(op.getType()), loop.getResult(1),
               [&](Emitter &inner, ValueRange args) {
                 return inner.store(
                     emitConvert(inner, args[0], i64, resultElement),
                     resultElement);
               });
}

/// Reads `tensor` backward along `dim`.
static Value reverse(Emitter &e, Value tensor, int64_t dim) {
  auto type = cast<RankedTensorType>(tensor.getType());
  return e.map(type, {}, [&](Emitter &inner, ValueRange) -> Value {
    SmallVector<Value> position;
    for (int64_t i = 0; i < type.getRank(); ++i)
      position.push_back(inner.loopIndex(i));
    position[dim] = inner.create<arith::SubIOp>(
        inner.constantIndex(type.getDimSize(dim) - 1), position[dim]);
    return inner.create<tensor::ExtractOp>(tensor, position);
  });
}

static Value convertCumSum(Emitter &e, CumSumOp op, Value input) {
  RankedTensorType type = getTensorType(op.getInput());
  Type element = type.getElementType();
  int64_t dim = op.getDim();
  if (op.getReverse())
    input = reverse(e, input, dim);
  SmallVector<IteratorType> iterators;
  AffineMap sumMap = getReducedMap(e, type.getRank(), dim, iterators);
  AffineMap identity = e.b.getMultiDimIdentityMap(type.getRank());
  SmallVector<int64_t> shape(type.getShape());
  shape.erase(shape.begin() + dim);
  auto sums = getAccumulatorType(shape, element);
  Value init = e.fill(sums, e.constant(sums.getElementType(), 0.0));
  Value result = e.empty(getStorageTensor(type));
  auto loop = e.generic(
      input, {init, result}, {identity, sumMap, identity}, iterators,
      [&](Emitter &inner, ValueRange args) -> SmallVector<Value> {
        Value sum = emitCombine(inner, ReductionKind::Sum, args[1],
                                inner.load(args[0], element), false);
        Value out = op.getExclusive() ? args[1] : sum;
        return {sum, inner.store(out, element)};
      });
  Value running = loop.getResult(1);
  return op.getReverse() ? reverse(e, running, dim) : running;
}

FailureOr<Value> memory::convertReduction(Emitter &e, Operation *op,
                                          ValueRange operands) {
  return TypeSwitch<Operation *, FailureOr<Value>>(op)
      .Case([&](ReduceOp reduce) {
        return convertReduce(e, reduce, operands[0]);
      })
      .Case([&](ArgReduceOp reduce) {
        return convertArgReduce(e, reduce, operands[0]);
      })
      .Case([&](CumSumOp sum) { return convertCumSum(e, sum, operands[0]); })
      .Default([](Operation *) { return Value(); });
}
