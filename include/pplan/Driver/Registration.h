//===- Registration.h - All dialects, passes and pipelines ------*- C++ -*-===//
//
// The one place that lists what the tools offer.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_DRIVER_REGISTRATION_H
#define PPLAN_DRIVER_REGISTRATION_H

#include "mlir/IR/DialectRegistry.h"

namespace pplan {

/// Adds the dialects that a module may contain at any phase, with the
/// interface models that lowering needs.
void registerAllDialects(mlir::DialectRegistry &registry);

/// Registers every pass and the named pipeline of every phase.
void registerAllPasses();

} // namespace pplan

#endif // PPLAN_DRIVER_REGISTRATION_H
