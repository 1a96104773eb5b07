//===- Pipelines.cpp - The partition phase --------------------------------===//
//
// Registers the passes of the phase and puts them in order.
//
//===----------------------------------------------------------------------===//
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "pplan/Partition/Passes.h"

using namespace mlir;

namespace pplan {
#define GEN_PASS_REGISTRATION
#include "pplan/Partition/Passes.h.inc"
} // namespace pplan

void pplan::buildPartitionPipeline(OpPassManager &manager) {
  manager.addPass(createInsertReshards());
  // Now every operation fits its sharding rule; equal reshards are one.
  manager.addPass(createCSEPass());
  manager.addPass(createPartition());
  // Now shapes are local. Folders that do not know `spmd.state` must not run
  // before the program is verified, so there is no canonicalization here.
  manager.addPass(createCSEPass());
  manager.addNestedPass<func::FuncOp>(createOptimizeCollectives());
  manager.addPass(createCSEPass());
  // Now the program is final and must be what its layouts say.
  manager.addNestedPass<func::FuncOp>(createVerifyProgram());
}

void pplan::registerPartitionPasses() {
  registerPPlanPartitionPasses();
  PassPipelineRegistration<>(
      "pplan-phase-partition",
      "Global view with shardings to the verified program of one device",
      buildPartitionPipeline);
}
