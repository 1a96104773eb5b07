//===- NNGradients.cpp - Gradients of contractions and fused operations ---===//
//
// Normalisations and losses are differentiated by hand: fewer operations than
// the chain rule would make, and none that cancels.
//
//===----------------------------------------------------------------------===//
#include "GradientModels.h"
#include "pplan/Training/CrossEntropy.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace pplan;

/// Gradient of the operand with letters `own`; `other` is the second operand.
static Value contractOperandGradient(GradientContext &c, StringRef own,
                                     ArrayRef<int64_t> shape,
                                     StringRef otherLetters, Value other,
                                     StringRef resultLetters) {
  std::string reached;
  SmallVector<int64_t> alone; // summed within the operand itself
  for (auto [dim, letter] : llvm::enumerate(own)) {
    if (resultLetters.contains(letter) || otherLetters.contains(letter))
      reached += letter;
    else
      alone.push_back(dim);
  }
  std::string equation =
      (resultLetters + "," + otherLetters + "->" + reached).str();
  Value gradient =
      c.create<ContractOp>(equation, c.getResultGradient(), other);
  return c.expand(gradient, shape, alone);
}

static void contractGradient(ContractOp op, GradientContext &c) {
  if (c.wants(0))
    c.give(0, contractOperandGradient(
                  c, op.getLhsLetters(), getTensorType(op.getLhs()).getShape(),
                  op.getRhsLetters(), op.getRhs(), op.getResultLetters()));
  if (c.wants(1))
    c.give(1, contractOperandGradient(
                  c, op.getRhsLetters(), getTensorType(op.getRhs()).getShape(),
                  op.getLhsLetters(), op.getLhs(), op.getResultLetters()));
}

/// The equal extreme elements of a row share its gradient evenly.
static Value extremeGradient(ReduceOp op, GradientContext &c, Value gradient) {
  Value x = op.getInput();
  ArrayRef<int64_t> shape = getTensorType(x).getShape();
  Value top = c.expand(op.getResult(), shape, op.getDims());
  Value mask = c.select(c.compare(Predicate::EQ, x, top), c.like(x, 1),
                        c.like(x, 0));
  Value count = c.reduce(ReductionKind::Sum, mask, op.getDims());
  Value share = c.div(gradient, count);
  return c.mul(mask, c.expand(share, shape, op.getDims()));
}

/// Product of all other elements, by counting the zeros of a row.
static Value productGradient(ReduceOp op, GradientContext &c, Value gradient) {
  Value x = op.getInput(), zero = c.like(x, 0), one = c.like(x, 1);
  ArrayRef<int64_t> shape = getTensorType(x).getShape();
  Value isZero = c.compare(Predicate::EQ, x, zero);
  Value count = c.expand(
      c.reduce(ReductionKind::Sum, c.select(isZero, one, zero), op.getDims()),
      shape, op.getDims());
  Value safe = c.select(isZero, one, x);
  Value rest = c.expand(c.reduce(ReductionKind::Prod, safe, op.getDims()),
                        shape, op.getDims());
  Value onlyZero = c.select(isZero, rest, zero);
  Value slope = c.select(
      c.compare(Predicate::EQ, count, zero), c.div(rest, safe),
      c.select(c.compare(Predicate::EQ, count, one), onlyZero, zero));
  return c.mul(slope, c.expand(gradient, shape, op.getDims()));
}

static void reduceGradient(ReduceOp op, GradientContext &c) {
  Value gradient = c.getResultGradient();
  switch (op.getKind()) {
  case ReductionKind::Sum:
    return c.give(0, c.expand(gradient,
                              getTensorType(op.getInput()).getShape(),
                              op.getDims()));
  case ReductionKind::Prod:
    return c.give(0, productGradient(op, c, gradient));
  case ReductionKind::Max:
  case ReductionKind::Min:
    return c.give(0, extremeGradient(op, c, gradient));
  }
}

static void cumSumGradient(CumSumOp op, GradientContext &c) {
  UnitAttr unit = c.getBuilder().getUnitAttr();
  c.give(0, c.create<CumSumOp>(op.getType(), c.getResultGradient(),
                               op.getDimAttr(),
                               op.getExclusive() ? unit : UnitAttr(),
                               op.getReverse() ? UnitAttr() : unit));
}

static void softmaxGradient(SoftmaxOp op, GradientContext &c) {
  Value g = c.getResultGradient(), y = op.getResult();
  int64_t dim = op.getDim();
  ArrayRef<int64_t> shape = op.getType().getShape();
  Value weighted = op.getLog() ? g : c.mul(g, y);
  Value sum = c.expand(c.reduce(ReductionKind::Sum, weighted, {dim}), shape,
                       {dim});
  c.give(0, op.getLog() ? c.sub(g, c.mul(c.unary<ExpOp>(y), sum))
                        : c.mul(y, c.sub(g, sum)));
}

namespace {
/// A normalisation over the last dimensions: what its gradients share.
struct Normalised {
  ArrayRef<int64_t> shape;
  SmallVector<int64_t> rowDims, batchDims;
  double rowSize = 1;
  Value inverse; ///< 1 / sqrt(second moment + epsilon), repeated
  Value xhat;    ///< the normalised input before scale and bias
};
} // namespace

/// `input` and all that follows are in at least f32.
static Normalised normalise(GradientContext &c, Value input, int64_t numDims,
                            double epsilon, bool centre) {
  Normalised n;
  n.shape = getTensorType(input).getShape();
  int64_t rank = n.shape.size();
  n.rowDims = llvm::to_vector(llvm::seq(rank - numDims, rank));
  n.batchDims = llvm::to_vector(llvm::seq<int64_t>(0, rank - numDims));
  for (int64_t dim : n.rowDims)
    n.rowSize *= static_cast<double>(n.shape[dim]);
  auto mean = [&](Value x) {
    Value sum = c.reduce(ReductionKind::Sum, x, n.rowDims);
    return c.mul(sum, 1 / n.rowSize);
  };
  Value centred = input;
  if (centre)
    centred = c.sub(input, c.expand(mean(input), n.shape, n.rowDims));
  Value moment = c.add(mean(c.mul(centred, centred)), epsilon);
  n.inverse = c.expand(c.unary<RsqrtOp>(moment), n.shape, n.rowDims);
  n.xhat = c.mul(centred, n.inverse);
  return n;
}

/// Element type to compute in: at least f32.
static Type getWideType(Value value) {
  Type element = getTensorType(value).getElementType();
  return element.getIntOrFloatBitWidth() < 32
             ? Float32Type::get(value.getContext())
             : element;
}

/// Gradients of a normalisation; `scaleIndex` and `biasIndex` are operand
/// numbers, or -1.
static void normGradient(GradientContext &c, Value input, Value scale,
                         int scaleIndex, int biasIndex, int64_t numDims,
                         double epsilon, bool centre) {
  Type narrow = getTensorType(input).getElementType();
  Type wide = getWideType(input);
  Value g = c.convert(c.getResultGradient(), wide);
  int64_t rank = getTensorType(input).getRank();
  auto batch = llvm::to_vector(llvm::seq<int64_t>(0, rank - numDims));
  if (biasIndex >= 0 && c.wants(biasIndex))
    c.give(biasIndex,
           c.convert(c.reduce(ReductionKind::Sum, g, batch), narrow));
  bool wantsScale = scaleIndex >= 0 && c.wants(scaleIndex);
  if (!c.wants(0) && !wantsScale)
    return;
  Normalised n =
      normalise(c, c.convert(input, wide), numDims, epsilon, centre);
  if (wantsScale)
    c.give(scaleIndex,
           c.convert(c.reduce(ReductionKind::Sum, c.mul(g, n.xhat), batch),
                     narrow));
  if (!c.wants(0))
    return;
  Value scaled =
      scale ? c.mul(g, c.expand(c.convert(scale, wide), n.shape, batch)) : g;
  auto spreadMean = [&](Value x) {
    Value sum = c.reduce(ReductionKind::Sum, x, n.rowDims);
    return c.expand(c.mul(sum, 1 / n.rowSize), n.shape, n.rowDims);
  };
  // The component along the row's direction, and along its mean, is lost.
  Value rest =
      c.sub(scaled, c.mul(n.xhat, spreadMean(c.mul(scaled, n.xhat))));
  if (centre)
    rest = c.sub(rest, spreadMean(scaled));
  c.give(0, c.convert(c.mul(n.inverse, rest), narrow));
}

static void layerNormGradient(LayerNormOp op, GradientContext &c) {
  normGradient(c, op.getInput(), op.getScale(), op.getScale() ? 1 : -1,
               op.getBias() ? static_cast<int>(op->getNumOperands()) - 1 : -1,
               op.getNumDims(), op.getEpsilon().convertToDouble(), true);
}

static void rmsNormGradient(RMSNormOp op, GradientContext &c) {
  normGradient(c, op.getInput(), op.getScale(), op.getScale() ? 1 : -1, -1,
               op.getNumDims(), op.getEpsilon().convertToDouble(), false);
}

static void attentionGradient(AttentionOp op, GradientContext &c) {
  if (op.getMask() && c.wants(3)) {
    c.refuse() << "its mask depends on a parameter; write the attention as "
                  "contractions and a softmax";
    return;
  }
  auto backward = c.create<AttentionBackwardOp>(
      TypeRange{op.getQuery().getType(), op.getKey().getType(),
                op.getValue().getType()},
      op.getQuery(), op.getKey(), op.getValue(), op.getMask(),
      c.getResultGradient(), op.getScaleAttr(), op.getCausalAttr(),
      op.getLayoutsAttr());
  for (unsigned index = 0; index < 3; ++index)
    if (c.wants(index))
      c.give(index, backward.getResult(index));
}

static void crossEntropyGradient(CrossEntropyOp op, GradientContext &c) {
  c.give(0, emitCrossEntropyGradient(c, op, c.getResultGradient()));
}

static void accumulateGradient(AccumulateOp, GradientContext &c) {
  c.give(0, c.getResultGradient());
}

void pplan::attachNNGradients(MLIRContext &context) {
  attachGradients<contractGradient, reduceGradient, cumSumGradient,
                  softmaxGradient, layerNormGradient, rmsNormGradient,
                  attentionGradient, crossEntropyGradient,
                  accumulateGradient>(context);
}

void pplan::registerGradients(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, PPlanDialect *) {
    attachElementwiseGradients(*context);
    attachStructuralGradients(*context);
    attachNNGradients(*context);
  });
}
