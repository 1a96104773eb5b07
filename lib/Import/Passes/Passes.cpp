//===- Passes.cpp - The import phase as a pipeline ------------------------===//
//
// Order of the passes that follow the reading of a model.
//
//===----------------------------------------------------------------------===//
#include "pplan/Import/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace pplan {
#define GEN_PASS_REGISTRATION
#include "pplan/Import/Passes.h.inc"
} // namespace pplan

void pplan::buildImportPipeline(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createRaisePatterns());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void pplan::registerImportPasses() {
  registerPPlanImportPasses();
  PassPipelineRegistration<>("pplan-phase-import",
                             "The import phase, after a model has been read",
                             buildImportPipeline);
}
