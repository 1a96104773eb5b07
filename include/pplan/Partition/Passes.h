//===- Passes.h - Passes of the partition phase -----------------*- C++ -*-===//
//
// Declares the passes of Passes.td and the phase's pipeline.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PARTITION_PASSES_H
#define PPLAN_PARTITION_PASSES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "pplan/Dialect/SPMD/SPMD.h"

namespace pplan {

#define GEN_PASS_DECL
#include "pplan/Partition/Passes.h.inc"

/// Appends the partition phase: global view with shardings to the verified
/// program of one device.
void buildPartitionPipeline(mlir::OpPassManager &manager);

/// Registers the passes and the pipeline `pplan-phase-partition`.
void registerPartitionPasses();

} // namespace pplan

#endif // PPLAN_PARTITION_PASSES_H
