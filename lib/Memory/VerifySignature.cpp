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
  bool isKind = kind && (isResult ? kind == "output" || kind == "update"
                                  : kind == "input" || kind == "param" ||
                                        kind == "state");
  if (!isKind || !value.getAs<StringAttr>("name"))
    return op->emitOpError()
           << where << " needs 'kind' ("
           << (isResult ? "\"output\" or \"update\""
                        : "\"input\", \"param\" or \"state\"")
           << ") and 'name'";
  RankedTensorType type = getTensor(value, "type"),
                   local = getTensor(value, "local");
  if (!type || !local || type.getRank() != local.getRank() ||
      type.getElementType() != local.getElementType())
    return op->emitOpError()
           << where << " needs 'type' and 'local', static tensor types of one "
           << "rank and element type";
  Attribute data = value.get("data");
  auto bytes = dyn_cast_or_null<DataAttr>(data);
  if ((kind == "param" || data) &&
      (!bytes || bytes.getSize() != rt::getDenseBytes(type)))
    return op->emitOpError() << where << " needs 'data' of "
                             << rt::getDenseBytes(type) << " bytes";
  if (Attribute range = value.get("range")) {
    auto bounds = dyn_cast<DenseI64ArrayAttr>(range);
    if (!bounds || bounds.size() != 2)
      return op->emitOpError() << where << " has the 'range' " << range
                               << "; expected array<i64: least, greatest>";
  }
  if (Attribute init = value.get("init")) {
    auto number = dyn_cast<TypedAttr>(init);
    if (!isa<IntegerAttr, FloatAttr>(init) ||
        number.getType() != type.getElementType())
      return op->emitOpError() << where << " has the 'init' " << init
                               << "; expected one of the elements";
  }
  return checkAxes(op, where, value, type.getRank(), mesh);
}

/// Every update names a state of its type, each state at most once.
static LogicalResult checkUpdates(Operation *op, ArrayAttr results,
                                  ArrayAttr arguments) {
  llvm::SmallDenseSet<int64_t> seen;
  for (auto [index, attr] : llvm::enumerate(results)) {
    auto value = dyn_cast<DictionaryAttr>(attr);
    auto kind = value ? value.getAs<StringAttr>("kind") : StringAttr();
    if (!kind || kind != "update")
      continue;
    auto number = value.getAs<IntegerAttr>("argument");
    bool isIndex = number && number.getInt() >= 0 &&
                   number.getInt() < static_cast<int64_t>(arguments.size());
    auto argument = isIndex
                        ? dyn_cast<DictionaryAttr>(arguments[number.getInt()])
                        : DictionaryAttr();
    auto argumentKind =
        argument ? argument.getAs<StringAttr>("kind") : StringAttr();
    if (!argumentKind || argumentKind != "state" ||
        argument.get("local") != value.get("local") ||
        !seen.insert(number.getInt()).second)
      return op->emitOpError()
             << rt::kResultsAttr << " " << index
             << " needs 'argument', the number of a state of its type that no "
                "other result updates";
  }
  return success();
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
  if (isResult && failed(checkUpdates(op, results, arguments)))
    return failure();
  for (auto [index, value] : llvm::enumerate(isResult ? results : arguments))
    if (failed(checkValue(op, name + " " + Twine(index), value, isResult, mesh)))
      return failure();
  return success();
}
