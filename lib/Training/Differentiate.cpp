//===- Differentiate.cpp - Reverse-mode differentiation of a model --------===//
//
// Walks the function backward and asks each operation for the gradients of the
// operands that lie between a parameter and the loss. What those gradients are
// is decided by the operations (DifferentiableOpInterface).
//
//===----------------------------------------------------------------------===//
#include "StepFunction.h"
#include "pplan/Training/Gradient.h"
#include "pplan/Training/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace pplan;

namespace pplan {
#define GEN_PASS_DEF_DIFFERENTIATE
#include "pplan/Training/Passes.h.inc"
} // namespace pplan

namespace {
class Differentiator {
public:
  Differentiator(func::FuncOp function, double seed)
      : function(function), seed(seed), builder(function.getContext()) {
    builder.setListener(&marker);
    builder.setInsertionPoint(function.front().getTerminator());
  }

  void addTrainable(BlockArgument parameter) { needed.insert(parameter); }

  /// Emits the gradients of `loss`; fails after a message.
  LogicalResult run(Value loss);

  /// Gradient of a value after `run`; null when the loss does not depend on it.
  Value takeGradient(Value value);

  OpBuilder &getBuilder() { return builder; }
  PhaseMarker &getMarker() { return marker; }

private:
  void findDependences(Block &block);
  LogicalResult visit(Operation &op);
  LogicalResult ask(Operation &op, ArrayRef<Value> resultGradients,
                    const llvm::BitVector &wanted, Phase phase);

  func::FuncOp function;
  double seed;
  OpBuilder builder;
  PhaseMarker marker;
  /// Values that a trainable parameter reaches.
  llvm::DenseSet<Value> needed;
  /// Values that a model input reaches.
  llvm::DenseSet<Value> fromInputs;
  /// What the users of a value have contributed to its gradient.
  llvm::DenseMap<Value, SmallVector<Value, 2>> contributions;
};
} // namespace

static bool isDifferentiable(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && isa<FloatType>(tensor.getElementType());
}

void Differentiator::findDependences(Block &block) {
  for (BlockArgument argument : block.getArguments())
    if (lookupArgumentName(function, argument.getArgNumber(), kParamAttr).empty())
      fromInputs.insert(argument);
  for (Operation &op : block) {
    auto reaches = [&](const llvm::DenseSet<Value> &set) {
      return llvm::any_of(op.getOperands(),
                          [&](Value operand) { return set.contains(operand); });
    };
    for (Value result : op.getResults()) {
      if (reaches(needed) && isDifferentiable(result.getType()))
        needed.insert(result);
      if (reaches(fromInputs))
        fromInputs.insert(result);
    }
  }
}

Value Differentiator::takeGradient(Value value) {
  auto found = contributions.find(value);
  if (found == contributions.end())
    return nullptr;
  marker.setPhase(fromInputs.contains(value) ? Phase::InputGradient
                                             : Phase::WeightGradient);
  Value sum;
  for (Value part : found->second)
    sum = sum ? AddOp::create(builder, value.getLoc(), value.getType(), sum,
                              part)
              : part;
  contributions.erase(found);
  return sum;
}

LogicalResult Differentiator::ask(Operation &op,
                                  ArrayRef<Value> resultGradients,
                                  const llvm::BitVector &wanted, Phase phase) {
  if (wanted.none())
    return success();
  marker.setPhase(phase);
  GradientContext context(builder, &op, resultGradients, wanted);
  cast<DifferentiableOpInterface>(op).buildGradients(context);
  if (context.isRefused())
    return failure();
  for (unsigned index : wanted.set_bits()) {
    Value gradient = context.getGradients()[index];
    Value operand = op.getOperand(index);
    if (!gradient)
      continue;
    if (gradient.getType() != operand.getType())
      return op.emitOpError("has a gradient of type ")
             << gradient.getType() << " for operand " << index << " of type "
             << operand.getType();
    contributions[operand].push_back(gradient);
  }
  return success();
}

LogicalResult Differentiator::visit(Operation &op) {
  SmallVector<Value> resultGradients;
  for (Value result : op.getResults())
    resultGradients.push_back(
        needed.contains(result) ? takeGradient(result) : Value());
  if (llvm::none_of(resultGradients, [](Value value) { return !!value; }))
    return success();
  if (!isa<DifferentiableOpInterface>(op))
    return op.emitOpError("has no gradient, and the loss depends on trained "
                          "parameters through it; freeze them or leave the "
                          "operation out");
  llvm::BitVector activations(op.getNumOperands()), weights = activations;
  for (auto [index, operand] : llvm::enumerate(op.getOperands()))
    if (needed.contains(operand))
      (fromInputs.contains(operand) ? activations : weights).set(index);
  if (failed(ask(op, resultGradients, activations, Phase::InputGradient)))
    return failure();
  return ask(op, resultGradients, weights, Phase::WeightGradient);
}

LogicalResult Differentiator::run(Value loss) {
  Block &block = function.front();
  findDependences(block);
  SmallVector<Operation *> forward;
  for (Operation &op : block.without_terminator()) {
    op.setAttr(kPhaseAttr, PhaseAttr::get(op.getContext(), Phase::Forward));
    forward.push_back(&op);
  }
  marker.setPhase(Phase::InputGradient);
  contributions[loss].push_back(
      ArithmeticBuilder(builder, loss.getLoc()).like(loss, seed));
  for (Operation *op : llvm::reverse(forward))
    if (failed(visit(*op)))
      return failure();
  return success();
}

/// True for a tensor that only masks attention: exporters keep masks among the
/// weights, but nobody trains one.
static bool isMask(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUses(), [&](OpOperand &use) {
           auto attention = dyn_cast<AttentionOp>(use.getOwner());
           return attention && attention.getMask() == value &&
                  attention.getQuery() != value && attention.getKey() != value &&
                  attention.getValue() != value;
         });
}

namespace {
struct DifferentiatePass : pplan::impl::DifferentiateBase<DifferentiatePass> {
  using DifferentiateBase::DifferentiateBase;
  void runOnOperation() override {
    FailureOr<func::FuncOp> function = getStepFunction(getOperation());
    if (failed(function) || failed(differentiate(*function)))
      signalPassFailure();
  }

  LogicalResult differentiate(func::FuncOp function);
  LogicalResult checkOptions(func::FuncOp function);
};
} // namespace

LogicalResult DifferentiatePass::checkOptions(func::FuncOp function) {
  if (microBatches < 1)
    return function.emitOpError("cannot have ")
           << microBatches.getValue() << " micro-batches a step; at least 1 is needed";
  if (!(lossScale > 0) || !std::isfinite(lossScale))
    return function.emitOpError("cannot scale its loss by ")
           << lossScale.getValue() << "; a positive number is needed";
  for (const std::string &name : frozen) {
    bool isKnown = false;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      isKnown |= lookupArgumentName(function, i, kParamAttr) == name;
    if (!isKnown)
      return function.emitOpError("has no parameter '")
             << name << "' that could be frozen";
  }
  return success();
}

LogicalResult DifferentiatePass::differentiate(func::FuncOp function) {
  if (failed(checkOptions(function)))
    return failure();
  SmallVector<StepResult> results = getResults(function);
  auto isLoss = [](const StepResult &result) {
    return isDifferentiable(result.value.getType()) &&
           getTensorType(result.value).getRank() == 0;
  };
  if (results.size() != 1 || !isLoss(results[0]))
    return function.emitOpError("should return the loss alone, a float scalar, "
                                "to be differentiated; pplan-append-loss "
                                "makes one of logits");
  llvm::StringSet<> fixed;
  for (const std::string &name : frozen)
    fixed.insert(name);
  Differentiator differentiator(function, lossScale);
  SmallVector<std::pair<BlockArgument, StringRef>> trained;
  for (BlockArgument argument : function.getArguments()) {
    StringRef name =
        lookupArgumentName(function, argument.getArgNumber(), kParamAttr);
    if (name.empty() || fixed.contains(name) || isMask(argument) ||
        !isDifferentiable(argument.getType()))
      continue;
    trained.push_back({argument, name});
    differentiator.addTrainable(argument);
  }
  if (failed(differentiator.run(results[0].value)))
    return failure();

  OpBuilder &builder = differentiator.getBuilder();
  auto average = [&](Value value, double divisor) {
    ArithmeticBuilder b(builder, value.getLoc());
    Value sum = b.create<AccumulateOp>(value);
    differentiator.getMarker().setPhase(Phase::Update);
    return divisor == 1 ? sum : b.mul(sum, 1 / divisor);
  };
  SmallVector<Value> gradients;
  for (auto [parameter, name] : trained)
    gradients.push_back(differentiator.takeGradient(parameter));
  differentiator.getMarker().setPhase(Phase::Forward);
  double count = static_cast<double>(microBatches);
  results[0].value = average(results[0].value, count);
  for (auto [item, gradient] : llvm::zip(trained, gradients)) {
    if (!gradient)
      continue; // the loss does not depend on it
    differentiator.getMarker().setPhase(Phase::WeightGradient);
    Builder attrs(function.getContext());
    results.push_back(
        {average(gradient, count * lossScale),
         attrs.getDictionaryAttr(attrs.getNamedAttr(
             kGradientAttr, attrs.getStringAttr(item.second)))});
  }
  setResults(function, results);
  function->setAttr(kMicroBatchesAttr,
                    builder.getI64IntegerAttr(microBatches));
  return success();
}
