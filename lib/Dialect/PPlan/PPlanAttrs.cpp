//===- PPlanAttrs.cpp - Mesh and sharding attributes ----------------------===//
//
// Text form and invariants of the dialect's attributes.
//
//===----------------------------------------------------------------------===//
#include "pplan/Dialect/PPlan/PPlanAttrs.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pplan;

#include "pplan/Dialect/PPlan/PPlanEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "pplan/Dialect/PPlan/PPlanAttrs.cpp.inc"

void PPlanDialect::registerAttrs() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "pplan/Dialect/PPlan/PPlanAttrs.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Mesh
//===----------------------------------------------------------------------===//

Attribute MeshAxisAttr::parse(AsmParser &parser, Type) {
  std::string name;
  int64_t size;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&name) || parser.parseEqual() ||
      parser.parseInteger(size))
    return {};
  return MeshAxisAttr::getChecked([&] { return parser.emitError(loc); },
                                  parser.getContext(), name, size);
}

void MeshAxisAttr::print(AsmPrinter &printer) const {
  printer << '"' << getName() << "\"=" << getSize();
}

LogicalResult
MeshAxisAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                     StringRef name, int64_t size) {
  if (name.empty())
    return emitError() << "a mesh axis needs a name";
  if (size < 1)
    return emitError() << "mesh axis \"" << name << "\" has size " << size
                       << "; it must be at least 1";
  return success();
}

Attribute MeshAttr::parse(AsmParser &parser, Type) {
  SmallVector<MeshAxisAttr> axes;
  SMLoc loc = parser.getCurrentLocation();
  auto parseAxis = [&]() -> ParseResult {
    auto axis = dyn_cast_or_null<MeshAxisAttr>(MeshAxisAttr::parse(parser, {}));
    if (!axis)
      return failure();
    axes.push_back(axis);
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseAxis) ||
      parser.parseGreater())
    return {};
  return MeshAttr::getChecked([&] { return parser.emitError(loc); },
                              parser.getContext(), axes);
}

void MeshAttr::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getAxes(), printer.getStream(),
                        [&](MeshAxisAttr axis) { axis.print(printer); });
  printer << "]>";
}

LogicalResult MeshAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               ArrayRef<MeshAxisAttr> axes) {
  constexpr size_t maxAxes = 16;
  constexpr int64_t maxDevices = 1 << 20;
  if (axes.size() > maxAxes)
    return emitError() << "a mesh has at most " << maxAxes << " axes, found "
                       << axes.size();
  llvm::StringSet<> names;
  int64_t devices = 1;
  for (MeshAxisAttr axis : axes) {
    if (!names.insert(axis.getName()).second)
      return emitError() << "mesh axis \"" << axis.getName()
                         << "\" occurs twice";
    if (axis.getSize() > maxDevices ||
        (devices *= axis.getSize()) > maxDevices)
      return emitError() << "a mesh has at most " << maxDevices << " devices";
  }
  return success();
}

int64_t MeshAttr::getNumDevices() const {
  int64_t devices = 1;
  for (MeshAxisAttr axis : getAxes())
    devices *= axis.getSize();
  return devices;
}

int MeshAttr::getAxisIndex(StringRef name) const {
  for (auto [index, axis] : llvm::enumerate(getAxes()))
    if (axis.getName() == name)
      return index;
  return -1;
}

//===----------------------------------------------------------------------===//
// Sharding
//===----------------------------------------------------------------------===//

/// Parses `{"a", "b"}` or `{"a", ?}`.
static ParseResult parseAxisSet(AsmParser &parser,
                                SmallVectorImpl<StringAttr> &axes, bool *open) {
  return parser.parseCommaSeparatedList(
      AsmParser::Delimiter::Braces, [&]() -> ParseResult {
        if (open && *open)
          return parser.emitError(parser.getCurrentLocation(),
                                  "'?' must come last in a dimension");
        if (open && succeeded(parser.parseOptionalQuestion())) {
          *open = true;
          return success();
        }
        std::string name;
        if (parser.parseString(&name))
          return failure();
        axes.push_back(StringAttr::get(parser.getContext(), name));
        return success();
      });
}

static void printAxisSet(raw_ostream &os, ArrayRef<StringAttr> axes,
                         bool open) {
  os << '{';
  llvm::interleaveComma(axes, os, [&](StringAttr axis) {
    os << '"' << axis.getValue() << '"';
  });
  if (open)
    os << (axes.empty() ? "?" : ", ?");
  os << '}';
}

Attribute DimShardingAttr::parse(AsmParser &parser, Type) {
  SmallVector<StringAttr> axes;
  bool open = false;
  if (parseAxisSet(parser, axes, &open))
    return {};
  return DimShardingAttr::get(parser.getContext(), axes, open);
}

void DimShardingAttr::print(AsmPrinter &printer) const {
  printAxisSet(printer.getStream(), getAxes(), getOpen());
}

Attribute ShardingAttr::parse(AsmParser &parser, Type) {
  FlatSymbolRefAttr mesh;
  SmallVector<DimShardingAttr> dims;
  SmallVector<StringAttr> partial;
  ReductionKind kind = ReductionKind::Sum;
  SMLoc loc = parser.getCurrentLocation();
  auto parseDim = [&]() -> ParseResult {
    auto dim =
        dyn_cast_or_null<DimShardingAttr>(DimShardingAttr::parse(parser, {}));
    if (!dim)
      return failure();
    dims.push_back(dim);
    return success();
  };
  if (parser.parseLess() || parser.parseAttribute(mesh) ||
      parser.parseComma() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim))
    return {};
  if (succeeded(parser.parseOptionalComma())) {
    StringRef keyword;
    if (parser.parseKeyword("partial") || parser.parseEqual())
      return {};
    SMLoc kindLoc = parser.getCurrentLocation();
    if (parser.parseKeyword(&keyword))
      return {};
    std::optional<ReductionKind> parsed = symbolizeReductionKind(keyword);
    if (!parsed) {
      parser.emitError(kindLoc, "unknown reduction '")
          << keyword << "'; known are sum, prod, max and min";
      return {};
    }
    kind = *parsed;
    if (parseAxisSet(parser, partial, nullptr))
      return {};
  }
  if (parser.parseGreater())
    return {};
  return ShardingAttr::getChecked([&] { return parser.emitError(loc); },
                                  parser.getContext(), mesh, dims, partial,
                                  kind);
}

void ShardingAttr::print(AsmPrinter &printer) const {
  raw_ostream &os = printer.getStream();
  os << '<';
  printer.printAttribute(getMesh());
  os << ", [";
  llvm::interleaveComma(getDims(), os,
                        [&](DimShardingAttr dim) { dim.print(printer); });
  os << ']';
  if (!getPartialAxes().empty()) {
    os << ", partial = " << stringifyReductionKind(getPartialKind()) << ' ';
    printAxisSet(os, getPartialAxes(), false);
  }
  os << '>';
}

LogicalResult
ShardingAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                     FlatSymbolRefAttr mesh, ArrayRef<DimShardingAttr> dims,
                     ArrayRef<StringAttr> partialAxes, ReductionKind) {
  llvm::StringSet<> seen;
  auto checkAxis = [&](StringAttr axis) -> LogicalResult {
    if (seen.insert(axis.getValue()).second)
      return success();
    return emitError() << "axis \"" << axis.getValue()
                       << "\" occurs twice in a sharding of " << mesh;
  };
  for (DimShardingAttr dim : dims)
    for (StringAttr axis : dim.getAxes())
      if (failed(checkAxis(axis)))
        return failure();
  for (StringAttr axis : partialAxes)
    if (failed(checkAxis(axis)))
      return failure();
  return success();
}

bool ShardingAttr::isComplete() const {
  return llvm::none_of(getDims(),
                       [](DimShardingAttr dim) { return dim.getOpen(); });
}

LogicalResult
pplan::verifySharding(ShardingAttr sharding, Type type, MeshAttr mesh,
                      function_ref<InFlightDiagnostic()> emitError) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return emitError() << "sharding " << sharding
                       << " annotates a value of type " << type
                       << "; only ranked tensors have shardings";
  if (tensor.getRank() != static_cast<int64_t>(sharding.getDims().size()))
    return emitError() << "sharding " << sharding << " has "
                       << sharding.getDims().size()
                       << " dimensions, but the value's type " << type
                       << " has " << tensor.getRank();
  auto checkAxis = [&](StringAttr axis) -> LogicalResult {
    if (mesh.getAxisIndex(axis.getValue()) >= 0)
      return success();
    auto diag = emitError() << "sharding " << sharding << " names axis \""
                            << axis.getValue() << "\", which mesh "
                            << sharding.getMesh() << " lacks; it has ";
    llvm::interleaveComma(mesh.getAxes(), diag, [&](MeshAxisAttr known) {
      diag << '"' << known.getName() << '"';
    });
    return diag;
  };
  for (DimShardingAttr dim : sharding.getDims())
    for (StringAttr axis : dim.getAxes())
      if (failed(checkAxis(axis)))
        return failure();
  for (StringAttr axis : sharding.getPartialAxes())
    if (failed(checkAxis(axis)))
      return failure();
  return success();
}

LogicalResult DataAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                               StringRef path, int64_t offset, int64_t size) {
  if (path.empty())
    return emitError() << "#pplan.data needs a path";
  if (offset < 0 || size < 0)
    return emitError() << "#pplan.data of \"" << path << "\" has offset "
                       << offset << " and size " << size
                       << "; neither can be negative";
  return success();
}
