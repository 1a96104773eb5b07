//===- Passes.h - Passes and pipeline of the lower phase --------*- C++ -*-===//
//
// Declares the passes of Passes.td and the phase that runs them in order.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LOWERING_PASSES_H
#define PPLAN_LOWERING_PASSES_H

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace pplan {

#define GEN_PASS_DECL
#include "pplan/Lowering/Passes.h.inc"

/// Options of `pplan-phase-lower`.
struct LowerPipelineOptions : mlir::PassPipelineOptions<LowerPipelineOptions> {
  Option<bool> approximateMath{
      *this, "approximate-math",
      llvm::cl::desc("replace f32 functions by polynomials (default true)"),
      llvm::cl::init(true)};
};

/// Appends the lower phase: input is the output of the memory phase; output is
/// a module of the LLVM dialect that calls pplan_rt.h and defines the
/// descriptor `pplan_rt_program`.
void buildLowerPipeline(mlir::OpPassManager &manager,
                        const LowerPipelineOptions &options);

/// Registers the passes and the pipeline `pplan-phase-lower`.
void registerLoweringPasses();

/// Registers the dialects that the phase's output is made of.
void registerLoweringDialects(mlir::DialectRegistry &registry);

#define GEN_PASS_REGISTRATION
#include "pplan/Lowering/Passes.h.inc"

} // namespace pplan

#endif // PPLAN_LOWERING_PASSES_H
