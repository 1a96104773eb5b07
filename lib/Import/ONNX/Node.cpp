//===- Node.cpp - One ONNX node while it is imported ----------------------===//
//
// Operands, attributes and messages; and the look-up of an operator in the
// families' tables.
//
//===----------------------------------------------------------------------===//
#include "Node.h"
#include "GraphImporter.h"
#include "OpTable.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

ImportFn pplan::import::lookupOp(StringRef domain, StringRef name) {
  static const llvm::StringMap<ImportFn> table = [] {
    llvm::StringMap<ImportFn> all;
    for (ArrayRef<OpEntry> family :
         {getElementwiseOps(), getShapeOps(), getIndexingOps(), getReduceOps(),
          getContractOps(), getNNOps(), getConstantOps()})
      for (const OpEntry &entry : family)
        all[(entry.domain + llvm::Twine("::") + entry.name).str()] =
            entry.import;
    return all;
  }();
  return table.lookup((domain + "::" + name).str());
}

InFlightDiagnostic Node::error() { return e.error(); }

LogicalResult Node::unsupported(const llvm::Twine &what) {
  graph.noteUnsupported(proto, what.str());
  return failure();
}

Value Node::input(size_t index) {
  if (has(index))
    return inputs[index];
  error() << "operand " << index << " is missing";
  return {};
}

FailureOr<SmallVector<int64_t>> Node::getKnownInts(size_t index,
                                                   StringRef what) {
  Value value = input(index);
  if (!value)
    return failure();
  const HostTensor *known = e.getKnown(value);
  if (!known)
    return error() << what
                   << " must be known when the model is imported, but it "
                      "depends on the model's inputs or is too large to fold";
  if (known->isFloat())
    return error() << what << " must be integers, found " << value.getType();
  return known->getInts();
}

FailureOr<int64_t> Node::getKnownInt(size_t index, StringRef what) {
  FailureOr<SmallVector<int64_t>> values = getKnownInts(index, what);
  if (failed(values))
    return failure();
  if (values->size() != 1)
    return error() << what << " must be one number, found " << values->size();
  return values->front();
}

const onnx::AttributeProto *Node::getAttr(StringRef name) const {
  for (const onnx::AttributeProto &attribute : proto.attribute())
    if (StringRef(attribute.name()) == name)
      return &attribute;
  return nullptr;
}

int64_t Node::getInt(StringRef name, int64_t defaultValue) const {
  const onnx::AttributeProto *attribute = getAttr(name);
  return attribute && attribute->has_i() ? attribute->i() : defaultValue;
}

double Node::getFloat(StringRef name, double defaultValue) const {
  const onnx::AttributeProto *attribute = getAttr(name);
  return attribute && attribute->has_f() ? attribute->f() : defaultValue;
}

std::string Node::getString(StringRef name, StringRef defaultValue) const {
  const onnx::AttributeProto *attribute = getAttr(name);
  return attribute && attribute->has_s() ? attribute->s() : defaultValue.str();
}

std::optional<SmallVector<int64_t>> Node::getInts(StringRef name) const {
  const onnx::AttributeProto *attribute = getAttr(name);
  if (!attribute)
    return std::nullopt;
  return SmallVector<int64_t>(attribute->ints().begin(),
                              attribute->ints().end());
}

FailureOr<int64_t> Node::getDim(int64_t dim, int64_t rank) {
  if (dim >= -rank && dim < rank)
    return dim < 0 ? dim + rank : dim;
  return error() << "dimension " << dim << " is not one of a tensor of rank "
                 << rank;
}

FailureOr<SmallVector<int64_t>> Node::getDims(ArrayRef<int64_t> dims,
                                              int64_t rank) {
  SmallVector<int64_t> result;
  for (int64_t dim : dims) {
    FailureOr<int64_t> wrapped = getDim(dim, rank);
    if (failed(wrapped))
      return failure();
    result.push_back(*wrapped);
  }
  llvm::sort(result);
  for (size_t i = 1; i < result.size(); ++i)
    if (result[i] == result[i - 1])
      return error() << "dimension " << result[i] << " is given twice";
  return result;
}
