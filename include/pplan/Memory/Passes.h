//===- Passes.h - Passes and pipeline of the memory phase -------*- C++ -*-===//
//
// Declares the passes of Passes.td and the phase that runs them in order.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_MEMORY_PASSES_H
#define PPLAN_MEMORY_PASSES_H

#include "pplan/Memory/RT.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace pplan {

#define GEN_PASS_DECL
#include "pplan/Memory/Passes.h.inc"

/// Options of `pplan-phase-memory`.
struct MemoryPipelineOptions
    : mlir::PassPipelineOptions<MemoryPipelineOptions> {
  Option<bool> fuse{*this, "fuse",
                    llvm::cl::desc("fuse elementwise loops (default true)"),
                    llvm::cl::init(true)};
};

/// Appends the memory phase: input is the entry function in one device's view
/// on tensors; output is the same function on buffers at fixed offsets of an
/// arena, proven not to overlap.
void buildMemoryPipeline(mlir::OpPassManager &manager,
                         const MemoryPipelineOptions &options);

/// Registers the passes and the pipeline `pplan-phase-memory`.
void registerMemoryPasses();

/// Registers the dialects that the phase's output is made of, and the models
/// of bufferisation that it needs.
void registerMemoryDialects(mlir::DialectRegistry &registry);

#define GEN_PASS_REGISTRATION
#include "pplan/Memory/Passes.h.inc"

} // namespace pplan

#endif // PPLAN_MEMORY_PASSES_H
