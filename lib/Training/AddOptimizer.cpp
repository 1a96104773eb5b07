//===- AddOptimizer.cpp - From gradients to new parameters ----------------===//
//
// Adds the optimizer's state to the step function, computes the learning rate
// and the gradient's norm, and applies the update rule to each parameter.
//
//===----------------------------------------------------------------------===//
#include "Optimizers.h"
#include "StepFunction.h"
#include "pplan/Training/Passes.h"

using namespace mlir;
using namespace pplan;

namespace pplan {
#define GEN_PASS_DEF_ADDOPTIMIZER
#include "pplan/Training/Passes.h.inc"
} // namespace pplan

static constexpr double kPi = 3.14159265358979323846;
/// PyTorch adds as much to the norm before it divides by it.
static constexpr double kNormEpsilon = 1e-6;

namespace {
struct AddOptimizerPass : pplan::impl::AddOptimizerBase<AddOptimizerPass> {
  using AddOptimizerBase::AddOptimizerBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> function = getStepFunction(getOperation());
    if (failed(function) || failed(checkOptions(*function)) ||
        failed(apply(*function)))
      signalPassFailure();
  }

  LogicalResult checkOptions(func::FuncOp function);
  LogicalResult apply(func::FuncOp function);
  Value emitRate(ArithmeticBuilder &b, Value step);
};

/// One gradient and the parameter that it belongs to.
struct Trained {
  StringRef name;
  Value parameter, gradient;
};
} // namespace

LogicalResult AddOptimizerPass::checkOptions(func::FuncOp function) {
  if (!findUpdateRule(kind))
    return function.emitOpError("cannot be trained with the optimizer '")
           << kind << "'; known are " << listUpdateRules();
  if (schedule != "constant" && schedule != "linear" && schedule != "cosine")
    return function.emitOpError("cannot have the schedule '")
           << schedule << "'; known are constant, linear and cosine";
  if (schedule != "constant" && totalSteps <= warmup)
    return function.emitOpError("with the schedule '")
           << schedule << "' needs more steps than the " << warmup.getValue()
           << " of its warmup, found " << totalSteps.getValue();
  struct Range {
    StringRef name;
    double value, low, high;
  };
  const double big = std::numeric_limits<double>::max();
  for (const Range &range :
       {Range{"lr", learningRate, 0, big}, Range{"min-lr", minimumRate, 0, big},
        Range{"beta1", beta1, 0, 1}, Range{"beta2", beta2, 0, 1},
        Range{"epsilon", epsilon, 0, big},
        Range{"weight-decay", weightDecay, 0, big},
        Range{"clip-norm", clipNorm, 0, big}})
    if (!(range.value >= range.low && range.value <= range.high) ||
        (range.high == 1 && range.value == 1))
      return function.emitOpError("cannot have ")
             << range.name << " = " << range.value << "; it must be at least "
             << range.low
             << (range.high == 1 ? " and less than 1" : " and finite");
  if (warmup < 0)
    return function.emitOpError("cannot warm up for ")
           << warmup.getValue() << " steps";
  return success();
}

/// The rate of a step, counted from 1.
Value AddOptimizerPass::emitRate(ArithmeticBuilder &b, Value step) {
  Value rate = b.like(step, learningRate);
  if (schedule != "constant") {
    double length = static_cast<double>(totalSteps - warmup);
    Value done = b.mul(b.add(step, -static_cast<double>(warmup)), 1 / length);
    done = b.binary<MinOp>(b.binary<MaxOp>(done, b.like(done, 0)),
                           b.like(done, 1));
    // What is left of the range between the largest and smallest rate.
    Value left = schedule == "linear"
                     ? b.sub(b.like(done, 1), done)
                     : b.mul(b.add(b.unary<CosOp>(b.mul(done, kPi)), 1), 0.5);
    rate = b.add(b.mul(left, learningRate - minimumRate), minimumRate);
  }
  if (warmup > 0) {
    Value share = b.mul(step, 1 / static_cast<double>(warmup));
    rate = b.mul(rate, b.binary<MinOp>(share, b.like(share, 1)));
  }
  return rate;
}

/// Square root of the sum of all squares, an f64 scalar.
static Value emitNorm(ArithmeticBuilder &b, ArrayRef<Trained> trained) {
  Value sum;
  for (const Trained &item : trained) {
    SmallVector<int64_t> dims;
    for (int64_t i = 0; i < getTensorType(item.gradient).getRank(); ++i)
      dims.push_back(i);
    Value square = b.reduce(ReductionKind::Sum,
                            b.mul(item.gradient, item.gradient), dims);
    square = b.convert(square, b.getBuilder().getF64Type());
    sum = sum ? b.add(sum, square) : square;
  }
  return b.unary<SqrtOp>(sum);
}

static DictionaryAttr nameResult(Builder &builder, StringRef attr,
                                 StringRef name) {
  return builder.getDictionaryAttr(
      builder.getNamedAttr(attr, builder.getStringAttr(name)));
}

/// A new argument for state that starts from zero.
static BlockArgument addState(func::FuncOp function, RankedTensorType type,
                              StringRef name) {
  BlockArgument argument = addArgument(function, type, kStepStateAttr, name);
  Builder builder(function.getContext());
  function.setArgAttr(argument.getArgNumber(), kInitAttr,
                      builder.getZeroAttr(type.getElementType()));
  return argument;
}

LogicalResult AddOptimizerPass::apply(func::FuncOp function) {
  SmallVector<StepResult> results;
  SmallVector<Trained> trained;
  for (const StepResult &result : pplan::getResults(function)) {
    auto name = result.attrs.getAs<StringAttr>(kGradientAttr);
    if (!name) {
      results.push_back(result);
      continue;
    }
    for (BlockArgument argument : function.getArguments())
      if (lookupArgumentName(function, argument.getArgNumber(), kParamAttr) ==
          name.getValue())
        trained.push_back({name.getValue(), argument, result.value});
  }
  if (trained.empty())
    return function.emitOpError("has no gradients to update parameters with; "
                                "run pplan-differentiate first");
  PhaseMarker marker;
  marker.setPhase(Phase::Update);
  OpBuilder builder(function.front().getTerminator());
  builder.setListener(&marker);
  ArithmeticBuilder b(builder, function.getLoc());
  Type f32 = builder.getF32Type();

  auto counter = RankedTensorType::get({}, builder.getI64Type());
  Value step = b.add(addState(function, counter, "step"), 1);
  results.push_back({step, nameResult(builder, kUpdatesAttr, "step")});
  // 1 - beta^step would lose all but a few digits in f32.
  UpdateContext context{b,       nullptr, b.convert(step, builder.getF64Type()),
                        beta1,   beta2,   epsilon,
                        weightDecay, nesterov};
  context.rate = emitRate(b, context.step);
  for (Trained &item : trained) {
    Type element = getTensorType(item.gradient).getElementType();
    if (element.getIntOrFloatBitWidth() < 32)
      item.gradient = b.convert(item.gradient, f32);
  }
  Value norm = emitNorm(b, trained);
  results.push_back(
      {norm, nameResult(builder, kOutputAttr, "gradient_norm")});
  if (clipNorm > 0) {
    Value factor = b.div(b.like(norm, clipNorm), b.add(norm, kNormEpsilon));
    factor = b.binary<MinOp>(factor, b.like(factor, 1));
    for (Trained &item : trained)
      item.gradient = context.scale(item.gradient, factor);
  }
  const UpdateRule &rule = *findUpdateRule(kind);
  for (Trained &item : trained) {
    ArithmeticBuilder local(builder, item.parameter.getLoc());
    UpdateContext own{local,   context.rate,     context.step, beta1,
                      beta2,   epsilon,          weightDecay,  nesterov};
    RankedTensorType type = getTensorType(item.parameter);
    Type wide = getTensorType(item.gradient).getElementType();
    SmallVector<Value> state;
    SmallVector<std::string> names;
    for (const StateSpec &spec : rule.getState(type.getShape(), own)) {
      names.push_back((item.name + "." + spec.name).str());
      state.push_back(addState(
          function, RankedTensorType::get(spec.shape, wide), names.back()));
    }
    Value updated = rule.update(own, local.convert(item.parameter, wide),
                                item.gradient, state);
    results.push_back({local.convert(updated, type.getElementType()),
                       nameResult(builder, kUpdatesAttr, item.name)});
    for (auto [value, name] : llvm::zip(state, names))
      results.push_back({value, nameResult(builder, kUpdatesAttr, name)});
  }
  setResults(function, results);
  return success();
}
