//===- ProgramMesh.cpp - The mesh of a module and shardings on it ---------===//
//
// See ProgramMesh.h.
//
//===----------------------------------------------------------------------===//
#include "ProgramMesh.h"
#include "mlir/IR/Builders.h"
#include "pplan/Dialect/SPMD/SPMD.h"
#include "pplan/Partition/ReshardPlan.h"

using namespace mlir;
using namespace pplan;

TensorSharding ProgramMesh::read(ShardingAttr sharding, unsigned rank) const {
  if (!sharding)
    return TensorSharding::getReplicated(rank);
  return dropTrivialAxes(TensorSharding::get(sharding, attr), sizes);
}

TensorSharding ProgramMesh::read(Value value) const {
  return read(getSharding(value), getTensorType(value).getRank());
}

TensorSharding ProgramMesh::readResult(func::FuncOp function,
                                       unsigned index) const {
  auto type = cast<RankedTensorType>(function.getResultTypes()[index]);
  return read(function.getResultAttrOfType<ShardingAttr>(index, kShardingAttr),
              type.getRank());
}

int64_t pplan::getElementBytes(Type type) {
  unsigned bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 8;
  return bits < 8 ? 1 : bits / 8;
}

LogicalResult pplan::checkBoundary(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitOpError(
        "has several blocks; only straight-line functions are partitioned");
  FunctionType type = function.getFunctionType();
  for (ArrayRef<Type> types : {type.getInputs(), type.getResults()})
    for (Type boundary : types) {
      auto tensor = dyn_cast<RankedTensorType>(boundary);
      if (!tensor || !tensor.hasStaticShape())
        return function.emitOpError("takes or returns a value of type ")
               << boundary << "; only tensors of static shape are partitioned";
      if (!isCountable(tensor))
        return function.emitOpError("takes or returns a value of type ")
               << boundary << "; only tensors of at most 2^48 elements are "
                              "partitioned";
    }
  return success();
}

/// Calls `visit` with each sharding in the module and where it stands.
static void
forEachSharding(ModuleOp module,
                llvm::function_ref<void(ShardingAttr, Operation *)> visit) {
  auto visitLayout = [&](Attribute attr, Operation *op) {
    if (auto layout = dyn_cast_or_null<ArrayAttr>(attr))
      for (Attribute part : layout)
        if (auto sharding = dyn_cast<ShardingAttr>(part))
          visit(sharding, op);
  };
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (auto all = op->getAttrOfType<ArrayAttr>(kShardingsAttr))
      for (auto sharding : all.getAsRange<ShardingAttr>())
        visit(sharding, op);
    auto function = dyn_cast<func::FuncOp>(op);
    if (!function)
      return;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      if (auto sharding =
              function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr))
        visit(sharding, op);
      visitLayout(function.getArgAttr(i, spmd::kLayoutAttr), op);
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      if (auto sharding =
              function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr))
        visit(sharding, op);
      visitLayout(function.getResultAttr(i, spmd::kLayoutAttr), op);
    }
  });
}

FailureOr<ProgramMesh> pplan::findProgramMesh(ModuleOp module) {
  ShardingAttr first;
  Operation *firstOp = nullptr;
  LogicalResult result = success();
  forEachSharding(module, [&](ShardingAttr sharding, Operation *op) {
    if (!first) {
      first = sharding;
      firstOp = op;
    } else if (sharding.getMesh() != first.getMesh() && succeeded(result)) {
      result = op->emitOpError("is sharded on mesh ")
               << sharding.getMesh() << ", others on " << first.getMesh()
               << "; a program uses one mesh, name the axes of both in it";
      firstOp->emitRemark("mesh ") << first.getMesh() << " is used here";
    }
  });
  if (failed(result))
    return failure();
  MeshOp mesh =
      lookupMesh(module, first ? first.getMesh() : FlatSymbolRefAttr());
  if (!mesh && first)
    return firstOp->emitOpError("names the mesh ")
           << first.getMesh() << ", which is not declared";
  if (!mesh) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    SymbolTable symbols(module);
    mesh = MeshOp::create(builder, module.getLoc(), "mesh",
                          MeshAttr::get(module.getContext(), {}));
    symbols.insert(mesh, module.getBody()->begin());
  }
  ProgramMesh program;
  program.name = FlatSymbolRefAttr::get(mesh.getSymNameAttr());
  program.attr = mesh.getShape();
  program.sizes = DeviceMesh::get(program.attr);
  return program;
}
