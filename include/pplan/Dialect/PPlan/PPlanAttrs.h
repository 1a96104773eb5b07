//===- PPlanAttrs.h - Enums and attributes of the pplan dialect -*- C++ -*-===//
//
// Declares what PPlanBase.td defines, and lookups of meshes and shardings on
// operations and function arguments.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_DIALECT_PPLAN_PPLANATTRS_H
#define PPLAN_DIALECT_PPLAN_PPLANATTRS_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/StringRef.h"

#include "pplan/Dialect/PPlan/PPlanEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "pplan/Dialect/PPlan/PPlanAttrs.h.inc"

namespace pplan {

/// Name of the array of shardings on an operation.
inline constexpr llvm::StringLiteral kShardingsAttr = "pplan.shardings";
/// Name of the sharding of a function argument or result.
inline constexpr llvm::StringLiteral kShardingAttr = "pplan.sharding";
inline constexpr llvm::StringLiteral kInputAttr = "pplan.input";
inline constexpr llvm::StringLiteral kParamAttr = "pplan.param";
inline constexpr llvm::StringLiteral kOutputAttr = "pplan.output";
inline constexpr llvm::StringLiteral kDataAttr = "pplan.data";
inline constexpr llvm::StringLiteral kRangeAttr = "pplan.range";
inline constexpr llvm::StringLiteral kStepStateAttr = "pplan.state";
inline constexpr llvm::StringLiteral kInitAttr = "pplan.init";
inline constexpr llvm::StringLiteral kUpdatesAttr = "pplan.updates";
inline constexpr llvm::StringLiteral kGradientAttr = "pplan.gradient";
/// Name of the part of a training step on an operation.
inline constexpr llvm::StringLiteral kPhaseAttr = "pplan.phase";
inline constexpr llvm::StringLiteral kMicroBatchesAttr = "pplan.micro_batches";

/// The sharding of a value (from its defining operation or the function
/// argument it is), or null.
ShardingAttr getSharding(mlir::Value value);
/// Sets the sharding of a value.
void setSharding(mlir::Value value, ShardingAttr sharding);
/// Checks a sharding against the mesh and the type it annotates; reports with
/// `emitError` and fails when they do not fit.
mlir::LogicalResult
verifySharding(ShardingAttr sharding, mlir::Type type, MeshAttr mesh,
               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

} // namespace pplan

#endif // PPLAN_DIALECT_PPLAN_PPLANATTRS_H
