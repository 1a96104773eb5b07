//===- Indexing.cpp - ONNX operators that work with indices ---------------===//
//
// Slices, gathers, padding, and tensors made by comparing indices. ONNX lets
// indices count from the end; pplan's do not, so negative ones are wrapped.
//
//===----------------------------------------------------------------------===//
#include "GraphImporter.h"
#include "OpTable.h"
#include <cmath>

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

//===----------------------------------------------------------------------===//
// Slice and Pad
//===----------------------------------------------------------------------===//

namespace {
/// What a slice takes from one dimension.
struct DimSlice {
  int64_t offset, size, stride;
};
} // namespace

/// ONNX's rules: indices below 0 count from the end, and what lies outside the
/// dimension is cut off.
static DimSlice clampSlice(int64_t begin, int64_t end, int64_t step,
                           int64_t size) {
  begin = begin < 0 ? begin + size : begin;
  end = end < 0 ? end + size : end;
  if (step > 0) {
    begin = std::max<int64_t>(0, std::min(begin, size));
    end = std::max<int64_t>(0, std::min(end, size));
  } else {
    begin = std::max<int64_t>(0, std::min(begin, size - 1));
    end = std::max<int64_t>(-1, std::min(end, size - 1));
  }
  int64_t distance = step > 0 ? end - begin : begin - end;
  // |step| beyond the dimension takes one element; this also tames INT64_MIN.
  int64_t stride = step > size ? size + 1 : step < -size ? -size - 1 : step;
  int64_t count =
      distance <= 0 || size == 0 ? 0 : (distance - 1) / std::abs(stride) + 1;
  if (count <= 1)
    return {count ? begin : 0, count, 1};
  return {begin, count, stride};
}

static LogicalResult slice(Node &n) {
  Value x = n.input(0);
  FailureOr<SmallVector<int64_t>> starts = n.getKnownInts(1, "the starts");
  FailureOr<SmallVector<int64_t>> ends =
      failed(starts) ? starts : n.getKnownInts(2, "the ends");
  if (!x || failed(ends))
    return failure();
  SmallVector<int64_t> axes, steps(starts->size(), 1);
  for (size_t i = 0; i < starts->size(); ++i)
    axes.push_back(i);
  for (auto [index, what, list] :
       {std::tuple(3, "the axes", &axes), std::tuple(4, "the steps", &steps)}) {
    if (!n.has(index))
      continue;
    FailureOr<SmallVector<int64_t>> given = n.getKnownInts(index, what);
    if (failed(given))
      return failure();
    *list = *given;
  }
  if (ends->size() != starts->size() || axes.size() != starts->size() ||
      steps.size() != starts->size())
    return n.error() << "starts, ends, axes and steps have different lengths: "
                     << starts->size() << ", " << ends->size() << ", "
                     << axes.size() << ", " << steps.size();
  SmallVector<int64_t> sizes(n.type(0).getShape());
  SmallVector<int64_t> offsets(sizes.size(), 0), strides(sizes.size(), 1);
  for (auto [i, axis] : llvm::enumerate(axes)) {
    FailureOr<int64_t> dim = n.getDim(axis, sizes.size());
    if (failed(dim))
      return failure();
    if (steps[i] == 0)
      return n.error() << "the step of dimension " << *dim << " is zero";
    DimSlice taken = clampSlice((*starts)[i], (*ends)[i], steps[i],
                                n.type(0).getDimSize(*dim));
    offsets[*dim] = taken.offset;
    sizes[*dim] = taken.size;
    strides[*dim] = taken.stride;
  }
  return n.yield(n.e.slice(x, offsets, sizes, strides));
}

/// The value to pad with, as an attribute of the element type.
static TypedAttr getPadValue(Node &n, Type element, const HostTensor *value) {
  if (auto type = dyn_cast<FloatType>(element))
    return FloatAttr::get(type, value ? value->getFloat(0) : 0.0);
  int64_t number = value ? value->getInt(0) : 0;
  return IntegerAttr::get(
      element, llvm::APInt(element.getIntOrFloatBitWidth(), number,
                           /*isSigned=*/false, /*implicitTrunc=*/true));
}

static LogicalResult pad(Node &n) {
  Value x = n.input(0);
  FailureOr<SmallVector<int64_t>> pads = n.getKnownInts(1, "the pads");
  if (!x || failed(pads))
    return failure();
  std::string mode = n.getString("mode", "constant");
  if (mode != "constant")
    return n.unsupported("mode = " + mode);
  const HostTensor *value = nullptr;
  if (n.has(2)) {
    value = n.e.getKnown(n.input(2));
    if (!value || value->getNumElements() != 1)
      return n.unsupported("a padding value that is not one known number");
  }
  SmallVector<int64_t> sizes(n.type(0).getShape()), axes;
  for (size_t i = 0; i < sizes.size(); ++i)
    axes.push_back(i);
  if (n.has(3)) {
    FailureOr<SmallVector<int64_t>> given = n.getKnownInts(3, "the axes");
    if (failed(given))
      return failure();
    axes = *given;
  }
  if (pads->size() != 2 * axes.size())
    return n.error() << "has " << pads->size() << " pads for " << axes.size()
                     << " dimensions";
  SmallVector<int64_t> low(sizes.size(), 0), high(sizes.size(), 0);
  SmallVector<int64_t> offsets(sizes.size(), 0), padded(sizes.size());
  for (auto [i, axis] : llvm::enumerate(axes)) {
    FailureOr<int64_t> dim = n.getDim(axis, sizes.size());
    if (failed(dim))
      return failure();
    low[*dim] = (*pads)[i];
    high[*dim] = (*pads)[axes.size() + i];
  }
  // Negative pads cut off; what is left must not be less than nothing.
  constexpr int64_t limit = int64_t(1) << 40;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (std::min(low[i], high[i]) < -limit || std::max(low[i], high[i]) > limit)
      return n.error() << "the pads of dimension " << i << " are " << low[i]
                       << " and " << high[i];
    offsets[i] = std::max<int64_t>(0, -low[i]);
    sizes[i] -= offsets[i] + std::max<int64_t>(0, -high[i]);
    if (sizes[i] < 0)
      return n.error() << "the pads of dimension " << i << " cut off more than "
                       << n.type(0) << " has";
    low[i] = std::max<int64_t>(0, low[i]);
    high[i] = std::max<int64_t>(0, high[i]);
    padded[i] = sizes[i] + low[i] + high[i];
    offsets[i] = sizes[i] == 0 ? 0 : offsets[i];
  }
  Value inner = n.e.slice(x, offsets, sizes);
  if (!inner || padded == sizes)
    return n.yield(inner);
  auto type = withShape(n.type(0), padded);
  return n.yield(n.e.create<PadOp>(
      type, inner, low, high, getPadValue(n, type.getElementType(), value)));
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

/// The operand and the indices of a gather along `axis`.
template <typename Build> static LogicalResult gather(Node &n, Build build) {
  Value x = n.input(0), indices = n.input(1);
  if (!x || !indices)
    return failure();
  FailureOr<int64_t> dim = n.getAxis("axis", 0, n.rank(0));
  if (failed(dim))
    return failure();
  if (!isa<IntegerType>(n.type(1).getElementType()))
    return n.error() << "the indices must be integers, found " << n.type(1);
  return n.yield(
      build(x, n.e.wrapIndices(indices, n.type(0).getDimSize(*dim)), *dim));
}

static LogicalResult gather(Node &n) {
  return gather(n, [&](Value x, Value indices, int64_t dim) {
    return n.e.create<GatherOp>(x, indices, dim);
  });
}

static LogicalResult gatherElements(Node &n) {
  return gather(n, [&](Value x, Value indices, int64_t dim) {
    return n.e.create<GatherElementsOp>(
        withShape(n.type(0), n.type(1).getShape()), x, indices, dim);
  });
}

/// The last dimension of the indices addresses the dimensions after the batch
/// dimensions. Both together are one row-major index into a reshaped operand.
static LogicalResult gatherND(Node &n) {
  Value x = n.input(0), indices = n.input(1);
  if (!x || !indices)
    return failure();
  Emitter &e = n.e;
  ArrayRef<int64_t> from = n.type(0).getShape();
  ArrayRef<int64_t> at = n.type(1).getShape();
  int64_t batch = n.getInt("batch_dims", 0);
  int64_t depth = at.empty() ? 0 : at.back();
  if (at.empty() || batch < 0 || depth < 1 ||
      batch >= static_cast<int64_t>(at.size()) ||
      depth > static_cast<int64_t>(from.size()) - batch ||
      from.take_front(batch) != at.take_front(batch))
    return n.error() << "cannot take " << n.type(1) << " from " << n.type(0)
                     << " with " << batch << " batch dimensions";
  SmallVector<int64_t> outer(at.drop_back());
  SmallVector<int64_t> shape(from.drop_front(batch + depth));
  int64_t addressed = 1;
  for (int64_t size : from.take_front(batch + depth))
    addressed *= size;
  shape.insert(shape.begin(), addressed);
  Value flat = e.reshape(x, shape);
  Type indexType = n.type(1).getElementType();
  Value linear;
  for (int64_t i = 0; i < batch + depth; ++i) {
    Value part =
        i < batch ? e.iota(outer, indexType, i)
                  : e.wrapIndices(e.reshape(e.sliceDim(indices, at.size() - 1,
                                                       i - batch, 1),
                                            outer),
                                  from[i]);
    linear = i == 0 ? part
                    : e.binary<AddOp>(
                          e.binary<MulOp>(linear, static_cast<double>(from[i])),
                          part);
  }
  return n.yield(e.create<GatherOp>(flat, linear, 0));
}

//===----------------------------------------------------------------------===//
// Tensors made from indices
//===----------------------------------------------------------------------===//

/// column - row over the last two dimensions, compared with `k`.
static Value compareDiagonal(Emitter &e, int64_t rows, int64_t columns,
                             Predicate predicate, int64_t k) {
  Type i64 = e.builder.getI64Type();
  Value difference = e.create<SubOp>(e.iota({rows, columns}, i64, 1),
                                     e.iota({rows, columns}, i64, 0));
  return e.compare(predicate, difference, static_cast<double>(k));
}

static LogicalResult trilu(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  int64_t k = 0;
  if (n.has(1)) {
    FailureOr<int64_t> given = n.getKnownInt(1, "k");
    if (failed(given))
      return failure();
    k = *given;
  }
  if (n.rank(0) < 2)
    return n.error() << "needs a matrix, found " << n.type(0);
  ArrayRef<int64_t> shape = n.type(0).getShape();
  // Beyond the matrix all diagonals are alike; this keeps k exact below.
  int64_t bound = std::max(shape.back(), shape[shape.size() - 2]);
  k = std::max(-bound, std::min(bound, k));
  Value kept =
      compareDiagonal(n.e, shape[shape.size() - 2], shape.back(),
                      n.getInt("upper", 1) ? Predicate::GE : Predicate::LE, k);
  return n.yield(n.e.select(kept, x, n.e.fill(x, 0.0)));
}

static LogicalResult eyeLike(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  if (n.rank(0) != 2)
    return n.error() << "needs a matrix, found " << n.type(0);
  Type element = n.type(0).getElementType();
  if (n.getAttr("dtype"))
    element = n.graph.getFile().getElementType(n.getInt("dtype", 0));
  if (!element)
    return n.unsupported("this dtype");
  int64_t rows = n.type(0).getDimSize(0), columns = n.type(0).getDimSize(1);
  int64_t k = std::max(-rows, std::min(columns, n.getInt("k", 0)));
  return n.yield(n.e.convert(
      compareDiagonal(n.e, rows, columns, Predicate::EQ, k), element));
}

static LogicalResult range(Node &n) {
  const HostTensor *bounds[3];
  static constexpr const char *names[] = {"the start", "the limit",
                                          "the delta"};
  for (int i = 0; i < 3; ++i) {
    if (!n.input(i))
      return failure();
    bounds[i] = n.e.getKnown(n.input(i));
    if (!bounds[i] || bounds[i]->getNumElements() != 1)
      return n.error() << names[i]
                       << " must be one number that is known when the model is "
                          "imported";
    if (n.type(i).getElementType() != n.type(0).getElementType())
      return n.error() << "the operands have different element types: "
                       << n.type(0) << " and " << n.type(i);
  }
  double start = bounds[0]->getFloat(0), delta = bounds[2]->getFloat(0);
  double count = std::ceil((bounds[1]->getFloat(0) - start) / delta);
  if (delta == 0 || std::isnan(count) || count > 0x1p40)
    return n.error() << "a range from " << start << " by " << delta << " to "
                     << bounds[1]->getFloat(0) << " has no usable length";
  auto type = RankedTensorType::get(
      {static_cast<int64_t>(std::max(0.0, count))}, n.type(0).getElementType());
  if (type.getElementType().isInteger(1))
    return n.error() << "has no range of " << type;
  Value steps = n.e.create<IotaOp>(type, 0);
  if (delta != 1)
    steps = n.e.binary<MulOp>(steps, delta);
  if (start != 0)
    steps = n.e.binary<AddOp>(steps, start);
  return n.yield(steps);
}

static LogicalResult oneHot(Node &n) {
  Value indices = n.input(0), values = n.input(2);
  FailureOr<int64_t> depth = n.getKnownInt(1, "the depth");
  if (!indices || !values || failed(depth))
    return failure();
  FailureOr<int64_t> axis = n.getAxis("axis", -1, n.rank(0) + 1);
  if (failed(axis))
    return failure();
  if (n.type(2).getShape() != ArrayRef<int64_t>{2})
    return n.error() << "the values must be two numbers, found " << n.type(2);
  Emitter &e = n.e;
  Type i64 = e.builder.getI64Type();
  SmallVector<int64_t> shape(n.type(0).getShape());
  shape.insert(shape.begin() + *axis, 1);
  Value index = e.reshape(e.convert(indices, i64), shape);
  index = e.select(e.compare(Predicate::LT, index, 0.0),
                   e.binary<AddOp>(index, static_cast<double>(*depth)), index);
  shape[*axis] = *depth;
  if (!countElements(shape))
    return n.error() << "cannot have the depth " << *depth;
  Value hot = e.compare(Predicate::EQ, e.iota(shape, i64, *axis), index);
  return n.yield(e.select(hot, e.reshape(e.sliceDim(values, 0, 1, 1), {}),
                          e.reshape(e.sliceDim(values, 0, 0, 1), {})));
}

ArrayRef<OpEntry> pplan::import::getIndexingOps() {
  static const OpEntry table[] = {
      {"EyeLike", eyeLike},
      {"Gather", gather},
      {"GatherElements", gatherElements},
      {"GatherND", gatherND},
      {"OneHot", oneHot},
      {"Pad", pad},
      {"Range", range},
      {"Slice", slice},
      {"Trilu", trilu},
  };
  return table;
}
