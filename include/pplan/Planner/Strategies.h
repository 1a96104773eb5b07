//===- Strategies.h - What an operation may do on a mesh --------*- C++ -*-===//
//
// Enumerates the strategies of an operation (axes for its factors, sharding in
// which it hands on its result) and of a function argument, with their cost.
// Which one is taken is decided by the solver.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PLANNER_STRATEGIES_H
#define PPLAN_PLANNER_STRATEGIES_H

#include "pplan/Dialect/PPlan/PPlan.h"
#include "pplan/Planner/ReshardCost.h"
#include <vector>

namespace pplan {

/// One way to run an operation.
struct Strategy {
  FactorAxes axes;
  llvm::SmallVector<TensorSharding, 3> operands;
  /// As the operation leaves its results, and as they are handed on.
  llvm::SmallVector<TensorSharding, 1> naturals, results;
  double computeTime = 0;
  double reshardTime = 0; ///< from naturals to results
};

/// What restricts the strategies of a value.
struct ValueConstraint {
  ShardingAttr pinned;      ///< annotation; open dimensions may grow
  uint32_t forbidden = 0;   ///< axes that must not split it
  /// An axis that must split dimension `dim`, or any dimension when that is -1.
  struct Required {
    int8_t axis;
    int dim = -1;
  };
  llvm::SmallVector<Required, 2> required;
  bool isReturned = false;  ///< must not be handed on partial

  bool allows(const TensorSharding &sharding, MeshAttr mesh) const;
};

class StrategyEnumerator {
public:
  StrategyEnumerator(const CostModel &model, MeshAttr mesh);

  /// All strategies of an operation, dominated ones left out, under one
  /// constraint per result. Never empty unless the constraints exclude all.
  std::vector<Strategy>
  getOpStrategies(mlir::Operation *op,
                  llvm::ArrayRef<ValueConstraint> constraints);
  /// Shardings that a function argument may have.
  std::vector<TensorSharding>
  getArgumentShardings(mlir::RankedTensorType type,
                       const ValueConstraint &constraint);
  /// Every complete sharding of a shape without partial axes, axes of a
  /// dimension in mesh order; a dimension smaller than its parts is left out
  /// unless `small`.
  std::vector<TensorSharding> enumerateShardings(llvm::ArrayRef<int64_t> shape,
                                                 bool small = false) const;

  ReshardCost &getReshardCost() { return reshardCost; }

private:
  double getComputeTime(mlir::Operation *op, const ShardingRule &rule,
                        const Strategy &strategy);
  /// Ways to hand a result on that is made as `natural`, without those that the
  /// constraint forbids.
  std::vector<TensorSharding>
  getHandedOn(mlir::OpResult result, const TensorSharding &natural,
              const ValueConstraint &constraint);
  void addResultVariants(mlir::Operation *op, const Strategy &base,
                         llvm::ArrayRef<ValueConstraint> constraints,
                         std::vector<Strategy> &out);

  const CostModel &model;
  MeshAttr meshAttr;
  DeviceMesh mesh;
  ReshardCost reshardCost;
};

/// Bytes of one element in memory (i1 takes one).
int64_t getElementBytes(mlir::RankedTensorType type);
/// For messages: the factors that are split, e.g. `b:data k:tensor`.
std::string describeStrategy(mlir::Operation *op, const Strategy &strategy,
                             MeshAttr mesh);

} // namespace pplan

#endif // PPLAN_PLANNER_STRATEGIES_H
