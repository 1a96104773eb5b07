//===- PPlanDialect.cpp - The dialect and its attributes on others --------===//
//
// Registers the dialect and checks the discardable attributes it puts on
// operations and function arguments. Operations are in *Ops.cpp.
//
//===----------------------------------------------------------------------===//
#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pplan;

#include "pplan/Dialect/PPlan/PPlanDialect.cpp.inc"
#include "pplan/Dialect/PPlan/ShardableOpInterface.cpp.inc"

void PPlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "pplan/Dialect/PPlan/PPlanOps.cpp.inc"
      >();
  registerAttrs();
}

MeshOp pplan::lookupMesh(Operation *op, FlatSymbolRefAttr name) {
  if (name)
    return SymbolTable::lookupNearestSymbolFrom<MeshOp>(op, name);
  auto module =
      isa<ModuleOp>(op) ? cast<ModuleOp>(op) : op->getParentOfType<ModuleOp>();
  if (!module)
    return nullptr;
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? nullptr : *meshes.begin();
}

bool pplan::isCountable(RankedTensorType type) {
  int64_t left = int64_t(1) << 48;
  for (int64_t size : type.getShape())
    left /= std::max<int64_t>(size, 1);
  return left > 0;
}

RankedTensorType pplan::withShape(RankedTensorType type,
                                  ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, type.getElementType());
}

/// Checks one sharding against its mesh, found from `op`, and the type.
static LogicalResult checkSharding(Operation *op, Attribute attr, Type type) {
  auto sharding = dyn_cast<ShardingAttr>(attr);
  if (!sharding)
    return op->emitOpError("expects a #pplan.sharding, found ") << attr;
  MeshOp mesh = lookupMesh(op, sharding.getMesh());
  if (!mesh)
    return op->emitOpError("sharding ")
           << sharding << " names the mesh " << sharding.getMesh()
           << ", which is not declared; declare it with pplan.mesh";
  return verifySharding(sharding, type, mesh.getShape(),
                        [&] { return op->emitOpError(); });
}

LogicalResult PPlanDialect::verifyOperationAttribute(Operation *op,
                                                     NamedAttribute attr) {
  if (attr.getName() == kPhaseAttr && !isa<PhaseAttr>(attr.getValue()))
    return op->emitOpError("'pplan.phase' must be a #pplan.phase, found ")
           << attr.getValue();
  if (attr.getName() == kMicroBatchesAttr) {
    auto count = dyn_cast<IntegerAttr>(attr.getValue());
    if (!count || count.getInt() < 1)
      return op->emitOpError("'pplan.micro_batches' must be a number of at "
                             "least 1, found ")
             << attr.getValue();
  }
  if (attr.getName() != kShardingsAttr)
    return success();
  auto shardings = dyn_cast<ArrayAttr>(attr.getValue());
  if (!shardings || shardings.size() != op->getNumResults())
    return op->emitOpError("'pplan.shardings' must be an array with one "
                           "sharding for each of the ")
           << op->getNumResults() << " results, found " << attr.getValue();
  for (auto [sharding, type] : llvm::zip(shardings, op->getResultTypes()))
    if (failed(checkSharding(op, sharding, type)))
      return failure();
  return success();
}

/// Checks an attribute of a function argument or result.
static LogicalResult verifyBoundaryAttribute(Operation *op, Type type,
                                             NamedAttribute attr) {
  StringRef name = attr.getName();
  // Operations check their own types; an argument may be used by none.
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.hasStaticShape() && !isCountable(tensor))
    return op->emitOpError("'")
           << name << "' annotates a value of type " << type
           << ", which has more than 2^48 elements";
  if (name == kShardingAttr)
    return checkSharding(op, attr.getValue(), type);
  if (name == kInputAttr || name == kParamAttr || name == kOutputAttr ||
      name == kStepStateAttr || name == kUpdatesAttr || name == kGradientAttr) {
    auto text = dyn_cast<StringAttr>(attr.getValue());
    if (!text || text.empty())
      return op->emitOpError("'")
             << name << "' must be a name (a string that is not empty), found "
             << attr.getValue();
  }
  if (name == kRangeAttr) {
    auto range = dyn_cast<DenseI64ArrayAttr>(attr.getValue());
    if (!range || range.size() != 2 || range[0] > range[1] || !tensor ||
        !isa<IntegerType>(tensor.getElementType()))
      return op->emitOpError("'pplan.range' must be array<i64: least, "
                             "greatest> on a tensor of integers, found ")
             << attr.getValue() << " on " << type;
  }
  if (name == kDataAttr) {
    auto data = dyn_cast<DataAttr>(attr.getValue());
    if (!data)
      return op->emitOpError("'pplan.data' must be a #pplan.data, found ")
             << attr.getValue();
    if (!tensor || !tensor.hasStaticShape() ||
        !tensor.getElementType().isIntOrFloat())
      return op->emitOpError("'pplan.data' annotates a value of type ")
             << type << "; it holds only tensors of numbers";
    int64_t bits = tensor.getElementTypeBitWidth();
    int64_t bytes = tensor.getNumElements() * (bits < 8 ? 1 : bits / 8);
    if (bytes != data.getSize())
      return op->emitOpError("'pplan.data' has ")
             << data.getSize() << " bytes, but " << type << " needs " << bytes;
  }
  return success();
}

LogicalResult PPlanDialect::verifyRegionArgAttribute(Operation *op, unsigned,
                                                     unsigned argIndex,
                                                     NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError("'")
           << attr.getName() << "' belongs on a function's argument";
  // In the device view the data is that of the global tensor.
  Type type = function.getArgumentTypes()[argIndex];
  if (attr.getName() == kDataAttr)
    if (auto layout =
            function.getArgAttrOfType<ArrayAttr>(argIndex, "spmd.layout"))
      for (Attribute entry : layout)
        if (auto global = dyn_cast<TypeAttr>(entry))
          type = global.getValue();
  return verifyBoundaryAttribute(op, type, attr);
}

LogicalResult PPlanDialect::verifyRegionResultAttribute(Operation *op, unsigned,
                                                        unsigned resultIndex,
                                                        NamedAttribute attr) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError("'")
           << attr.getName() << "' belongs on a function's result";
  return verifyBoundaryAttribute(op, function.getResultTypes()[resultIndex],
                                 attr);
}

ShardingAttr pplan::getSharding(Value value) {
  if (auto result = dyn_cast<OpResult>(value)) {
    auto all = result.getOwner()->getAttrOfType<ArrayAttr>(kShardingsAttr);
    return all ? dyn_cast<ShardingAttr>(all[result.getResultNumber()])
               : ShardingAttr();
  }
  auto argument = cast<BlockArgument>(value);
  auto function =
      dyn_cast_or_null<FunctionOpInterface>(argument.getOwner()->getParentOp());
  if (!function)
    return nullptr;
  return function.getArgAttrOfType<ShardingAttr>(argument.getArgNumber(),
                                                 kShardingAttr);
}

void pplan::setSharding(Value value, ShardingAttr sharding) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function =
        cast<FunctionOpInterface>(argument.getOwner()->getParentOp());
    function.setArgAttr(argument.getArgNumber(), kShardingAttr, sharding);
    return;
  }
  Operation *op = value.getDefiningOp();
  SmallVector<Attribute> all;
  if (auto old = op->getAttrOfType<ArrayAttr>(kShardingsAttr))
    all.assign(old.begin(), old.end());
  all.resize(op->getNumResults(), sharding);
  all[cast<OpResult>(value).getResultNumber()] = sharding;
  op->setAttr(kShardingsAttr, ArrayAttr::get(op->getContext(), all));
}

/// The types of layer_norm's operands. Which of scale and bias is there stands
/// before the colon, so a lone second type belongs to the one that is.
static ParseResult
parseNormTypes(OpAsmParser &parser, Type &input, Type &scale, Type &bias,
               std::optional<OpAsmParser::UnresolvedOperand> hasScale,
               std::optional<OpAsmParser::UnresolvedOperand> hasBias) {
  if (parser.parseType(input) ||
      (hasScale && (parser.parseComma() || parser.parseType(scale))) ||
      (hasBias && (parser.parseComma() || parser.parseType(bias))))
    return failure();
  return success();
}

static void printNormTypes(OpAsmPrinter &printer, Operation *, Type input,
                           Type scale, Type bias, Value, Value) {
  printer << input;
  for (Type type : {scale, bias})
    if (type)
      printer << ", " << type;
}

#define GET_OP_CLASSES
#include "pplan/Dialect/PPlan/PPlanOps.cpp.inc"
