//===- FactorChoice.cpp - Axes for the factors of one operation -----------===//
//
// See FactorChoice.h. Costs come from the reshard planner.
//
//===----------------------------------------------------------------------===//
#include "FactorChoice.h"

using namespace mlir;
using namespace pplan;

namespace {
class FactorChooser {
public:
  FactorChooser(Operation *op, const ShardingRule &rule,
                ArrayRef<TensorSharding> operands,
                ArrayRef<TensorSharding> results, ReshardPlanner &planner)
      : op(op), rule(rule), operands(operands), results(results),
        planner(planner), mesh(planner.getMesh()) {}

  FactorChoice run() {
    consider(FactorAxes(rule.factors.size()));
    size_t count = operands.size() + results.size();
    for (size_t first = 0; first < count; ++first) {
      FactorAxes axes(rule.factors.size());
      adopt(axes, first);
      consider(axes);
      for (size_t other = 0; other < count; ++other)
        adopt(axes, count - 1 - other);
      consider(axes);
    }
    // Fewer splits: remove factors one at a time while that helps.
    for (bool improved = true; improved;) {
      improved = false;
      for (size_t id = 0; id < rule.factors.size(); ++id) {
        if (best->axes[id].empty())
          continue;
        double before = best->bytes;
        FactorAxes axes = best->axes;
        axes[id].clear();
        consider(axes);
        improved |= best->bytes < before;
      }
    }
    return std::move(*best);
  }

private:
  const TensorFactors &getFactors(size_t tensor) const {
    return tensor < operands.size() ? rule.operands[tensor]
                                    : rule.results[tensor - operands.size()];
  }
  const TensorSharding &getAnnotation(size_t tensor) const {
    return tensor < operands.size() ? operands[tensor]
                                    : results[tensor - operands.size()];
  }

  /// Takes over the axes of one tensor, dimension by dimension, for factors
  /// that have none and with axes that are free.
  void adopt(FactorAxes &axes, size_t tensor) const {
    const TensorFactors &factors = getFactors(tensor);
    uint32_t used = 0;
    for (const AxisList &list : axes)
      for (int8_t axis : list)
        used |= 1u << axis;
    for (size_t dim = 0; dim < factors.size(); ++dim) {
      TensorSharding single = TensorSharding::getReplicated(factors.size());
      single.dims[dim] = getAnnotation(tensor).dims[dim];
      std::optional<FactorAxes> own =
          inferFactorAxes(rule, factors, single, mesh);
      // What does not fall on factors may do so with its major axes only.
      while (!own) {
        single.dims[dim].pop_back();
        own = inferFactorAxes(rule, factors, single, mesh);
      }
      for (int id : factors[dim]) {
        uint32_t wanted = 0;
        for (int8_t axis : (*own)[id])
          wanted |= 1u << axis;
        if (!axes[id].empty() || (wanted & used) ||
            rule.factors[id].kind == FactorKind::Replicated)
          continue;
        axes[id] = (*own)[id];
        used |= wanted;
      }
    }
  }

  double getBytes(Type type, const TensorSharding &from,
                  const TensorSharding &to) {
    auto tensor = cast<RankedTensorType>(type);
    return planner
        .get(tensor.getShape(), getElementBytes(tensor.getElementType()), from,
             to)
        .bytes;
  }

  /// Compares the choice with these axes to the best so far: with no partial
  /// sum passed on, with that of one operand, and with those of all operands
  /// that have it over the same axes.
  void consider(const FactorAxes &axes) {
    llvm::SmallBitVector none(operands.size());
    considerPassing(axes, none);
    auto passes = [&](size_t index) {
      return !operands[index].partial.empty() &&
             operands[index].partialKind == ReductionKind::Sum;
    };
    for (size_t index = 0; index < operands.size(); ++index) {
      if (!passes(index))
        continue;
      llvm::SmallBitVector single = none, alike = none;
      single.set(index);
      for (size_t other = 0; other < operands.size(); ++other)
        if (passes(other) && operands[other].partial == operands[index].partial)
          alike.set(other);
      considerPassing(axes, single);
      if (alike != single && alike.find_first() == static_cast<int>(index))
        considerPassing(axes, alike);
    }
  }

  void considerPassing(const FactorAxes &axes,
                       const llvm::SmallBitVector &passed) {
    if (passed.any() &&
        !cast<ShardableOpInterface>(op).passesPartialSums(passed))
      return;
    FactorChoice choice;
    choice.axes = axes;
    for (const TensorFactors &dims : rule.operands) {
      auto sharding = projectFactors(rule, dims, axes, mesh);
      if (!sharding)
        return;
      choice.operands.push_back(*sharding);
    }
    AxisList axesPassed;
    for (unsigned index : passed.set_bits()) {
      axesPassed = operands[index].partial;
      choice.operands[index].partial = axesPassed;
      choice.operands[index].partialKind = ReductionKind::Sum;
    }
    for (size_t index = 0; index < rule.results.size(); ++index) {
      auto sharding = projectResult(rule, index, axes, mesh);
      if (!sharding)
        return;
      llvm::append_range(sharding->partial, axesPassed);
      llvm::sort(sharding->partial);
      choice.results.push_back(*sharding);
    }
    if (!getCompatibleFactorAxes(op, rule, choice.operands, choice.results,
                                 mesh))
      return;
    for (size_t i = 0; i < operands.size(); ++i)
      choice.bytes += getBytes(op->getOperand(i).getType(), operands[i],
                               choice.operands[i]);
    for (size_t i = 0; i < results.size(); ++i)
      choice.bytes +=
          getBytes(op->getResult(i).getType(), choice.results[i], results[i]);
    if (!best || isBetter(choice))
      best = std::move(choice);
  }

  /// Fewer bytes; among equals, less work for each device.
  bool isBetter(const FactorChoice &choice) const {
    if (choice.bytes != best->bytes)
      return choice.bytes < best->bytes;
    auto getParts = [&](const FactorAxes &axes) {
      int64_t parts = 1;
      for (const AxisList &list : axes)
        parts *= mesh.getProduct(list);
      return parts;
    };
    return getParts(choice.axes) > getParts(best->axes);
  }

  Operation *op;
  const ShardingRule &rule;
  ArrayRef<TensorSharding> operands, results;
  ReshardPlanner &planner;
  const DeviceMesh &mesh;
  std::optional<FactorChoice> best;
};
} // namespace

FactorChoice pplan::chooseFactors(Operation *op, const ShardingRule &rule,
                                  ArrayRef<TensorSharding> operands,
                                  ArrayRef<TensorSharding> results,
                                  ReshardPlanner &planner) {
  return FactorChooser(op, rule, operands, results, planner).run();
}
