//===- PlanModule.cpp - Plan a module and write the plan into it ----------===//
//
// Builds the intra-operator problem of a function on a mesh, solves it for
// each candidate mesh, and writes the best solution into the IR: shardings on
// every value and a pplan.reshard wherever a sharding changes. The maths is in
// docs/Planner/plan-intra-op.md.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/PlanModule.h"
#include "pplan/Planner/Strategies.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include <chrono>
#include <map>

using namespace mlir;
using namespace pplan;

static std::string getLocationText(Location loc) {
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

namespace {
/// The problem of one function on one mesh, and the way back from its nodes.
class MeshPlan {
public:
  MeshPlan(func::FuncOp function, const CostModel &model, MeshAttr mesh,
           const PlanOptions &options)
      : function(function), model(model), mesh(mesh), options(options),
        strategies(model, mesh) {}

  /// Fails after a message when a value has no strategy left.
  LogicalResult build();
  llvm::Error solve(double timeout);
  void apply(FlatSymbolRefAttr meshName);
  PlanSummary summarise();

  const IntraOpSolution &getSolution() const { return solution; }
  MeshAttr getMesh() const { return mesh; }

private:
  struct Node {
    Value value;
    std::vector<Strategy> strategies; ///< for an operation
    std::vector<TensorSharding> shardings; ///< handed on, one per strategy
  };

  ValueConstraint getConstraint(Value value);
  bool needsNode(Value value, const ValueConstraint &constraint);
  LogicalResult addNode(Value value, const ValueConstraint &constraint);
  void addEdge(unsigned producer, unsigned consumer, unsigned operandIndex);
  void addUsages();
  bool memoryMayBind();
  double getEdgeTime(Value value, const TensorSharding &from,
                     const TensorSharding &to);
  const Strategy &getChosen(Operation *op) {
    unsigned node = nodeOf.find(op->getResult(0))->second;
    return nodes[node].strategies[solution.choice[node]];
  }

  func::FuncOp function;
  const CostModel &model;
  MeshAttr mesh;
  const PlanOptions &options;
  StrategyEnumerator strategies;
  IntraOpProblem problem;
  std::vector<Node> nodes;
  llvm::DenseMap<Value, unsigned> nodeOf;
  IntraOpSolution solution;
  uint32_t forcedAxes = 0;
  bool trackMemory = false;
};
} // namespace

/// Values without cost that every user may have as it likes.
static bool isFree(Value value) {
  Operation *op = value.getDefiningOp();
  return op && op->getNumOperands() == 0;
}

static bool isParameter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument &&
         cast<func::FuncOp>(argument.getOwner()->getParentOp())
             .getArgAttr(argument.getArgNumber(), kParamAttr);
}

/// The sharding that the function's signature gives one of the results.
static ShardingAttr getResultPin(OpOperand &use) {
  auto ret = dyn_cast<func::ReturnOp>(use.getOwner());
  if (!ret)
    return nullptr;
  return ret->getParentOfType<func::FuncOp>()
      .getResultAttrOfType<ShardingAttr>(use.getOperandNumber(),
                                         kShardingAttr);
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
  for (int64_t size :
       getLocalShape(type.getShape(), to, DeviceMesh::get(mesh)))
    bytes *= static_cast<double>(size);
  return time + model.computeTime(0, 2 * bytes, DataType::F32);
}

void MeshPlan::addEdge(unsigned producer, unsigned consumer,
                       unsigned operandIndex) {
  const Node &from = nodes[producer], &to = nodes[consumer];
  std::map<std::pair<TensorSharding, TensorSharding>, double> known;
  std::vector<double> costs;
  costs.reserve(from.shardings.size() * to.strategies.size());
  for (const TensorSharding &have : from.shardings)
    for (const Strategy &strategy : to.strategies) {
      const TensorSharding &want = strategy.operands[operandIndex];
      auto [entry, isNew] = known.try_emplace({have, want}, 0.0);
      if (isNew)
        entry->second = getEdgeTime(from.value, have, want);
      costs.push_back(entry->second);
    }
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
  return bytes > static_cast<double>(model.getCluster().device.memoryBytes);
}

void MeshPlan::addUsages() {
  auto order = getOrder(function);
  DeviceMesh shape = DeviceMesh::get(mesh);
  problem.usageLimit = model.getCluster().device.memoryBytes;
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
    problem.addUsage(id, start, end, std::move(bytes));
  }
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
  llvm::Expected<IntraOpSolution> result = ::pplan::solve(problem, solverOptions);
  if (!result)
    return result.takeError();
  solution = std::move(*result);
  return solution.hasChoice() ? problem.verify(solution)
                              : llvm::Error::success();
}

void MeshPlan::apply(FlatSymbolRefAttr meshName) {
  OpBuilder builder(function.getContext());
  auto attr = [&](const TensorSharding &sharding) {
    return sharding.toAttr(meshName, mesh);
  };
  // What each value is handed on as, and the reshards of it made so far.
  llvm::DenseMap<Value, TensorSharding> handed;
  std::map<std::pair<void *, TensorSharding>, Value> reshards;
  auto makeReshard = [&](Value value, const TensorSharding &to) {
    Value result = ReshardOp::create(builder, value.getLoc(), value);
    setSharding(result, attr(to));
    return result;
  };
  auto getOperand = [&](Value value, const TensorSharding &want) -> Value {
    bool canChoose =
        !nodeOf.count(value) && (isFree(value) || isParameter(value)) &&
        value.hasOneUse();
    if (canChoose)
      handed[value] = want;
    auto [have, isNew] =
        handed.try_emplace(value, TensorSharding::getReplicated(
                                      getTensorType(value).getRank()));
    setSharding(value, attr(have->second));
    if (have->second == want)
      return value;
    auto [entry, added] =
        reshards.try_emplace({value.getAsOpaquePointer(), want}, Value());
    if (added)
      entry->second = makeReshard(value, want);
    return entry->second;
  };
  for (Value argument : function.getArguments()) {
    auto node = nodeOf.find(argument);
    TensorSharding sharding =
        node == nodeOf.end()
            ? TensorSharding::getReplicated(getTensorType(argument).getRank())
            : nodes[node->second].shardings[solution.choice[node->second]];
    handed[argument] = sharding;
    setSharding(argument, attr(sharding));
  }
  for (Operation &op : llvm::make_early_inc_range(
           function.getBody().front().without_terminator())) {
    Value result = op.getResult(0);
    if (!nodeOf.count(result)) {
      unsigned rank = getTensorType(result).getRank();
      setSharding(result, attr(TensorSharding::getReplicated(rank)));
      builder.setInsertionPoint(&op);
      for (OpOperand &operand : op.getOpOperands())
        operand.set(getOperand(
            operand.get(), TensorSharding::getReplicated(
                               getTensorType(operand.get()).getRank())));
      continue;
    }
    const Strategy &chosen = getChosen(&op);
    builder.setInsertionPoint(&op);
    for (auto [operand, want] : llvm::zip(op.getOpOperands(), chosen.operands))
      operand.set(getOperand(operand.get(), want));
    setSharding(result, attr(chosen.natural));
    handed[result] = chosen.result;
    if (chosen.result == chosen.natural)
      continue;
    builder.setInsertionPointAfter(&op);
    Value handedOn = makeReshard(result, chosen.result);
    result.replaceAllUsesExcept(handedOn, handedOn.getDefiningOp());
    handed[handedOn] = chosen.result;
  }
  Operation *terminator = function.getBody().front().getTerminator();
  builder.setInsertionPoint(terminator);
  for (OpOperand &result : terminator->getOpOperands()) {
    // An argument or a constant that is returned, or a value that is returned
    // twice, need not be as the result is pinned.
    ValueConstraint wanted;
    wanted.pinned = getResultPin(result);
    TensorSharding have =
        TensorSharding::get(getSharding(result.get()), mesh);
    if (wanted.pinned && !wanted.allows(have, mesh))
      result.set(
          getOperand(result.get(), TensorSharding::get(wanted.pinned, mesh)));
    function.setResultAttr(result.getOperandNumber(), kShardingAttr,
                           getSharding(result.get()));
  }
}

PlanSummary MeshPlan::summarise() {
  PlanSummary summary;
  for (MeshAxisAttr axis : mesh.getAxes())
    summary.mesh.emplace_back(axis.getName().str(), axis.getSize());
  summary.cluster = model.getCluster().name;
  summary.algorithm = solution.algorithm;
  summary.stepTime = solution.objective;
  summary.lowerBound = solution.lowerBound;
  summary.gap = solution.gap();
  std::vector<unsigned> ops;
  for (auto [id, node] : llvm::enumerate(nodes)) {
    Operation *op = node.value.getDefiningOp();
    if (!op)
      continue;
    ops.push_back(id);
    const Strategy &chosen = node.strategies[solution.choice[id]];
    summary.computeTime += chosen.computeTime;
    ShardingRule rule = cast<ShardableOpInterface>(op).getShardingRule();
    double flops = cast<ShardableOpInterface>(op).getFlopsPerPoint();
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
    Operation *op = node.value.getDefiningOp();
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

//===----------------------------------------------------------------------===//
// Candidate meshes and the outer loop
//===----------------------------------------------------------------------===//

static MeshAttr makeMesh(MLIRContext *context,
                         ArrayRef<std::pair<StringRef, int64_t>> axes) {
  SmallVector<MeshAxisAttr> attrs;
  for (auto [name, size] : axes)
    attrs.push_back(MeshAxisAttr::get(context, name, size));
  return MeshAttr::get(context, attrs);
}

/// The mesh that forced degrees describe, or a failure after a message.
static FailureOr<MeshAttr> getForcedMesh(ModuleOp module,
                                         const PlanOptions &options) {
  const ParallelDegrees &degrees = options.parallel;
  int64_t data = std::max<int64_t>(degrees.data, 1);
  int64_t tensor = std::max<int64_t>(degrees.tensor, 1);
  if (data * tensor > options.devices || options.devices % (data * tensor))
    return module.emitError("dp=")
           << data << " times tp=" << tensor << " is " << data * tensor
           << ", which does not divide the " << options.devices
           << " devices; change --parallel or --devices";
  SmallVector<std::pair<StringRef, int64_t>> axes;
  if (degrees.data)
    axes.emplace_back("data", data);
  if (data * tensor != options.devices) {
    if (degrees.data && degrees.tensor)
      return module.emitError("dp=")
             << data << " times tp=" << tensor << " is " << data * tensor
             << ", not the " << options.devices
             << " devices; change --parallel or --devices";
    axes.emplace_back("rest", options.devices / (data * tensor));
  }
  if (degrees.tensor)
    axes.emplace_back("tensor", tensor);
  return makeMesh(module.getContext(), axes);
}

LogicalResult pplan::declareMesh(ModuleOp module, const PlanOptions &options) {
  FailureOr<MeshAttr> mesh = getForcedMesh(module, options);
  if (failed(mesh))
    return failure();
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  MeshOp::create(builder, module.getLoc(), "mesh", *mesh);
  return success();
}

/// Meshes to try, or a failure after a message.
static FailureOr<SmallVector<MeshAttr>>
getCandidateMeshes(ModuleOp module, const PlanOptions &options) {
  if (MeshOp given = lookupMesh(module, nullptr)) {
    if (given.getShape().getNumDevices() != options.devices)
      return given.emitOpError("has ")
             << given.getShape().getNumDevices() << " devices, but "
             << options.devices
             << " are asked for; change the mesh or --devices";
    return SmallVector<MeshAttr>{given.getShape()};
  }
  if (options.parallel.isForced()) {
    FailureOr<MeshAttr> mesh = getForcedMesh(module, options);
    if (failed(mesh))
      return failure();
    return SmallVector<MeshAttr>{*mesh};
  }
  static constexpr StringLiteral names[] = {"x", "y", "z"};
  SmallVector<MeshAttr> meshes;
  for (const MeshShape &shape : enumerateMeshes(options.devices, 3)) {
    SmallVector<std::pair<StringRef, int64_t>> axes;
    for (auto [index, size] : llvm::enumerate(shape.axes))
      axes.emplace_back(names[index], size);
    meshes.push_back(makeMesh(module.getContext(), axes));
  }
  return meshes;
}

/// The function to plan: the only one with a body.
static FailureOr<func::FuncOp> getEntry(ModuleOp module) {
  func::FuncOp entry;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    if (entry) {
      auto diag = function.emitOpError("is a second function with a body; a "
                                       "module to plan has one");
      diag.attachNote(entry.getLoc()) << "the first is here";
      return diag;
    }
    entry = function;
  }
  if (!entry)
    return module.emitError("has no function to plan");
  if (!entry.getBody().hasOneBlock())
    return entry.emitOpError("has several blocks; a graph to plan has one");
  for (Operation &op : entry.getBody().front().without_terminator())
    if (!isa<ShardableOpInterface>(op) || op.getNumResults() != 1)
      return op.emitOpError("has no sharding rule; only operations of the "
                            "pplan dialect can be planned");
  for (Type type : entry.getArgumentTypes()) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() || !isCountable(tensor))
      return entry.emitOpError("has an argument of type ")
             << type
             << "; only tensors of static shape with at most 2^48 elements "
                "can be planned";
  }
  return entry;
}

LogicalResult pplan::checkGraph(ModuleOp module) { return getEntry(module); }

FailureOr<PlanSummary> pplan::planModule(ModuleOp module,
                                         const PlanOptions &options) {
  using Clock = std::chrono::steady_clock;
  auto begin = Clock::now();
  auto elapsed = [&] {
    return std::chrono::duration<double>(Clock::now() - begin).count();
  };
  if (options.devices < 1 || options.devices > (1 << 20))
    return module.emitError("cannot plan for ")
           << options.devices << " devices; 1 to 1048576 are possible";
  FailureOr<func::FuncOp> entry = getEntry(module);
  if (failed(entry))
    return failure();
  FailureOr<SmallVector<MeshAttr>> meshes =
      getCandidateMeshes(module, options);
  if (failed(meshes))
    return failure();
  CostModel model(options.cluster.withDevices(options.devices));

  std::unique_ptr<MeshPlan> best;
  double lowerBound = kInfiniteCost;
  for (MeshAttr mesh : *meshes) {
    double left = options.solver.timeoutSeconds - elapsed();
    if (best && left <= 0) {
      lowerBound = 0; // meshes that were not tried are not bounded
      break;
    }
    auto plan = std::make_unique<MeshPlan>(*entry, model, mesh, options);
    if (failed(plan->build()))
      return failure();
    if (llvm::Error error = plan->solve(std::max(left, 1.0)))
      return module.emitError("cannot solve the problem on mesh ")
             << mesh << ": " << llvm::toString(std::move(error));
    lowerBound = std::min(lowerBound, plan->getSolution().lowerBound);
    if (plan->getSolution().hasChoice() &&
        (!best ||
         plan->getSolution().objective < best->getSolution().objective))
      best = std::move(plan);
  }
  if (!best)
    return module.emitError("no plan for ")
           << options.devices << " devices of " << options.cluster.name
           << " fits into the " << options.cluster.device.memoryBytes
           << " bytes of a device; use more devices or a smaller batch";

  PlanSummary summary = best->summarise();
  summary.lowerBound = std::min(lowerBound, summary.stepTime);
  summary.gap = summary.stepTime > 0
                    ? (summary.stepTime - summary.lowerBound) / summary.stepTime
                    : 0;
  MeshOp meshOp = lookupMesh(module, nullptr);
  if (!meshOp) {
    OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
    meshOp = MeshOp::create(builder, module.getLoc(), "mesh", best->getMesh());
  }
  best->apply(FlatSymbolRefAttr::get(meshOp.getSymNameAttr()));
  summary.searchTime = elapsed();
  module->setAttr(kPlanAttr, summary.toAttr(module.getContext()));
  return summary;
}
