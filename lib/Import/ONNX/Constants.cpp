//===- Constants.cpp - Constants, and operators on constants only ---------===//
//
// Constant in all its forms; operators whose result's shape depends on their
// operands' elements (NonZero, ScatterND), which only works when those are
// known; and If, whose condition must be known.
//
//===----------------------------------------------------------------------===//
#include "GraphImporter.h"
#include "OpTable.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

static LogicalResult constant(Node &n) {
  Builder &b = n.e.builder;
  if (const onnx::AttributeProto *value = n.getAttr("value"))
    if (value->has_t()) {
      StringRef name =
          n.proto.output_size() ? StringRef(n.proto.output(0)) : "";
      return n.yield(n.graph.importTensor(value->t(), name, /*fromNode=*/true));
    }
  if (const onnx::AttributeProto *value = n.getAttr("value_float")) {
    HostTensor scalar(RankedTensorType::get({}, b.getF32Type()));
    scalar.setFloat(0, value->f());
    return n.yield(n.e.constant(std::move(scalar)));
  }
  if (const onnx::AttributeProto *value = n.getAttr("value_int")) {
    HostTensor scalar(RankedTensorType::get({}, b.getI64Type()));
    scalar.setInt(0, value->i());
    return n.yield(n.e.constant(std::move(scalar)));
  }
  if (const onnx::AttributeProto *value = n.getAttr("value_floats")) {
    HostTensor list(
        RankedTensorType::get({value->floats_size()}, b.getF32Type()));
    for (int i = 0; i < value->floats_size(); ++i)
      list.setFloat(i, value->floats(i));
    return n.yield(n.e.constant(std::move(list)));
  }
  if (auto values = n.getInts("value_ints"))
    return n.yield(n.e.constantInts(*values));
  return n.unsupported("a value that is not a tensor of numbers");
}

static LogicalResult constantOfShape(Node &n) {
  FailureOr<SmallVector<int64_t>> shape = n.getKnownInts(0, "the shape");
  if (failed(shape))
    return failure();
  if (!countElements(*shape)) {
    InFlightDiagnostic diag = n.error() << "cannot have the shape [";
    llvm::interleaveComma(*shape, diag);
    return diag << "]";
  }
  HostTensor scalar(RankedTensorType::get({}, n.e.builder.getF32Type()));
  const onnx::AttributeProto *value = n.getAttr("value");
  if (value && value->has_t()) {
    const ModelFile &file = n.graph.getFile();
    FailureOr<RankedTensorType> type = file.getType(value->t(), n.e.loc);
    if (failed(type))
      return failure();
    if (type->getNumElements() != 1)
      return n.error() << "the value must be one number, found " << *type;
    FailureOr<HostTensor> content = file.read(value->t(), *type, n.e.loc);
    if (failed(content))
      return failure();
    scalar = content->reshaped({});
  }
  return n.yield(n.e.broadcastTo(n.e.constant(std::move(scalar)), *shape));
}

static LogicalResult nonZero(Node &n) {
  Value x = n.input(0);
  if (!x)
    return failure();
  const HostTensor *known = n.e.getKnown(x);
  if (!known)
    return n.unsupported("an operand that depends on the model's inputs");
  SmallVector<SmallVector<int64_t>> found(n.rank(0));
  int64_t index = 0, count = 0;
  forEachPosition(known->getShape(), [&](ArrayRef<int64_t> position) {
    int64_t i = index++;
    if (known->isFloat() ? known->getFloat(i) == 0 : known->getInt(i) == 0)
      return;
    ++count;
    for (auto [list, at] : llvm::zip(found, position))
      list.push_back(at);
  });
  HostTensor result(
      RankedTensorType::get({n.rank(0), count}, n.e.builder.getI64Type()));
  int64_t next = 0;
  for (ArrayRef<int64_t> list : found)
    for (int64_t at : list)
      result.setInt(next++, at);
  return n.yield(n.e.constant(std::move(result)));
}

/// Writes or accumulates one element.
static void combineElement(HostTensor &result, int64_t to,
                           const HostTensor &updates, int64_t from, bool add) {
  if (!add)
    result.copyElement(to, updates, from);
  else if (result.isFloat())
    result.setFloat(to, result.getFloat(to) + updates.getFloat(from));
  else
    result.setInt(to, static_cast<int64_t>(uint64_t(result.getInt(to)) +
                                           uint64_t(updates.getInt(from))));
}

/// The three operands of a scatter; fails unless all are known and fit.
static LogicalResult getScatter(Node &n, const HostTensor *(&operands)[3],
                                bool &add) {
  for (int i = 0; i < 3; ++i) {
    if (!n.input(i))
      return failure();
    operands[i] = n.e.getKnown(n.input(i));
    if (!operands[i])
      return n.unsupported("operands that depend on the model's inputs");
  }
  std::string reduction = n.getString("reduction", "none");
  if (reduction != "none" && reduction != "add")
    return n.unsupported("reduction = " + reduction);
  add = reduction == "add";
  if (operands[0]->getElementType() != operands[2]->getElementType() ||
      operands[1]->isFloat())
    return n.error() << "cannot write " << n.type(2) << " at " << n.type(1)
                     << " into " << n.type(0);
  return success();
}

static LogicalResult scatterND(Node &n) {
  const HostTensor *operands[3];
  bool add = false;
  if (failed(getScatter(n, operands, add)))
    return failure();
  const HostTensor *data = operands[0], *indices = operands[1],
                   *updates = operands[2];
  ArrayRef<int64_t> to = data->getShape(), at = indices->getShape();
  int64_t depth = at.empty() ? 0 : at.back();
  SmallVector<int64_t> expected(at.drop_back(at.empty() ? 0 : 1));
  bool fits = !at.empty() && depth <= static_cast<int64_t>(to.size());
  if (fits)
    llvm::append_range(expected, to.drop_front(depth));
  if (!fits || updates->getShape() != ArrayRef<int64_t>(expected))
    return n.error() << "cannot write " << n.type(2) << " at " << n.type(1)
                     << " into " << n.type(0);
  HostTensor result = *data;
  SmallVector<int64_t> strides = getStrides(to);
  int64_t block = 1;
  for (int64_t size : to.drop_front(depth))
    block *= size;
  int64_t rows = block ? updates->getNumElements() / block : 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t offset = 0;
    for (int64_t i = 0; i < depth; ++i) {
      int64_t index = indices->getInt(row * depth + i);
      if (index < -to[i] || index >= to[i])
        return n.error() << "index " << index
                         << " is outside a dimension of size " << to[i];
      offset += (index < 0 ? index + to[i] : index) * strides[i];
    }
    for (int64_t i = 0; i < block; ++i)
      combineElement(result, offset + i, *updates, row * block + i, add);
  }
  return n.yield(n.e.constant(std::move(result)));
}

static LogicalResult scatterElements(Node &n) {
  const HostTensor *operands[3];
  bool add = false;
  if (failed(getScatter(n, operands, add)))
    return failure();
  const HostTensor *data = operands[0], *indices = operands[1],
                   *updates = operands[2];
  FailureOr<int64_t> axis = n.getAxis("axis", 0, n.rank(0));
  if (failed(axis))
    return failure();
  ArrayRef<int64_t> to = data->getShape(), at = indices->getShape();
  bool fits = at == updates->getShape() && at.size() == to.size();
  for (size_t i = 0; fits && i < at.size(); ++i)
    fits = static_cast<int64_t>(i) == *axis || at[i] <= to[i];
  if (!fits)
    return n.error() << "cannot write " << n.type(2) << " at " << n.type(1)
                     << " into " << n.type(0);
  HostTensor result = *data;
  SmallVector<int64_t> strides = getStrides(to);
  int64_t next = 0, bound = to[*axis];
  std::optional<int64_t> outside;
  forEachPosition(at, [&](ArrayRef<int64_t> position) {
    int64_t index = indices->getInt(next);
    if (index < -bound || index >= bound) {
      outside = index;
      ++next;
      return;
    }
    int64_t offset = (index < 0 ? index + bound : index) * strides[*axis];
    for (auto [i, stride] : llvm::enumerate(strides))
      if (static_cast<int64_t>(i) != *axis)
        offset += position[i] * stride;
    combineElement(result, offset, *updates, next++, add);
  });
  if (outside)
    return n.error() << "index " << *outside
                     << " is outside a dimension of size " << bound;
  return n.yield(n.e.constant(std::move(result)));
}

/// The branch that a known condition takes is imported in place.
static LogicalResult ifOp(Node &n) {
  Value condition = n.input(0);
  if (!condition)
    return failure();
  const HostTensor *known = n.e.getKnown(condition);
  if (!known || known->getNumElements() != 1)
    return n.unsupported("a condition that depends on the model's inputs");
  StringRef name = known->getInt(0) ? "then_branch" : "else_branch";
  const onnx::AttributeProto *branch = n.getAttr(name);
  if (!branch || !branch->has_g())
    return n.error() << "has no " << name;
  FailureOr<SmallVector<Value>> values = n.graph.importSubgraph(branch->g());
  if (failed(values))
    return failure();
  for (auto [index, value] : llvm::enumerate(*values))
    if (value && failed(n.set(index, value)))
      return failure();
  return success();
}

ArrayRef<OpEntry> pplan::import::getConstantOps() {
  static const OpEntry table[] = {
      {"Constant", constant},
      {"ConstantOfShape", constantOfShape},
      {"If", ifOp},
      {"NonZero", nonZero},
      {"ScatterElements", scatterElements},
      {"ScatterND", scatterND},
  };
  return table;
}
