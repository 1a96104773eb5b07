//===- Gradient.cpp - Arithmetic that gradient rules share ----------------===//
//
// Small builders; decides nothing about gradients.
//
//===----------------------------------------------------------------------===//
#include "pplan/Training/Gradient.h"

using namespace mlir;
using namespace pplan;

#include "pplan/Training/DifferentiableOpInterface.cpp.inc"

Value ArithmeticBuilder::convert(Value x, Type element) {
  RankedTensorType type = getTensorType(x);
  if (type.getElementType() == element)
    return x;
  return create<ConvertOp>(RankedTensorType::get(type.getShape(), element), x);
}

Value ArithmeticBuilder::splat(RankedTensorType type, double number) {
  Type element = type.getElementType();
  Attribute value;
  if (auto floating = dyn_cast<FloatType>(element))
    value = FloatAttr::get(floating, number);
  else
    value = IntegerAttr::get(element, static_cast<int64_t>(number));
  return create<ConstantOp>(type, DenseElementsAttr::get(type, value));
}

Value ArithmeticBuilder::broadcast(Value x, ArrayRef<int64_t> shape,
                                   ArrayRef<int64_t> dims) {
  RankedTensorType type = withShape(getTensorType(x), shape);
  return type == x.getType() ? x : create<BroadcastOp>(type, x, dims);
}

Value ArithmeticBuilder::expand(Value x, ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> dims) {
  SmallVector<int64_t> kept;
  for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim)
    if (!llvm::is_contained(dims, dim))
      kept.push_back(dim);
  return broadcast(x, shape, kept);
}

Value ArithmeticBuilder::reduce(ReductionKind kind, Value x,
                                ArrayRef<int64_t> dims) {
  return dims.empty() ? x : create<ReduceOp>(kind, x, dims);
}

Value ArithmeticBuilder::reshape(Value x, ArrayRef<int64_t> shape) {
  RankedTensorType type = withShape(getTensorType(x), shape);
  return type == x.getType() ? x : create<ReshapeOp>(type, x);
}
