//===- ReshardPlan.h - The steps that change a sharding ---------*- C++ -*-===//
//
// Decides which collectives and slices turn one sharding of a tensor into
// another, and how many bytes that moves. Works on plain data; EmitReshard
// writes the steps as operations.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PARTITION_RESHARDPLAN_H
#define PPLAN_PARTITION_RESHARDPLAN_H

#include "pplan/Dialect/PPlan/ShardingRule.h"
#include <map>

namespace pplan {

/// What one step of a reshard does.
enum class ReshardKind {
  Slice,         ///< add axes at the minor end of a dimension; no messages
  MakePartial,   ///< first device keeps the value, others the neutral element
  AllGather,     ///< remove axes from the minor end of a dimension
  AllReduce,     ///< complete the sum (or max, ...) over partial axes
  ReduceScatter, ///< partial axes become minor axes of a dimension
  AllToAll,      ///< minor axes of one dimension move to the end of another
  Permute,       ///< devices exchange whole parts
};

/// One step. `axes` is the group, in group order.
struct ReshardStep {
  ReshardKind kind = ReshardKind::Slice;
  AxisList axes;
  int dim = -1;   ///< gathered, scattered, sliced or concatenated dimension
  int toDim = -1; ///< dimension that AllToAll splits
  ReductionKind reduction = ReductionKind::Sum;
  llvm::SmallVector<int64_t> targets; ///< of Permute
  TensorSharding after;               ///< the sharding when the step is done
  double bytes = 0;                   ///< received by each device
};

/// A sequence of steps and the bytes that each device receives in total.
struct ReshardPlan {
  std::vector<ReshardStep> steps;
  double bytes = 0;
};

/// The sharding without axes of size 1, which split nothing.
TensorSharding dropTrivialAxes(const TensorSharding &sharding,
                               const DeviceMesh &mesh);

/// True when the nested parts of a dimension of size `n` over `axes` lie at the
/// offsets index * size that a single group in row-major order gives. One
/// collective can then treat all the axes as one.
bool isFlat(int64_t n, llvm::ArrayRef<int8_t> axes, const DeviceMesh &mesh);

/// Targets of the permutation over `axes` (group in that order) that turns
/// parts laid out by `from` into parts laid out by `to`; none if there is no
/// such permutation. The shardings have equal local shapes.
std::optional<llvm::SmallVector<int64_t>>
getPermutation(llvm::ArrayRef<int64_t> shape, const TensorSharding &from,
               const TensorSharding &to, llvm::ArrayRef<int8_t> axes,
               const DeviceMesh &mesh);

/// True when sending the part of group member i to member targets[i] turns
/// parts laid out by `from` into parts laid out by `to`.
bool arePermutedBlocks(llvm::ArrayRef<int64_t> shape,
                       const TensorSharding &from, const TensorSharding &to,
                       llvm::ArrayRef<int8_t> axes,
                       llvm::ArrayRef<int64_t> targets, const DeviceMesh &mesh);

/// Finds the plan with the fewest bytes, then the fewest steps, among those
/// that the moves of ReshardPlan.cpp can make. Always succeeds. `shape` is
/// global. Shardings are taken without trivial axes.
ReshardPlan planReshard(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                        const TensorSharding &from, const TensorSharding &to,
                        const DeviceMesh &mesh);

/// Remembers plans: a model asks for the same few again and again.
class ReshardPlanner {
public:
  explicit ReshardPlanner(DeviceMesh mesh) : mesh(std::move(mesh)) {}
  const ReshardPlan &get(llvm::ArrayRef<int64_t> shape, int64_t elementBytes,
                         const TensorSharding &from, const TensorSharding &to);
  const DeviceMesh &getMesh() const { return mesh; }

private:
  struct Key {
    std::vector<int64_t> shape;
    TensorSharding from, to;
    bool operator<(const Key &other) const;
  };
  DeviceMesh mesh;
  std::map<Key, ReshardPlan> plans;
};

} // namespace pplan

#endif // PPLAN_PARTITION_RESHARDPLAN_H
