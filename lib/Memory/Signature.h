//===- Signature.h - What the host sees of a program ------------*- C++ -*-===//
//
// Finds the entry function and its mesh, and keeps what the host must know of
// arguments and results before their types and attributes are lowered.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_MEMORY_SIGNATURE_H
#define PPLAN_LIB_MEMORY_SIGNATURE_H

#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace pplan::memory {

/// The function to compile: `@forward`, or the only public one. Reports an
/// error if there is none, if it has control flow, or if a value that it takes
/// or returns is not a tensor of static shape.
mlir::FailureOr<mlir::func::FuncOp> findEntry(mlir::ModuleOp module);

/// The mesh that the function's layouts and collectives name; one without axes
/// when they name none. Reports a second mesh.
mlir::FailureOr<MeshAttr> findMesh(mlir::func::FuncOp entry);

/// Sets `rt.arguments`, `rt.results` and `rt.mesh` from the attributes of
/// arguments and results. A parameter without `pplan.data` becomes an input.
mlir::LogicalResult describeSignature(mlir::func::FuncOp entry, MeshAttr mesh);

} // namespace pplan::memory

#endif // PPLAN_LIB_MEMORY_SIGNATURE_H
