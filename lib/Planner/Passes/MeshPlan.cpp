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

bool pplan::isParameter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && cast<func::FuncOp>(argument.getOwner()->getParentOp())
                         .getArgAttr(argument.getArgNumber(), kParamAttr);
}

ShardingAttr pplan::getResultPin(OpOperand &use) {
  auto ret = dyn_cast<func::ReturnOp>(use.getOwner());
  if (!ret)
    return nullptr;
  return ret->getParentOfType<func::FuncOp>().getResultAttrOfType<ShardingAttr>(
      use.getOperandNumber(), kShardingAttr);
}

ValueConstraint MeshPlan::getConstraint(Value value) {
  ValueConstraint constraint;
  constraint.pinned = getSharding(value);
  for (OpOperand &use : value.getUses()) {
    constraint.isReturned |= isa<func::ReturnOp>(use.getOwner());
    if (!constraint.pinned && value.getDefiningOp())
      constraint.pinned = getResultPin(use);
  }
  if (!options.parallel.isForced() || !isa<BlockArgument>(value) ||
      constraint.pinned)
    return constraint;
  int data = mesh.getAxisIndex("data"), tensor = mesh.getAxisIndex("tensor");
  bool isParam = isParameter(value);
  if (data >= 0 && isParam)
    constraint.forbidden |= 1u << data;
  if (tensor >= 0 && !isParam)
    constraint.forbidden |= 1u << tensor;
  RankedTensorType type = getTensorType(value);
  if (data >= 0 && !isParam && type.getRank() > 0 &&
      mesh.getAxes()[data].getSize() > 1) {
    constraint.forcedAxis = data;
    constraint.forcedDim = 0;
  }
  bool isWeight = isParam && type.getRank() >= 2 &&
                  llvm::any_of(value.getUsers(), [](Operation *user) {
                    return isa<ContractOp>(user);
                  });
  if (tensor >= 0 && isWeight && mesh.getAxes()[tensor].getSize() > 1)
    constraint.forcedAxis = tensor;
  return constraint;
}

bool MeshPlan::needsNode(Value value, const ValueConstraint &constraint) {
  if (value.use_empty() || isFree(value))
    return false;
  if (!isParameter(value))
    return true;
  // A parameter with one user is stored as that user wants it.
  return trackMemory || !value.hasOneUse() || constraint.pinned ||
         constraint.forbidden || constraint.forcedAxis >= 0;
}

LogicalResult MeshPlan::addNode(Value value,
                                const ValueConstraint &constraint) {
  Node node;
  node.value = value;
  std::vector<double> costs;
  if (Operation *op = value.getDefiningOp()) {
    unsigned uses = std::distance(value.use_begin(), value.use_end());
    node.strategies = strategies.getOpStrategies(op, uses, constraint);
    for (const Strategy &strategy : node.strategies) {
      node.shardings.push_back(strategy.result);
      costs.push_back(strategy.computeTime + strategy.reshardTime);
    }
  } else {
    node.shardings =
        strategies.getArgumentShardings(getTensorType(value), constraint);
    costs.assign(node.shardings.size(), 0.0);
  }
  if (costs.empty()) {
    auto diag = emitError(value.getLoc())
                << "no sharding of this value of type " << value.getType()
                << " on mesh " << mesh << " meets its constraints";
    if (constraint.pinned)
      diag << "; it is pinned to " << constraint.pinned;
    return diag;
  }
  unsigned id = problem.addNode("", std::move(costs));
  nodeOf[value] = id;
  nodes.push_back(std::move(node));
  return success();
}

double MeshPlan::getEdgeTime(Value value, const TensorSharding &from,
                             const TensorSharding &to) {
  RankedTensorType type = getTensorType(value);
  double time = strategies.getReshardCost().getTime(
      type.getShape(), getElementBytes(type), from, to);
  if (from == to)
    return time;
  if (isParameter(value) &&
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

void MeshPlan::addEdge(unsigned producer, unsigned consumer,
                       unsigned operandIndex) {
  const Node &from = nodes[producer], &to = nodes[consumer];
  DistinctShardings have, want;
  for (const TensorSharding &sharding : from.shardings)
    have.add(sharding);
  for (const Strategy &strategy : to.strategies)
    want.add(strategy.operands[operandIndex]);
  std::vector<std::vector<double>> times(have.values.size());
  for (auto [row, sharding] : llvm::zip(times, have.values))
    for (const TensorSharding *wanted : want.values)
      row.push_back(getEdgeTime(from.value, *sharding, *wanted));
  std::vector<double> costs;
  costs.reserve(from.shardings.size() * to.strategies.size());
  for (unsigned row : have.indexOf)
    for (unsigned column : want.indexOf)
      costs.push_back(times[row][column]);
  problem.addEdge(producer, consumer, std::move(costs));
}

/// First and last index of the operations between which a value is alive.
static std::pair<int64_t, int64_t>
getLifetime(Value value, const llvm::DenseMap<Operation *, int64_t> &order,
            int64_t end) {
  if (isParameter(value))
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
    add(op.getResult(0));
  // A program needs more than the values: copies of collectives, workspace.
  return 2 * bytes > static_cast<double>(options.getUsableBytes());
}

void MeshPlan::forEachUsage(
    llvm::function_ref<void(unsigned, int64_t, int64_t, std::vector<int64_t>)>
        visit) {
  auto order = getOrder(function);
  DeviceMesh shape = DeviceMesh::get(mesh);
  for (auto [id, node] : llvm::enumerate(nodes)) {
    RankedTensorType type = getTensorType(node.value);
    auto [start, end] = getLifetime(node.value, order, order.size());
    std::vector<int64_t> bytes;
    for (const TensorSharding &sharding : node.shardings) {
      int64_t size = getElementBytes(type);
      for (int64_t dim : getLocalShape(type.getShape(), sharding, shape))
        size *= dim;
      bytes.push_back(size);
    }
    visit(id, start, end, std::move(bytes));
  }
}

void MeshPlan::addUsages() {
  problem.usageLimit = options.getUsableBytes();
  forEachUsage(
      [&](unsigned id, int64_t start, int64_t end, std::vector<int64_t> bytes) {
        problem.addUsage(id, start, end, std::move(bytes));
      });
}

LogicalResult MeshPlan::build() {
  if (options.parallel.isForced())
    for (StringRef name : {"data", "tensor"})
      if (int axis = mesh.getAxisIndex(name); axis >= 0)
        forcedAxes |= 1u << axis;
  trackMemory = memoryMayBind();
  auto visit = [&](Value value) -> LogicalResult {
    ValueConstraint constraint = getConstraint(value);
    return needsNode(value, constraint) ? addNode(value, constraint)
                                        : success();
  };
  for (Value argument : function.getArguments())
    if (failed(visit(argument)))
      return failure();
  for (Operation &op : function.getBody().front().without_terminator()) {
    if (failed(visit(op.getResult(0))))
      return failure();
    auto consumer = nodeOf.find(op.getResult(0));
    if (consumer == nodeOf.end())
      continue;
    for (auto [index, operand] : llvm::enumerate(op.getOperands()))
      if (auto producer = nodeOf.find(operand); producer != nodeOf.end())
        addEdge(producer->second, consumer->second, index);
  }
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
