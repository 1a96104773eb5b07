//===- ProgramMesh.h - The mesh of a module and shardings on it -*- C++ -*-===//
//
// Private to the partition phase: finds the one mesh of a module and reads
// annotations as complete shardings without trivial axes.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_PARTITION_PROGRAMMESH_H
#define PPLAN_LIB_PARTITION_PROGRAMMESH_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "pplan/Dialect/PPlan/PPlan.h"

namespace pplan {

/// The mesh in its three forms.
struct ProgramMesh {
  mlir::FlatSymbolRefAttr name;
  MeshAttr attr;
  DeviceMesh sizes;

  /// A complete sharding; a null attribute replicates a value of that rank.
  TensorSharding read(ShardingAttr sharding, unsigned rank) const;
  /// The sharding of a value in the global view.
  TensorSharding read(mlir::Value value) const;
  /// The sharding that a function declares for its result.
  TensorSharding readResult(mlir::func::FuncOp function, unsigned index) const;
  ShardingAttr write(const TensorSharding &sharding) const {
    return sharding.toAttr(name, attr);
  }
};

/// The mesh that the module's shardings name, or its only one. Without any, a
/// mesh of one device is declared. Fails with a message when shardings name
/// several.
mlir::FailureOr<ProgramMesh> findProgramMesh(mlir::ModuleOp module);

/// Fails with a message unless the function has one block and only tensors of
/// static shape at its boundary.
mlir::LogicalResult checkBoundary(mlir::func::FuncOp function);

/// Bytes of one element; i1 takes one.
int64_t getElementBytes(mlir::Type type);

} // namespace pplan

#endif // PPLAN_LIB_PARTITION_PROGRAMMESH_H
