//===- ConvertDevice.cpp - spmd operations --------------------------------===//
//
// Collectives become rt operations with mesh axes as numbers; what a device
// computes from its coordinates (shard offsets, slices, padding masks) becomes
// index arithmetic and loops.
//
//===----------------------------------------------------------------------===//
#include "Convert.h"
#include "pplan/Dialect/SPMD/SPMD.h"
#include "pplan/Memory/RT.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

/// Positions of the axes in the mesh.
static FailureOr<SmallVector<int32_t>> getAxes(Operation *op, ArrayAttr names,
                                               MeshAttr mesh) {
  SmallVector<int32_t> axes;
  for (StringAttr name : names.getAsRange<StringAttr>()) {
    int index = mesh.getAxisIndex(name.getValue());
    if (index < 0)
      return op->emitOpError("names axis ")
             << name << ", which the mesh " << mesh << " lacks";
    axes.push_back(index);
  }
  return axes;
}

namespace {
/// A device's part of a dimension: where it begins and how much is valid.
struct ShardSpan {
  Value offset; ///< index
  Value length; ///< index, of the valid elements
  int64_t size; ///< with padding
};
} // namespace

/// Nested ceiling division: see the sharding rule of the runtime.
static ShardSpan emitRange(Emitter &e, int64_t n, ArrayRef<int32_t> axes,
                       MeshAttr mesh) {
  Value offset = e.constantIndex(0), length = e.constantIndex(n);
  Value zero = offset;
  int64_t size = n;
  for (int32_t axis : axes) {
    int64_t parts = mesh.getAxes()[axis].getSize();
    size = (size + parts - 1) / parts;
    Value sizeValue = e.constantIndex(size);
    Value coordinate =
        e.create<rt::AxisCoordOp>(e.b.getIndexType(), axis);
    Value begin = e.create<arith::MulIOp>(coordinate, sizeValue);
    offset = e.create<arith::AddIOp>(offset, begin);
    length = e.create<arith::SubIOp>(length, begin);
    length = e.create<arith::MaxSIOp>(
        e.create<arith::MinSIOp>(length, sizeValue), zero);
  }
  return {offset, length, size};
}

/// Number of parts that the axes make.
static int64_t getGroupSize(ArrayRef<int32_t> axes, MeshAttr mesh) {
  int64_t size = 1;
  for (int32_t axis : axes)
    size *= mesh.getAxes()[axis].getSize();
  return size;
}

static Value convertShardOffset(Emitter &e, spmd::ShardOffsetOp op,
                                ArrayRef<int32_t> axes, MeshAttr mesh) {
  ShardSpan range = emitRange(e, op.getSize(), axes, mesh);
  RankedTensorType type = getStorageTensor(op.getResult().getType());
  return e.map(type, {}, [&](Emitter &inner, ValueRange) -> Value {
    return inner.create<arith::IndexCastOp>(type.getElementType(),
                                            range.offset);
  });
}

static Value convertShardSlice(Emitter &e, spmd::ShardSliceOp op,
                               ArrayRef<int32_t> axes, MeshAttr mesh,
                               Value input) {
  auto whole = cast<RankedTensorType>(input.getType());
  RankedTensorType part = getStorageTensor(op.getResult().getType());
  int64_t dim = op.getDim(), n = whole.getDimSize(dim);
  ShardSpan range = emitRange(e, n, axes, mesh);
  bool padded = n != part.getDimSize(dim) * getGroupSize(axes, mesh);
  return e.map(part, {}, [&](Emitter &inner, ValueRange) -> Value {
    SmallVector<Value> position;
    for (int64_t i = 0; i < part.getRank(); ++i)
      position.push_back(inner.loopIndex(i));
    Value local = position[dim];
    Value global = inner.create<arith::AddIOp>(local, range.offset);
    if (!padded) {
      position[dim] = global;
      return inner.create<tensor::ExtractOp>(input, position);
    }
    position[dim] =
        inner.create<arith::MinSIOp>(global, inner.constantIndex(n - 1));
    Value value = inner.create<tensor::ExtractOp>(input, position);
    Value valid = inner.create<arith::CmpIOp>(arith::CmpIPredicate::slt, local,
                                              range.length);
    return inner.create<arith::SelectOp>(
        valid, value, inner.constant(part.getElementType(), 0.0));
  });
}

static Value convertMaskPadding(Emitter &e, spmd::MaskPaddingOp op,
                                ArrayRef<int32_t> axes, MeshAttr mesh,
                                Value input) {
  RankedTensorType type = getStorageTensor(op.getResult().getType());
  int64_t dim = op.getDim();
  if (static_cast<int64_t>(op.getSize()) ==
      type.getDimSize(dim) * getGroupSize(axes, mesh))
    return input;
  ShardSpan range = emitRange(e, op.getSize(), axes, mesh);
  TypedAttr fill = op.getFillAttr();
  if (auto integer = dyn_cast<IntegerAttr>(fill)) {
    Type storage = type.getElementType();
    fill = e.b.getIntegerAttr(storage, integer.getValue().zextOrTrunc(
                                           storage.getIntOrFloatBitWidth()));
  }
  return e.map(type, input, [&](Emitter &inner, ValueRange args) -> Value {
    Value valid = inner.create<arith::CmpIOp>(
        arith::CmpIPredicate::slt, inner.loopIndex(dim), range.length);
    return inner.create<arith::SelectOp>(
        valid, args[0], inner.create<arith::ConstantOp>(fill));
  });
}

/// True where the operation lets every device keep what it has.
static bool isTrivial(ArrayRef<int32_t> axes, MeshAttr mesh, Value input,
                      RankedTensorType result) {
  return getGroupSize(axes, mesh) == 1 && input.getType() == result;
}

FailureOr<Value> memory::convertDevice(Emitter &e, Operation *op,
                                       ValueRange operands, MeshAttr mesh) {
  if (op->getName().getDialectNamespace() !=
      spmd::SPMDDialect::getDialectNamespace())
    return Value();
  auto names = op->getAttrOfType<ArrayAttr>("axes");
  if (!names || op->getNumResults() != 1)
    return Value();
  FailureOr<SmallVector<int32_t>> found = getAxes(op, names, mesh);
  if (failed(found))
    return failure();
  ArrayRef<int32_t> axes = *found;
  RankedTensorType type = getStorageTensor(op->getResult(0).getType());
  if (type.getNumElements() == 0)
    return e.empty(type);
  int32_t dtype = rt::getDType(
      cast<RankedTensorType>(op->getResult(0).getType()).getElementType());
  Value input = operands.empty() ? Value() : operands[0];
  Value result =
      TypeSwitch<Operation *, Value>(op)
          .Case([&](spmd::ShardOffsetOp offset) {
            return convertShardOffset(e, offset, axes, mesh);
          })
          .Case([&](spmd::ShardSliceOp slice) {
            return convertShardSlice(e, slice, axes, mesh, input);
          })
          .Case([&](spmd::MaskPaddingOp mask) {
            return convertMaskPadding(e, mask, axes, mesh, input);
          })
          .Case([&](spmd::AllReduceOp reduce) -> Value {
            if (isTrivial(axes, mesh, input, type))
              return input;
            return e
                .create<rt::AllReduceOp>(TypeRange{type}, reduce.getKind(),
                                         axes, dtype, input)
                .getResult(0);
          })
          .Case([&](spmd::AllGatherOp gather) -> Value {
            return e
                .create<rt::AllGatherOp>(TypeRange{type}, gather.getDim(),
                                         axes, dtype, input, e.empty(type))
                .getResult(0);
          })
          .Case([&](spmd::ReduceScatterOp scatter) -> Value {
            return e
                .create<rt::ReduceScatterOp>(
                    TypeRange{type}, scatter.getKind(), scatter.getDim(), axes,
                    dtype, input, e.empty(type))
                .getResult(0);
          })
          .Case([&](spmd::AllToAllOp exchange) -> Value {
            return e
                .create<rt::AllToAllOp>(
                    TypeRange{type}, exchange.getSplitDim(),
                    exchange.getConcatDim(), axes, dtype, input, e.empty(type))
                .getResult(0);
          })
          .Case([&](spmd::PermuteOp permute) -> Value {
            auto targets = llvm::to_vector_of<int32_t>(permute.getTargets());
            return e
                .create<rt::PermuteOp>(TypeRange{type}, targets, axes, dtype,
                                       input, e.empty(type))
                .getResult(0);
          })
          .Default([](Operation *) { return Value(); });
  // Equal collectives of two phases stay two.
  Attribute phase = op->getAttr(kPhaseAttr);
  Operation *call = result ? result.getDefiningOp() : nullptr;
  if (phase && isa_and_nonnull<rt::RTDialect>(call ? call->getDialect()
                                                   : nullptr))
    call->setAttr(kPhaseAttr, phase);
  return result;
}
