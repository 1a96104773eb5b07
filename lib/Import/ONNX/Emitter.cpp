//===- Emitter.cpp - Builds pplan operations during an import -------------===//
//
// See Emitter.h. Shapes are checked here before operations are built, since
// the builders of operations trust theirs.
//
//===----------------------------------------------------------------------===//
#include "Emitter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

InFlightDiagnostic Emitter::error() {
  InFlightDiagnostic diag = mlir::emitError(loc);
  if (!subject.empty())
    diag << subject << ": ";
  return diag;
}

/// Verifies one operation; the message, if it is invalid.
static std::optional<std::string> getInvalidity(Operation *op) {
  std::string message;
  ScopedDiagnosticHandler handler(op->getContext(), [&](Diagnostic &diag) {
    message += (message.empty() ? "" : "; ") + diag.str();
  });
  if (succeeded(mlir::verify(op, /*verifyRecursively=*/false)))
    return std::nullopt;
  return message;
}

Value Emitter::finish(Operation *op, bool fold) {
  for (Value result : op->getResults()) {
    auto type = cast<RankedTensorType>(result.getType());
    if (!countElements(type.getShape())) {
      error() << "the result would have the impossible type " << type;
      return {};
    }
  }
  if (std::optional<std::string> invalidity = getInvalidity(op)) {
    error() << *invalidity;
    return {};
  }
  if (fold)
    evaluator.visit(op);
  return op->getResult(0);
}

Value Emitter::constant(HostTensor tensor) {
  Value value = ConstantOp::create(builder, loc, tensor.toAttr()).getResult();
  evaluator.set(value, std::move(tensor));
  return value;
}

Value Emitter::constantInts(ArrayRef<int64_t> values) {
  return constant(HostTensor::fromInts(builder.getContext(), values));
}

Value Emitter::fill(RankedTensorType type, double value, bool known) {
  HostTensor scalar(RankedTensorType::get({}, type.getElementType()));
  scalar.setFloat(0, value);
  Value result = constant(std::move(scalar));
  if (type.getRank() == 0)
    return result;
  return finish(
      BroadcastOp::create(builder, loc, type, result, ArrayRef<int64_t>()),
      known);
}

Value Emitter::fill(Value like, double value) {
  return like ? fill(getTensorType(like), value, getKnown(like) != nullptr)
              : Value();
}

std::optional<SmallVector<int64_t>>
Emitter::getCommonShape(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  if (a.size() < b.size())
    std::swap(a, b);
  SmallVector<int64_t> shape(a);
  for (size_t i = 0; i < b.size(); ++i) {
    int64_t &size = shape[a.size() - b.size() + i];
    if (size == 1)
      size = b[i];
    else if (b[i] != 1 && b[i] != size)
      return std::nullopt;
  }
  return shape;
}

Value Emitter::broadcastTo(Value value, ArrayRef<int64_t> shape, bool fold) {
  if (!value)
    return {};
  auto type = getTensorType(value);
  if (type.getShape() == shape)
    return value;
  RankedTensorType to = withShape(type, shape);
  auto common = getCommonShape(type.getShape(), shape);
  if (!common || *common != shape) {
    error() << "cannot broadcast " << type << " to " << to;
    return {};
  }
  SmallVector<int64_t> dims;
  for (int64_t i = 0; i < type.getRank(); ++i)
    dims.push_back(to.getRank() - type.getRank() + i);
  return finish(BroadcastOp::create(builder, loc, to, value, dims), fold);
}

bool Emitter::broadcastAll(MutableArrayRef<Value> values) {
  SmallVector<int64_t> shape;
  for (Value value : values) {
    if (!value)
      return false;
    auto common = getCommonShape(shape, getTensorType(value).getShape());
    if (!common) {
      InFlightDiagnostic diag = error()
                                << "the operands have no common shape: ";
      llvm::interleaveComma(values, diag, [&](Value operand) {
        if (operand)
          diag << operand.getType();
      });
      return false;
    }
    shape = *common;
  }
  bool known = llvm::all_of(
      values, [&](Value value) { return getKnown(value) != nullptr; });
  for (Value &value : values)
    if (!(value = broadcastTo(value, shape, known)))
      return false;
  return true;
}

bool Emitter::checkSameElementType(Value a, Value b) {
  if (!a || !b)
    return false;
  if (getTensorType(a).getElementType() == getTensorType(b).getElementType())
    return true;
  error() << "the operands have different element types: " << a.getType()
          << " and " << b.getType();
  return false;
}

Value Emitter::compare(Predicate predicate, Value a, Value b) {
  Value values[] = {a, b};
  if (!checkSameElementType(a, b) || !broadcastAll(values))
    return {};
  return create<CompareOp>(predicate, values[0], values[1]);
}

Value Emitter::compare(Predicate predicate, Value a, double b) {
  return create<CompareOp>(predicate, a, fill(a, b));
}

Value Emitter::select(Value condition, Value onTrue, Value onFalse) {
  Value values[] = {condition, onTrue, onFalse};
  if (!checkSameElementType(onTrue, onFalse) || !broadcastAll(values))
    return {};
  return create<SelectOp>(values[0], values[1], values[2]);
}

Value Emitter::convert(Value value, Type elementType) {
  if (!value || getTensorType(value).getElementType() == elementType)
    return value;
  return create<ConvertOp>(
      RankedTensorType::get(getTensorType(value).getShape(), elementType),
      value);
}

Value Emitter::reshape(Value value, ArrayRef<int64_t> shape) {
  if (!value || getTensorType(value).getShape() == shape)
    return value;
  std::optional<int64_t> count = countElements(shape);
  auto type = getTensorType(value);
  if (!count || *count != type.getNumElements()) {
    InFlightDiagnostic diag = error() << "cannot give " << type << " ("
                                      << type.getNumElements()
                                      << " elements) the shape [";
    llvm::interleaveComma(shape, diag);
    diag << "]";
    return {};
  }
  return create<ReshapeOp>(withShape(type, shape), value);
}

Value Emitter::transpose(Value value, ArrayRef<int64_t> permutation) {
  if (!value)
    return {};
  int64_t next = 0;
  if (llvm::all_of(permutation, [&](int64_t dim) { return dim == next++; }) &&
      next == getTensorType(value).getRank())
    return value;
  return create<TransposeOp>(value, permutation);
}

Value Emitter::slice(Value value, ArrayRef<int64_t> offsets,
                     ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides) {
  if (!value)
    return {};
  SmallVector<int64_t> ones(offsets.size(), 1);
  if (strides.empty())
    strides = ones;
  auto type = getTensorType(value);
  if (type.getShape() == sizes && strides == ArrayRef<int64_t>(ones))
    return value;
  return create<SliceOp>(withShape(type, sizes), value, offsets, strides);
}

Value Emitter::sliceDim(Value value, int64_t dim, int64_t begin, int64_t size) {
  if (!value)
    return {};
  SmallVector<int64_t> sizes(getTensorType(value).getShape());
  SmallVector<int64_t> offsets(sizes.size(), 0);
  sizes[dim] = size;
  offsets[dim] = begin;
  return slice(value, offsets, sizes);
}

Value Emitter::concat(ArrayRef<Value> values, int64_t dim) {
  if (values.empty() || llvm::is_contained(values, Value()))
    return {};
  if (values.size() == 1)
    return values.front();
  SmallVector<int64_t> shape(getTensorType(values.front()).getShape());
  for (Value value : values.drop_front()) {
    auto type = getTensorType(value);
    if (type.getRank() != static_cast<int64_t>(shape.size())) {
      error() << "cannot join " << values.front().getType() << " and " << type;
      return {};
    }
    // Within bounds: no size is above 2^48.
    if ((shape[dim] += type.getDimSize(dim)) > int64_t(1) << 48)
      break;
  }
  return create<ConcatOp>(withShape(getTensorType(values.front()), shape),
                          ValueRange(values), dim);
}

Value Emitter::reduce(ReductionKind kind, Value value, ArrayRef<int64_t> dims,
                      bool keep) {
  if (!value || dims.empty())
    return value;
  SmallVector<int64_t> kept(getTensorType(value).getShape());
  Value result = create<ReduceOp>(kind, value, dims);
  if (!keep)
    return result;
  for (int64_t dim : dims)
    kept[dim] = 1;
  return reshape(result, kept);
}

Value Emitter::mean(Value value, ArrayRef<int64_t> dims, bool keep) {
  if (!value)
    return {};
  double count = 1;
  for (int64_t dim : dims)
    count *= getTensorType(value).getDimSize(dim);
  Value sum = reduce(ReductionKind::Sum, value, dims, keep);
  if (dims.empty() || !sum)
    return sum;
  if (isa<FloatType>(getTensorType(sum).getElementType()))
    return binary<MulOp>(sum, 1 / count);
  return binary<DivOp>(sum, count);
}

Value Emitter::wrapIndices(Value indices, int64_t size) {
  if (!indices)
    return {};
  if (const HostTensor *known = getKnown(indices)) {
    HostTensor wrapped = *known;
    for (int64_t i = 0; i < wrapped.getNumElements(); ++i) {
      int64_t index = known->getInt(i);
      if (index < -size || index >= size) {
        error() << "index " << index << " is outside a dimension of size "
                << size;
        return {};
      }
      wrapped.setInt(i, index < 0 ? index + size : index);
    }
    return wrapped.getBytes() == known->getBytes() ? indices
                                                   : constant(wrapped);
  }
  if (getTensorType(indices).getElementType().isUnsignedInteger())
    return indices;
  return select(compare(Predicate::LT, indices, 0.0),
                binary<AddOp>(indices, static_cast<double>(size)), indices);
}

Value Emitter::iota(ArrayRef<int64_t> shape, Type elementType, int64_t dim) {
  return create<IotaOp>(RankedTensorType::get(shape, elementType), dim);
}
