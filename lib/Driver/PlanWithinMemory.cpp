//===- PlanWithinMemory.cpp - Plans whose programs fit --------------------===//
//
// The planner counts the values of the graph; a program also keeps copies for
// collectives, workspace and alignment. Where memory is scarce the plan is
// compiled as far as its arena, and planned again with what was missing set
// aside, so that a plan that is said to fit does.
//
//===----------------------------------------------------------------------===//
#include "Report.h"
#include "Session.h"
#include "mlir/Pass/PassManager.h"
#include "pplan/Memory/Passes.h"
#include "pplan/Partition/Passes.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::driver;

/// Bytes that the program of a planned module allocates on each device; none
/// after a message.
static std::optional<int64_t> measureMemory(ModuleOp planned) {
  OwningOpRef<ModuleOp> copy = planned.clone();
  PassManager manager(planned.getContext());
  buildPartitionPipeline(manager);
  buildMemoryPipeline(manager, MemoryPipelineOptions());
  if (failed(manager.run(*copy)))
    return std::nullopt;
  Report report;
  report.addMemory(*copy);
  return report.getPeakMemory();
}

int Session::planWithinMemory(PlanSummary &summary) {
  constexpr int maxRounds = 8;
  int64_t memory = planOptions.cluster.device.memoryBytes;
  OwningOpRef<ModuleOp> graph = module->clone();
  double searchTime = 0;
  for (int round = 0; round < maxRounds; ++round) {
    FailureOr<PlanSummary> result = planModule(*module, planOptions);
    if (failed(result))
      return kExitInfeasible;
    summary = std::move(*result);
    searchTime += summary.searchTime;
    if (!summary.isMemoryBound)
      return kExitDone;
    std::optional<int64_t> needed = measureMemory(*module);
    if (!needed)
      return kExitBug;
    if (*needed <= memory) {
      summary.searchTime = searchTime;
      (*module)->setAttr(kPlanAttr, summary.toAttr(context.get()));
      return kExitDone;
    }
    planOptions.reservedBytes += *needed - memory;
    planOptions.solver.timeoutSeconds =
        std::max(planOptions.solver.timeoutSeconds - summary.searchTime, 0.5);
    module = OwningOpRef<ModuleOp>(graph->clone());
  }
  llvm::errs() << "pplan: no plan was found whose program fits into the "
               << memory
               << " bytes of a device, though the values of the graph "
               << "fit; use more devices\n";
  return kExitInfeasible;
}
