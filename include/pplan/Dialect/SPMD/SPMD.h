//===- SPMD.h - The spmd dialect and its operations -------------*- C++ -*-===//
//
// Declares the device view's dialect, generated from SPMDOps.td.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_DIALECT_SPMD_SPMD_H
#define PPLAN_DIALECT_SPMD_SPMD_H

#include "pplan/Dialect/PPlan/PPlan.h"

#include "pplan/Dialect/SPMD/SPMDDialect.h.inc"

#define GET_OP_CLASSES
#include "pplan/Dialect/SPMD/SPMDOps.h.inc"

namespace pplan::spmd {

/// Name of the layout of an entry function's argument or result: an array of
/// the `#pplan.sharding` and the global type.
inline constexpr llvm::StringLiteral kLayoutAttr = "spmd.layout";

/// Axes of a collective as indices into the mesh, in the order given. None if
/// the mesh lacks one.
std::optional<AxisList> getAxes(mlir::ArrayAttr axes, MeshAttr mesh);
/// The reverse of getAxes.
mlir::ArrayAttr getAxisNames(llvm::ArrayRef<int8_t> axes, MeshAttr mesh);

/// True for the operations that communicate.
bool isCollective(mlir::Operation *op);

} // namespace pplan::spmd

#endif // PPLAN_DIALECT_SPMD_SPMD_H
