//===- StructuralOps.cpp - Verifiers, builders and folds ------------------===//
//
// Operations that make, move or index elements. Their sharding rules are in
// ShardingRules.cpp.
//
//===----------------------------------------------------------------------===//
#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pplan;

/// Fails unless `dim` is a dimension of `type`.
static LogicalResult checkDim(Operation *op, int64_t dim,
                              RankedTensorType type) {
  if (dim >= 0 && dim < type.getRank())
    return success();
  return op->emitOpError("dimension ")
         << dim << " is not one of " << type << " (rank " << type.getRank()
         << ")";
}

/// Folds must not lose shardings: only unannotated operations fold away.
static bool isAnnotated(Operation *op) { return op->hasAttr(kShardingsAttr); }

LogicalResult IotaOp::verify() {
  return checkDim(*this, getDim(), getTensorType(getResult()));
}

LogicalResult BroadcastOp::verify() {
  auto from = getTensorType(getInput()), to = getTensorType(getResult());
  if (from.getElementType() != to.getElementType())
    return emitOpError("element types differ: ") << from << " and " << to;
  if (static_cast<int64_t>(getDims().size()) != from.getRank())
    return emitOpError("has ") << getDims().size() << " entries in dims, but "
                               << from << " has rank " << from.getRank();
  int64_t previous = -1;
  for (auto [index, dim] : llvm::enumerate(getDims())) {
    if (dim <= previous || dim >= to.getRank())
      return emitOpError("dims ")
             << getDims() << " are not increasing dimensions of " << to;
    previous = dim;
    if (from.getDimSize(index) != 1 &&
        from.getDimSize(index) != to.getDimSize(dim))
      return emitOpError("operand dimension ")
             << index << " has size " << from.getDimSize(index)
             << ", which is neither 1 nor the result's " << to.getDimSize(dim);
  }
  return success();
}

OpFoldResult BroadcastOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() && !isAnnotated(*this)
             ? getInput()
             : OpFoldResult();
}

LogicalResult ReshapeOp::verify() {
  auto from = getTensorType(getInput()), to = getTensorType(getResult());
  if (from.getElementType() != to.getElementType())
    return emitOpError("element types differ: ") << from << " and " << to;
  if (from.getNumElements() != to.getNumElements())
    return emitOpError("cannot give ")
           << from << " (" << from.getNumElements()
           << " elements) the shape of " << to << " (" << to.getNumElements()
           << ")";
  return success();
}

OpFoldResult ReshapeOp::fold(FoldAdaptor) {
  if (isAnnotated(*this))
    return {};
  if (getInput().getType() == getType())
    return getInput();
  auto inner = getInput().getDefiningOp<ReshapeOp>();
  if (!inner || isAnnotated(inner))
    return {};
  if (inner.getInput().getType() == getType())
    return inner.getInput();
  getInputMutable().assign(inner.getInput());
  return getResult();
}

void TransposeOp::build(OpBuilder &builder, OperationState &state, Value input,
                        ArrayRef<int64_t> permutation) {
  auto type = getTensorType(input);
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(dim >= 0 && dim < type.getRank() ? type.getDimSize(dim)
                                                     : 0);
  build(builder, state, withShape(type, shape), input, permutation);
}

/// True when the list is a permutation of 0 to its length - 1.
static bool isPermutation(ArrayRef<int64_t> list) {
  SmallVector<bool> seen(list.size(), false);
  for (int64_t entry : list) {
    if (entry < 0 || entry >= static_cast<int64_t>(list.size()) || seen[entry])
      return false;
    seen[entry] = true;
  }
  return true;
}

ParseResult TransposeOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand input;
  RankedTensorType type;
  SmallVector<int64_t> permutation;
  SMLoc loc = parser.getCurrentLocation();
  auto parseEntry = [&] {
    return parser.parseInteger(permutation.emplace_back());
  };
  if (parser.parseOperand(input) ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     parseEntry) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperand(input, type, result.operands))
    return failure();
  if (!isPermutation(permutation) ||
      static_cast<int64_t>(permutation.size()) != type.getRank())
    return parser.emitError(loc, "the list is not a permutation of the ")
           << type.getRank() << " dimensions of " << type;
  SmallVector<int64_t> shape;
  for (int64_t dim : permutation)
    shape.push_back(type.getDimSize(dim));
  result.addAttribute("permutation",
                      parser.getBuilder().getDenseI64ArrayAttr(permutation));
  result.addTypes(withShape(type, shape));
  return success();
}

void TransposeOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getInput() << " [";
  llvm::interleaveComma(getPermutation(), printer);
  printer << ']';
  printer.printOptionalAttrDict((*this)->getAttrs(), {"permutation"});
  printer << " : " << getInput().getType();
}

LogicalResult TransposeOp::verify() {
  auto from = getTensorType(getInput()), to = getTensorType(getResult());
  if (!isPermutation(getPermutation()) ||
      static_cast<int64_t>(getPermutation().size()) != from.getRank())
    return emitOpError("[") << getPermutation()
                            << "] is not a permutation of the dimensions of "
                            << from;
  SmallVector<int64_t> shape;
  for (int64_t dim : getPermutation())
    shape.push_back(from.getDimSize(dim));
  if (withShape(from, shape) != to)
    return emitOpError("result should be ")
           << withShape(from, shape) << ", found " << to;
  return success();
}

OpFoldResult TransposeOp::fold(FoldAdaptor) {
  if (isAnnotated(*this))
    return {};
  auto isIdentity = [](ArrayRef<int64_t> permutation) {
    for (auto [index, dim] : llvm::enumerate(permutation))
      if (dim != static_cast<int64_t>(index))
        return false;
    return true;
  };
  if (isIdentity(getPermutation()))
    return getInput();
  auto inner = getInput().getDefiningOp<TransposeOp>();
  if (!inner || isAnnotated(inner))
    return {};
  SmallVector<int64_t> combined;
  for (int64_t dim : getPermutation())
    combined.push_back(inner.getPermutation()[dim]);
  if (isIdentity(combined))
    return inner.getInput();
  getInputMutable().assign(inner.getInput());
  setPermutation(combined);
  return getResult();
}

bool SliceOp::isFullDim(int64_t dim) {
  return getOffsets()[dim] == 0 && getStrides()[dim] == 1 &&
         getTensorType(getInput()).getDimSize(dim) ==
             getTensorType(getResult()).getDimSize(dim);
}

LogicalResult SliceOp::verify() {
  auto from = getTensorType(getInput()), to = getTensorType(getResult());
  size_t rank = from.getRank();
  if (from.getElementType() != to.getElementType() ||
      static_cast<size_t>(to.getRank()) != rank)
    return emitOpError("cannot take ") << to << " from " << from;
  if (getOffsets().size() != rank || getStrides().size() != rank)
    return emitOpError("needs one offset and one stride for each of the ")
           << rank << " dimensions of " << from << ", found "
           << getOffsets().size() << " and " << getStrides().size();
  for (size_t dim = 0; dim < rank; ++dim) {
    int64_t size = to.getDimSize(dim), offset = getOffsets()[dim];
    int64_t stride = getStrides()[dim], bound = from.getDimSize(dim);
    if (stride == 0)
      return emitOpError("stride of dimension ") << dim << " is zero";
    if (size == 0)
      continue;
    // Steps of |stride| from the offset to the end of the dimension that it
    // walks to; unsigned, since the smallest integer has no negation.
    uint64_t step = stride < 0 ? -static_cast<uint64_t>(stride) : stride;
    if (offset < 0 || offset >= bound ||
        static_cast<uint64_t>(stride < 0 ? offset : bound - 1 - offset) / step <
            static_cast<uint64_t>(size - 1))
      return emitOpError("takes elements outside dimension ")
             << dim << " of size " << bound << ": offset " << offset
             << ", stride " << stride << ", size " << size;
  }
  return success();
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  return getInput().getType() == getType() && !isAnnotated(*this) &&
                 llvm::all_of(llvm::seq<int64_t>(0, getOffsets().size()),
                              [&](int64_t dim) { return isFullDim(dim); })
             ? getInput()
             : OpFoldResult();
}

void ConcatOp::build(OpBuilder &builder, OperationState &state,
                     ValueRange inputs, int64_t dim) {
  auto type = getTensorType(inputs.front());
  SmallVector<int64_t> shape(type.getShape());
  for (Value input : inputs.drop_front())
    shape[dim] += getTensorType(input).getDimSize(dim);
  build(builder, state, withShape(type, shape), inputs, dim);
}

LogicalResult ConcatOp::verify() {
  if (getInputs().empty())
    return emitOpError("needs at least one operand");
  auto to = getTensorType(getResult());
  int64_t dim = getDim(), total = 0;
  if (failed(checkDim(*this, dim, to)))
    return failure();
  for (auto [index, input] : llvm::enumerate(getInputs())) {
    auto from = getTensorType(input);
    bool fits = from.getRank() == to.getRank() &&
                from.getElementType() == to.getElementType();
    for (int64_t i = 0; fits && i < to.getRank(); ++i)
      fits = i == dim || from.getDimSize(i) == to.getDimSize(i);
    if (!fits)
      return emitOpError("operand ")
             << index << " of type " << from << " does not fit into " << to
             << " along dimension " << dim;
    total += from.getDimSize(dim);
  }
  if (total != to.getDimSize(dim))
    return emitOpError("operands add up to ")
           << total << " along dimension " << dim << ", but the result has "
           << to.getDimSize(dim);
  return success();
}

OpFoldResult ConcatOp::fold(FoldAdaptor) {
  return getInputs().size() == 1 && !isAnnotated(*this) ? getInputs().front()
                                                        : OpFoldResult();
}

LogicalResult PadOp::verify() {
  auto from = getTensorType(getInput()), to = getTensorType(getResult());
  int64_t rank = from.getRank();
  if (static_cast<int64_t>(getLow().size()) != rank ||
      static_cast<int64_t>(getHigh().size()) != rank || to.getRank() != rank)
    return emitOpError("needs a low and a high amount for each of the ")
           << rank << " dimensions of " << from;
  if (getValue().getType() != from.getElementType() ||
      to.getElementType() != from.getElementType())
    return emitOpError("value ")
           << getValue() << " does not have the element type of " << from;
  for (int64_t dim = 0; dim < rank; ++dim) {
    if (getLow()[dim] < 0 || getHigh()[dim] < 0)
      return emitOpError("amounts of dimension ")
             << dim << " are negative: " << getLow()[dim] << " and "
             << getHigh()[dim];
    // Compared so that no sum or difference overflows.
    int64_t added = to.getDimSize(dim) - from.getDimSize(dim);
    if (getLow()[dim] > added || added - getLow()[dim] != getHigh()[dim])
      return emitOpError("dimension ")
             << dim << " of size " << from.getDimSize(dim) << " with "
             << getLow()[dim] << " before it and " << getHigh()[dim]
             << " after it does not have the result's size "
             << to.getDimSize(dim);
  }
  return success();
}

/// Shape of a gather's result.
static SmallVector<int64_t> getGatherShape(Value input, Value indices,
                                           int64_t dim) {
  ArrayRef<int64_t> from = getTensorType(input).getShape();
  SmallVector<int64_t> shape(from.take_front(dim));
  llvm::append_range(shape, getTensorType(indices).getShape());
  llvm::append_range(shape, from.drop_front(dim + 1));
  return shape;
}

void GatherOp::build(OpBuilder &builder, OperationState &state, Value input,
                     Value indices, int64_t dim) {
  auto type =
      withShape(getTensorType(input), getGatherShape(input, indices, dim));
  build(builder, state, type, input, indices, dim);
}

LogicalResult GatherOp::verify() {
  auto from = getTensorType(getInput());
  int64_t dim = getDim();
  if (failed(checkDim(*this, dim, from)))
    return failure();
  auto expected =
      withShape(from, getGatherShape(getInput(), getIndices(), dim));
  if (expected != getType())
    return emitOpError("result should be ")
           << expected << ", found " << getType();
  if (from.getDimSize(dim) == 0 && expected.getNumElements() != 0)
    return emitOpError("takes elements from dimension ")
           << dim << " of " << from << ", which is empty";
  return success();
}

LogicalResult GatherElementsOp::verify() {
  auto from = getTensorType(getInput()), ids = getTensorType(getIndices());
  int64_t dim = getDim();
  if (failed(checkDim(*this, dim, from)))
    return failure();
  bool fits = ids.getRank() == from.getRank() &&
              withShape(from, ids.getShape()) == getType();
  for (int64_t i = 0; fits && i < from.getRank(); ++i)
    fits = i == dim || from.getDimSize(i) == ids.getDimSize(i);
  if (!fits)
    return emitOpError("shapes do not fit: input ")
           << from << ", indices " << ids << ", result " << getType()
           << ", dimension " << dim;
  if (from.getDimSize(dim) == 0 && ids.getNumElements() != 0)
    return emitOpError("takes elements from dimension ")
           << dim << " of " << from << ", which is empty";
  return success();
}
