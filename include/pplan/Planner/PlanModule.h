//===- PlanModule.h - Plan a module and write the plan into it --*- C++ -*-===//
//
// The planner as a function: options in, shardings and a summary out. Which
// strategies there are is decided in Strategies.h, what they cost in
// ReshardCost.h and the cost model, and which is best by the solver.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PLANNER_PLANMODULE_H
#define PPLAN_PLANNER_PLANMODULE_H

#include "pplan/CostModel/ClusterDescription.h"
#include "pplan/Planner/Solver.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>
#include <vector>

namespace pplan {

/// Name of the module attribute that keeps the summary of a plan.
inline constexpr llvm::StringLiteral kPlanAttr = "pplan.plan";

/// Degrees that the user forces; 0 leaves one to the planner.
struct ParallelDegrees {
  int64_t data = 0;
  int64_t tensor = 0;
  /// ZeRO stage: 0 keeps optimizer state, gradients and parameters whole on
  /// every data-parallel device, 1 splits state, 2 gradients too, 3 parameters
  /// too (Rajbhandari et al., 2020). -1: the planner's choice.
  int64_t zero = -1;

  bool isForced() const { return data > 0 || tensor > 0; }
  /// Parses `dp=2,tp=4,zero=1`. The error names the unknown or malformed entry and
  /// lists those there are.
  static llvm::Expected<ParallelDegrees> parse(llvm::StringRef text);
};

struct PlanOptions {
  ClusterDescription cluster;
  int64_t devices = 1;
  ParallelDegrees parallel;
  SolverOptions solver;
  /// Bytes of each device's memory that the values of the graph must leave free:
  /// what the program was found to need beside them.
  int64_t reservedBytes = 0;

  /// Bytes of a device for the values of the graph.
  int64_t getUsableBytes() const {
    return cluster.device.memoryBytes - reservedBytes;
  }
};

/// What one operation was given, and what would have been second best.
struct OpChoice {
  std::string op;
  std::string location;
  std::string chosen;
  std::string second;   ///< empty when there is no other strategy
  double extraSeconds = 0; ///< what the second-best plan would cost more
};

/// A change of sharding that communicates.
struct ReshardChoice {
  std::string op; ///< operation whose operand or result is resharded
  std::string location;
  std::string type; ///< of the whole value
  std::string from, to;
  double seconds = 0; ///< predicted
};

/// Summary of a plan; all times in seconds of one step.
struct PlanSummary {
  std::string cluster;
  /// Fields of the cluster description that are estimates, not measurements.
  std::vector<std::string> estimated;
  std::vector<std::pair<std::string, int64_t>> mesh;
  double stepTime = 0;
  double computeTime = 0;
  double communicationTime = 0;
  double lowerBound = 0;
  double gap = 0;
  double searchTime = 0;
  double flopsPerDevice = 0;
  std::string algorithm;
  /// True when the memory of a device restricted the choice. Not kept in the
  /// attribute.
  bool isMemoryBound = false;
  std::vector<OpChoice> choices;
  std::vector<ReshardChoice> reshards; ///< dearest first

  /// The summary as the module attribute.
  mlir::DictionaryAttr toAttr(mlir::MLIRContext *context) const;
  /// Reads it back; none when `attr` is missing or not of that form.
  static std::optional<PlanSummary> get(mlir::ModuleOp module);
};

/// Declares the mesh of forced degrees (axes "data", "rest", "tensor") in a
/// module without one, so that pins can name its axes.
mlir::LogicalResult declareMesh(mlir::ModuleOp module,
                                const PlanOptions &options);

/// Reports what makes the module no graph to plan: other than one function with
/// a body, control flow, operations without a sharding rule, arguments that are
/// no tensors of static, countable shape.
mlir::LogicalResult checkGraph(mlir::ModuleOp module);

/// Plans the module in place. Reports and fails when constraints contradict
/// each other or no plan fits.
mlir::FailureOr<PlanSummary> planModule(mlir::ModuleOp module,
                                        const PlanOptions &options);

} // namespace pplan

#endif // PPLAN_PLANNER_PLANMODULE_H
