//===- LayerName.h - What the user calls an operation -----------*- C++ -*-===//
//
// Decides which part of a source location names an operation in the runtime's
// messages and profiles.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_LOWERING_LAYERNAME_H
#define PPLAN_LIB_LOWERING_LAYERNAME_H

#include "mlir/IR/Location.h"
#include <string>

namespace pplan {

/// The user's name for the layer at `loc`: the innermost name of the first
/// location that has one, else file and line, else `fallback`.
std::string getLayerName(mlir::Location loc, llvm::StringRef fallback);

} // namespace pplan

#endif // PPLAN_LIB_LOWERING_LAYERNAME_H
