//===- StructuralGradients.cpp - Gradients of moving and indexing ---------===//
//
// The transposes of linear maps that only move elements.
//
//===----------------------------------------------------------------------===//
#include "GradientModels.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace pplan;

static SmallVector<int64_t> zeros(int64_t count) {
  return SmallVector<int64_t>(count, 0);
}
static SmallVector<int64_t> ones(int64_t count) {
  return SmallVector<int64_t>(count, 1);
}

static void broadcastGradient(BroadcastOp op, GradientContext &c) {
  RankedTensorType from = getTensorType(op.getInput());
  SmallVector<int64_t> summed;
  for (int64_t dim = 0; dim < op.getType().getRank(); ++dim) {
    auto place = llvm::find(op.getDims(), dim);
    bool isKept = place != op.getDims().end() &&
                  from.getDimSize(place - op.getDims().begin()) ==
                      op.getType().getDimSize(dim);
    if (!isKept)
      summed.push_back(dim);
  }
  Value sum = c.reduce(ReductionKind::Sum, c.getResultGradient(), summed);
  c.give(0, c.reshape(sum, from.getShape()));
}

static void reshapeGradient(ReshapeOp op, GradientContext &c) {
  c.give(0, c.reshape(c.getResultGradient(),
                      getTensorType(op.getInput()).getShape()));
}

static void transposeGradient(TransposeOp op, GradientContext &c) {
  SmallVector<int64_t> inverse(op.getPermutation().size());
  for (auto [to, from] : llvm::enumerate(op.getPermutation()))
    inverse[from] = to;
  c.give(0, c.create<TransposeOp>(c.getResultGradient(), inverse));
}

/// A gradient of zero in the element type.
static TypedAttr getZero(GradientContext &c, Type element) {
  return c.getBuilder().getZeroAttr(element);
}

static void sliceGradient(SliceOp op, GradientContext &c) {
  RankedTensorType from = getTensorType(op.getInput());
  Value gradient = c.getResultGradient();
  // Dimensions taken with a stride: each element goes back to its place.
  for (int64_t dim = 0; dim < from.getRank(); ++dim) {
    int64_t stride = op.getStrides()[dim];
    int64_t count = getTensorType(gradient).getDimSize(dim);
    if (stride == 1)
      continue;
    auto type = RankedTensorType::get({count}, c.getBuilder().getI64Type());
    Value index = c.create<IotaOp>(type, c.getBuilder().getI64IntegerAttr(0));
    index = c.add(c.mul(index, static_cast<double>(stride)),
                  static_cast<double>(op.getOffsets()[dim]));
    gradient = c.create<ScatterAddOp>(index, gradient, dim,
                                      from.getDimSize(dim));
  }
  SmallVector<int64_t> low = zeros(from.getRank()), high = low;
  for (int64_t dim = 0; dim < from.getRank(); ++dim)
    if (op.getStrides()[dim] == 1) {
      low[dim] = op.getOffsets()[dim];
      high[dim] = from.getDimSize(dim) - low[dim] -
                  getTensorType(gradient).getDimSize(dim);
    }
  if (gradient.getType() != from)
    gradient = c.create<PadOp>(from, gradient, low, high,
                               getZero(c, from.getElementType()));
  c.give(0, gradient);
}

static void concatGradient(ConcatOp op, GradientContext &c) {
  SmallVector<int64_t> offsets = zeros(op.getType().getRank());
  for (auto [index, input] : llvm::enumerate(op.getInputs())) {
    if (c.wants(index))
      c.give(index, c.create<SliceOp>(input.getType(), c.getResultGradient(),
                                      offsets, ones(offsets.size())));
    offsets[op.getDim()] += getTensorType(input).getDimSize(op.getDim());
  }
}

static void padGradient(PadOp op, GradientContext &c) {
  c.give(0, c.create<SliceOp>(op.getInput().getType(), c.getResultGradient(),
                              op.getLow(), ones(op.getLow().size())));
}

/// The indices as i64, clamped into [0, size) as gathers read them.
static Value clampIndices(GradientContext &c, Value indices, int64_t size) {
  Value index = c.convert(indices, c.getBuilder().getI64Type());
  index = c.binary<MaxOp>(index, c.like(index, 0));
  return c.binary<MinOp>(index,
                         c.like(index, static_cast<double>(size - 1)));
}

static void gatherGradient(GatherOp op, GradientContext &c) {
  if (!c.wants(0))
    return;
  int64_t size = getTensorType(op.getInput()).getDimSize(op.getDim());
  c.give(0, c.create<ScatterAddOp>(clampIndices(c, op.getIndices(), size),
                                   c.getResultGradient(), op.getDim(), size));
}

static void gatherElementsGradient(GatherElementsOp op, GradientContext &c) {
  if (!c.wants(0))
    return;
  RankedTensorType from = getTensorType(op.getInput()), to = op.getType();
  int64_t dim = op.getDim(), size = from.getDimSize(dim);
  Value index = clampIndices(c, op.getIndices(), size);
  Type i64 = c.getBuilder().getI64Type();
  if (to.getDimSize(dim) == 1) {
    // One element of each row: the others get zero.
    auto type = RankedTensorType::get(from.getShape(), i64);
    auto all = llvm::to_vector(llvm::seq<int64_t>(0, from.getRank()));
    Value place = c.create<IotaOp>(type, c.getBuilder().getI64IntegerAttr(dim));
    Value chosen = c.compare(Predicate::EQ, place,
                             c.broadcast(index, from.getShape(), all));
    Value gradient = c.broadcast(c.getResultGradient(), from.getShape(), all);
    c.give(0, c.select(chosen, gradient, c.like(gradient, 0)));
    return;
  }
  // In general by the place of each element in the whole tensor.
  int64_t stride = 1;
  Value place = c.mul(index, 0);
  for (int64_t other = from.getRank() - 1; other >= 0; --other) {
    Value along = other == dim
                      ? index
                      : c.create<IotaOp>(
                             place.getType(),
                             c.getBuilder().getI64IntegerAttr(other))
                            .getResult();
    place = c.add(place, c.mul(along, static_cast<double>(stride)));
    stride *= from.getDimSize(other);
  }
  Value sum = c.create<ScatterAddOp>(
      c.reshape(place, {to.getNumElements()}),
      c.reshape(c.getResultGradient(), {to.getNumElements()}), int64_t{0},
      from.getNumElements());
  c.give(0, c.reshape(sum, from.getShape()));
}

static void scatterAddGradient(ScatterAddOp op, GradientContext &c) {
  if (!c.wants(1))
    return;
  // What was dropped has no gradient.
  int64_t size = op.getType().getDimSize(op.getDim());
  Value taken = c.create<GatherOp>(c.getResultGradient(), op.getIndices(),
                                   op.getDim());
  Value index = op.getIndices();
  Value inside = c.create<AndOp>(
      RankedTensorType::get(getTensorType(index).getShape(),
                            c.getBuilder().getI1Type()),
      c.compare(Predicate::GE, index, c.like(index, 0)),
      c.compare(Predicate::LT, index,
                c.like(index, static_cast<double>(size))));
  auto dims = llvm::to_vector(llvm::seq<int64_t>(
      op.getDim(), op.getDim() + getTensorType(index).getRank()));
  Value mask = c.broadcast(inside, getTensorType(taken).getShape(), dims);
  c.give(1, c.select(mask, taken, c.like(taken, 0)));
}

void pplan::attachStructuralGradients(MLIRContext &context) {
  attachGradients<broadcastGradient, reshapeGradient, transposeGradient,
                  sliceGradient, concatGradient, padGradient, gatherGradient,
                  gatherElementsGradient, scatterAddGradient>(context);
}
