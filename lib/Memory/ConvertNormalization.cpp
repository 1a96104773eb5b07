//===- ConvertNormalization.cpp - softmax, layer_norm, rms_norm -----------===//
//
// Each becomes one parallel loop over the outer dimensions whose body handles
// one slice: a few linalg loops over it, so that a row stays in the cache
// between them. Statistics are computed in the compute type; the variance in a
// second pass over the row, for accuracy.
//
//===----------------------------------------------------------------------===//
#include "Convert.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

using utils::IteratorType;

namespace {
/// Computes one slice: `input` and `output` have the inner shape; returns the
/// output's new value.
using SliceFn = function_ref<Value(Emitter &, Value input, Value output)>;
} // namespace

/// The slice of `tensor` at the loop's positions with the inner dimensions.
static Value takeSlice(Emitter &e, Value tensor, ValueRange positions,
                       SmallVectorImpl<OpFoldResult> &offsets,
                       SmallVectorImpl<OpFoldResult> &sizes,
                       SmallVectorImpl<OpFoldResult> &strides) {
  auto type = cast<RankedTensorType>(tensor.getType());
  size_t outer = positions.size();
  for (int64_t i = 0; i < type.getRank(); ++i) {
    bool isOuter = static_cast<size_t>(i) < outer;
    offsets.push_back(isOuter ? OpFoldResult(positions[i])
                              : OpFoldResult(e.b.getIndexAttr(0)));
    sizes.push_back(e.b.getIndexAttr(isOuter ? 1 : type.getDimSize(i)));
    strides.push_back(e.b.getIndexAttr(1));
  }
  auto inner = RankedTensorType::get(type.getShape().drop_front(outer),
                                     type.getElementType());
  return e.create<tensor::ExtractSliceOp>(inner, tensor, offsets, sizes,
                                          strides);
}

/// A parallel loop over the first `numOuter` dimensions.
static Value forEachSlice(Emitter &e, Value input, RankedTensorType resultType,
                          int64_t numOuter, SliceFn body) {
  Value init = e.empty(resultType);
  if (resultType.getNumElements() == 0)
    return init;
  if (numOuter == 0)
    return body(e, input, init);
  SmallVector<OpFoldResult> bounds;
  for (int64_t i = 0; i < numOuter; ++i)
    bounds.push_back(e.b.getIndexAttr(resultType.getDimSize(i)));
  auto loop = e.create<scf::ForallOp>(bounds, ValueRange{init}, std::nullopt);
  OpBuilder::InsertionGuard guard(e.b);
  e.b.setInsertionPointToStart(loop.getBody());
  SmallVector<OpFoldResult> offsets, sizes, strides, o2, s2, t2;
  SmallVector<Value> positions(loop.getInductionVars());
  Value in = takeSlice(e, input, positions, offsets, sizes, strides);
  Value out =
      takeSlice(e, loop.getRegionIterArgs()[0], positions, o2, s2, t2);
  Value result = body(e, in, out);
  e.b.setInsertionPointToStart(loop.getTerminator().getBody());
  e.create<tensor::ParallelInsertSliceOp>(result, loop.getRegionIterArgs()[0],
                                          o2, s2, t2);
  return loop.getResult(0);
}

/// Reduces the first `numReduced` dimensions of `input`; `body` combines the
/// accumulator with an element and the values of `extra` (of the kept shape).
static Value
reduceFront(Emitter &e, Value input, int64_t numReduced, Value neutral,
            ValueRange extra,
            function_ref<Value(Emitter &, Value acc, Value x, ValueRange)>
                body) {
  auto type = cast<RankedTensorType>(input.getType());
  auto kept = RankedTensorType::get(type.getShape().drop_front(numReduced),
                                    neutral.getType());
  SmallVector<IteratorType> iterators(type.getRank(), IteratorType::parallel);
  std::fill_n(iterators.begin(), numReduced, IteratorType::reduction);
  SmallVector<AffineExpr> keptDims;
  for (int64_t i = numReduced; i < type.getRank(); ++i)
    keptDims.push_back(e.b.getAffineDimExpr(i));
  AffineMap keptMap =
      AffineMap::get(type.getRank(), 0, keptDims, e.b.getContext());
  SmallVector<AffineMap> maps(extra.size() + 2, keptMap);
  maps.front() = e.b.getMultiDimIdentityMap(type.getRank());
  SmallVector<Value> inputs{input};
  llvm::append_range(inputs, extra);
  auto loop = e.generic(
      inputs, e.fill(kept, neutral), maps, iterators,
      [&](Emitter &inner, ValueRange args) -> SmallVector<Value> {
        return {body(inner, args.back(), args[0],
                     args.drop_front().drop_back())};
      });
  return loop.getResult(0);
}

/// An elementwise loop over a slice into `output`; `statistics` have the shape
/// without the first `numReduced` dimensions, `others` the shape of the first
/// `numReduced` dimensions.
static Value
mapSlice(Emitter &e, Value input, Value output, int64_t numReduced,
         ValueRange statistics, ValueRange others,
         function_ref<Value(Emitter &, ValueRange)> body) {
  int64_t rank = cast<RankedTensorType>(output.getType()).getRank();
  SmallVector<AffineExpr> front, back;
  for (int64_t i = 0; i < rank; ++i)
    (i < numReduced ? front : back).push_back(e.b.getAffineDimExpr(i));
  MLIRContext *context = e.b.getContext();
  SmallVector<AffineMap> maps{e.b.getMultiDimIdentityMap(rank)};
  maps.append(statistics.size(), AffineMap::get(rank, 0, back, context));
  maps.append(others.size(), AffineMap::get(rank, 0, front, context));
  maps.push_back(maps.front());
  SmallVector<Value> inputs{input};
  llvm::append_range(inputs, statistics);
  llvm::append_range(inputs, others);
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  auto loop = e.generic(inputs, output, maps, iterators,
                        [&](Emitter &inner, ValueRange args) {
                          return SmallVector<Value>{
                              body(inner, args.drop_back())};
                        });
  return loop.getResult(0);
}

static Value softmaxSlice(Emitter &e, Value input, Value output, Type element,
                          bool isLog) {
  Type compute = getComputeType(element);
  Value lowest = emitNeutral(e, ReductionKind::Max, compute, false);
  Value max = reduceFront(
      e, input, 1, lowest, {},
      [&](Emitter &inner, Value acc, Value x, ValueRange) -> Value {
        return inner.create<arith::MaximumFOp>(acc, inner.load(x, element));
      });
  auto shifted = [&](Emitter &inner, Value x, Value m) -> Value {
    return inner.create<arith::SubFOp>(inner.load(x, element), m);
  };
  Value zero = e.constant(compute, 0.0);
  Value sum = reduceFront(
      e, input, 1, zero, max,
      [&](Emitter &inner, Value acc, Value x, ValueRange m) -> Value {
        return inner.create<arith::AddFOp>(
            acc, inner.create<math::ExpOp>(shifted(inner, x, m[0])));
      });
  return mapSlice(e, input, output, 1, {max, sum}, {},
                  [&](Emitter &inner, ValueRange args) {
                    Value x = shifted(inner, args[0], args[1]);
                    Value y =
                        isLog ? Value(inner.create<arith::SubFOp>(
                                    x, inner.create<math::LogOp>(args[2])))
                              : Value(inner.create<arith::DivFOp>(
                                    inner.create<math::ExpOp>(x), args[2]));
                    return inner.store(y, element);
                  });
}

/// softmax with the exponentials kept in the output between the two passes.
static Value softmaxSliceInPlace(Emitter &e, Value input, Value output,
                                 Type element) {
  Value lowest = emitNeutral(e, ReductionKind::Max, element, false);
  Value max = reduceFront(
      e, input, 1, lowest, {},
      [&](Emitter &inner, Value acc, Value x, ValueRange) -> Value {
        return inner.create<arith::MaximumFOp>(acc, x);
      });
  auto type = cast<RankedTensorType>(input.getType());
  int64_t rank = type.getRank();
  SmallVector<AffineExpr> keptDims;
  for (int64_t i = 1; i < rank; ++i)
    keptDims.push_back(e.b.getAffineDimExpr(i));
  AffineMap identity = e.b.getMultiDimIdentityMap(rank);
  AffineMap kept = AffineMap::get(rank, 0, keptDims, e.b.getContext());
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators[0] = IteratorType::reduction;
  auto sums = RankedTensorType::get(type.getShape().drop_front(), element);
  Value zeros = e.fill(sums, e.constant(element, 0.0));
  auto loop = e.generic(
      {input, max}, {output, zeros}, {identity, kept, identity, kept},
      iterators, [&](Emitter &inner, ValueRange args) -> SmallVector<Value> {
        Value y = inner.create<math::ExpOp>(
            inner.create<arith::SubFOp>(args[0], args[1]));
        return {y, inner.create<arith::AddFOp>(args[3], y)};
      });
  SmallVector<IteratorType> parallel(rank, IteratorType::parallel);
  auto scaled = e.generic(
      loop.getResult(1), loop.getResult(0), {kept, identity}, parallel,
      [&](Emitter &inner, ValueRange args) -> SmallVector<Value> {
        Value one = inner.constant(element, 1.0);
        return {inner.create<arith::MulFOp>(
            args[1], inner.create<arith::DivFOp>(one, args[0]))};
      });
  return scaled.getResult(0);
}

static Value convertSoftmax(Emitter &e, SoftmaxOp op, Value input) {
  Type element = op.getType().getElementType();
  bool inPlace = !op.getLog() && element == getComputeType(element);
  return forEachSlice(e, input, getStorageTensor(op.getType()), op.getDim(),
                      [&](Emitter &inner, Value in, Value out) {
                        return inPlace ? softmaxSliceInPlace(inner, in, out,
                                                             element)
                                       : softmaxSlice(inner, in, out, element,
                                                      op.getLog());
                      });
}

/// sum / count + epsilon, as the divisor's square, inverted and rooted.
static Value emitInverseRoot(Emitter &e, Value sum, double count,
                             double epsilon) {
  Type type = sum.getType();
  Value mean =
      e.create<arith::MulFOp>(sum, e.constant(type, 1.0 / count));
  Value root = e.create<math::SqrtOp>(
      e.create<arith::AddFOp>(mean, e.constant(type, epsilon)));
  return e.create<arith::DivFOp>(e.constant(type, 1.0), root);
}

/// Layer norm, or RMS norm when `center` is false, of one slice.
static Value normSlice(Emitter &e, Value input, Value output, Type element,
                       bool center, double epsilon, ValueRange scaleAndBias,
                       bool hasScale) {
  auto type = cast<RankedTensorType>(input.getType());
  int64_t rank = type.getRank();
  double count = static_cast<double>(type.getNumElements());
  Type compute = getComputeType(element);
  Value zero = e.constant(compute, 0.0);
  SmallVector<Value> statistics;
  auto centered = [&](Emitter &inner, Value x, ValueRange sums) -> Value {
    Value value = inner.load(x, element);
    if (!center)
      return value;
    return inner.create<arith::SubFOp>(
        value, inner.create<arith::MulFOp>(
                   sums[0], inner.constant(compute, 1.0 / count)));
  };
  if (center)
    statistics.push_back(reduceFront(
        e, input, rank, zero, {},
        [&](Emitter &inner, Value acc, Value x, ValueRange) -> Value {
          return inner.create<arith::AddFOp>(acc, inner.load(x, element));
        }));
  statistics.push_back(reduceFront(
      e, input, rank, zero, statistics,
      [&](Emitter &inner, Value acc, Value x, ValueRange sums) -> Value {
        Value d = centered(inner, x, sums);
        return inner.create<arith::AddFOp>(
            acc, inner.create<arith::MulFOp>(d, d));
      }));
  size_t numStatistics = statistics.size();
  return mapSlice(
      e, input, output, rank, statistics, scaleAndBias,
      [&](Emitter &inner, ValueRange args) {
        ValueRange sums = args.slice(1, numStatistics);
        ValueRange parameters = args.drop_front(1 + numStatistics);
        Value y = inner.create<arith::MulFOp>(
            centered(inner, args[0], sums),
            emitInverseRoot(inner, sums.back(), count, epsilon));
        if (hasScale)
          y = inner.create<arith::MulFOp>(
              y, inner.load(parameters[0], element));
        if (parameters.size() > (hasScale ? 1u : 0u))
          y = inner.create<arith::AddFOp>(
              y, inner.load(parameters.back(), element));
        return inner.store(y, element);
      });
}

FailureOr<Value> memory::convertNormalization(Emitter &e, Operation *op,
                                              ValueRange operands) {
  if (auto softmax = dyn_cast<SoftmaxOp>(op))
    return convertSoftmax(e, softmax, operands[0]);
  if (!isa<LayerNormOp, RMSNormOp>(op))
    return Value();
  auto layerNorm = dyn_cast<LayerNormOp>(op);
  auto rmsNorm = dyn_cast<RMSNormOp>(op);
  int64_t numDims = layerNorm ? layerNorm.getNumDims() : rmsNorm.getNumDims();
  APFloat epsilon = layerNorm ? layerNorm.getEpsilon() : rmsNorm.getEpsilon();
  bool hasScale = layerNorm ? !!layerNorm.getScale() : !!rmsNorm.getScale();
  RankedTensorType type = getTensorType(op->getResult(0));
  return forEachSlice(
      e, operands[0], getStorageTensor(type), type.getRank() - numDims,
      [&](Emitter &inner, Value in, Value out) {
        return normSlice(inner, in, out, type.getElementType(), !!layerNorm,
                         epsilon.convertToDouble(), operands.drop_front(),
                         hasScale);
      });
}
