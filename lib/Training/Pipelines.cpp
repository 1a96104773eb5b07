//===- Pipelines.cpp - The train phase ------------------------------------===//
//
// Registers the passes of the phase and puts them in order.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "pplan/Training/Passes.h"

using namespace mlir;

namespace pplan {
#define GEN_PASS_REGISTRATION
#include "pplan/Training/Passes.h.inc"
} // namespace pplan

void pplan::buildTrainPipeline(OpPassManager &manager,
                               const TrainingOptions &options,
                               std::unique_ptr<Pass> optimizer) {
  manager.addPass(createTieParameters());
  manager.addPass(createAppendLoss(options.loss));
  // Now the function returns a scalar loss.
  manager.addPass(createDifferentiate(options.gradient));
  manager.addPass(std::move(optimizer));
  // Now it is a training step. Its loss and the loss's gradient begin alike.
  manager.addPass(createExpandLosses());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createShareForward());
}

void pplan::registerTrainingPasses() {
  registerPPlanTrainingPasses();
  PassPipelineRegistration<>(
      "pplan-phase-train", "A model to a training step",
      [](OpPassManager &manager) {
        buildTrainPipeline(manager, {}, createAddOptimizer());
      });
}
