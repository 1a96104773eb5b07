//===- Passes.h - Passes of the train phase ---------------------*- C++ -*-===//
//
// Declares the passes of Passes.td and the phase's pipeline.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_TRAINING_PASSES_H
#define PPLAN_TRAINING_PASSES_H

#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace pplan {

#define GEN_PASS_DECL
#include "pplan/Training/Passes.h.inc"

/// What a training step does beyond the model.
struct TrainingOptions {
  AppendLossOptions loss;
  DifferentiateOptions gradient;
};

/// Appends the train phase: a model to a training step. `optimizer` is a
/// pplan-add-optimizer.
void buildTrainPipeline(mlir::OpPassManager &manager,
                        const TrainingOptions &options,
                        std::unique_ptr<mlir::Pass> optimizer);

/// Registers the passes and the pipeline `pplan-phase-train`.
void registerTrainingPasses();

} // namespace pplan

#endif // PPLAN_TRAINING_PASSES_H
