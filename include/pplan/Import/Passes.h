//===- Passes.h - Passes of the import phase --------------------*- C++ -*-===//
//
// Declares the passes of Passes.td and the phase's pipeline. Front doors
// (ONNX.h) build the module that they start from.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_IMPORT_PASSES_H
#define PPLAN_IMPORT_PASSES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace pplan {

#define GEN_PASS_DECL
#include "pplan/Import/Passes.h.inc"

/// Appends what follows the reading of a model: canonical form and fused
/// operations.
void buildImportPipeline(mlir::OpPassManager &manager);

/// Registers the passes and the pipeline `pplan-phase-import`.
void registerImportPasses();

} // namespace pplan

#endif // PPLAN_IMPORT_PASSES_H
