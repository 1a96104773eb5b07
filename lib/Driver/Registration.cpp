//===- Registration.cpp - All dialects, passes and pipelines --------------===//
//
// Lists; decides nothing.
//
//===----------------------------------------------------------------------===//
#include "pplan/Driver/Registration.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "pplan/Dialect/SPMD/SPMD.h"
#include "pplan/Import/Passes.h"
#include "pplan/Lowering/Passes.h"
#include "pplan/Memory/Passes.h"
#include "pplan/Partition/Passes.h"
#include "pplan/Planner/Passes.h"
#include "pplan/Training/Gradient.h"
#include "pplan/Training/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

void pplan::registerAllDialects(mlir::DialectRegistry &registry) {
  registry.insert<PPlanDialect, spmd::SPMDDialect, mlir::func::FuncDialect>();
  registerGradients(registry);
  registerMemoryDialects(registry);
  registerLoweringDialects(registry);
}

void pplan::registerAllPasses() {
  mlir::registerTransformsPasses();
  // Upstream's that the phases contain, so that reproducers run.
  mlir::registerConversionPasses();
  mlir::affine::registerAffinePasses();
  mlir::memref::registerMemRefPasses();
  registerImportPasses();
  registerTrainingPasses();
  registerPlannerPasses();
  registerPartitionPasses();
  registerMemoryPasses();
  registerLoweringPasses();
}
