//===- EvaluateStructural.cpp - Moving elements of constants --------------===//
//
// Operations that make, move or index elements: for each position of the
// result, the element of the operand that it takes.
//
//===----------------------------------------------------------------------===//
#include "ConstantEvaluator.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

/// result[position] = input[origin + sum of position[i] * steps[i]], with
/// origin and steps in elements.
static void copyStrided(const HostTensor &input, int64_t origin,
                        ArrayRef<int64_t> steps, HostTensor &result) {
  int64_t index = 0;
  forEachPosition(result.getShape(), [&](ArrayRef<int64_t> position) {
    int64_t from = origin;
    for (auto [at, step] : llvm::zip(position, steps))
      from += at * step;
    result.copyElement(index++, input, from);
  });
}

static void evaluate(IotaOp op, HostTensor &result) {
  int64_t index = 0, dim = op.getDim();
  forEachPosition(result.getShape(), [&](ArrayRef<int64_t> position) {
    result.setInt(index++, position[dim]);
  });
}

static void evaluate(BroadcastOp op, const HostTensor &input,
                     HostTensor &result) {
  SmallVector<int64_t> steps(result.getShape().size(), 0);
  SmallVector<int64_t> strides = getStrides(input.getShape());
  for (auto [from, to] : llvm::enumerate(op.getDims()))
    steps[to] = input.getShape()[from] == 1 ? 0 : strides[from];
  copyStrided(input, 0, steps, result);
}

static void evaluate(TransposeOp op, const HostTensor &input,
                     HostTensor &result) {
  SmallVector<int64_t> steps, strides = getStrides(input.getShape());
  for (int64_t dim : op.getPermutation())
    steps.push_back(strides[dim]);
  copyStrided(input, 0, steps, result);
}

static void evaluate(SliceOp op, const HostTensor &input, HostTensor &result) {
  SmallVector<int64_t> steps = getStrides(input.getShape());
  int64_t origin = 0;
  for (auto [dim, step] : llvm::enumerate(steps)) {
    origin += op.getOffsets()[dim] * step;
    step *= op.getStrides()[dim];
  }
  copyStrided(input, origin, steps, result);
}

/// Writes all of `input` into `result` at `offsets`.
static void insert(const HostTensor &input, ArrayRef<int64_t> offsets,
                   HostTensor &result) {
  SmallVector<int64_t> strides = getStrides(result.getShape());
  int64_t index = 0;
  forEachPosition(input.getShape(), [&](ArrayRef<int64_t> position) {
    int64_t to = 0;
    for (auto [at, offset, stride] : llvm::zip(position, offsets, strides))
      to += (at + offset) * stride;
    result.copyElement(to, input, index++);
  });
}

static void evaluate(ConcatOp op, ArrayRef<const HostTensor *> inputs,
                     HostTensor &result) {
  SmallVector<int64_t> offsets(result.getShape().size(), 0);
  for (const HostTensor *input : inputs) {
    insert(*input, offsets, result);
    offsets[op.getDim()] += input->getShape()[op.getDim()];
  }
}

static void evaluate(PadOp op, const HostTensor &input, HostTensor &result) {
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    if (auto value = dyn_cast<FloatAttr>(op.getValue()))
      result.setFloat(i, value.getValueAsDouble());
    else if (auto value = dyn_cast<IntegerAttr>(op.getValue()))
      result.setInt(i, value.getValue().getSExtValue());
  }
  insert(input, op.getLow(), result);
}

static int64_t clampIndex(int64_t index, int64_t size) {
  return std::max<int64_t>(0, std::min(index, size - 1));
}

static void evaluate(GatherOp op, const HostTensor &input,
                     const HostTensor &indices, HostTensor &result) {
  int64_t dim = op.getDim(), size = input.getShape()[dim];
  int64_t rank = indices.getShape().size();
  SmallVector<int64_t> strides = getStrides(input.getShape());
  SmallVector<int64_t> indexStrides = getStrides(indices.getShape());
  int64_t next = 0;
  forEachPosition(result.getShape(), [&](ArrayRef<int64_t> position) {
    int64_t from = 0, at = 0;
    for (int64_t i = 0; i < rank; ++i)
      at += position[dim + i] * indexStrides[i];
    for (int64_t i = 0; i < static_cast<int64_t>(strides.size()); ++i)
      from += strides[i] * (i < dim    ? position[i]
                            : i == dim ? clampIndex(indices.getInt(at), size)
                                       : position[i + rank - 1]);
    result.copyElement(next++, input, from);
  });
}

static void evaluate(GatherElementsOp op, const HostTensor &input,
                     const HostTensor &indices, HostTensor &result) {
  int64_t dim = op.getDim(), size = input.getShape()[dim], next = 0;
  SmallVector<int64_t> strides = getStrides(input.getShape());
  forEachPosition(result.getShape(), [&](ArrayRef<int64_t> position) {
    int64_t from = 0;
    for (auto [i, stride] : llvm::enumerate(strides))
      from += stride * (static_cast<int64_t>(i) == dim
                            ? clampIndex(indices.getInt(next), size)
                            : position[i]);
    result.copyElement(next++, input, from);
  });
}

std::optional<HostTensor>
pplan::import::evaluateStructural(Operation *op,
                                  ArrayRef<const HostTensor *> operands) {
  HostTensor result(getTensorType(op->getResult(0)));
  bool done =
      TypeSwitch<Operation *, bool>(op)
          .Case([&](IotaOp iota) { return evaluate(iota, result), true; })
          .Case([&](ReshapeOp) {
            result = operands[0]->reshaped(result.getShape());
            return true;
          })
          .Case<BroadcastOp, TransposeOp, SliceOp, PadOp>([&](auto move) {
            return evaluate(move, *operands[0], result), true;
          })
          .Case<GatherOp, GatherElementsOp>([&](auto gather) {
            return evaluate(gather, *operands[0], *operands[1], result), true;
          })
          .Case([&](ConcatOp concat) {
            return evaluate(concat, operands, result), true;
          })
          .Default(false);
  return done ? std::optional<HostTensor>(std::move(result)) : std::nullopt;
}
