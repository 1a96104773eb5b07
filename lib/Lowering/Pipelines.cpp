//===- Pipelines.cpp - The lower phase ------------------------------------===//
//
// The order of the passes, and what is true between them.
//
//===----------------------------------------------------------------------===//
#include "pplan/Lowering/Passes.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "pplan/Memory/RT.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace pplan;

/// Everything to the LLVM dialect, buffers passed as plain pointers.
static void addConversionToLLVM(OpPassManager &manager) {
  manager.addPass(createSCFToControlFlowPass());
  manager.addPass(memref::createExpandStridedMetadataPass());
  manager.addPass(createLowerAffinePass());
  manager.addPass(createConvertMathToLLVMPass());
  manager.addPass(createConvertMathToLibmPass());
  manager.addPass(createArithToLLVMConversionPass());
  manager.addPass(createConvertVectorToLLVMPass());
  manager.addPass(createFinalizeMemRefToLLVMConversionPass());
  manager.addPass(createConvertControlFlowToLLVMPass());
  ConvertFuncToLLVMPassOptions options;
  options.useBarePtrCallConv = true;
  manager.addPass(createConvertFuncToLLVMPass(options));
  manager.addPass(createReconcileUnrealizedCastsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
}

void pplan::buildLowerPipeline(OpPassManager &manager,
                               const LowerPipelineOptions &options) {
  // A straight line of linalg loops and rt operations on buffers.
  manager.addPass(createOutlineKernelsPass());
  // The entry function only calls kernels and the runtime.
  manager.addPass(createLowerLoopsPass());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  if (options.approximateMath)
    manager.addPass(createApproximateMathPass());
  manager.addPass(createLowerRuntimePass());
  // scf loops in kernels; calls of the C interface in the entry function.
  addConversionToLLVM(manager);
  // Only the LLVM dialect is left.
  manager.addPass(createEmitDescriptorPass());
}

void pplan::registerLoweringDialects(DialectRegistry &registry) {
  registry.insert<rt::RTDialect, LLVM::LLVMDialect, cf::ControlFlowDialect,
                  func::FuncDialect, vector::VectorDialect>();
}

void pplan::registerLoweringPasses() {
  registerPPlanLoweringPasses();
  PassPipelineRegistration<LowerPipelineOptions>(
      "pplan-phase-lower",
      "lower: kernels and calls of the runtime in the LLVM dialect",
      [](OpPassManager &manager, const LowerPipelineOptions &options) {
        buildLowerPipeline(manager, options);
      });
}
