//===- Shape.cpp - ONNX operators that give elements another place --------===//
//
// Reshapes, transposes, joins and repetitions; and Shape and Size, whose
// results are known since all shapes are. Operators with indices are in
// Indexing.cpp.
//
//===----------------------------------------------------------------------===//
#include "GraphImporter.h"
#include "OpTable.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

static LogicalResult identity(Node &n) { return n.yield(n.input(0)); }

/// At inference Dropout is the identity; its mask, if used, is all true.
static LogicalResult dropout(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  if (const HostTensor *training = n.e.getKnown(n.optional(2)))
    if (training->getNumElements() == 1 && training->getInt(0))
      return n.unsupported("training_mode = 1");
  if (n.isWanted(1) && failed(n.set(1, n.e.fill(RankedTensorType::get(
                                                    getTensorType(x).getShape(),
                                                    n.e.builder.getI1Type()),
                                                1.0))))
    return failure();
  return n.yield(x);
}

static LogicalResult shape(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  int64_t rank = n.rank(0);
  auto clamp = [&](int64_t at) {
    return std::max<int64_t>(0, std::min(at < 0 ? at + rank : at, rank));
  };
  int64_t begin = clamp(n.getInt("start", 0));
  int64_t end = clamp(n.getInt("end", rank));
  return n.yield(n.e.constantInts(
      n.type(0).getShape().slice(begin, std::max<int64_t>(0, end - begin))));
}

static LogicalResult size(Node &n) {
  if (!n.input(0))
    return failure();
  HostTensor count(RankedTensorType::get({}, n.e.builder.getI64Type()));
  count.setInt(0, n.type(0).getNumElements());
  return n.yield(n.e.constant(std::move(count)));
}

static LogicalResult reshape(Node &n) {
  Value x = n.input(0);
  FailureOr<SmallVector<int64_t>> wanted = n.getKnownInts(1, "the shape");
  if (!x || failed(wanted))
    return failure();
  auto type = n.type(0);
  int64_t inferred = -1, known = 1;
  for (auto [i, size] : llvm::enumerate(*wanted)) {
    if (size == 0 && !n.getInt("allowzero", 0)) {
      if (static_cast<int64_t>(i) >= type.getRank())
        return n.error() << "the shape copies dimension " << i << " of " << type
                         << ", which does not exist";
      size = type.getDimSize(i);
    }
    if (size == -1 && inferred < 0) {
      inferred = i;
      continue;
    }
    if (size < 0)
      return n.error() << "the shape has the size " << size;
    if (__builtin_mul_overflow(known, size, &known))
      return n.error() << "the shape has too many elements";
  }
  if (inferred >= 0) {
    if (known == 0 || type.getNumElements() % known != 0)
      return n.error() << "the " << type.getNumElements() << " elements of "
                       << type << " cannot be split into parts of " << known;
    (*wanted)[inferred] = type.getNumElements() / known;
  }
  return n.yield(n.e.reshape(x, *wanted));
}

static LogicalResult flatten(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  int64_t axis = n.getInt("axis", 1), rank = n.rank(0);
  if (axis < -rank || axis > rank)
    return n.error() << "axis " << axis << " is outside a tensor of rank "
                     << rank;
  axis = axis < 0 ? axis + rank : axis;
  int64_t rows = 1, columns = 1;
  for (auto [i, dim] : llvm::enumerate(n.type(0).getShape()))
    (static_cast<int64_t>(i) < axis ? rows : columns) *= dim;
  return n.yield(n.e.reshape(x, {rows, columns}));
}

static LogicalResult squeeze(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  ArrayRef<int64_t> from = n.type(0).getShape();
  SmallVector<int64_t> dims;
  if (n.has(1)) {
    FailureOr<SmallVector<int64_t>> axes = n.getKnownInts(1, "the axes");
    if (failed(axes))
      return failure();
    FailureOr<SmallVector<int64_t>> sorted = n.getDims(*axes, from.size());
    if (failed(sorted))
      return failure();
    dims = *sorted;
  }
  SmallVector<int64_t> kept;
  for (auto [i, size] : llvm::enumerate(from)) {
    bool removed = n.has(1) ? llvm::is_contained(dims, static_cast<int64_t>(i))
                            : size == 1;
    if (!removed)
      kept.push_back(size);
    else if (size != 1)
      return n.error() << "dimension " << i << " of " << n.type(0)
                       << " has size " << size << " and cannot be removed";
  }
  return n.yield(n.e.reshape(x, kept));
}

static LogicalResult unsqueeze(Node &n) {
  Value x = n.input(0);
  FailureOr<SmallVector<int64_t>> axes = n.getKnownInts(1, "the axes");
  if (!x || failed(axes))
    return failure();
  if (axes->size() > maxRank)
    return n.error() << "has " << axes->size()
                     << " axes; a tensor has at most " << maxRank
                     << " dimensions";
  FailureOr<SmallVector<int64_t>> dims =
      n.getDims(*axes, n.rank(0) + axes->size());
  if (failed(dims))
    return failure();
  SmallVector<int64_t> shape(n.type(0).getShape());
  for (int64_t dim : *dims)
    shape.insert(shape.begin() + dim, 1);
  return n.yield(n.e.reshape(x, shape));
}

static LogicalResult transpose(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  SmallVector<int64_t> permutation;
  if (auto given = n.getInts("perm"))
    permutation = *given;
  else
    for (int64_t dim = n.rank(0) - 1; dim >= 0; --dim)
      permutation.push_back(dim);
  SmallVector<int64_t> sorted(permutation);
  llvm::sort(sorted);
  bool valid = static_cast<int64_t>(sorted.size()) == n.rank(0);
  for (auto [i, dim] : llvm::enumerate(sorted))
    valid &= dim == static_cast<int64_t>(i);
  if (!valid) {
    InFlightDiagnostic diag = n.error() << "perm [";
    llvm::interleaveComma(permutation, diag);
    return diag << "] is not a permutation of the dimensions of " << n.type(0);
  }
  return n.yield(n.e.transpose(x, permutation));
}

static LogicalResult expand(Node &n) {
  Value x = n.input(0);
  FailureOr<SmallVector<int64_t>> shape = n.getKnownInts(1, "the shape");
  if (!x || failed(shape))
    return failure();
  auto common = Emitter::getCommonShape(n.type(0).getShape(), *shape);
  if (!common || !countElements(*common)) {
    InFlightDiagnostic diag = n.error()
                              << "cannot expand " << n.type(0) << " to [";
    llvm::interleaveComma(*shape, diag);
    return diag << "]";
  }
  return n.yield(n.e.broadcastTo(x, *common));
}

/// [a, b] repeated [r, s] times: reshape to [1, a, 1, b], broadcast to
/// [r, a, s, b], reshape to [r * a, s * b].
static LogicalResult tile(Node &n) {
  Value x = n.input(0);
  FailureOr<SmallVector<int64_t>> repeats = n.getKnownInts(1, "the repeats");
  if (!x || failed(repeats))
    return failure();
  if (static_cast<int64_t>(repeats->size()) != n.rank(0))
    return n.error() << "has " << repeats->size() << " repeats for "
                     << n.type(0);
  SmallVector<int64_t> split, repeated, merged;
  for (auto [size, count] : llvm::zip(n.type(0).getShape(), *repeats)) {
    if (count < 0 || !countElements({size, count}))
      return n.error() << "cannot repeat a dimension of size " << size << " "
                       << count << " times";
    llvm::append_values(split, 1, size);
    llvm::append_values(repeated, count, size);
    merged.push_back(size * count);
  }
  if (!countElements(merged))
    return n.error() << "the result has too many elements";
  Value parts = n.e.reshape(x, split);
  return n.yield(n.e.reshape(n.e.broadcastTo(parts, repeated), merged));
}

static LogicalResult concat(Node &n) {
  Value first = n.input(0);
  if (!first)
    return failure();
  FailureOr<int64_t> dim = n.getAxis("axis", 0, n.rank(0));
  if (failed(dim))
    return failure();
  for (int64_t i = 0; i < n.getNumInputs(); ++i)
    if (!n.input(i))
      return failure();
  return n.yield(n.e.concat(n.getInputs(), *dim));
}

static LogicalResult split(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  FailureOr<int64_t> dim = n.getAxis("axis", 0, n.rank(0));
  if (failed(dim))
    return failure();
  int64_t size = n.type(0).getDimSize(*dim), parts = n.proto.output_size();
  SmallVector<int64_t> sizes;
  if (n.has(1)) {
    FailureOr<SmallVector<int64_t>> given = n.getKnownInts(1, "the sizes");
    if (failed(given))
      return failure();
    sizes = *given;
  } else {
    int64_t each = parts ? llvm::divideCeil(size, parts) : 0;
    for (int64_t i = 0; i < parts; ++i)
      sizes.push_back(std::max<int64_t>(0, std::min(each, size - i * each)));
  }
  if (static_cast<int64_t>(sizes.size()) != parts)
    return n.error() << "has " << parts << " results, but " << sizes.size()
                     << " sizes";
  int64_t at = 0;
  for (auto [i, part] : llvm::enumerate(sizes)) {
    if (part < 0 || part > size - at)
      return n.error() << "part " << i << " of size " << part
                       << " is outside dimension " << *dim << " of "
                       << n.type(0);
    if (failed(n.set(i, n.e.sliceDim(x, *dim, at, part))))
      return failure();
    at += part;
  }
  if (at != size)
    return n.error() << "the parts add up to " << at << ", but dimension "
                     << *dim << " of " << n.type(0) << " has size " << size;
  return success();
}

/// Depth [b, c, h, w] <-> space by blocks; both are a reshape, a transpose and
/// a reshape.
static LogicalResult depthToSpace(Node &n) {
  Value x = n.input(0);
  int64_t block = n.getInt("blocksize", 0);
  if (!x)
    return failure();
  if (n.rank(0) != 4 || block < 1 || block > 1 << 16 ||
      n.type(0).getDimSize(1) % (block * block) != 0)
    return n.error() << "cannot make blocks of size " << block << " from "
                     << n.type(0);
  ArrayRef<int64_t> s = n.type(0).getShape();
  int64_t depth = s[1] / (block * block);
  // Without channels the other sizes may be any.
  if (!countElements({s[0], depth, s[2], block, s[3], block}))
    return n.error() << "the result has too many elements";
  bool columnsFirst = n.getString("mode", "DCR") == "CRD";
  Value parts =
      columnsFirst
          ? n.e.transpose(
                n.e.reshape(x, {s[0], depth, block, block, s[2], s[3]}),
                {0, 1, 4, 2, 5, 3})
          : n.e.transpose(
                n.e.reshape(x, {s[0], block, block, depth, s[2], s[3]}),
                {0, 3, 4, 1, 5, 2});
  return n.yield(n.e.reshape(parts, {s[0], depth, s[2] * block, s[3] * block}));
}

static LogicalResult spaceToDepth(Node &n) {
  Value x = n.input(0);
  int64_t block = n.getInt("blocksize", 0);
  if (!x)
    return failure();
  if (n.rank(0) != 4 || block < 1 || block > 1 << 16 ||
      n.type(0).getDimSize(2) % block != 0 ||
      n.type(0).getDimSize(3) % block != 0)
    return n.error() << "cannot cut blocks of size " << block << " from "
                     << n.type(0);
  ArrayRef<int64_t> s = n.type(0).getShape();
  if (!countElements({s[0], s[1], block, block, s[2] / block, s[3] / block}))
    return n.error() << "the result has too many elements";
  Value parts =
      n.e.reshape(x, {s[0], s[1], s[2] / block, block, s[3] / block, block});
  return n.yield(
      n.e.reshape(n.e.transpose(parts, {0, 3, 5, 1, 2, 4}),
                  {s[0], s[1] * block * block, s[2] / block, s[3] / block}));
}

ArrayRef<OpEntry> pplan::import::getShapeOps() {
  static const OpEntry table[] = {
      {"Concat", concat},       {"DepthToSpace", depthToSpace},
      {"Dropout", dropout},     {"Expand", expand},
      {"Flatten", flatten},     {"Identity", identity},
      {"Reshape", reshape},     {"Shape", shape},
      {"Size", size},           {"SpaceToDepth", spaceToDepth},
      {"Split", split},         {"Squeeze", squeeze},
      {"Tile", tile},           {"Transpose", transpose},
      {"Unsqueeze", unsqueeze},
  };
  return table;
}
