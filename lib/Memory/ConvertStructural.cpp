//===- ConvertStructural.cpp - Operations that move elements --------------===//
//
// Decides which structural operations are views (reshape, slice), which are
// loops that read elsewhere (broadcast, transpose, gather), and which are
// insertions into a larger tensor (concat, pad). Whether a loop is fused away
// is left to pplan-fuse-loops, whether a view is free to bufferisation.
//
//===----------------------------------------------------------------------===//
#include "Convert.h"
#include "pplan/Memory/RT.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

/// The attribute with storage elements: bytes for i1 and ui8.
static FailureOr<TypedAttr> getStorageValue(ConstantOp op) {
  RankedTensorType type = getStorageTensor(op.getType());
  Type element = op.getType().getElementType();
  ElementsAttr value = op.getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (!element.isInteger(1) && !element.isUnsignedInteger())
      return cast<TypedAttr>(value);
    return cast<TypedAttr>(
        cast<DenseIntElementsAttr>(dense)
            .mapValues(type.getElementType(),
                       [](const APInt &bits) { return bits.zextOrTrunc(8); }));
  }
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    if (!element.isInteger(1) && !element.isUnsignedInteger())
      return cast<TypedAttr>(value);
  }
  return op.emitOpError("cannot be compiled: its value is neither dense nor a "
                        "resource of plain elements");
}

static FailureOr<Value> convertConstant(Emitter &e, ConstantOp op) {
  FailureOr<TypedAttr> value = getStorageValue(op);
  if (failed(value))
    return failure();
  return Value(e.create<arith::ConstantOp>(*value));
}

static Value convertIota(Emitter &e, IotaOp op) {
  Type element = op.getType().getElementType();
  return e.map(getStorageTensor(op.getType()), {},
               [&](Emitter &inner, ValueRange) {
                 Type i64 = inner.b.getI64Type();
                 Value index = inner.create<arith::IndexCastOp>(
                     i64, inner.loopIndex(op.getDim()));
                 return inner.store(emitConvert(inner, index, i64, element),
                                    element);
               });
}

static Value convertBroadcast(Emitter &e, BroadcastOp op, Value input) {
  RankedTensorType from = getTensorType(op.getInput());
  RankedTensorType to = getStorageTensor(op.getType());
  SmallVector<AffineExpr> reads;
  for (auto [i, dim] : llvm::enumerate(op.getDims()))
    reads.push_back(from.getDimSize(i) == 1 && to.getDimSize(dim) != 1
                        ? e.b.getAffineConstantExpr(0)
                        : e.b.getAffineDimExpr(dim));
  return e.map(
      to, input, [](Emitter &, ValueRange args) { return args[0]; },
      AffineMap::get(to.getRank(), 0, reads, e.b.getContext()));
}

/// Reads `input` at computed positions, one per dimension.
static Value
mapExtract(Emitter &e, RankedTensorType type, Value input,
           function_ref<SmallVector<Value>(Emitter &, ValueRange)> position,
           ValueRange others = {}, ArrayRef<AffineMap> maps = {}) {
  return e.map(
      type, others,
      [&](Emitter &inner, ValueRange args) -> Value {
        return inner.create<tensor::ExtractOp>(input, position(inner, args));
      },
      maps);
}

static Value convertSlice(Emitter &e, SliceOp op, Value input) {
  RankedTensorType type = getStorageTensor(op.getType());
  if (llvm::all_of(op.getStrides(), [](int64_t s) { return s > 0; })) {
    SmallVector<OpFoldResult> offsets, sizes, strides;
    for (int64_t offset : op.getOffsets())
      offsets.push_back(e.b.getIndexAttr(offset));
    for (auto [size, stride] : llvm::zip(type.getShape(), op.getStrides())) {
      sizes.push_back(e.b.getIndexAttr(size));
      strides.push_back(e.b.getIndexAttr(size == 1 ? 1 : stride));
    }
    return e.create<tensor::ExtractSliceOp>(type, input, offsets, sizes,
                                            strides);
  }
  return mapExtract(e, type, input, [&](Emitter &inner, ValueRange) {
    SmallVector<Value> position;
    for (auto [dim, offset, stride] :
         llvm::enumerate(op.getOffsets(), op.getStrides()))
      position.push_back(inner.create<arith::AddIOp>(
          inner.constantIndex(offset),
          inner.create<arith::MulIOp>(inner.loopIndex(dim),
                                      inner.constantIndex(stride))));
    return position;
  });
}

/// Inserts `part` into `whole` at static offsets.
static Value insertAt(Emitter &e, Value part, Value whole,
                      ArrayRef<int64_t> offsets) {
  auto type = cast<RankedTensorType>(part.getType());
  SmallVector<OpFoldResult> at, sizes;
  SmallVector<OpFoldResult> strides(type.getRank(), e.b.getIndexAttr(1));
  for (int64_t offset : offsets)
    at.push_back(e.b.getIndexAttr(offset));
  for (int64_t size : type.getShape())
    sizes.push_back(e.b.getIndexAttr(size));
  return e.create<tensor::InsertSliceOp>(part, whole, at, sizes, strides);
}

static Value convertConcat(Emitter &e, ConcatOp op, ValueRange inputs) {
  RankedTensorType type = getStorageTensor(op.getType());
  Value whole = e.empty(type);
  SmallVector<int64_t> offsets(type.getRank(), 0);
  for (Value input : inputs) {
    auto part = cast<RankedTensorType>(input.getType());
    if (part.getNumElements() == 0)
      continue;
    whole = insertAt(e, input, whole, offsets);
    offsets[op.getDim()] += part.getDimSize(op.getDim());
  }
  return whole;
}

/// A scalar attribute as a constant of the storage type.
static Value convertScalarAttr(Emitter &e, TypedAttr value) {
  if (auto integer = dyn_cast<IntegerAttr>(value)) {
    Type storage = getStorageType(integer.getType());
    unsigned width = storage.getIntOrFloatBitWidth();
    return e.create<arith::ConstantOp>(
        e.b.getIntegerAttr(storage, integer.getValue().zextOrTrunc(width)));
  }
  return e.create<arith::ConstantOp>(value);
}

static Value convertPad(Emitter &e, PadOp op, Value input) {
  RankedTensorType type = getStorageTensor(op.getType());
  Value whole = e.fill(type, convertScalarAttr(e, op.getValueAttr()));
  if (cast<RankedTensorType>(input.getType()).getNumElements() == 0)
    return whole;
  return insertAt(e, input, whole, op.getLow());
}

/// The index clamped into [0, n).
static Value clampIndex(Emitter &e, Value stored, Type element, int64_t n) {
  Type i64 = e.b.getI64Type();
  Value index = emitConvert(e, stored, element, i64);
  index = e.create<arith::MaxSIOp>(index, e.constantInt(i64, 0));
  index = e.create<arith::MinSIOp>(index, e.constantInt(i64, n - 1));
  return e.create<arith::IndexCastOp>(e.b.getIndexType(), index);
}

static FailureOr<Value> convertGather(Emitter &e, GatherOp op,
                                      ValueRange operands) {
  RankedTensorType input = getTensorType(op.getInput());
  RankedTensorType indices = getTensorType(op.getIndices());
  int64_t dim = op.getDim(), n = input.getDimSize(dim);
  if (n == 0)
    return op.emitOpError("gathers from a dimension of size 0");
  RankedTensorType type = getStorageTensor(op.getType());
  SmallVector<AffineExpr> reads;
  for (int64_t i = 0; i < indices.getRank(); ++i)
    reads.push_back(e.b.getAffineDimExpr(dim + i));
  AffineMap map =
      AffineMap::get(type.getRank(), 0, reads, e.b.getContext());
  return mapExtract(
      e, type, operands[0],
      [&](Emitter &inner, ValueRange args) {
        SmallVector<Value> position;
        for (int64_t i = 0; i < input.getRank(); ++i) {
          if (i == dim)
            position.push_back(
                clampIndex(inner, args[0], indices.getElementType(), n));
          else
            position.push_back(inner.loopIndex(
                i < dim ? i : i + indices.getRank() - 1));
        }
        return position;
      },
      operands[1], map);
}

static FailureOr<Value> convertGatherElements(Emitter &e, GatherElementsOp op,
                                              ValueRange operands) {
  RankedTensorType input = getTensorType(op.getInput());
  Type element = getTensorType(op.getIndices()).getElementType();
  int64_t dim = op.getDim(), n = input.getDimSize(dim);
  if (n == 0)
    return op.emitOpError("gathers from a dimension of size 0");
  AffineMap identity = e.b.getMultiDimIdentityMap(input.getRank());
  return mapExtract(
      e, getStorageTensor(op.getType()), operands[0],
      [&](Emitter &inner, ValueRange args) {
        SmallVector<Value> position;
        for (int64_t i = 0; i < input.getRank(); ++i)
          position.push_back(i == dim ? clampIndex(inner, args[0], element, n)
                                      : inner.loopIndex(i));
        return position;
      },
      operands[1], identity);
}

/// The runtime adds rows in f32, f64, i32 or i64.
static Value convertScatterAdd(Emitter &e, ScatterAddOp op,
                               ValueRange operands) {
  RankedTensorType type = getStorageTensor(op.getType());
  RankedTensorType updates = getTensorType(op.getUpdates());
  Type element = updates.getElementType();
  if (type.getNumElements() == 0)
    return e.empty(type);
  if (updates.getNumElements() == 0)
    return e.fill(type, e.constant(type.getElementType(), 0.0));
  auto convertTo = [&](Value value, Type from, Type to) {
    auto stored = cast<RankedTensorType>(value.getType());
    return from == to ? value
                      : e.map(getStorageTensor(stored.clone(to)), value,
                              [&](Emitter &inner, ValueRange args) {
                                Value loaded = inner.load(args[0], from);
                                return inner.store(
                                    emitConvert(inner, loaded, from, to), to);
                              });
  };
  bool isWide = element.getIntOrFloatBitWidth() >= 32;
  Type sums = isWide ? element
              : isa<FloatType>(element) ? Type(e.b.getF32Type())
                                        : Type(e.b.getI32Type());
  Type indexType = getTensorType(op.getIndices()).getElementType();
  bool isIndex = indexType.isInteger(32) || indexType.isInteger(64);
  auto call = e.create<rt::ScatterAddOp>(
      type.clone(sums),
      convertTo(operands[0], indexType,
                isIndex ? indexType : Type(e.b.getI64Type())),
      convertTo(operands[1], element, sums),
      e.empty(cast<RankedTensorType>(type.clone(sums))), op.getDimAttr());
  return convertTo(call.getResult(0), sums, element);
}

FailureOr<Value> memory::convertStructural(Emitter &e, Operation *op,
                                           ValueRange operands) {
  return TypeSwitch<Operation *, FailureOr<Value>>(op)
      .Case([&](ConstantOp constant) { return convertConstant(e, constant); })
      .Case([&](IotaOp iota) { return convertIota(e, iota); })
      .Case([&](BroadcastOp broadcast) {
        return convertBroadcast(e, broadcast, operands[0]);
      })
      .Case([&](AccumulateOp) { return operands[0]; }) // of one micro-batch
      .Case([&](ReshapeOp reshape) {
        return e.reshape(operands[0], reshape.getType().getShape());
      })
      .Case([&](TransposeOp transpose) {
        return e.transpose(operands[0], transpose.getPermutation());
      })
      .Case([&](SliceOp slice) { return convertSlice(e, slice, operands[0]); })
      .Case([&](ConcatOp concat) { return convertConcat(e, concat, operands); })
      .Case([&](PadOp pad) { return convertPad(e, pad, operands[0]); })
      .Case([&](GatherOp gather) { return convertGather(e, gather, operands); })
      .Case([&](GatherElementsOp gather) {
        return convertGatherElements(e, gather, operands);
      })
      .Case([&](ScatterAddOp scatter) {
        return convertScatterAdd(e, scatter, operands);
      })
      .Default([](Operation *) { return Value(); });
}
