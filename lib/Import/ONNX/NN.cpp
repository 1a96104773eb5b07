//===- NN.cpp - ONNX norms, attention and rotary embedding ----------------===//
//
// Operators that have a fused operation in pplan, and rotary embedding, which
// is written out.
//
//===----------------------------------------------------------------------===//
#include "OpTable.h"
#include <cmath>

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

static Value makeNorm(Emitter &e, bool rms, Value x, Value scale, Value bias,
                      int64_t numDims, double epsilon) {
  if (!x)
    return {};
  if (rms)
    return e.finish(RMSNormOp::create(e.builder, e.loc, x, scale,
                                      static_cast<uint64_t>(numDims),
                                      llvm::APFloat(epsilon)));
  return e.finish(LayerNormOp::create(e.builder, e.loc, x, scale, bias,
                                      static_cast<uint64_t>(numDims),
                                      llvm::APFloat(epsilon)));
}

/// Normalises the last `numDims` dimensions. Scale and bias (null if absent) of
/// exactly that shape go into the operation, others are applied after it.
static Value norm(Emitter &e, bool rms, Value x, Value scale, Value bias,
                  int64_t numDims, double epsilon) {
  if (!x)
    return {};
  auto inner = getTensorType(x).getShape().take_back(numDims);
  auto fits = [&](Value parameter) {
    return !parameter || (getTensorType(parameter).getShape() == inner &&
                          getTensorType(parameter).getElementType() ==
                              getTensorType(x).getElementType());
  };
  if (fits(scale) && fits(bias) && !(rms && bias))
    return makeNorm(e, rms, x, scale, bias, numDims, epsilon);
  Value result = makeNorm(e, rms, x, {}, {}, numDims, epsilon);
  if (scale)
    result = e.binary<MulOp>(result, scale);
  return bias ? e.binary<AddOp>(result, bias) : result;
}

template <bool rms> static LogicalResult normalization(Node &n) {
  Value x = n.input(0), scale = n.input(1);
  if (!x || !scale)
    return failure();
  FailureOr<int64_t> axis = n.getAxis("axis", -1, n.rank(0));
  if (failed(axis))
    return failure();
  if (n.isWanted(1) || n.isWanted(2))
    return n.unsupported("the mean or the inverse deviation as a result");
  double epsilon = n.getFloat("epsilon", 1e-5);
  if (!(epsilon >= 0))
    return n.error() << "epsilon is " << epsilon;
  return n.yield(norm(n.e, rms, x, scale, rms ? Value() : n.optional(2),
                      n.rank(0) - *axis, epsilon));
}

/// com.microsoft: normalises the sum of two tensors (and a bias), which is the
/// fourth result.
template <bool rms> static LogicalResult skipNormalization(Node &n) {
  Value x = n.input(0), skip = n.input(1), scale = n.input(2);
  if (!x || !skip || !scale)
    return failure();
  if (n.isWanted(1) || n.isWanted(2))
    return n.unsupported("the mean or the inverse deviation as a result");
  Value beta = rms ? Value() : n.optional(3);
  Value bias = n.optional(rms ? 3 : 4);
  Value sum = n.e.binary<AddOp>(x, skip);
  if (bias)
    sum = n.e.binary<AddOp>(sum, bias);
  if (failed(n.set(3, sum)))
    return failure();
  double epsilon = n.getFloat("epsilon", rms ? 1e-5 : 1e-12);
  if (n.rank(0) < 1 || !(epsilon >= 0))
    return n.error() << "cannot normalise " << n.type(0) << " with epsilon "
                     << epsilon;
  return n.yield(norm(n.e, rms, sum, scale, beta, 1, epsilon));
}

/// A tensor [c] as [c, 1, 1, ...], which aligns with dimension 1 of `rank`.
static Value alignChannels(Emitter &e, Value channels, int64_t rank) {
  if (!channels)
    return {};
  SmallVector<int64_t> shape(getTensorType(channels).getShape());
  shape.append(std::max<int64_t>(0, rank - 2), 1);
  return e.reshape(channels, shape);
}

/// Inference form: (x - mean) / sqrt(var + epsilon) * scale + bias.
static LogicalResult batchNormalization(Node &n) {
  for (int i = 0; i < 5; ++i)
    if (!n.input(i))
      return failure();
  if (n.getInt("training_mode", 0) || n.isWanted(1))
    return n.unsupported("training_mode = 1");
  Emitter &e = n.e;
  int64_t rank = n.rank(0);
  auto channel = [&](int i) { return alignChannels(e, n.input(i), rank); };
  Value deviation = e.create<RsqrtOp>(
      e.binary<AddOp>(channel(4), n.getFloat("epsilon", 1e-5)));
  Value centred = e.binary<SubOp>(n.input(0), channel(3));
  Value factor = e.binary<MulOp>(deviation, channel(1));
  return n.yield(e.binary<AddOp>(e.binary<MulOp>(centred, factor), channel(2)));
}

/// Each of `groups` groups of channels of each sample is normalised alone.
static LogicalResult groupNorm(Node &n, int64_t groups) {
  Value x = n.input(0), scale = n.input(1), bias = n.input(2);
  if (!x || !scale || !bias)
    return failure();
  int64_t rank = n.rank(0);
  if (rank < 2 || groups < 1 || n.type(0).getDimSize(1) % groups != 0)
    return n.error() << "cannot make " << groups << " groups of channels of "
                     << n.type(0);
  int64_t batch = n.type(0).getDimSize(0);
  int64_t size =
      batch * groups ? n.type(0).getNumElements() / (batch * groups) : 0;
  double epsilon = n.getFloat("epsilon", 1e-5);
  if (size == 0 || !(epsilon >= 0))
    return n.error() << "cannot normalise " << n.type(0) << " with epsilon "
                     << epsilon;
  Value y = norm(n.e, /*rms=*/false, n.e.reshape(x, {batch, groups, size}), {},
                 {}, 1, epsilon);
  y = n.e.reshape(y, n.type(0).getShape());
  y = n.e.binary<MulOp>(y, alignChannels(n.e, scale, rank));
  return n.yield(n.e.binary<AddOp>(y, alignChannels(n.e, bias, rank)));
}

static LogicalResult groupNormalization(Node &n) {
  if (n.opset < 21)
    return n.unsupported("scale and bias per group");
  return groupNorm(n, n.getInt("num_groups", 0));
}

static LogicalResult instanceNormalization(Node &n) {
  if (!n.input(0) || n.rank(0) < 2)
    return n.error() << "needs a tensor with channels";
  return groupNorm(n, n.type(0).getDimSize(1));
}

/// x / norm of x along one dimension.
static LogicalResult lpNormalization(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  FailureOr<int64_t> dim = n.getAxis("axis", -1, n.rank(0));
  if (failed(dim))
    return failure();
  Emitter &e = n.e;
  bool squares = n.getInt("p", 2) == 2;
  Value summands = squares ? e.create<MulOp>(x, x) : e.create<AbsOp>(x);
  Value size = e.reduce(ReductionKind::Sum, summands, *dim, /*keep=*/true);
  if (squares)
    size = e.create<SqrtOp>(size);
  return n.yield(e.binary<DivOp>(x, size));
}

//===----------------------------------------------------------------------===//
// Attention (opset 23)
//===----------------------------------------------------------------------===//

namespace {
/// The operands of attention with four dimensions each.
struct AttentionParts {
  Value query, key, value, mask;
  std::string layout; ///< of all of them, without the mask
};
} // namespace

/// Splits [b, t, h * d] into [b, t, h, d].
static Value splitHeads(Node &n, Value x, int64_t heads) {
  if (!x)
    return {};
  auto type = getTensorType(x);
  if (heads < 1 || type.getDimSize(2) % heads != 0) {
    n.error() << "cannot split " << type << " into " << heads << " heads";
    return {};
  }
  return n.e.reshape(x, {type.getDimSize(0), type.getDimSize(1), heads,
                         type.getDimSize(2) / heads});
}

static LogicalResult getAttentionParts(Node &n, AttentionParts &parts) {
  parts.query = n.input(0), parts.key = n.input(1), parts.value = n.input(2);
  if (!parts.query || !parts.key || !parts.value)
    return failure();
  int64_t rank = n.rank(0);
  if ((rank != 3 && rank != 4) || n.rank(1) != rank || n.rank(2) != rank)
    return n.error() << "query, key and value must all have rank 3 or 4, found "
                     << n.type(0) << ", " << n.type(1) << ", " << n.type(2);
  parts.layout = rank == 4 ? "bhtd" : "bthd";
  if (rank == 3) {
    parts.query = splitHeads(n, parts.query, n.getInt("q_num_heads", 0));
    parts.key = splitHeads(n, parts.key, n.getInt("kv_num_heads", 0));
    parts.value = splitHeads(n, parts.value, n.getInt("kv_num_heads", 0));
  }
  if (!parts.query || !parts.key || !parts.value)
    return failure();
  if (!n.has(4) && !n.has(5) && !n.isWanted(1) && !n.isWanted(2))
    return success();
  // Past and present are always [b, h, t, d].
  Value past[] = {n.optional(4), n.optional(5)};
  Value *current[] = {&parts.key, &parts.value};
  for (int i = 0; i < 2; ++i) {
    if (rank == 3)
      *current[i] = n.e.transpose(*current[i], {0, 2, 1, 3});
    if (past[i] && getTensorType(past[i]).getRank() != 4)
      return n.error() << "the past must have rank 4, found "
                       << past[i].getType();
    if (past[i])
      *current[i] = n.e.concat({past[i], *current[i]}, 2);
    if (!*current[i] || failed(n.set(1 + i, *current[i])))
      return failure();
  }
  if (rank == 3)
    parts.query = n.e.transpose(parts.query, {0, 2, 1, 3});
  parts.layout = "bhtd";
  return success();
}

/// Key j is seen by query i if j <= i + past.
static Value makeCausalMask(Emitter &e, int64_t queries, int64_t keys,
                            int64_t past) {
  Type i64 = e.builder.getI64Type();
  SmallVector<int64_t> shape{1, 1, queries, keys};
  Value last = e.binary<AddOp>(e.iota(shape, i64, 2), double(past));
  return e.compare(Predicate::LE, e.iota(shape, i64, 3), last);
}

static LogicalResult attention(Node &n) {
  AttentionParts parts;
  if (n.isWanted(3))
    return n.unsupported("qk_matmul_output");
  if (n.getFloat("softcap", 0.0) != 0)
    return n.unsupported("softcap");
  if (failed(getAttentionParts(n, parts)))
    return failure();
  Emitter &e = n.e;
  int64_t t = parts.layout.find('t'), h = parts.layout.find('h');
  auto query = getTensorType(parts.query), key = getTensorType(parts.key);
  int64_t queries = query.getDimSize(t), keys = key.getDimSize(t);
  int64_t past = n.has(4) ? n.type(4).getDimSize(2) : 0;
  Value mask = n.optional(3);
  if (mask) {
    SmallVector<int64_t> shape(n.type(3).getShape());
    if (shape.size() > 4)
      return n.error() << "the mask has rank " << shape.size();
    shape.insert(shape.begin(), 4 - shape.size(), 1);
    mask = e.reshape(mask, shape);
  }
  bool causal = n.getInt("is_causal", 0);
  // pplan.attention aligns the last query with the last key.
  if (causal && keys - queries != past) {
    Value allowed = makeCausalMask(e, queries, keys, past);
    if (mask && getTensorType(mask).getElementType().isInteger(1))
      mask = e.binary<AndOp>(mask, allowed);
    else if (mask)
      mask = e.select(allowed, mask,
                      e.fill(RankedTensorType::get(
                                 {}, getTensorType(mask).getElementType()),
                             -INFINITY));
    else
      mask = allowed;
    if (!mask)
      return failure();
    causal = false;
  }
  double scale =
      n.getFloat("scale", 1 / std::sqrt(double(query.getDimSize(3))));
  SmallVector<int64_t> shape(query.getShape());
  shape[3] = getTensorType(parts.value).getDimSize(3);
  Attribute layout = e.builder.getStringAttr(parts.layout);
  Value result = e.finish(AttentionOp::create(
      e.builder, e.loc, withShape(query, shape), parts.query, parts.key,
      parts.value, mask, llvm::APFloat(scale), causal,
      e.builder.getArrayAttr({layout, layout, layout, layout})));
  if (n.rank(0) == 4 || !result)
    return n.yield(result);
  if (parts.layout == "bhtd")
    result = e.transpose(result, {0, 2, 1, 3});
  return n.yield(e.reshape(result, {shape[0], queries, shape[h] * shape[3]}));
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding (opset 23)
//===----------------------------------------------------------------------===//

/// The table [b, t, r] for the tokens, with a dimension of size 1 for heads.
static Value getRotaryTable(Node &n, int index, int64_t headDim) {
  Value table = n.input(index);
  if (!table)
    return {};
  if (n.has(3)) {
    if (n.rank(index) != 2 || n.rank(3) != 2 ||
        !isa<IntegerType>(n.type(3).getElementType())) {
      n.error() << "cannot take positions " << n.type(3) << " from "
                << n.type(index);
      return {};
    }
    table = n.e.create<GatherOp>(
        table, n.e.wrapIndices(n.input(3), n.type(index).getDimSize(0)), 0);
  }
  if (!table || getTensorType(table).getRank() != 3) {
    if (table)
      n.error() << "the table must have rank 3, found " << table.getType();
    return {};
  }
  SmallVector<int64_t> shape(getTensorType(table).getShape());
  shape.insert(shape.begin() + headDim, 1);
  return n.e.reshape(table, shape);
}

static LogicalResult rotaryEmbedding(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  Emitter &e = n.e;
  if (n.rank(0) != 3 && n.rank(0) != 4)
    return n.error() << "needs rank 3 or 4, found " << n.type(0);
  bool split = n.rank(0) == 3;
  if (split)
    x = splitHeads(n, x, n.getInt("num_heads", 0));
  if (!x)
    return failure();
  int64_t size = getTensorType(x).getDimSize(3);
  int64_t rotated = n.getInt("rotary_embedding_dim", 0);
  rotated = rotated == 0 ? size : rotated;
  int64_t headDim = split ? 2 : 1;
  Value cosine = getRotaryTable(n, 1, headDim);
  Value sine = getRotaryTable(n, 2, headDim);
  if (!cosine || !sine)
    return failure();
  if (rotated < 2 || rotated > size || rotated % 2 != 0 ||
      getTensorType(cosine).getDimSize(3) != rotated / 2)
    return n.error() << "cannot rotate " << rotated << " of " << size
                     << " elements with the table " << n.type(1);
  bool interleaved = n.getInt("interleaved", 0);
  int64_t half = rotated / 2;
  SmallVector<int64_t> pairs(getTensorType(x).getShape());
  pairs[3] = half;
  auto part = [&](int64_t which) {
    SmallVector<int64_t> offsets{0, 0, 0, interleaved ? which : which * half};
    return e.slice(x, offsets, pairs, {1, 1, 1, interleaved ? 2 : 1});
  };
  Value x1 = part(0), x2 = part(1);
  Value real =
      e.binary<SubOp>(e.binary<MulOp>(x1, cosine), e.binary<MulOp>(x2, sine));
  Value imaginary =
      e.binary<AddOp>(e.binary<MulOp>(x1, sine), e.binary<MulOp>(x2, cosine));
  SmallVector<int64_t> shape(pairs);
  shape[3] = rotated;
  if (interleaved) {
    pairs.push_back(1);
    real = e.reshape(real, pairs);
    imaginary = e.reshape(imaginary, pairs);
  }
  Value y = e.reshape(e.concat({real, imaginary}, interleaved ? 4 : 3), shape);
  if (rotated < size)
    y = e.concat({y, e.sliceDim(x, 3, rotated, size - rotated)}, 3);
  return n.yield(e.reshape(y, n.type(0).getShape()));
}

ArrayRef<OpEntry> pplan::import::getNNOps() {
  static const OpEntry table[] = {
      {"Attention", attention},
      {"BatchNormalization", batchNormalization},
      {"GroupNormalization", groupNormalization},
      {"InstanceNormalization", instanceNormalization},
      {"LayerNormalization", normalization<false>},
      {"LpNormalization", lpNormalization},
      {"RMSNormalization", normalization<true>},
      {"RotaryEmbedding", rotaryEmbedding},
      {"SimplifiedLayerNormalization", normalization<true>},
      {"SimplifiedLayerNormalization", normalization<true>, "com.microsoft"},
      {"SkipLayerNormalization", skipNormalization<false>, "com.microsoft"},
      {"SkipSimplifiedLayerNormalization", skipNormalization<true>,
       "com.microsoft"},
  };
  return table;
}
