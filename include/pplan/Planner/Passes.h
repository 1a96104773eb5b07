//===- Passes.h - Passes of the plan phase ----------------------*- C++ -*-===//
//
// Declares the passes of Passes.td and the phase's pipeline.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PLANNER_PASSES_H
#define PPLAN_PLANNER_PASSES_H

#include "pplan/Planner/PlanModule.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace pplan {

#define GEN_PASS_DECL
#include "pplan/Planner/Passes.h.inc"

/// Appends what prepares a graph for planning: canonical form, hidden factors
/// as dimensions, annotations extended.
void buildPlanPreparation(mlir::OpPassManager &manager);

/// Registers the passes and the pipeline `pplan-phase-plan`.
void registerPlannerPasses();

} // namespace pplan

#endif // PPLAN_PLANNER_PASSES_H
