//===- RT.h - The rt dialect ------------------------------------*- C++ -*-===//
//
// Declares the operations that stand for calls of the runtime, generated from
// RTOps.td, and the attributes that describe a program to its host.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_MEMORY_RT_H
#define PPLAN_MEMORY_RT_H

#include "pplan/Dialect/PPlan/PPlanAttrs.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "pplan/Memory/RTDialect.h.inc"

#define GET_OP_CLASSES
#include "pplan/Memory/RTOps.h.inc"

namespace pplan::rt {

/// Function attribute: an array with one dictionary per argument that the host
/// passes: `kind` ("input", "param" or "state"), `name`, `type` (the global
/// type), `local` (the type on a device), `axes` (an array of mesh axis numbers
/// per dimension) and, for parameters, `data` (`#pplan.data`). State is kept
/// from one run to the next; it begins with `data`, or with `init`, a number,
/// in each element, or with zeros.
inline constexpr llvm::StringLiteral kArgumentsAttr = "rt.arguments";
/// Function attribute: the same for results, with `kind` "output", or, until
/// pplan-update-in-place, "update", with the number `argument` of the state
/// whose new value it is.
inline constexpr llvm::StringLiteral kResultsAttr = "rt.results";
/// Function attribute: the mesh of the program, a `#pplan.mesh_shape`.
inline constexpr llvm::StringLiteral kMeshAttr = "rt.mesh";
/// Module attribute: bytes that a device needs, by kind.
inline constexpr llvm::StringLiteral kMemoryAttr = "pplan.memory";

/// The number that the runtime's interface gives to an element type
/// (`pplan_dtype`); -1 for a type it does not know.
int32_t getDType(mlir::Type type);
/// Bytes of an element in memory: i1 takes one, index eight.
int64_t getElementBytes(mlir::Type type);
/// Bytes of a dense buffer of this static type.
int64_t getDenseBytes(mlir::ShapedType type);

/// Makes the rt operations known to one-shot bufferisation.
void registerBufferizationModels(mlir::DialectRegistry &registry);

} // namespace pplan::rt

#endif // PPLAN_MEMORY_RT_H
