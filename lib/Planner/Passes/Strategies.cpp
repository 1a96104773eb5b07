//===- Strategies.cpp - What an operation may do on a mesh ----------------===//
//
// Enumeration of strategies from sharding rules, and their compute time.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/Strategies.h"
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
  bool forcedMet = forcedAxis < 0;
  for (auto [dim, axes] : llvm::enumerate(sharding.dims))
    for (int8_t axis : axes) {
      if (forbidden & (1u << axis))
        return false;
      if (axis == forcedAxis &&
          (forcedDim < 0 || forcedDim == static_cast<int>(dim)))
        forcedMet = true;
    }
  if (!forcedMet || (isReturned && !sharding.partial.empty()))
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
  auto type = getTensorType(op->getResult(0));
  bytes += getLocalBytes(type, strategy.natural, mesh);
  // A gather reads the rows it takes, not the table.
  if (auto gather = dyn_cast<GatherOp>(op))
    bytes = 2 * getLocalBytes(type, strategy.natural, mesh) +
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

void StrategyEnumerator::addResultVariants(Operation *op, const Strategy &base,
                                           unsigned numUses,
                                           const ValueConstraint &constraint,
                                           std::vector<Strategy> &out) {
  auto type = getTensorType(op->getResult(0));
  std::set<TensorSharding> targets = {base.natural};
  // Ways out of a partial sum: each partial axis is reduced or scattered.
  std::vector<TensorSharding> resolved = {base.natural};
  for (int8_t axis : base.natural.partial) {
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
  if (numUses > 1 || constraint.isReturned)
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
  for (const TensorSharding &target : targets) {
    if (!constraint.allows(target, meshAttr))
      continue;
    Strategy strategy = base;
    strategy.result = target;
    strategy.reshardTime = reshardCost.getTime(
        type.getShape(), getElementBytes(type), base.natural, target);
    if (strategy.reshardTime < std::numeric_limits<double>::infinity())
      out.push_back(std::move(strategy));
  }
}

std::vector<Strategy>
StrategyEnumerator::getOpStrategies(Operation *op, unsigned numUses,
                                    const ValueConstraint &constraint) {
  ShardingRule rule = cast<ShardableOpInterface>(op).getShardingRule();
  std::vector<Strategy> all;
  FactorAxes axes(rule.factors.size());
  auto addCurrent = [&] {
    Strategy strategy;
    strategy.axes = axes;
    for (const TensorFactors &dims : rule.operands) {
      std::optional<TensorSharding> sharding =
          projectFactors(rule, dims, axes, mesh);
      if (!sharding)
        return;
      strategy.operands.push_back(*sharding);
    }
    std::optional<TensorSharding> natural = projectResult(rule, 0, axes, mesh);
    if (!natural)
      return;
    strategy.natural = *natural;
    strategy.computeTime = getComputeTime(op, rule, strategy);
    addResultVariants(op, strategy, numUses, constraint, all);
  };
  // Every axis goes to one factor or to none.
  std::function<void(int8_t)> assign = [&](int8_t axis) {
    if (axis == static_cast<int8_t>(mesh.sizes.size()))
      return addCurrent();
    assign(axis + 1);
    if (mesh.sizes[axis] == 1)
      return;
    for (auto [id, factor] : llvm::enumerate(rule.factors)) {
      if (factor.kind == FactorKind::Replicated ||
          factor.size < mesh.getProduct(axes[id]) * mesh.sizes[axis])
        continue;
      axes[id].push_back(axis);
      assign(axis + 1);
      axes[id].pop_back();
    }
  };
  assign(0);

  // Of strategies that look alike from outside only the cheapest counts.
  std::map<std::pair<std::vector<TensorSharding>, TensorSharding>, size_t> best;
  std::vector<Strategy> kept;
  for (Strategy &strategy : all) {
    std::vector<TensorSharding> operands(strategy.operands.begin(),
                                         strategy.operands.end());
    auto [entry, isNew] =
        best.try_emplace({std::move(operands), strategy.result}, kept.size());
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
  os << strategy.natural.str(mesh);
  if (strategy.result != strategy.natural)
    os << " then " << strategy.result.str(mesh);
  return text;
}
