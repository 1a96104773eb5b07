//===- ConvertLoss.cpp - cross_entropy ------------------------------------===//
//
// Two reductions over the classes and one read of the target's logit. Training
// steps expand the operation before they are planned; what is compiled here is
// a loss that is only evaluated.
//
//===----------------------------------------------------------------------===//
#include "Convert.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

namespace {
/// The logits and what is known of each row.
struct Rows {
  Value logits;
  Type element, compute;
  RankedTensorType type; ///< of one value per row, as computed
  SmallVector<AffineMap> maps; ///< of logits and of rows
  SmallVector<utils::IteratorType> iterators;
};
} // namespace

/// Combines all classes of each row, starting from `neutral`.
static Value reduceClasses(
    Emitter &e, const Rows &rows, Value neutral, ValueRange extra,
    function_ref<Value(Emitter &, Value acc, Value logit, ValueRange extra)>
        combine) {
  SmallVector<Value> inputs{rows.logits};
  llvm::append_range(inputs, extra);
  SmallVector<AffineMap> maps{rows.maps[0]};
  maps.append(extra.size() + 1, rows.maps[1]);
  return e
      .generic(inputs, e.fill(rows.type, neutral), maps, rows.iterators,
               [&](Emitter &inner, ValueRange args) -> SmallVector<Value> {
                 return {combine(inner, args.back(),
                                 inner.load(args[0], rows.element),
                                 args.drop_front().drop_back())};
               })
      .getResult(0);
}

FailureOr<Value> memory::convertLoss(Emitter &e, Operation *op,
                                     ValueRange operands) {
  auto loss = dyn_cast<CrossEntropyOp>(op);
  if (!loss)
    return Value();
  RankedTensorType logits = getTensorType(loss.getLogits());
  int64_t rank = logits.getRank(), classes = logits.getShape().back();
  if (classes == 0)
    return op->emitOpError("has no classes");
  Rows rows;
  rows.logits = operands[0];
  rows.element = logits.getElementType();
  rows.compute = getComputeType(rows.element);
  rows.type =
      RankedTensorType::get(logits.getShape().drop_back(), rows.compute);
  rows.maps = {e.b.getMultiDimIdentityMap(rank),
               e.b.getMultiDimIdentityMap(rank).getMajorSubMap(rank - 1)};
  rows.iterators.assign(rank - 1, utils::IteratorType::parallel);
  rows.iterators.push_back(utils::IteratorType::reduction);
  Value top = reduceClasses(
      e, rows, emitNeutral(e, ReductionKind::Max, rows.compute, false), {},
      [](Emitter &inner, Value acc, Value logit, ValueRange) {
        return emitCombine(inner, ReductionKind::Max, acc, logit, false);
      });
  Value sum = reduceClasses(
      e, rows, e.constant(rows.compute, 0.0), top,
      [](Emitter &inner, Value acc, Value logit, ValueRange extra) -> Value {
        Value shifted = inner.create<arith::SubFOp>(logit, extra[0]);
        return inner.create<arith::AddFOp>(
            acc, inner.create<math::ExpOp>(shifted));
      });
  Type targetType = getTensorType(loss.getTargets()).getElementType();
  RankedTensorType result = getStorageTensor(loss.getType());
  return e.map(
      result, {operands[1], sum, top},
      [&](Emitter &inner, ValueRange args) -> Value {
        Type i64 = inner.b.getI64Type();
        Value target = emitConvert(inner, args[0], targetType, i64);
        Value zero = inner.constantInt(i64, 0);
        Value last = inner.constantInt(i64, classes - 1);
        Value isIgnored = inner.create<arith::CmpIOp>(
            arith::CmpIPredicate::slt, target, zero);
        Value isBeyond = inner.create<arith::CmpIOp>(
            arith::CmpIPredicate::sgt, target, last);
        Value place = inner.create<arith::MinSIOp>(
            inner.create<arith::MaxSIOp>(target, zero), last);
        SmallVector<Value> position;
        for (int64_t i = 0; i + 1 < rank; ++i)
          position.push_back(inner.loopIndex(i));
        position.push_back(inner.create<arith::IndexCastOp>(
            inner.b.getIndexType(), place));
        Value logit = inner.load(
            inner.create<tensor::ExtractOp>(rows.logits, position),
            rows.element);
        Value none = inner.constant(rows.compute, 0.0);
        Value shifted = inner.create<arith::SelectOp>(
            isBeyond, none, inner.create<arith::SubFOp>(logit, args[2]));
        Value value = inner.create<arith::SubFOp>(
            inner.create<math::LogOp>(args[1]), shifted);
        return inner.store(
            inner.create<arith::SelectOp>(isIgnored, none, value),
            result.getElementType());
      });
}
