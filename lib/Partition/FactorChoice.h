//===- FactorChoice.h - Axes for the factors of one operation ---*- C++ -*-===//
//
// Private to the partition phase. Decides, for one operation whose annotations
// do not fit its sharding rule, how its factors are split.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_PARTITION_FACTORCHOICE_H
#define PPLAN_LIB_PARTITION_FACTORCHOICE_H

#include "ProgramMesh.h"
#include "pplan/Partition/ReshardPlan.h"

namespace pplan {

/// Shardings with which an operation runs, and what getting there costs.
struct FactorChoice {
  FactorAxes axes;
  llvm::SmallVector<TensorSharding> operands;
  llvm::SmallVector<TensorSharding> results;
  double bytes = 0; ///< received by a device in the reshards around it
};

/// The cheapest choice found for `op`, whose values have the given shardings.
/// Candidates are the annotations of the result and of each operand, extended
/// by the others where they leave factors free, and each of those with fewer
/// factors split. Never fails: splitting nothing is a candidate.
FactorChoice chooseFactors(mlir::Operation *op, const ShardingRule &rule,
                           llvm::ArrayRef<TensorSharding> operands,
                           llvm::ArrayRef<TensorSharding> results,
                           ReshardPlanner &planner);

} // namespace pplan

#endif // PPLAN_LIB_PARTITION_FACTORCHOICE_H
