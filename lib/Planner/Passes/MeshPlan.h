//===- MeshPlan.h - The problem of a function on one mesh -------*- C++ -*-===//
//
// Private to the planner. Builds the intra-operator problem of a function on a
// mesh and writes a solution back; which meshes are tried, and what is said
// when nothing fits, is decided elsewhere.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_PLANNER_MESHPLAN_H
#define PPLAN_LIB_PLANNER_MESHPLAN_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pplan/Planner/PlanModule.h"
#include "pplan/Planner/Strategies.h"
#include "llvm/ADT/DenseMap.h"

namespace pplan {

/// The least memory of a device at the worst moment, when every value alive
/// then is split as far as it can be.
struct MemoryBound {
  int64_t bytes = 0;
  int64_t paramBytes = 0; ///< of them in parameters
  /// What is alive then and its bytes, largest first.
  std::vector<std::pair<mlir::Value, int64_t>> alive;
};

/// The problem of one function on one mesh, and the way back from its nodes.
class MeshPlan {
public:
  MeshPlan(mlir::func::FuncOp function, const CostModel &model, MeshAttr mesh,
           const PlanOptions &options)
      : function(function), model(model), mesh(mesh), options(options),
        strategies(model, mesh) {}

  /// Fails after a message when a value has no strategy left.
  mlir::LogicalResult build();
  llvm::Error solve(double timeout);
  /// Writes the solution into the function and tells the reshards made.
  void apply(mlir::FlatSymbolRefAttr meshName,
             std::vector<ReshardChoice> &made);
  PlanSummary summarise();
  /// What no choice of shardings on this mesh can stay below.
  MemoryBound boundMemory();
  /// Bytes alive on a device at the peak of the solution.
  int64_t getPeakMemory();

  const IntraOpSolution &getSolution() const { return solution; }
  MeshAttr getMesh() const { return mesh; }

private:
  /// An argument, or an operation with all its results.
  struct Node {
    llvm::SmallVector<mlir::Value, 1> values;
    std::vector<Strategy> strategies; ///< for an operation
    /// In which each value is handed on, one per strategy.
    llvm::SmallVector<std::vector<TensorSharding>, 1> shardings;

    mlir::Operation *getOp() const { return values[0].getDefiningOp(); }
  };
  /// A value that is one of a node's.
  struct NodeValue {
    unsigned node, index;
  };

  ValueConstraint getConstraint(mlir::Value value);
  void forceParallel(mlir::Value value, ValueConstraint &constraint);
  bool needsNode(mlir::ValueRange values,
                 llvm::ArrayRef<ValueConstraint> constraints);
  /// Mesh axes over which a value may be a partial sum.
  uint32_t getPartialAxes(mlir::Value value);
  /// Makes a node of values with one owner, if they need one.
  mlir::LogicalResult visit(mlir::ValueRange values);
  mlir::LogicalResult addNode(mlir::ValueRange values,
                              llvm::ArrayRef<ValueConstraint> constraints);
  /// Adds the cost of bringing `value` to what each strategy of the other node
  /// wants, `repeats` times a step.
  void addEdge(mlir::Value value, unsigned consumer,
               llvm::function_ref<const TensorSharding &(unsigned)> getWanted,
               double repeats, bool isUpdate);
  /// What is updated ends as it began.
  void addUpdateEdges();
  /// Times that an operation runs in a step.
  double getRepeats(mlir::Operation *op);
  void addUsages();
  /// Calls `visit(node, value, first, last, bytes)` for each value of each
  /// node, with its lifetime and the bytes of each of its shardings.
  void forEachUsage(
      llvm::function_ref<void(unsigned, mlir::Value, int64_t, int64_t,
                              std::vector<int64_t>)>
          visit);
  bool memoryMayBind();
  double getEdgeTime(mlir::Value value, const TensorSharding &from,
                     const TensorSharding &to, bool isUpdate);
  const Strategy &getChosen(mlir::Operation *op) {
    unsigned node = nodeOf.find(op->getResult(0))->second.node;
    return nodes[node].strategies[solution.choice[node]];
  }
  const TensorSharding &getChosenSharding(NodeValue value) {
    return nodes[value.node]
        .shardings[value.index][solution.choice[value.node]];
  }

  mlir::func::FuncOp function;
  const CostModel &model;
  MeshAttr mesh;
  const PlanOptions &options;
  StrategyEnumerator strategies;
  IntraOpProblem problem;
  std::vector<Node> nodes;
  llvm::DenseMap<mlir::Value, NodeValue> nodeOf;
  IntraOpSolution solution;
  uint32_t forcedAxes = 0;
  bool trackMemory = false;
};

/// Where an operation comes from, for people: the name of the model's layer,
/// else the place in the file.
std::string getLocationText(mlir::Location loc);
/// The sharding that the function's signature gives one of its results.
ShardingAttr getResultPin(mlir::OpOperand &use);
/// True for an argument that is a parameter of the model.
bool isParameter(mlir::Value value);
/// True for an argument that lives from step to step: a parameter or state.
bool isPersistent(mlir::Value value);
/// The argument whose new value this use returns, or null.
mlir::BlockArgument getUpdated(mlir::OpOperand &use);
/// Says why no plan fits into the memory of a device, what takes the most of
/// it, and what would help; the helpful number of devices has been planned.
mlir::LogicalResult reportMisfit(mlir::func::FuncOp function,
                                 llvm::ArrayRef<MeshAttr> meshes,
                                 const PlanOptions &options);
/// Meshes that a planner may try for so many devices.
llvm::SmallVector<MeshAttr> getFreeMeshes(mlir::MLIRContext *context,
                                          int64_t devices);
/// True for a value without cost that every user may have as it likes.
bool isFree(mlir::Value value);

} // namespace pplan

#endif // PPLAN_LIB_PLANNER_MESHPLAN_H
