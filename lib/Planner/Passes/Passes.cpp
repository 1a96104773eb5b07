//===- Passes.cpp - The plan phase as passes ------------------------------===//
//
// Wraps planModule as a pass and registers the phase's pipeline.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pplan;

namespace pplan {
#define GEN_PASS_DEF_PLANINTRAOP
#define GEN_PASS_REGISTRATION
#include "pplan/Planner/Passes.h.inc"
} // namespace pplan

namespace {
struct PlanIntraOpPass : pplan::impl::PlanIntraOpBase<PlanIntraOpPass> {
  using PlanIntraOpBase::PlanIntraOpBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto fail = [&](llvm::Error error) {
      module.emitError(llvm::toString(std::move(error)));
      signalPassFailure();
    };
    SmallVector<StringRef> parts;
    StringRef(clusterDirs).split(parts, ':', -1, /*KeepEmpty=*/false);
    std::vector<std::string> dirs;
    for (StringRef part : parts)
      dirs.push_back(part.str());
    llvm::Expected<ClusterDescription> description = loadCluster(cluster, dirs);
    if (!description)
      return fail(description.takeError());
    llvm::Expected<ParallelDegrees> degrees = ParallelDegrees::parse(parallel);
    if (!degrees)
      return fail(degrees.takeError());
    PlanOptions options;
    options.cluster = std::move(*description);
    options.devices = devices;
    options.parallel = *degrees;
    options.solver.timeoutSeconds = timeout;
    if (failed(planModule(module, options)))
      signalPassFailure();
  }
};
} // namespace

namespace {
/// Options of the phase's pipeline: those of the planning pass.
struct PlanPhaseOptions : PassPipelineOptions<PlanPhaseOptions> {
  Option<std::string> cluster{*this, "cluster",
                              llvm::cl::desc("Name or path of the cluster"),
                              llvm::cl::init("cpu-threads")};
  Option<std::string> clusterDirs{
      *this, "cluster-dirs",
      llvm::cl::desc("Directories with cluster descriptions, ':' between"),
      llvm::cl::init("")};
  Option<int64_t> devices{*this, "devices", llvm::cl::desc("Number of devices"),
                          llvm::cl::init(1)};
  Option<std::string> parallel{*this, "parallel",
                               llvm::cl::desc("Forced degrees: dp=2,tp=4"),
                               llvm::cl::init("")};
  Option<double> timeout{*this, "timeout",
                         llvm::cl::desc("Seconds that solving may take"),
                         llvm::cl::init(60)};
};
} // namespace

void pplan::buildPlanPreparation(OpPassManager &manager) {
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createSplitDimensions());
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addNestedPass<func::FuncOp>(createDuplicateBroadcasts());
  manager.addPass(createPropagateShardings());
}

void pplan::registerPlannerPasses() {
  registerPPlanPlannerPasses();
  PassPipelineRegistration<PlanPhaseOptions>(
      "pplan-phase-plan",
      "The plan phase: extend annotations, then choose every sharding",
      [](OpPassManager &manager, const PlanPhaseOptions &options) {
        PlanIntraOpOptions passOptions;
        passOptions.cluster = options.cluster;
        passOptions.clusterDirs = options.clusterDirs;
        passOptions.devices = options.devices;
        passOptions.parallel = options.parallel;
        passOptions.timeout = options.timeout;
        buildPlanPreparation(manager);
        manager.addPass(createPlanIntraOp(passOptions));
      });
}
