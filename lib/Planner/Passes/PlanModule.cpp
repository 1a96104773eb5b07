//===- PlanModule.cpp - Plan a module and write the plan into it ----------===//
//
// Checks the graph, tries each candidate mesh, and writes the best plan into
// the IR.
//
//===----------------------------------------------------------------------===//
#include "MeshPlan.h"
#include "mlir/IR/Builders.h"
#include <chrono>

using namespace mlir;
using namespace pplan;

//===----------------------------------------------------------------------===//
// Candidate meshes and the outer loop
//===----------------------------------------------------------------------===//

static MeshAttr makeMesh(MLIRContext *context,
                         ArrayRef<std::pair<StringRef, int64_t>> axes) {
  SmallVector<MeshAxisAttr> attrs;
  for (auto [name, size] : axes)
    attrs.push_back(MeshAxisAttr::get(context, name, size));
  return MeshAttr::get(context, attrs);
}

/// The mesh that forced degrees describe, or a failure after a message.
static FailureOr<MeshAttr> getForcedMesh(ModuleOp module,
                                         const PlanOptions &options) {
  const ParallelDegrees &degrees = options.parallel;
  int64_t data = std::max<int64_t>(degrees.data, 1);
  int64_t tensor = std::max<int64_t>(degrees.tensor, 1);
  if (data * tensor > options.devices || options.devices % (data * tensor))
    return module.emitError("dp=")
           << data << " times tp=" << tensor << " is " << data * tensor
           << ", which does not divide the " << options.devices
           << " devices; change --parallel or --devices";
  SmallVector<std::pair<StringRef, int64_t>> axes;
  if (degrees.data)
    axes.emplace_back("data", data);
  if (data * tensor != options.devices) {
    if (degrees.data && degrees.tensor)
      return module.emitError("dp=")
             << data << " times tp=" << tensor << " is " << data * tensor
             << ", not the " << options.devices
             << " devices; change --parallel or --devices";
    axes.emplace_back("rest", options.devices / (data * tensor));
  }
  if (degrees.tensor)
    axes.emplace_back("tensor", tensor);
  return makeMesh(module.getContext(), axes);
}

LogicalResult pplan::declareMesh(ModuleOp module, const PlanOptions &options) {
  FailureOr<MeshAttr> mesh = getForcedMesh(module, options);
  if (failed(mesh))
    return failure();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  MeshOp::create(builder, module.getLoc(), "mesh", *mesh);
  return success();
}

/// Meshes to try, or a failure after a message.
static FailureOr<SmallVector<MeshAttr>>
getCandidateMeshes(ModuleOp module, const PlanOptions &options) {
  if (MeshOp given = lookupMesh(module, nullptr)) {
    if (given.getShape().getNumDevices() != options.devices)
      return given.emitOpError("has ")
             << given.getShape().getNumDevices() << " devices, but "
             << options.devices
             << " are asked for; change the mesh or --devices";
    return SmallVector<MeshAttr>{given.getShape()};
  }
  if (options.parallel.isForced()) {
    FailureOr<MeshAttr> mesh = getForcedMesh(module, options);
    if (failed(mesh))
      return failure();
    return SmallVector<MeshAttr>{*mesh};
  }
  return getFreeMeshes(module.getContext(), options.devices);
}

SmallVector<MeshAttr> pplan::getFreeMeshes(MLIRContext *context,
                                           int64_t devices) {
  static constexpr StringLiteral names[] = {"x", "y", "z"};
  SmallVector<MeshAttr> meshes;
  for (const MeshShape &shape : enumerateMeshes(devices, 3)) {
    SmallVector<std::pair<StringRef, int64_t>> axes;
    for (auto [index, size] : llvm::enumerate(shape.axes))
      axes.emplace_back(names[index], size);
    meshes.push_back(makeMesh(context, axes));
  }
  return meshes;
}

/// The function to plan: the only one with a body.
static FailureOr<func::FuncOp> getEntry(ModuleOp module) {
  func::FuncOp entry;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (entry) {
      auto diag = function.emitOpError("is a second function with a body; a "
                                       "module to plan has one");
      diag.attachNote(entry.getLoc()) << "the first is here";
      return diag;
    }
    entry = function;
  }
  if (!entry)
    return module.emitError("has no function to plan");
  if (!entry.getBody().hasOneBlock())
    return entry.emitOpError("has several blocks; a graph to plan has one");
  for (Operation &op : entry.getBody().front().without_terminator())
    if (!isa<ShardableOpInterface>(op) || op.getNumResults() == 0)
      return op.emitOpError("has no sharding rule; only operations of the "
                            "pplan dialect can be planned");
  for (Type type : entry.getArgumentTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() || !isCountable(tensor))
      return entry.emitOpError("has an argument of type ")
             << type
             << "; only tensors of static shape with at most 2^48 elements "
                "can be planned";
  }
  return entry;
}

LogicalResult pplan::checkGraph(ModuleOp module) { return getEntry(module); }

FailureOr<PlanSummary> pplan::planModule(ModuleOp module,
                                         const PlanOptions &options) {
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  if (options.devices < 1 || options.devices > (1 << 20))
    return module.emitError("cannot plan for ")
           << options.devices << " devices; 1 to 1048576 are possible";
  FailureOr<func::FuncOp> entry = getEntry(module);
  if (failed(entry))
    return failure();
  FailureOr<SmallVector<MeshAttr>> meshes = getCandidateMeshes(module, options);
  if (failed(meshes))
    return failure();
  CostModel model(options.cluster.withDevices(options.devices));

  std::unique_ptr<MeshPlan> best;
  double lowerBound = kInfiniteCost;
  for (auto [index, mesh] : llvm::enumerate(*meshes)) {
    // Each mesh may use its part of what is left.
    double left = (options.solver.timeoutSeconds - elapsed()) /
                  static_cast<double>(meshes->size() - index);
    if (best && left <= 0) {
      lowerBound = 0; // meshes that were not tried are not bounded
      break;
    }
    auto plan = std::make_unique<MeshPlan>(*entry, model, mesh, options);
    if (failed(plan->build()))
      return failure();
    if (llvm::Error error = plan->solve(std::max(left, 0.1)))
      return module.emitError("cannot solve the problem on mesh ")
             << mesh << ": " << llvm::toString(std::move(error));
    lowerBound = std::min(lowerBound, plan->getSolution().lowerBound);
    if (plan->getSolution().hasChoice() &&
        (!best ||
         plan->getSolution().objective < best->getSolution().objective))
      best = std::move(plan);
  }
  if (!best)
    return reportMisfit(*entry, *meshes, options);

  PlanSummary summary = best->summarise();
  summary.lowerBound = std::min(lowerBound, summary.stepTime);
  summary.gap = summary.stepTime > 0
                    ? (summary.stepTime - summary.lowerBound) / summary.stepTime
                    : 0;
  MeshOp meshOp = lookupMesh(module, nullptr);
  if (!meshOp) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    meshOp = MeshOp::create(builder, module.getLoc(), "mesh", best->getMesh());
  }
  best->apply(FlatSymbolRefAttr::get(meshOp.getSymNameAttr()),
              summary.reshards);
  llvm::stable_sort(summary.reshards,
                    [](const ReshardChoice &a, const ReshardChoice &b) {
                      return a.seconds > b.seconds;
                    });
  summary.searchTime = elapsed();
  module->setAttr(kPlanAttr, summary.toAttr(module.getContext()));
  return summary;
}
