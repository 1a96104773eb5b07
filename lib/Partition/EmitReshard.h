//===- EmitReshard.h - Reshard steps as operations --------------*- C++ -*-===//
//
// Private to the partition phase. Which steps are taken is decided by
// ReshardPlan.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_PARTITION_EMITRESHARD_H
#define PPLAN_LIB_PARTITION_EMITRESHARD_H

#include "ProgramMesh.h"
#include "pplan/Partition/ReshardPlan.h"

namespace pplan {

/// Name of the attribute that says which part of which global tensor an
/// operation's result is: an array of the `#pplan.sharding` and the type.
inline constexpr llvm::StringLiteral kStateAttr = "spmd.state";

/// The value of `spmd.state` and `spmd.layout`.
mlir::ArrayAttr makeStateAttr(const ProgramMesh &mesh,
                              const TensorSharding &sharding,
                              mlir::RankedTensorType globalType);

/// Appends the operations of a plan to the block; `value` is the local part of
/// a tensor of type `globalType`. Returns the resharded part.
mlir::Value emitReshard(mlir::OpBuilder &builder, mlir::Location loc,
                        const ProgramMesh &mesh, mlir::Value value,
                        mlir::RankedTensorType globalType,
                        const ReshardPlan &plan);

} // namespace pplan

#endif // PPLAN_LIB_PARTITION_EMITRESHARD_H
