//===- Strategies.cpp - What an operation may do on a mesh ----------------===//
//
// Enumeration of strategies from sharding rules, and their compute time.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/Strategies.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>
#include <limits>
#include <map>
#include <set>

using namespace mlir;
using namespace pplan;

int64_t pplan::getElementBytes(RankedTensorType type) {
  unsigned bits = type.getElementTypeBitWidth();
  return bits < 8 ? 1 : bits / 8;
}

static double getLocalBytes(RankedTensorType type,
                            const TensorSharding &sharding,
                            const DeviceMesh &mesh) {
  double bytes = getElementBytes(type);
  for (int64_t size : getLocalShape(type.getShape(), sharding, mesh))
    bytes *= static_cast<double>(size);
  return bytes;
}

static DataType getDataType(Type element) {
  if (element.isF64())
    return DataType::F64;
  if (element.isBF16())
    return DataType::BF16;
  if (element.isF16())
    return DataType::F16;
  return DataType::F32;
}

bool ValueConstraint::allows(const TensorSharding &sharding,
                             MeshAttr mesh) const {
  auto isMet = [&](const Required &wanted) {
    for (auto [dim, axes] : llvm::enumerate(sharding.dims))
      if ((wanted.dim < 0 || wanted.dim == static_cast<int>(dim)) &&
          llvm::is_contained(axes, wanted.axis))
        return true;
    return false;
  };
  for (auto [dim, axes] : llvm::enumerate(sharding.dims))
    for (int8_t axis : axes)
      if (forbidden & (1u << axis))
        return false;
  if (!llvm::all_of(required, isMet) ||
      (isReturned && !sharding.partial.empty()))
    return false;
  if (!pinned)
    return true;
  TensorSharding wanted = TensorSharding::get(pinned, mesh);
  if (wanted.partial != sharding.partial)
    return false;
  for (auto [dim, axes] : llvm::enumerate(wanted.dims)) {
    const AxisList &have = sharding.dims[dim];
    bool open = pinned.getDims()[dim].getOpen();
    if (have.size() < axes.size() || (!open && have.size() != axes.size()) ||
        !std::equal(axes.begin(), axes.end(), have.begin()))
      return false;
  }
  return true;
}

StrategyEnumerator::StrategyEnumerator(const CostModel &model, MeshAttr mesh)
    : model(model), meshAttr(mesh), mesh(DeviceMesh::get(mesh)),
      reshardCost(model, this->mesh) {}

std::vector<TensorSharding>
StrategyEnumerator::enumerateShardings(ArrayRef<int64_t> shape,
                                       bool small) const {
  std::vector<TensorSharding> result = {
      TensorSharding::getReplicated(shape.size())};
  for (int8_t axis = 0; axis < static_cast<int8_t>(mesh.sizes.size()); ++axis) {
    size_t count = result.size();
    for (size_t i = 0; i < count; ++i)
      for (size_t dim = 0; dim < shape.size(); ++dim) {
        TensorSharding next = result[i];
        next.dims[dim].push_back(axis);
        if (mesh.sizes[axis] > 1 &&
            (small || shape[dim] >= mesh.getProduct(next.dims[dim])))
          result.push_back(next);
      }
  }
  return result;
}

std::vector<TensorSharding>
StrategyEnumerator::getArgumentShardings(RankedTensorType type,
                                         const ValueConstraint &constraint) {
  auto filter = [&](bool small) {
    std::vector<TensorSharding> all =
        enumerateShardings(type.getShape(), small);
    if (constraint.pinned)
      all.push_back(TensorSharding::get(constraint.pinned, meshAttr));
    llvm::erase_if(all, [&](const TensorSharding &sharding) {
      return !constraint.allows(sharding, meshAttr);
    });
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
  };
  std::vector<TensorSharding> result = filter(false);
  return result.empty() ? filter(true) : result;
}

double StrategyEnumerator::getComputeTime(Operation *op,
                                          const ShardingRule &rule,
                                          const Strategy &strategy) {
  auto shardable = cast<ShardableOpInterface>(op);
  double flops = shardable.getFlopsPerPoint();
  for (auto [id, factor] : llvm::enumerate(rule.factors))
    flops *=
        static_cast<double>(getLocalSize(factor.size, strategy.axes[id], mesh));
  double bytes = 0;
  for (auto [operand, sharding] :
       llvm::zip(op->getOperands(), strategy.operands))
    bytes += getLocalBytes(getTensorType(operand), sharding, mesh);
  for (auto [result, sharding] : llvm::zip(op->getResults(), strategy.naturals))
    bytes += getLocalBytes(getTensorType(result), sharding, mesh);
  auto type = getTensorType(op->getResult(0));
  // A gather reads the rows it takes, not the table.
  if (auto gather = dyn_cast<GatherOp>(op))
    bytes = 2 * getLocalBytes(type, strategy.naturals[0], mesh) +
            getLocalBytes(getTensorType(gather.getIndices()),
                          strategy.operands[1], mesh);
  if (op->getNumOperands() == 0 || isa<ReshapeOp>(op))
    return 0; // constants are made once; a reshape is a view
  std::optional<GemmShape> gemm;
  if (auto contract = dyn_cast<ContractOp>(op)) {
    gemm = GemmShape{};
    for (auto [id, factor] : llvm::enumerate(rule.factors)) {
      int64_t size = getLocalSize(factor.size, strategy.axes[id], mesh);
      int factorId = static_cast<int>(id);
      auto has = [&](const TensorFactors &dims) {
        return llvm::any_of(dims, [&](const DimFactors &dim) {
          return llvm::is_contained(dim, factorId);
        });
      };
      bool left = has(rule.operands[0]), right = has(rule.operands[1]);
      bool out = has(rule.results[0]);
      (left && right ? (out ? gemm->batch : gemm->k)
                     : (left ? gemm->m : gemm->n)) *= size;
    }
  }
  return model.computeTime(flops, bytes, getDataType(type.getElementType()),
                           gemm);
}

std::vector<TensorSharding>
StrategyEnumerator::getHandedOn(OpResult result, const TensorSharding &natural,
                                const ValueConstraint &constraint) {
  RankedTensorType type = getTensorType(result);
  std::set<TensorSharding> targets = {natural};
  // Ways out of a partial sum: each partial axis is reduced or scattered.
  std::vector<TensorSharding> resolved = {natural};
  for (int8_t axis : natural.partial) {
    std::vector<TensorSharding> next;
    for (TensorSharding sharding : resolved) {
      llvm::erase(sharding.partial, axis);
      next.push_back(sharding);
      for (size_t dim = 0; dim < sharding.dims.size(); ++dim) {
        TensorSharding scattered = sharding;
        scattered.dims[dim].push_back(axis);
        if (type.getDimSize(dim) >= mesh.getProduct(scattered.dims[dim]))
          next.push_back(scattered);
      }
    }
    resolved = std::move(next);
  }
  targets.insert(resolved.begin(), resolved.end());
  // Several users may share one gather.
  if (!result.hasOneUse() || constraint.isReturned)
    for (const TensorSharding &sharding : resolved)
      for (size_t dim = 0; dim < sharding.dims.size(); ++dim) {
        TensorSharding gathered = sharding;
        if (gathered.dims[dim].empty())
          continue;
        gathered.dims[dim].pop_back();
        targets.insert(gathered);
      }
  if (constraint.pinned)
    targets.insert(TensorSharding::get(constraint.pinned, meshAttr));
  std::vector<TensorSharding> allowed(targets.begin(), targets.end());
  llvm::erase_if(allowed, [&](const TensorSharding &target) {
    return !constraint.allows(target, meshAttr);
  });
  return allowed;
}

void StrategyEnumerator::addResultVariants(
    Operation *op, const Strategy &base, ArrayRef<ValueConstraint> constraints,
    std::vector<Strategy> &out) {
  std::vector<Strategy> variants = {base};
  for (auto [index, result] : llvm::enumerate(op->getResults())) {
    const TensorSharding &natural = base.naturals[index];
    RankedTensorType type = getTensorType(result);
    // The choices of several results would multiply; each user reshards then.
    std::vector<TensorSharding> targets =
        op->getNumResults() > 1 && constraints[index].allows(natural, meshAttr)
            ? std::vector<TensorSharding>{natural}
            : getHandedOn(result, natural, constraints[index]);
    std::vector<Strategy> next;
    for (const Strategy &variant : variants)
      for (const TensorSharding &target : targets) {
        Strategy strategy = variant;
        strategy.results[index] = target;
        strategy.reshardTime += reshardCost.getTime(
            type.getShape(), getElementBytes(type), natural, target);
        if (strategy.reshardTime < std::numeric_limits<double>::infinity())
          next.push_back(std::move(strategy));
      }
    variants = std::move(next);
  }
  std::move(variants.begin(), variants.end(), std::back_inserter(out));
}

namespace {
/// Gives each mesh axis to one factor of an operation, to a partial sum that
/// passes through, or to nothing, in all possible ways.
class AxisAssignment {
public:
  AxisAssignment(Operation *op, const DeviceMesh &mesh)
      : mesh(mesh),
        rule(cast<ShardableOpInterface>(op).getShardingRule()),
        axes(rule.factors.size()) {
    llvm::SmallBitVector all(op->getNumOperands(), true);
    passesPartial = op->getNumOperands() > 0 &&
                    cast<ShardableOpInterface>(op).passesPartialSums(all);
  }

  void forEach(llvm::function_ref<void()> visit) { assign(0, visit); }

  const ShardingRule &getRule() const { return rule; }
  const FactorAxes &getAxes() const { return axes; }
  /// Axes over which all operands, and so all results, are partial sums.
  const AxisList &getPassed() const { return passed; }

private:
  void assign(int8_t axis, llvm::function_ref<void()> visit) {
    if (axis == static_cast<int8_t>(mesh.sizes.size()))
      return visit();
    assign(axis + 1, visit);
    if (mesh.sizes[axis] == 1)
      return;
    if (passesPartial) {
      passed.push_back(axis);
      assign(axis + 1, visit);
      passed.pop_back();
    }
    for (auto [id, factor] : llvm::enumerate(rule.factors)) {
      if (factor.kind == FactorKind::Replicated ||
          factor.size < mesh.getProduct(axes[id]) * mesh.sizes[axis])
        continue;
      axes[id].push_back(axis);
      assign(axis + 1, visit);
      axes[id].pop_back();
    }
  }

  const DeviceMesh &mesh;
  ShardingRule rule;
  FactorAxes axes;
  AxisList passed;
  bool passesPartial = false;
};
} // namespace

/// Adds partial axes to a sharding; false where it has another reduction.
static bool addPartial(TensorSharding &sharding, const AxisList &axes) {
  if (axes.empty())
    return true;
  if (!sharding.partial.empty() && sharding.partialKind != ReductionKind::Sum)
    return false;
  sharding.partialKind = ReductionKind::Sum;
  llvm::append_range(sharding.partial, axes);
  llvm::sort(sharding.partial);
  return true;
}

std::vector<Strategy>
StrategyEnumerator::getOpStrategies(Operation *op,
                                    ArrayRef<ValueConstraint> constraints) {
  std::vector<Strategy> all;
  AxisAssignment assignment(op, mesh);
  const ShardingRule &rule = assignment.getRule();
  assignment.forEach([&] {
    Strategy strategy;
    strategy.axes = assignment.getAxes();
    for (const TensorFactors &dims : rule.operands) {
      std::optional<TensorSharding> sharding =
          projectFactors(rule, dims, strategy.axes, mesh);
      if (!sharding || !addPartial(*sharding, assignment.getPassed()))
        return;
      strategy.operands.push_back(*sharding);
    }
    for (unsigned index = 0; index < op->getNumResults(); ++index) {
      std::optional<TensorSharding> natural =
          projectResult(rule, index, strategy.axes, mesh);
      if (!natural || !addPartial(*natural, assignment.getPassed()))
        return;
      strategy.naturals.push_back(*natural);
    }
    strategy.results = strategy.naturals;
    strategy.computeTime = getComputeTime(op, rule, strategy);
    addResultVariants(op, strategy, constraints, all);
  });

  // Of strategies that look alike from outside only the cheapest counts.
  using Shardings = std::vector<TensorSharding>;
  std::map<std::pair<Shardings, Shardings>, size_t> best;
  std::vector<Strategy> kept;
  for (Strategy &strategy : all) {
    Shardings operands(strategy.operands.begin(), strategy.operands.end());
    Shardings results(strategy.results.begin(), strategy.results.end());
    auto [entry, isNew] = best.try_emplace(
        {std::move(operands), std::move(results)}, kept.size());
    if (isNew) {
      kept.push_back(std::move(strategy));
      continue;
    }
    Strategy &old = kept[entry->second];
    if (strategy.computeTime + strategy.reshardTime <
        old.computeTime + old.reshardTime)
      old = std::move(strategy);
  }
  return kept;
}

std::string pplan::describeStrategy(Operation *op, const Strategy &strategy,
                                    MeshAttr mesh) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(llvm::zip(strategy.naturals, strategy.results), os,
                        [&](auto pair) {
                          auto [natural, result] = pair;
                          os << natural.str(mesh);
                          if (result != natural)
                            os << " then " << result.str(mesh);
                        });
  return text;
}
