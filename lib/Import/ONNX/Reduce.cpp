//===- Reduce.cpp - ONNX reductions and what works along a dimension ------===//
//
// Reductions with axes as attribute or operand, arg-reductions, running sums,
// softmax.
//
//===----------------------------------------------------------------------===//
#include "OpTable.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

/// The dimensions that a reduction goes over: an operand in newer opsets, an
/// attribute in older ones, all when there are none.
static FailureOr<SmallVector<int64_t>> getReducedDims(Node &n) {
  SmallVector<int64_t> axes;
  if (n.has(1)) {
    FailureOr<SmallVector<int64_t>> given = n.getKnownInts(1, "the axes");
    if (failed(given))
      return failure();
    axes = *given;
  } else if (auto given = n.getInts("axes")) {
    axes = *given;
  }
  if (axes.empty() && !n.getInt("noop_with_empty_axes", 0))
    for (int64_t dim = 0; dim < n.rank(0); ++dim)
      axes.push_back(dim);
  return n.getDims(axes, n.rank(0));
}

/// Calls `build(x, dims, keep)` and yields what it returns.
template <typename Build> static LogicalResult reduce(Node &n, Build build) {
  Value x = n.input(0);
  if (!x)
    return failure();
  FailureOr<SmallVector<int64_t>> dims = getReducedDims(n);
  if (failed(dims))
    return failure();
  return n.yield(build(x, ArrayRef<int64_t>(*dims), n.getInt("keepdims", 1)));
}

template <ReductionKind kind> static LogicalResult plain(Node &n) {
  return reduce(n, [&](Value x, ArrayRef<int64_t> dims, bool keep) {
    return n.e.reduce(kind, x, dims, keep);
  });
}

static LogicalResult mean(Node &n) {
  return reduce(n, [&](Value x, ArrayRef<int64_t> dims, bool keep) {
    return n.e.mean(x, dims, keep);
  });
}

static LogicalResult l1(Node &n) {
  return reduce(n, [&](Value x, ArrayRef<int64_t> dims, bool keep) {
    return n.e.reduce(ReductionKind::Sum, n.e.create<AbsOp>(x), dims, keep);
  });
}

static Value sumSquare(Emitter &e, Value x, ArrayRef<int64_t> dims, bool keep) {
  return e.reduce(ReductionKind::Sum, e.create<MulOp>(x, x), dims, keep);
}

static LogicalResult sumSquare(Node &n) {
  return reduce(n, [&](Value x, ArrayRef<int64_t> dims, bool keep) {
    return sumSquare(n.e, x, dims, keep);
  });
}

static LogicalResult l2(Node &n) {
  return reduce(n, [&](Value x, ArrayRef<int64_t> dims, bool keep) {
    return n.e.create<SqrtOp>(sumSquare(n.e, x, dims, keep));
  });
}

static LogicalResult logSum(Node &n) {
  return reduce(n, [&](Value x, ArrayRef<int64_t> dims, bool keep) {
    return n.e.create<LogOp>(n.e.reduce(ReductionKind::Sum, x, dims, keep));
  });
}

/// max + log(sum(exp(x - max))), which does not overflow.
static LogicalResult logSumExp(Node &n) {
  return reduce(n, [&](Value x, ArrayRef<int64_t> dims, bool keep) -> Value {
    Emitter &e = n.e;
    Value largest = e.reduce(ReductionKind::Max, x, dims, /*keep=*/true);
    Value sum = e.reduce(ReductionKind::Sum,
                         e.create<ExpOp>(e.binary<SubOp>(x, largest)), dims,
                         /*keep=*/true);
    Value result = e.binary<AddOp>(e.create<LogOp>(sum), largest);
    if (keep || !result)
      return result;
    SmallVector<int64_t> shape;
    for (auto [dim, size] : llvm::enumerate(getTensorType(x).getShape()))
      if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
        shape.push_back(size);
    return e.reshape(result, shape);
  });
}

template <ReductionKind kind> static LogicalResult argReduce(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  FailureOr<int64_t> dim = n.getAxis("axis", 0, n.rank(0));
  if (failed(dim))
    return failure();
  Emitter &e = n.e;
  bool last = n.getInt("select_last_index", 0);
  SmallVector<int64_t> shape(n.type(0).getShape());
  int64_t size = shape[*dim];
  if (size == 0)
    return n.error() << "dimension " << *dim << " of " << n.type(0)
                     << " is empty";
  if (last) { // the first of the reversed dimension
    SmallVector<int64_t> offsets(shape.size(), 0), strides(shape.size(), 1);
    offsets[*dim] = size - 1;
    strides[*dim] = -1;
    x = e.slice(x, offsets, shape, strides);
  }
  SmallVector<int64_t> reduced(shape);
  reduced.erase(reduced.begin() + *dim);
  Value result = e.create<ArgReduceOp>(
      RankedTensorType::get(reduced, e.builder.getI64Type()), kind, x, *dim);
  if (last && result)
    result =
        e.create<SubOp>(e.fill(result, static_cast<double>(size - 1)), result);
  shape[*dim] = 1;
  return n.yield(n.getInt("keepdims", 1) ? e.reshape(result, shape) : result);
}

static LogicalResult cumSum(Node &n) {
  Value x = n.input(0);
  FailureOr<int64_t> axis = n.getKnownInt(1, "the axis");
  if (!x || failed(axis))
    return failure();
  FailureOr<int64_t> dim = n.getDim(*axis, n.rank(0));
  if (failed(dim))
    return failure();
  return n.yield(n.e.create<CumSumOp>(x, static_cast<uint64_t>(*dim),
                                      n.getInt("exclusive", 0) != 0,
                                      n.getInt("reverse", 0) != 0));
}

template <bool log> static LogicalResult softmax(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  FailureOr<int64_t> dim = n.getAxis("axis", -1, n.rank(0));
  if (failed(dim))
    return failure();
  return n.yield(
      n.e.create<SoftmaxOp>(x, static_cast<uint64_t>(*dim), bool(log)));
}

/// Means over all dimensions after the first two.
static LogicalResult globalAveragePool(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  SmallVector<int64_t> dims;
  for (int64_t dim = 2; dim < n.rank(0); ++dim)
    dims.push_back(dim);
  return n.yield(n.e.mean(x, dims, /*keep=*/true));
}

ArrayRef<OpEntry> pplan::import::getReduceOps() {
  static const OpEntry table[] = {
      {"ArgMax", argReduce<ReductionKind::Max>},
      {"ArgMin", argReduce<ReductionKind::Min>},
      {"CumSum", cumSum},
      {"GlobalAveragePool", globalAveragePool},
      {"LogSoftmax", softmax<true>},
      {"ReduceL1", l1},
      {"ReduceL2", l2},
      {"ReduceLogSum", logSum},
      {"ReduceLogSumExp", logSumExp},
      {"ReduceMax", plain<ReductionKind::Max>},
      {"ReduceMean", mean},
      {"ReduceMin", plain<ReductionKind::Min>},
      {"ReduceProd", plain<ReductionKind::Prod>},
      {"ReduceSum", plain<ReductionKind::Sum>},
      {"ReduceSumSquare", sumSquare},
      {"Softmax", softmax<false>},
  };
  return table;
}
