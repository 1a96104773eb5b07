//===- PPlan.h - The pplan dialect and its operations -----------*- C++ -*-===//
//
// Declares the dialect and its operations, generated from PPlanOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_DIALECT_PPLAN_PPLAN_H
#define PPLAN_DIALECT_PPLAN_PPLAN_H

#include "pplan/Dialect/PPlan/PPlanAttrs.h"
#include "pplan/Dialect/PPlan/ShardingRule.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "pplan/Dialect/PPlan/PPlanDialect.h.inc"

#define GET_OP_CLASSES
#include "pplan/Dialect/PPlan/PPlanOps.h.inc"

namespace pplan {

/// The mesh of a module: the operation that the first sharding names, or the
/// only `pplan.mesh` of the module. Null when there is none.
MeshOp lookupMesh(mlir::Operation *op, mlir::FlatSymbolRefAttr name);

/// True when the tensor has at most 2^48 elements, dimensions of size 0 counted
/// as 1; every value of the dialects does, so arithmetic on sizes is exact.
bool isCountable(mlir::RankedTensorType type);

/// Type of a tensor with the same elements and another shape.
mlir::RankedTensorType withShape(mlir::RankedTensorType type,
                                 llvm::ArrayRef<int64_t> shape);

/// Type of the value as a ranked tensor; every value of the dialect is one.
inline mlir::RankedTensorType getTensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

} // namespace pplan

#endif // PPLAN_DIALECT_PPLAN_PPLAN_H
