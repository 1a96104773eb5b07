//===- Misfit.cpp - What is said when no plan fits ------------------------===//
//
// Bounds the memory of every mesh from below, looks for the smallest plan and
// for a number of devices that is enough. Only what has been planned is
// recommended.
//
//===----------------------------------------------------------------------===//
#include "MeshPlan.h"
#include <algorithm>
#include <chrono>

using namespace mlir;
using namespace pplan;

MemoryBound MeshPlan::boundMemory() {
  struct Usage {
    Value value;
    int64_t first, last, bytes;
  };
  std::vector<Usage> usages;
  std::vector<std::pair<int64_t, int64_t>> changes; // (time, bytes)
  forEachUsage([&](unsigned, Value value, int64_t first, int64_t last,
                   std::vector<int64_t> bytes) {
    int64_t least = *std::min_element(bytes.begin(), bytes.end());
    usages.push_back({value, first, last, least});
    changes.emplace_back(first, least);
    changes.emplace_back(last, -least);
  });
  // Ends sort before starts at the same time: their bytes are negative.
  std::sort(changes.begin(), changes.end());
  MemoryBound bound;
  int64_t now = 0, worst = 0;
  for (auto [time, bytes] : changes) {
    now += bytes;
    if (now > bound.bytes) {
      bound.bytes = now;
      worst = time;
    }
  }
  for (const Usage &usage : usages) {
    if (usage.first > worst || usage.last <= worst)
      continue;
    bound.alive.emplace_back(usage.value, usage.bytes);
    if (isParameter(usage.value))
      bound.paramBytes += usage.bytes;
  }
  llvm::stable_sort(bound.alive, [](const auto &a, const auto &b) {
    return a.second > b.second;
  });
  return bound;
}

int64_t MeshPlan::getPeakMemory() {
  std::vector<std::pair<int64_t, int64_t>> changes;
  forEachUsage([&](unsigned node, Value, int64_t first, int64_t last,
                   std::vector<int64_t> bytes) {
    int64_t size = bytes[solution.choice[node]];
    changes.emplace_back(first, size);
    changes.emplace_back(last, -size);
  });
  std::sort(changes.begin(), changes.end());
  int64_t now = 0, peak = 0;
  for (auto [time, bytes] : changes)
    peak = std::max(peak, now += bytes);
  return peak;
}

namespace {
/// Looks for what would fit, for as long as it may.
class Remedies {
public:
  Remedies(func::FuncOp function, const PlanOptions &options)
      : function(function), options(options),
        end(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                               std::chrono::duration<double>(std::min(
                                   options.solver.timeoutSeconds, 20.0)))) {}

  /// Peak of a plan for so many devices with so much memory each; none when
  /// no mesh has one, or none was found in time.
  std::optional<int64_t> findPeak(ArrayRef<MeshAttr> meshes, int64_t devices,
                                  int64_t memory) {
    PlanOptions changed = options;
    changed.cluster.device.memoryBytes = memory + options.reservedBytes;
    CostModel model(changed.cluster.withDevices(devices));
    for (MeshAttr mesh : meshes) {
      double left = std::chrono::duration<double>(end - Clock::now()).count();
      if (left <= 0)
        return std::nullopt;
      MeshPlan plan(function, model, mesh, changed);
      if (failed(plan.build()) || plan.boundMemory().bytes > memory)
        continue;
      if (llvm::Error error = plan.solve(std::min(left, 2.0))) {
        llvm::consumeError(std::move(error));
        continue;
      }
      if (plan.getSolution().hasChoice())
        return plan.getPeakMemory();
    }
    return std::nullopt;
  }

private:
  using Clock = std::chrono::steady_clock;
  func::FuncOp function;
  const PlanOptions &options;
  Clock::time_point end;
};
} // namespace

static std::string nameValue(Value value) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto function = cast<func::FuncOp>(argument.getOwner()->getParentOp());
    for (auto [attr, kind] :
         {std::pair(kParamAttr, "parameter"), std::pair(kInputAttr, "input")})
      if (auto name = function.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), attr)) {
        os << kind << " '" << name.getValue() << "'";
        return text;
      }
    os << "argument " << argument.getArgNumber();
    return text;
  }
  os << "result of " << value.getDefiningOp()->getName() << " at "
     << getLocationText(value.getLoc());
  return text;
}

LogicalResult pplan::reportMisfit(func::FuncOp function,
                                  ArrayRef<MeshAttr> meshes,
                                  const PlanOptions &options) {
  int64_t memory = options.getUsableBytes();
  CostModel model(options.cluster.withDevices(options.devices));
  MemoryBound least;
  MeshAttr leastMesh;
  for (MeshAttr mesh : meshes) {
    MeshPlan plan(function, model, mesh, options);
    if (failed(plan.build()))
      return failure();
    MemoryBound bound = plan.boundMemory();
    if (leastMesh && bound.bytes >= least.bytes)
      continue;
    least = std::move(bound);
    leastMesh = mesh;
  }
  Remedies remedies(function, options);
  std::optional<int64_t> smallest;
  for (double factor : {1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0})
    if ((smallest = remedies.findPeak(
             leastMesh, options.devices,
             static_cast<int64_t>(
                 static_cast<double>(std::max(least.bytes, memory)) * factor))))
      break;

  auto diag = function.emitError("no plan for ")
              << options.devices
              << (options.devices == 1 ? " device" : " devices") << " of "
              << options.cluster.name << " fits into the "
              << options.cluster.device.memoryBytes << " bytes of a device";
  if (options.reservedBytes > 0)
    diag << ", of which the program needs " << options.reservedBytes
         << " beside the values of the graph";
  diag << ": ";
  if (smallest)
    diag << "the smallest found keeps " << *smallest << " bytes per device";
  else
    diag << "each keeps at least " << least.bytes << " bytes per device";
  diag << ", parameters at least " << least.paramBytes << " of them";
  for (const auto &[value, bytes] : ArrayRef(least.alive).take_front(3))
    diag.attachNote(value.getLoc()) << nameValue(value) << " takes at least "
                                    << bytes << " bytes on each device";

  Diagnostic &remedy = diag.attachNote(function.getLoc());
  bool isFixed = options.parallel.isForced() ||
                 lookupMesh(function->getParentOfType<ModuleOp>(), nullptr);
  int64_t available = options.cluster.numDevices(), enough = 0;
  if (!isFixed)
    for (int64_t devices = options.devices * 2; !enough && devices <= available;
         devices *= 2)
      if (remedies.findPeak(getFreeMeshes(function.getContext(), devices),
                            devices, memory))
        enough = devices;
  if (enough)
    remedy << "with --devices " << enough << " there is a plan that fits";
  else if (isFixed)
    remedy << "the mesh is fixed; without --parallel and without a mesh in the "
              "model, values may be split over all devices";
  else
    remedy << "no number of devices that was tried, up to the " << available
           << " of the cluster, is enough";
  if (least.paramBytes <= memory)
    remedy << "; a smaller batch or length lessens all but the parameters";
  else
    remedy << "; a smaller batch does not help, as parameters alone do not fit";
  return failure();
}
