//===- PropagateShardings.cpp - Extend partial annotations ----------------===//
//
// Spreads the axes of annotated values over the factors they share with others
// until nothing changes. Values that no annotation reaches are the planner's.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/Passes.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"
#include <set>

using namespace mlir;
using namespace pplan;

namespace pplan {
#define GEN_PASS_DEF_PROPAGATESHARDINGS
#include "pplan/Planner/Passes.h.inc"
} // namespace pplan

namespace {
struct PropagateShardingsPass
    : pplan::impl::PropagateShardingsBase<PropagateShardingsPass> {
  void runOnOperation() override;

private:
  bool visit(ShardableOpInterface op);
  bool assign(Value value, const TensorSharding &sharding);
  void warnConflict(Operation *op, int factor, Value first, Value second);

  MeshAttr mesh;
  FlatSymbolRefAttr meshName;
  std::set<std::pair<Operation *, int>> reported;
};
} // namespace

void PropagateShardingsPass::warnConflict(Operation *op, int factor,
                                          Value first, Value second) {
  if (!reported.insert({op, factor}).second)
    return;
  auto diag = op->emitWarning("annotations want different axes for one factor "
                              "of this operation; the first is kept");
  diag.attachNote(first.getLoc()) << "one is " << getSharding(first);
  diag.attachNote(second.getLoc()) << "the other is " << getSharding(second);
}

/// Extends the sharding of a value where it is absent or open.
bool PropagateShardingsPass::assign(Value value,
                                    const TensorSharding &sharding) {
  ShardingAttr old = getSharding(value);
  MLIRContext *context = value.getContext();
  if (!old) {
    if (sharding.isReplicated())
      return false;
    // Leave every dimension open: others may still extend it.
    ShardingAttr closed = sharding.toAttr(meshName, mesh);
    SmallVector<DimShardingAttr> dims;
    for (DimShardingAttr dim : closed.getDims())
      dims.push_back(DimShardingAttr::get(context, dim.getAxes(), true));
    setSharding(value, ShardingAttr::get(context, meshName, dims, {},
                                         ReductionKind::Sum));
    return true;
  }
  TensorSharding have = TensorSharding::get(old, mesh);
  uint32_t used = have.getAxisMask();
  SmallVector<DimShardingAttr> dims(old.getDims());
  bool changed = false;
  for (auto [dim, axes] : llvm::enumerate(sharding.dims)) {
    if (!dims[dim].getOpen() || axes.size() <= have.dims[dim].size() ||
        !std::equal(have.dims[dim].begin(), have.dims[dim].end(),
                    axes.begin()))
      continue;
    SmallVector<StringAttr> names(dims[dim].getAxes());
    bool fits = true;
    for (int8_t axis :
         ArrayRef<int8_t>(axes).drop_front(have.dims[dim].size())) {
      fits &= !(used & (1u << axis));
      used |= 1u << axis;
      names.push_back(
          StringAttr::get(context, mesh.getAxes()[axis].getName()));
    }
    if (!fits)
      continue;
    dims[dim] = DimShardingAttr::get(context, names, true);
    changed = true;
  }
  if (changed)
    setSharding(value,
                ShardingAttr::get(context, old.getMesh(), dims,
                                  old.getPartialAxes(), old.getPartialKind()));
  return changed;
}

bool PropagateShardingsPass::visit(ShardableOpInterface op) {
  if (isa<ReshardOp>(op))
    return false; // a reshard is where propagation ends
  ShardingRule rule = op.getShardingRule();
  DeviceMesh shape = DeviceMesh::get(mesh);
  SmallVector<std::pair<Value, const TensorFactors *>> tensors;
  for (auto [operand, dims] : llvm::zip(op->getOperands(), rule.operands))
    tensors.emplace_back(operand, &dims);
  for (auto [result, dims] : llvm::zip(op->getResults(), rule.results))
    tensors.emplace_back(result, &dims);

  // The longest list of axes that an annotation gives each factor.
  FactorAxes axes(rule.factors.size());
  SmallVector<Value> source(rule.factors.size());
  for (auto [value, dims] : tensors) {
    ShardingAttr sharding = getSharding(value);
    if (!sharding)
      continue;
    std::optional<FactorAxes> own = inferFactorAxes(
        rule, *dims, TensorSharding::get(sharding, mesh), shape);
    if (!own)
      continue;
    for (auto [id, list] : llvm::enumerate(*own)) {
      size_t common = std::min(list.size(), axes[id].size());
      if (!std::equal(list.begin(), list.begin() + common, axes[id].begin())) {
        warnConflict(op, id, source[id], value);
        continue;
      }
      if (list.size() > axes[id].size()) {
        axes[id] = list;
        source[id] = value;
      }
    }
  }
  // An axis goes to one factor: the first that has it.
  uint32_t used = 0;
  for (auto [id, list] : llvm::enumerate(axes)) {
    auto taken = llvm::find_if(
        list, [&](int8_t axis) { return used & (1u << axis); });
    list.erase(taken, list.end());
    for (int8_t axis : list)
      used |= 1u << axis;
    if (rule.factors[id].kind == FactorKind::Replicated)
      list.clear();
  }
  bool changed = false;
  for (auto [value, dims] : tensors)
    if (std::optional<TensorSharding> sharding =
            projectFactors(rule, *dims, axes, shape))
      changed |= assign(value, *sharding);
  return changed;
}

void PropagateShardingsPass::runOnOperation() {
  MeshOp meshOp = lookupMesh(getOperation(), nullptr);
  if (!meshOp)
    return; // nothing can be annotated
  mesh = meshOp.getShape();
  meshName = FlatSymbolRefAttr::get(meshOp.getSymNameAttr());
  SmallVector<ShardableOpInterface> ops;
  getOperation().walk([&](ShardableOpInterface op) { ops.push_back(op); });
  // Each round extends some list of axes, of which there are finitely many.
  bool changed = true;
  while (changed) {
    changed = false;
    for (ShardableOpInterface op : ops)
      changed |= visit(op);
    for (ShardableOpInterface op : llvm::reverse(ops))
      changed |= visit(op);
  }
}
