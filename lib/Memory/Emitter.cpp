//===- Emitter.cpp - Loops and element types of converted operations ------===//
//
// Decides how elements are stored and computed, and makes linalg loops. What is
// computed in them is decided by the families of operations.
//
//===----------------------------------------------------------------------===//
#include "Convert.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

Type memory::getStorageType(Type element) {
  if (element.isInteger(1) || element.isInteger(8))
    return IntegerType::get(element.getContext(), 8);
  return element;
}

Type memory::getComputeType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  if (element.isInteger(8))
    return IntegerType::get(element.getContext(), 8);
  return element;
}

RankedTensorType memory::getStorageTensor(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  return RankedTensorType::get(tensor.getShape(),
                               getStorageType(tensor.getElementType()));
}

Value Emitter::constant(Type type, double value) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return create<arith::ConstantOp>(b.getFloatAttr(floatType, value));
  return constantInt(type, static_cast<int64_t>(value));
}

Value Emitter::constantInt(Type type, int64_t value) {
  return create<arith::ConstantOp>(b.getIntegerAttr(type, value));
}

Value Emitter::constantIndex(int64_t value) {
  return create<arith::ConstantIndexOp>(value);
}

Value Emitter::load(Value stored, Type element) {
  if (element.isInteger(1))
    return create<arith::CmpIOp>(arith::CmpIPredicate::ne, stored,
                                 constantInt(b.getI8Type(), 0));
  if (element.isF16() || element.isBF16())
    return create<arith::ExtFOp>(b.getF32Type(), stored);
  return stored;
}

Value Emitter::store(Value computed, Type element) {
  if (element.isInteger(1))
    return create<arith::ExtUIOp>(b.getI8Type(), computed);
  if (element.isF16() || element.isBF16())
    return create<arith::TruncFOp>(element, computed);
  return computed;
}

Value Emitter::empty(RankedTensorType type) {
  return create<tensor::EmptyOp>(type.getShape(), type.getElementType());
}

Value Emitter::fill(RankedTensorType type, Value scalar) {
  return create<linalg::FillOp>(ValueRange{scalar}, ValueRange{empty(type)})
      .getResult(0);
}

linalg::GenericOp
Emitter::generic(ValueRange inputs, ValueRange outputs,
                 ArrayRef<AffineMap> maps,
                 ArrayRef<utils::IteratorType> iterators, Body body) {
  SmallVector<Type> types;
  for (Value output : outputs)
    types.push_back(output.getType());
  return create<linalg::GenericOp>(
      types, inputs, outputs, maps, iterators,
      [&](OpBuilder &nested, Location nestedLoc, ValueRange args) {
        Emitter inner{nested, nestedLoc};
        inner.create<linalg::YieldOp>(body(inner, args));
      });
}

Value Emitter::map(RankedTensorType type, ValueRange inputs,
                   function_ref<Value(Emitter &, ValueRange)> body,
                   ArrayRef<AffineMap> maps) {
  AffineMap identity = b.getMultiDimIdentityMap(type.getRank());
  SmallVector<AffineMap> all(maps);
  if (maps.empty())
    all.assign(inputs.size(), identity);
  all.push_back(identity);
  SmallVector<utils::IteratorType> iterators(type.getRank(),
                                             utils::IteratorType::parallel);
  return generic(inputs, ValueRange{empty(type)}, all, iterators,
                 [&](Emitter &inner, ValueRange args) {
                   return SmallVector<Value>{
                       body(inner, args.take_front(inputs.size()))};
                 })
      .getResult(0);
}

Value Emitter::loopIndex(int64_t dim) { return create<linalg::IndexOp>(dim); }

/// Greedily matches groups of dimensions with equal products. Both lists of
/// groups have the same length; each group's product is returned.
static SmallVector<int64_t>
matchGroups(ArrayRef<int64_t> from, ArrayRef<int64_t> to,
            SmallVectorImpl<ReassociationIndices> &fromGroups,
            SmallVectorImpl<ReassociationIndices> &toGroups) {
  SmallVector<int64_t> products;
  size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    ReassociationIndices left{static_cast<int64_t>(i)};
    ReassociationIndices right{static_cast<int64_t>(j)};
    int64_t x = from[i++], y = to[j++];
    while (x != y) {
      if (x < y) {
        left.push_back(i);
        x *= from[i++];
      } else {
        right.push_back(j);
        y *= to[j++];
      }
    }
    fromGroups.push_back(left);
    toGroups.push_back(right);
    products.push_back(x);
  }
  // What is left over has size 1 and joins the last group.
  for (; i < from.size(); ++i)
    fromGroups.back().push_back(i);
  for (; j < to.size(); ++j)
    toGroups.back().push_back(j);
  return products;
}

Value Emitter::reshape(Value tensor, ArrayRef<int64_t> shape) {
  auto type = cast<RankedTensorType>(tensor.getType());
  if (type.getShape() == shape)
    return tensor;
  auto target = RankedTensorType::get(shape, type.getElementType());
  if (target.getNumElements() == 0)
    return empty(target);
  if (type.getRank() == 0)
    return create<tensor::ExpandShapeOp>(target, tensor,
                                         ArrayRef<ReassociationIndices>{});
  if (target.getRank() == 0)
    return create<tensor::CollapseShapeOp>(target, tensor,
                                           ArrayRef<ReassociationIndices>{});
  SmallVector<ReassociationIndices> fromGroups, toGroups;
  SmallVector<int64_t> products =
      matchGroups(type.getShape(), shape, fromGroups, toGroups);
  if (products.size() != static_cast<size_t>(type.getRank())) {
    auto middle = RankedTensorType::get(products, type.getElementType());
    tensor = create<tensor::CollapseShapeOp>(middle, tensor, fromGroups);
  }
  if (products.size() == shape.size())
    return tensor;
  return create<tensor::ExpandShapeOp>(target, tensor, toGroups);
}

Value Emitter::transpose(Value tensor, ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> reads(type.getRank());
  for (auto [i, dim] : llvm::enumerate(permutation)) {
    shape.push_back(type.getDimSize(dim));
    reads[dim] = b.getAffineDimExpr(i);
  }
  return map(
      RankedTensorType::get(shape, type.getElementType()), tensor,
      [](Emitter &, ValueRange args) { return args[0]; },
      AffineMap::get(type.getRank(), 0, reads, b.getContext()));
}
