//===- Structural.cpp - Reference of structural operations ----------------===//
//
// Each result element is looked up where the operation's description says.
//
//===----------------------------------------------------------------------===//
#include "Evaluate.h"
#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;
using namespace pplan;

using Index = ArrayRef<int64_t>;

static double toDouble(Attribute attr) {
  if (auto number = dyn_cast<FloatAttr>(attr))
    return number.getValueAsDouble();
  auto integer = dyn_cast<IntegerAttr>(attr);
  if (!integer)
    return 0;
  auto type = dyn_cast<IntegerType>(integer.getType());
  bool isUnsigned = type && (type.isUnsigned() || type.getWidth() == 1);
  return integer.getValue().roundToDouble(!isUnsigned);
}

static std::optional<HostTensor> evaluateConstant(ConstantOp op) {
  auto values = dyn_cast<DenseElementsAttr>(op.getValue());
  if (!values)
    return std::nullopt;
  HostTensor result(op.getType().getShape());
  for (auto [index, value] : llvm::enumerate(values.getValues<Attribute>()))
    result.data[index] = toDouble(value);
  return result;
}

/// A result made by looking up each element.
template <typename Fn> static HostTensor build(Operation *op, Fn element) {
  HostTensor result(getTensorType(op->getResult(0)).getShape());
  int64_t place = 0;
  forEachIndex(result.shape,
               [&](Index index) { result.data[place++] = element(index); });
  return result;
}

static HostTensor evaluateConcat(ConcatOp op, HostOperands operands) {
  int64_t dim = op.getDim();
  return build(op, [&](Index index) {
    SmallVector<int64_t> from(index);
    for (const HostTensor *operand : operands) {
      if (from[dim] < operand->shape[dim])
        return operand->at(from);
      from[dim] -= operand->shape[dim];
    }
    return 0.0;
  });
}

static HostTensor evaluateGather(GatherOp op, HostOperands operands) {
  int64_t dim = op.getDim(), count = operands[1]->shape.size();
  return build(op, [&](Index index) {
    double id = operands[1]->at(index.slice(dim, count));
    SmallVector<int64_t> from(index.take_front(dim));
    from.push_back(clampIndex(id, operands[0]->shape[dim]));
    llvm::append_range(from, index.drop_front(dim + count));
    return operands[0]->at(from);
  });
}

std::optional<HostTensor> pplan::evaluateStructural(Operation *op,
                                                    HostOperands operands) {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return evaluateConstant(constant);
  if (auto iota = dyn_cast<IotaOp>(op))
    return build(op, [&](Index index) {
      return static_cast<double>(index[iota.getDim()]);
    });
  if (operands.empty())
    return std::nullopt;
  const HostTensor &input = *operands[0];
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    return build(op, [&](Index index) {
      SmallVector<int64_t> from;
      for (auto [i, dim] : llvm::enumerate(broadcast.getDims()))
        from.push_back(input.shape[i] == 1 ? 0 : index[dim]);
      return input.at(from);
    });
  if (isa<ReshapeOp>(op)) {
    HostTensor result(getTensorType(op->getResult(0)).getShape());
    result.data = input.data;
    return result;
  }
  if (auto transpose = dyn_cast<TransposeOp>(op))
    return build(op, [&](Index index) {
      SmallVector<int64_t> from(index.size());
      for (auto [to, dim] : llvm::enumerate(transpose.getPermutation()))
        from[dim] = index[to];
      return input.at(from);
    });
  if (auto slice = dyn_cast<SliceOp>(op))
    return build(op, [&](Index index) {
      SmallVector<int64_t> from;
      for (auto [dim, i] : llvm::enumerate(index))
        from.push_back(slice.getOffsets()[dim] + slice.getStrides()[dim] * i);
      return input.at(from);
    });
  if (auto pad = dyn_cast<PadOp>(op))
    return build(op, [&](Index index) {
      SmallVector<int64_t> from;
      for (auto [dim, i] : llvm::enumerate(index)) {
        from.push_back(i - pad.getLow()[dim]);
        if (from.back() < 0 || from.back() >= input.shape[dim])
          return toDouble(pad.getValue());
      }
      return input.at(from);
    });
  if (auto concat = dyn_cast<ConcatOp>(op))
    return evaluateConcat(concat, operands);
  if (auto gather = dyn_cast<GatherOp>(op))
    return evaluateGather(gather, operands);
  if (auto gather = dyn_cast<GatherElementsOp>(op))
    return build(op, [&](Index index) {
      int64_t dim = gather.getDim();
      SmallVector<int64_t> from(index);
      from[dim] = clampIndex(operands[1]->at(index), input.shape[dim]);
      return input.at(from);
    });
  return std::nullopt;
}
