//===- MeshPlan.cpp - The problem of a function on one mesh ---------------===//
//
// One variable per value that has a choice, costs of strategies and of
// reshards, and what each value occupies while it is alive. The maths is in
// docs/Planner/plan-intra-op.md.
//
//===----------------------------------------------------------------------===//
#include "MeshPlan.h"
#include <map>

using namespace mlir;
using namespace pplan;

bool pplan::isFree(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->getNumOperands() == 0;
}

static bool hasArgumentAttr(Value value, StringRef name) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && cast<func::FuncOp>(argument.getOwner()->getParentOp())
                         .getArgAttr(argument.getArgNumber(), name);
}

bool pplan::isParameter(Value value) {
  return hasArgumentAttr(value, kParamAttr);
}

bool pplan::isPersistent(Value value) {
  return isParameter(value) || hasArgumentAttr(value, kStepStateAttr);
}

BlockArgument pplan::getUpdated(OpOperand &use) {
  auto ret = dyn_cast<func::ReturnOp>(use.getOwner());
  if (!ret)
    return nullptr;
  auto function = ret->getParentOfType<func::FuncOp>();
  auto name = function.getResultAttrOfType<StringAttr>(use.getOperandNumber(),
                                                       kUpdatesAttr);
  if (name)
    for (BlockArgument argument : function.getArguments())
      for (StringRef attr : {kParamAttr, kStepStateAttr})
        if (function.getArgAttr(argument.getArgNumber(), attr) == name)
          return argument;
  return nullptr;
}

ShardingAttr pplan::getResultPin(OpOperand &use) {
  auto ret = dyn_cast<func::ReturnOp>(use.getOwner());
  if (!ret)
    return nullptr;
  return ret->getParentOfType<func::FuncOp>().getResultAttrOfType<ShardingAttr>(
      use.getOperandNumber(), kShardingAttr);
}

/// Whether an operation is part of a step's update.
static bool isUpdate(Operation *op) {
  auto phase = op->getAttrOfType<PhaseAttr>(kPhaseAttr);
  return phase && phase.getValue() == Phase::Update;
}

ValueConstraint MeshPlan::getConstraint(Value value) {
  ValueConstraint constraint;
  constraint.pinned = getSharding(value);
  for (OpOperand &use : value.getUses()) {
    // What updates an argument is brought to the argument's sharding.
    constraint.isReturned |=
        isa<func::ReturnOp>(use.getOwner()) && !getUpdated(use);
    if (!constraint.pinned && value.getDefiningOp())
      constraint.pinned = getResultPin(use);
  }
  if (options.parallel.isForced() && !constraint.pinned)
    forceParallel(value, constraint);
  return constraint;
}

/// Applies the degrees that the user forces to an argument or a gradient.
void MeshPlan::forceParallel(Value value, ValueConstraint &constraint) {
  int data = mesh.getAxisIndex("data"), tensor = mesh.getAxisIndex("tensor");
  RankedTensorType type = getTensorType(value);
  auto isSplit = [&](int axis) {
    return axis >= 0 && mesh.getAxes()[axis].getSize() > 1 &&
           type.getRank() > 0;
  };
  auto require = [&](int axis, int dim = -1) {
    constraint.required.push_back({static_cast<int8_t>(axis), dim});
  };
  int64_t zero = options.parallel.zero;
  if (value.getDefiningOp<AccumulateOp>()) {
    if (isSplit(data) && zero >= 2)
      require(data);
    return;
  }
  if (Operation *op = value.getDefiningOp()) {
    // Without ZeRO every data-parallel device updates everything.
    if (data >= 0 && zero == 0 && isUpdate(op))
      constraint.forbidden |= 1u << data;
    return;
  }
  bool isInput = !isPersistent(value), isParam = isParameter(value);
  if (tensor >= 0 && isInput)
    constraint.forbidden |= 1u << tensor;
  if (isSplit(data) && isInput)
    require(data, 0);
  // What stage `zero` splits of what lives from step to step.
  bool isZeroSplit = isParam ? zero == 3 : zero >= 1;
  bool isWhole = isParam ? zero < 3 : zero == 0;
  if (data >= 0 && !isInput && isWhole)
    constraint.forbidden |= 1u << data;
  if (isSplit(data) && !isInput && isZeroSplit)
    require(data);
  bool isWeight = isParam && type.getRank() >= 2 &&
                  llvm::any_of(value.getUsers(), [](Operation *user) {
                    return isa<ContractOp>(user);
                  });
  if (isSplit(tensor) && isWeight)
    require(tensor);
}

bool MeshPlan::needsNode(ValueRange values,
                         ArrayRef<ValueConstraint> constraints) {
  auto isUnused = [](Value value) { return value.use_empty(); };
  if (llvm::all_of(values, isUnused) || isFree(values[0]))
    return false;
  if (!isParameter(values[0]))
    return true;
  // A parameter with one user is stored as that user wants it.
  const ValueConstraint &constraint = constraints[0];
  return trackMemory || !values[0].hasOneUse() || constraint.pinned ||
         constraint.forbidden || !constraint.required.empty();
}

uint32_t MeshPlan::getPartialAxes(Value value) {
  auto found = nodeOf.find(value);
  uint32_t axes = 0;
  if (found != nodeOf.end())
    for (const TensorSharding &sharding :
         nodes[found->second.node].shardings[found->second.index])
      for (int8_t axis : sharding.partial)
        axes |= 1u << axis;
  return axes;
}

LogicalResult MeshPlan::addNode(ValueRange values,
                                ArrayRef<ValueConstraint> constraints) {
  Node node;
  node.values.assign(values.begin(), values.end());
  node.shardings.resize(values.size());
  std::vector<double> costs;
  if (Operation *op = node.getOp()) {
    node.strategies = strategies.getOpStrategies(op, constraints);
    // A whole value is no partial sum, and never becomes one.
    SmallVector<uint32_t> available;
    for (Value operand : op->getOperands())
      available.push_back(getPartialAxes(operand));
    llvm::erase_if(node.strategies, [&](const Strategy &strategy) {
      for (auto [axes, sharding] : llvm::zip(available, strategy.operands))
        for (int8_t axis : sharding.partial)
          if (!(axes & (1u << axis)))
            return true;
      return false;
    });
    double repeats = getRepeats(op);
    // A sum over micro-batches is handed on once.
    double handedOn = isa<AccumulateOp>(op) ? 1 : repeats;
    for (const Strategy &strategy : node.strategies) {
      for (auto [list, sharding] : llvm::zip(node.shardings, strategy.results))
        list.push_back(sharding);
      costs.push_back(repeats * strategy.computeTime +
                      handedOn * strategy.reshardTime);
    }
  } else {
    node.shardings[0] = strategies.getArgumentShardings(
        getTensorType(values[0]), constraints[0]);
    costs.assign(node.shardings[0].size(), 0.0);
  }
  if (costs.empty()) {
    auto diag = emitError(values[0].getLoc())
                << "no sharding of this value of type " << values[0].getType()
                << " on mesh " << mesh << " meets its constraints";
    for (const ValueConstraint &constraint : constraints)
      if (constraint.pinned)
        diag << "; it is pinned to " << constraint.pinned;
    return diag;
  }
  unsigned id = problem.addNode("", std::move(costs));
  for (auto [index, value] : llvm::enumerate(values))
    nodeOf[value] = {id, static_cast<unsigned>(index)};
  nodes.push_back(std::move(node));
  return success();
}

LogicalResult MeshPlan::visit(ValueRange values) {
  SmallVector<ValueConstraint, 1> constraints;
  for (Value value : values)
    constraints.push_back(getConstraint(value));
  return needsNode(values, constraints) ? addNode(values, constraints)
                                        : success();
}

double MeshPlan::getRepeats(Operation *op) {
  auto count = function->getAttrOfType<IntegerAttr>(kMicroBatchesAttr);
  return count && op->hasAttr(kPhaseAttr) && !isUpdate(op)
             ? static_cast<double>(count.getInt())
             : 1.0;
}

double MeshPlan::getEdgeTime(Value value, const TensorSharding &from,
                             const TensorSharding &to, bool isUpdate) {
  RankedTensorType type = getTensorType(value);
  double time = strategies.getReshardCost().getTime(
      type.getShape(), getElementBytes(type), from, to);
  if (from == to)
    return time;
  // Forward and backward take parameters as the degrees split them.
  if (isParameter(value) && !isUpdate &&
      ((from.getAxisMask() ^ to.getAxisMask()) & forcedAxes))
    return kInfiniteCost;
  // What is kept is copied, also when nothing is communicated.
  double bytes = getElementBytes(type);
  for (int64_t size : getLocalShape(type.getShape(), to, DeviceMesh::get(mesh)))
    bytes *= static_cast<double>(size);
  return time + model.computeTime(0, 2 * bytes, DataType::F32);
}

namespace {
/// The different shardings of a list, and which of them each entry is.
struct DistinctShardings {
  std::vector<const TensorSharding *> values;
  std::vector<unsigned> indexOf;

  void add(const TensorSharding &sharding) {
    auto [entry, isNew] = known.try_emplace(&sharding, values.size());
    if (isNew)
      values.push_back(&sharding);
    indexOf.push_back(entry->second);
  }

private:
  struct Less {
    bool operator()(const TensorSharding *a, const TensorSharding *b) const {
      return *a < *b;
    }
  };
  std::map<const TensorSharding *, unsigned, Less> known;
};
} // namespace

void MeshPlan::addEdge(
    Value value, unsigned consumer,
    llvm::function_ref<const TensorSharding &(unsigned)> getWanted,
    double repeats, bool isUpdate) {
  auto [producer, index] = nodeOf.find(value)->second;
  DistinctShardings have, want;
  for (const TensorSharding &sharding : nodes[producer].shardings[index])
    have.add(sharding);
  for (unsigned s = 0; s < problem.getNodes()[consumer].size(); ++s)
    want.add(getWanted(s));
  std::vector<std::vector<double>> times(have.values.size());
  for (auto [row, sharding] : llvm::zip(times, have.values))
    for (const TensorSharding *wanted : want.values)
      row.push_back(repeats * getEdgeTime(value, *sharding, *wanted,
                                              isUpdate));
  std::vector<double> costs;
  costs.reserve(have.indexOf.size() * want.indexOf.size());
  for (unsigned row : have.indexOf)
    for (unsigned column : want.indexOf)
      costs.push_back(times[row][column]);
  problem.addEdge(producer, consumer, std::move(costs));
}

void MeshPlan::addUpdateEdges() {
  for (OpOperand &use :
       function.getBody().front().getTerminator()->getOpOperands()) {
    BlockArgument argument = getUpdated(use);
    auto from = nodeOf.find(use.get()), to = nodeOf.find(argument);
    if (!argument || from == nodeOf.end() || to == nodeOf.end() ||
        from->second.node == to->second.node)
      continue;
    const Node &node = nodes[to->second.node];
    addEdge(use.get(), to->second.node,
            [&](unsigned s) -> const TensorSharding & {
              return node.shardings[0][s];
            },
            /*repeats=*/1, /*isUpdate=*/true);
  }
}

/// First and last index of the operations between which a value is alive.
static std::pair<int64_t, int64_t>
getLifetime(Value value, const llvm::DenseMap<Operation *, int64_t> &order,
            int64_t end) {
  if (isPersistent(value))
    return {0, end};
  Operation *op = value.getDefiningOp();
  int64_t first = op ? order.lookup(op) : 0, last = first;
  for (Operation *user : value.getUsers())
    last = std::max(last, order.lookup(user));
  return {first, last + 1};
}

static llvm::DenseMap<Operation *, int64_t> getOrder(func::FuncOp function) {
  llvm::DenseMap<Operation *, int64_t> order;
  for (Operation &op : function.getBody().front())
    order.try_emplace(&op, order.size());
  return order;
}

bool MeshPlan::memoryMayBind() {
  double bytes = 0;
  auto add = [&](Value value) {
    RankedTensorType type = getTensorType(value);
    bytes += static_cast<double>(type.getNumElements()) * getElementBytes(type);
  };
  for (Value argument : function.getArguments())
    add(argument);
  for (Operation &op : function.getBody().front().without_terminator())
    llvm::for_each(op.getResults(), add);
  // A program needs more than the values: copies of collectives, workspace.
  return 2 * bytes > static_cast<double>(options.getUsableBytes());
}

void MeshPlan::forEachUsage(
    llvm::function_ref<void(unsigned, Value, int64_t, int64_t,
                            std::vector<int64_t>)>
        visit) {
  auto order = getOrder(function);
  DeviceMesh shape = DeviceMesh::get(mesh);
  for (auto [id, node] : llvm::enumerate(nodes))
    for (auto [value, shardings] : llvm::zip(node.values, node.shardings)) {
      RankedTensorType type = getTensorType(value);
      auto [start, end] = getLifetime(value, order, order.size());
      std::vector<int64_t> bytes;
      for (const TensorSharding &sharding : shardings) {
        int64_t size = getElementBytes(type);
        for (int64_t dim : getLocalShape(type.getShape(), sharding, shape))
          size *= dim;
        bytes.push_back(size);
      }
      visit(id, value, start, end, std::move(bytes));
    }
}

void MeshPlan::addUsages() {
  problem.usageLimit = options.getUsableBytes();
  forEachUsage([&](unsigned id, Value, int64_t start, int64_t end,
                   std::vector<int64_t> bytes) {
    problem.addUsage(id, start, end, std::move(bytes));
  });
}

LogicalResult MeshPlan::build() {
  if (options.parallel.isForced())
    for (StringRef name : {"data", "tensor"})
      if (int axis = mesh.getAxisIndex(name); axis >= 0)
        forcedAxes |= 1u << axis;
  // Parameters that are stored split are gathered where they are used.
  if (int data = mesh.getAxisIndex("data");
      data >= 0 && options.parallel.zero == 3)
    forcedAxes &= ~(1u << data);
  trackMemory = memoryMayBind();
  for (Value argument : function.getArguments())
    if (failed(visit(argument)))
      return failure();
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (failed(visit(op.getResults())))
      return failure();
    auto consumer = nodeOf.find(op.getResult(0));
    if (consumer == nodeOf.end())
      continue;
    const Node &node = nodes[consumer->second.node];
    for (auto [index, operand] : llvm::enumerate(op.getOperands()))
      if (nodeOf.count(operand))
        addEdge(operand, consumer->second.node,
                [&, index = index](unsigned s) -> const TensorSharding & {
                  return node.strategies[s].operands[index];
                },
                getRepeats(&op), isUpdate(&op));
  }
  addUpdateEdges();
  if (trackMemory)
    addUsages();
  return success();
}

llvm::Error MeshPlan::solve(double timeout) {
  if (llvm::Error error = problem.check())
    return error;
  SolverOptions solverOptions = options.solver;
  solverOptions.timeoutSeconds = timeout;
  llvm::Expected<IntraOpSolution> result =
      ::pplan::solve(problem, solverOptions);
  if (!result)
    return result.takeError();
  solution = std::move(*result);
  return solution.hasChoice() ? problem.verify(solution)
                              : llvm::Error::success();
}
