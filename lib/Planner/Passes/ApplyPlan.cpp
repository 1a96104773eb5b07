//===- ApplyPlan.cpp - Write a solution into the IR and sum it up ---------===//
//
// Shardings on every value, a pplan.reshard wherever a sharding changes, and
// the summary that explains the plan.
//
//===----------------------------------------------------------------------===//
#include "MeshPlan.h"
#include "mlir/IR/Builders.h"
#include <map>
#include <tuple>

using namespace mlir;
using namespace pplan;

std::string pplan::getLocationText(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location inner : fused.getLocations())
      if (isa<NameLoc>(inner))
        return getLocationText(inner);
  std::string text;
  llvm::raw_string_ostream os(text);
  loc.print(os);
  return text;
}

void MeshPlan::apply(FlatSymbolRefAttr meshName,
                     std::vector<ReshardChoice> &made) {
  OpBuilder builder(function.getContext());
  auto attr = [&](const TensorSharding &sharding) {
    return sharding.toAttr(meshName, mesh);
  };
  // What each value is handed on as, and the reshards of it made so far.
  llvm::DenseMap<Value, TensorSharding> handed;
  std::map<std::tuple<void *, TensorSharding, void *>, Value> reshards;
  // With ZeRO-3 a parameter is gathered anew in each phase, so that the whole of
  // it is not kept from the forward pass to the backward pass.
  auto getSharingPhase = [&](Value value, Operation *cause) -> Attribute {
    return isParameter(value) && options.parallel.zero == 3
               ? cause->getAttr(kPhaseAttr)
               : Attribute();
  };
  auto makeReshard = [&](Value value, const TensorSharding &from,
                         const TensorSharding &to, Operation *cause) {
    RankedTensorType type = getTensorType(value);
    double seconds = strategies.getReshardCost().getTime(
        type.getShape(), getElementBytes(type), from, to);
    if (seconds > 0) {
      std::string text;
      llvm::raw_string_ostream(text) << type;
      made.push_back({cause->getName().getStringRef().str(),
                      getLocationText(cause->getLoc()), std::move(text),
                      from.str(mesh), to.str(mesh), seconds});
    }
    Value result = ReshardOp::create(builder, value.getLoc(), value);
    setSharding(result, attr(to));
    if (Attribute phase = getSharingPhase(value, cause))
      result.getDefiningOp()->setAttr(kPhaseAttr, phase);
    return result;
  };
  auto getOperand = [&](Value value, const TensorSharding &want,
                        Operation *user) -> Value {
    bool canChoose = !nodeOf.count(value) &&
                     (isFree(value) || isParameter(value)) && value.hasOneUse();
    if (canChoose)
      handed[value] = want;
    auto [have, isNew] = handed.try_emplace(
        value, TensorSharding::getReplicated(getTensorType(value).getRank()));
    setSharding(value, attr(have->second));
    if (have->second == want)
      return value;
    Attribute phase = getSharingPhase(value, user);
    auto [entry, added] = reshards.try_emplace(
        {value.getAsOpaquePointer(), want,
         const_cast<void *>(phase.getAsOpaquePointer())},
        Value());
    if (added)
      entry->second = makeReshard(value, have->second, want, user);
    return entry->second;
  };
  for (Value argument : function.getArguments()) {
    auto node = nodeOf.find(argument);
    TensorSharding sharding =
        node == nodeOf.end()
            ? TensorSharding::getReplicated(getTensorType(argument).getRank())
            : getChosenSharding(node->second);
    handed[argument] = sharding;
    setSharding(argument, attr(sharding));
  }
  for (Operation &op : llvm::make_early_inc_range(
           function.getBody().front().without_terminator())) {
    builder.setInsertionPoint(&op);
    bool isChosen = nodeOf.count(op.getResult(0));
    for (OpOperand &operand : op.getOpOperands()) {
      unsigned rank = getTensorType(operand.get()).getRank();
      operand.set(getOperand(
          operand.get(),
          isChosen ? getChosen(&op).operands[operand.getOperandNumber()]
                   : TensorSharding::getReplicated(rank),
          &op));
    }
    builder.setInsertionPointAfter(&op);
    SmallVector<Attribute> shardings;
    for (OpResult result : op.getResults()) {
      if (!isChosen) {
        unsigned rank = getTensorType(result).getRank();
        shardings.push_back(attr(TensorSharding::getReplicated(rank)));
        continue;
      }
      const TensorSharding &natural =
          getChosen(&op).naturals[result.getResultNumber()];
      const TensorSharding &wanted =
          getChosen(&op).results[result.getResultNumber()];
      shardings.push_back(attr(natural));
      handed[result] = wanted;
      if (wanted == natural)
        continue;
      Value handedOn = makeReshard(result, natural, wanted, &op);
      result.replaceAllUsesExcept(handedOn, handedOn.getDefiningOp());
      handed[handedOn] = wanted;
    }
    op.setAttr(kShardingsAttr, builder.getArrayAttr(shardings));
  }
  Operation *terminator = function.getBody().front().getTerminator();
  builder.setInsertionPoint(terminator);
  for (OpOperand &result : terminator->getOpOperands()) {
    if (BlockArgument updated = getUpdated(result)) {
      result.set(getOperand(result.get(), handed[updated], terminator));
    } else {
      // An argument or a constant that is returned, or a value that is returned
      // twice, need not be as the result is pinned.
      ValueConstraint wanted;
      wanted.pinned = getResultPin(result);
      TensorSharding have =
          TensorSharding::get(getSharding(result.get()), mesh);
      if (wanted.pinned && !wanted.allows(have, mesh))
        result.set(getOperand(result.get(),
                              TensorSharding::get(wanted.pinned, mesh),
                              terminator));
    }
    function.setResultAttr(result.getOperandNumber(), kShardingAttr,
                           getSharding(result.get()));
  }
}

PlanSummary MeshPlan::summarise() {
  PlanSummary summary;
  for (MeshAxisAttr axis : mesh.getAxes())
    summary.mesh.emplace_back(axis.getName().str(), axis.getSize());
  summary.cluster = model.getCluster().name;
  summary.estimated = model.getCluster().estimated;
  summary.algorithm = solution.algorithm;
  summary.stepTime = solution.objective;
  summary.lowerBound = solution.lowerBound;
  summary.gap = solution.gap();
  summary.isMemoryBound = trackMemory;
  std::vector<unsigned> ops;
  for (auto [id, node] : llvm::enumerate(nodes)) {
    Operation *op = node.getOp();
    if (!op)
      continue;
    ops.push_back(id);
    const Strategy &chosen = node.strategies[solution.choice[id]];
    summary.computeTime += getRepeats(op) * chosen.computeTime;
    ShardingRule rule = cast<ShardableOpInterface>(op).getShardingRule();
    double flops =
        getRepeats(op) * cast<ShardableOpInterface>(op).getFlopsPerPoint();
    for (auto [factor, axes] : llvm::zip(rule.factors, chosen.axes))
      flops *= getLocalSize(factor.size, axes, DeviceMesh::get(mesh));
    summary.flopsPerDevice += flops;
  }
  summary.communicationTime = summary.stepTime - summary.computeTime;
  llvm::Expected<MinMarginals> marginals =
      computeMinMarginals(problem, ops, options.solver);
  if (!marginals)
    llvm::consumeError(marginals.takeError());
  for (auto [place, id] : llvm::enumerate(ops)) {
    const Node &node = nodes[id];
    Operation *op = node.getOp();
    const Strategy &chosen = node.strategies[solution.choice[id]];
    OpChoice choice;
    choice.op = op->getName().getStringRef().str();
    choice.location = getLocationText(op->getLoc());
    choice.chosen = describeStrategy(op, chosen, mesh);
    double best = kInfiniteCost;
    if (marginals)
      for (auto [s, strategy] : llvm::enumerate(node.strategies))
        if (strategy.axes != chosen.axes &&
            marginals->values[place][s] < best) {
          best = marginals->values[place][s];
          choice.second = describeStrategy(op, strategy, mesh);
          choice.extraSeconds = best - solution.objective;
        }
    summary.choices.push_back(std::move(choice));
  }
  return summary;
}
