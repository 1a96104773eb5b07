//===- VerifySignature.cpp - Checks of rt.arguments, rt.results, rt.mesh --===//
//
// The passes after the memory phase rely on what is checked here; text that was
// edited between phases is where it can be wrong.
//
//===----------------------------------------------------------------------===//
#include "pplan/Dialect/PPlan/PPlan.h"
#include "pplan/Memory/RT.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace pplan;

/// A static tensor type that the runtime knows, or null.
static RankedTensorType getTensor(DictionaryAttr value, StringRef key) {
  auto attr = value.getAs<TypeAttr>(key);
  auto type = attr ? dyn_cast<RankedTensorType>(attr.getValue())
                   : RankedTensorType();
  bool isKnown = type && type.hasStaticShape() && isCountable(type) &&
                 rt::getDType(type.getElementType()) >= 0;
  return isKnown ? type : RankedTensorType();
}

/// Checks the mesh axes of the dimensions of one value.
static LogicalResult checkAxes(Operation *op, const Twine &where,
                               DictionaryAttr value, int64_t rank,
                               MeshAttr mesh) {
  auto dims = value.getAs<ArrayAttr>("axes");
  if (!dims || static_cast<int64_t>(dims.size()) != rank)
    return op->emitOpError()
           << where << " needs 'axes', an array with an entry for each of "
           << rank << " dimensions";
  for (Attribute dim : dims) {
    auto axes = dyn_cast<DenseI32ArrayAttr>(dim);
    if (!axes)
      return op->emitOpError()
             << where << " has the axes " << dim << "; expected array<i32>";
    for (int32_t axis : axes.asArrayRef())
      if (axis < 0 || axis >= static_cast<int64_t>(mesh.getAxes().size()))
        return op->emitOpError() << where << " has the axis " << axis
                                 << ", but the mesh is " << mesh;
  }
  return success();
}

static LogicalResult checkValue(Operation *op, const Twine &where,
                                Attribute attr, bool isResult, MeshAttr mesh) {
  auto value = dyn_cast<DictionaryAttr>(attr);
  if (!value)
    return op->emitOpError() << where << " is no dictionary: " << attr;
  auto kind = value.getAs<StringAttr>("kind");
  bool isKind = kind && (isResult ? kind == "output"
                                  : kind == "input" || kind == "param");
  if (!isKind || !value.getAs<StringAttr>("name"))
    return op->emitOpError()
           << where << " needs 'kind' ("
           << (isResult ? "\"output\"" : "\"input\" or \"param\"")
           << ") and 'name'";
  RankedTensorType type = getTensor(value, "type"),
                   local = getTensor(value, "local");
  if (!type || !local || type.getRank() != local.getRank() ||
      type.getElementType() != local.getElementType())
    return op->emitOpError()
           << where << " needs 'type' and 'local', static tensor types of one "
           << "rank and element type";
  if (kind == "param") {
    auto data = value.getAs<DataAttr>("data");
    if (!data || data.getSize() != rt::getDenseBytes(type))
      return op->emitOpError() << where << " needs 'data' of "
                               << rt::getDenseBytes(type) << " bytes";
  }
  return checkAxes(op, where, value, type.getRank(), mesh);
}

LogicalResult rt::RTDialect::verifyOperationAttribute(Operation *op,
                                                      NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name != kArgumentsAttr && name != kResultsAttr && name != kMeshAttr)
    return op->emitOpError() << "has the unknown attribute '" << name << "'";
  auto function = dyn_cast<FunctionOpInterface>(op);
  auto arguments = op->getAttrOfType<ArrayAttr>(kArgumentsAttr);
  auto results = op->getAttrOfType<ArrayAttr>(kResultsAttr);
  auto mesh = op->getAttrOfType<MeshAttr>(kMeshAttr);
  if (!function || function.isExternal() || !arguments || !results || !mesh)
    return op->emitOpError()
           << "has '" << name << "'; '" << kArgumentsAttr << "', '"
           << kResultsAttr << "' (arrays) and '" << kMeshAttr
           << "' (a mesh) belong together, on a function with a body";
  if (name == kMeshAttr)
    return success();
  bool isResult = name == kResultsAttr;
  for (auto [index, value] : llvm::enumerate(isResult ? results : arguments))
    if (failed(checkValue(op, name + " " + Twine(index), value, isResult, mesh)))
      return failure();
  return success();
}
