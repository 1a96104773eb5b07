//===- CrossEntropy.cpp - Cross-entropy in plain operations ---------------===//
//
// The forward and the backward form begin with the same operations, so that
// common subexpressions are computed once.
//
//===----------------------------------------------------------------------===//
#include "pplan/Training/CrossEntropy.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace pplan;

namespace {
/// What forward and backward share.
struct Rows {
  ArrayRef<int64_t> shape; ///< of the logits
  int64_t dim;             ///< the classes
  SmallVector<int64_t> kept;
  Value shifted; ///< logits - max, in at least f32
  Value logSum;  ///< log(sum(exp(shifted))), one per row
  Value isTarget; ///< i1, of the logits' shape
  Value isIgnored; ///< i1, one per row
};
} // namespace

static Rows emitRows(ArithmeticBuilder &b, CrossEntropyOp op) {
  Rows rows;
  RankedTensorType type = getTensorType(op.getLogits());
  rows.shape = type.getShape();
  rows.dim = type.getRank() - 1;
  rows.kept = llvm::to_vector(llvm::seq<int64_t>(0, rows.dim));
  Value logits = op.getLogits();
  if (type.getElementTypeBitWidth() < 32)
    logits = b.convert(logits, b.getBuilder().getF32Type());
  Value top = b.reduce(ReductionKind::Max, logits, {rows.dim});
  rows.shifted = b.sub(logits, b.expand(top, rows.shape, {rows.dim}));
  Value sum =
      b.reduce(ReductionKind::Sum, b.unary<ExpOp>(rows.shifted), {rows.dim});
  rows.logSum = b.unary<LogOp>(sum);
  Value targets = b.convert(op.getTargets(), b.getBuilder().getI64Type());
  auto counted =
      RankedTensorType::get(rows.shape, b.getBuilder().getI64Type());
  Value classes = b.create<IotaOp>(
      counted, b.getBuilder().getI64IntegerAttr(rows.dim));
  rows.isTarget = b.compare(Predicate::EQ, classes,
                            b.expand(targets, rows.shape, {rows.dim}));
  rows.isIgnored = b.compare(Predicate::LT, targets, b.like(targets, 0));
  return rows;
}

Value pplan::emitCrossEntropy(ArithmeticBuilder &b, CrossEntropyOp op) {
  Rows rows = emitRows(b, op);
  Value zero = b.like(rows.shifted, 0);
  Value picked = b.reduce(ReductionKind::Sum,
                          b.select(rows.isTarget, rows.shifted, zero),
                          {rows.dim});
  Value loss = b.sub(rows.logSum, picked);
  loss = b.select(rows.isIgnored, b.like(loss, 0), loss);
  return b.convert(loss, op.getType().getElementType());
}

Value pplan::emitCrossEntropyGradient(ArithmeticBuilder &b, CrossEntropyOp op,
                                      Value gradient) {
  Rows rows = emitRows(b, op);
  Type wide = getTensorType(rows.shifted).getElementType();
  gradient = b.convert(gradient, wide);
  gradient = b.select(rows.isIgnored, b.like(gradient, 0), gradient);
  Value spread = b.expand(rows.logSum, rows.shape, {rows.dim});
  Value share = b.unary<ExpOp>(b.sub(rows.shifted, spread));
  Value target = b.select(rows.isTarget, b.like(share, 1), b.like(share, 0));
  Value slope = b.mul(b.sub(share, target),
                      b.expand(gradient, rows.shape, {rows.dim}));
  return b.convert(slope, getTensorType(op.getLogits()).getElementType());
}
