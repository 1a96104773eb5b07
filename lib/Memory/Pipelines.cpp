//===- Pipelines.cpp - The memory phase -----------------------------------===//
//
// The order of the passes, and what is true between them.
//
//===----------------------------------------------------------------------===//
#include "pplan/Memory/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace pplan;

void pplan::buildMemoryPipeline(OpPassManager &manager,
                                const MemoryPipelineOptions &options) {
  // pplan and spmd operations in one device's view; transposes folded into
  // contractions and attention.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createConvertOpsPass());
  // One loop per operation, on tensors.
  manager.addPass(createCSEPass());
  if (options.fuse)
    manager.addPass(createFuseLoopsPass());
  manager.addPass(createCSEPass());
  manager.addPass(createReuseOperandsPass());
  // Few loops, in place where possible; still on tensors.
  manager.addPass(createBufferizeProgramPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createUpdateInPlacePass());
  // Buffers, each allocated on its own; results are outputs.
  manager.addPass(createPlanArenaPass());
  manager.addPass(createVerifyArenaPass());
  // Buffers at offsets of the arena.
}

void pplan::registerMemoryPasses() {
  registerPPlanMemoryPasses();
  PassPipelineRegistration<MemoryPipelineOptions>(
      "pplan-phase-memory",
      "memory: loops on buffers at fixed offsets of an arena",
      [](OpPassManager &manager, const MemoryPipelineOptions &options) {
        buildMemoryPipeline(manager, options);
      });
}
