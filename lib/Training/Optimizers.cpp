//===- Optimizers.cpp - The update rules ----------------------------------===//
//
// Each as its paper and PyTorch's implementation have it. Where the learning
// rate comes from is decided by pplan-add-optimizer.
//
//===----------------------------------------------------------------------===//
#include "Optimizers.h"

using namespace mlir;
using namespace pplan;

Value UpdateContext::scale(Value x, Value scalar) {
  Value wide = b.convert(scalar, getTensorType(x).getElementType());
  return b.mul(x, b.broadcast(wide, getTensorType(x).getShape(), {}));
}

Value UpdateContext::mix(double a, Value x, Value y) {
  return b.add(b.mul(x, a), b.mul(y, 1 - a));
}

using Shape = ArrayRef<int64_t>;
using State = MutableArrayRef<Value>;

static SmallVector<int64_t> copy(Shape shape) {
  return SmallVector<int64_t>(shape);
}

/// Parameters of one dimension (biases, scales of norms) do not decay.
static bool decays(UpdateContext &c, Value parameter) {
  return c.weightDecay != 0 && getTensorType(parameter).getRank() >= 2;
}

/// Gradient with the decay added, as L2 regularisation has it.
static Value withDecay(UpdateContext &c, Value parameter, Value gradient) {
  if (!decays(c, parameter))
    return gradient;
  return c.b.add(gradient, c.b.mul(parameter, c.weightDecay));
}

/// Parameter shrunk by rate * decay, apart from its gradient.
static Value decoupledDecay(UpdateContext &c, Value parameter) {
  if (!decays(c, parameter))
    return parameter;
  return c.b.sub(parameter,
                 c.scale(c.b.mul(parameter, c.weightDecay), c.rate));
}

/// 1 - beta^step, an f64 scalar.
static Value getBiasCorrection(UpdateContext &c, double beta) {
  Value power = c.b.binary<PowOp>(c.b.like(c.step, beta), c.step);
  return c.b.sub(c.b.like(power, 1), power);
}

//===----------------------------------------------------------------------===//
// Stochastic gradient descent with momentum (Sutskever et al., 2013)
//===----------------------------------------------------------------------===//

static SmallVector<StateSpec> getSgdState(Shape shape,
                                          const UpdateContext &c) {
  if (c.beta1 == 0)
    return {};
  return {{"momentum", copy(shape)}};
}

static Value updateSgd(UpdateContext &c, Value parameter, Value gradient,
                       State state) {
  gradient = withDecay(c, parameter, gradient);
  Value direction = gradient;
  if (!state.empty()) {
    state[0] = c.b.add(c.b.mul(state[0], c.beta1), gradient);
    direction = c.nesterov
                    ? c.b.add(gradient, c.b.mul(state[0], c.beta1))
                    : state[0];
  }
  return c.b.sub(parameter, c.scale(direction, c.rate));
}

//===----------------------------------------------------------------------===//
// Adam (Kingma and Ba, 2015), AdamW (Loshchilov and Hutter, 2019)
//===----------------------------------------------------------------------===//

static SmallVector<StateSpec> getAdamState(Shape shape,
                                           const UpdateContext &) {
  return {{"m", copy(shape)}, {"v", copy(shape)}};
}

static Value adamStep(UpdateContext &c, Value parameter, Value gradient,
                      State state) {
  state[0] = c.mix(c.beta1, state[0], gradient);
  state[1] = c.mix(c.beta2, state[1], c.b.mul(gradient, gradient));
  Value root = c.b.unary<SqrtOp>(getBiasCorrection(c, c.beta2));
  Value inverse = c.b.div(c.b.like(root, 1), root);
  Value size = c.b.div(c.rate, getBiasCorrection(c, c.beta1));
  Value spread = c.scale(c.b.unary<SqrtOp>(state[1]), inverse);
  Value direction = c.b.div(state[0], c.b.add(spread, c.epsilon));
  return c.b.sub(parameter, c.scale(direction, size));
}

static Value updateAdam(UpdateContext &c, Value parameter, Value gradient,
                        State state) {
  return adamStep(c, parameter, withDecay(c, parameter, gradient), state);
}

static Value updateAdamW(UpdateContext &c, Value parameter, Value gradient,
                         State state) {
  return adamStep(c, decoupledDecay(c, parameter), gradient, state);
}

//===----------------------------------------------------------------------===//
// Lion (Chen et al., 2023)
//===----------------------------------------------------------------------===//

static SmallVector<StateSpec> getLionState(Shape shape,
                                           const UpdateContext &) {
  return {{"m", copy(shape)}};
}

static Value updateLion(UpdateContext &c, Value parameter, Value gradient,
                        State state) {
  Value direction =
      c.b.unary<SignOp>(c.mix(c.beta1, state[0], gradient));
  state[0] = c.mix(c.beta2, state[0], gradient);
  return c.b.sub(decoupledDecay(c, parameter), c.scale(direction, c.rate));
}

//===----------------------------------------------------------------------===//
// Adafactor without momentum (Shazeer and Stern, 2018)
//===----------------------------------------------------------------------===//

static constexpr double kAdafactorDecay = 0.8;
static constexpr double kAdafactorEpsilon = 1e-30;
static constexpr double kAdafactorClip = 1.0;

static SmallVector<StateSpec> getAdafactorState(Shape shape,
                                                const UpdateContext &) {
  if (shape.size() < 2)
    return {{"v", copy(shape)}};
  SmallVector<int64_t> columns(shape.drop_back(2));
  columns.push_back(shape.back());
  return {{"rows", copy(shape.drop_back())}, {"columns", columns}};
}

static Value getMean(ArithmeticBuilder &b, Value x, ArrayRef<int64_t> dims) {
  double count = 1;
  for (int64_t dim : dims)
    count *= static_cast<double>(getTensorType(x).getDimSize(dim));
  return b.mul(b.reduce(ReductionKind::Sum, x, dims), 1 / count);
}

/// Estimate of the second moment from its row and column means.
static Value updateFactors(UpdateContext &c, Value square, Value keep,
                           State state) {
  ArithmeticBuilder &b = c.b;
  Shape shape = getTensorType(square).getShape();
  int64_t last = shape.size() - 1;
  Value fresh = b.sub(b.like(keep, 1), keep);
  auto mix = [&](Value old, Value now) {
    return b.add(c.scale(old, keep), c.scale(now, fresh));
  };
  state[0] = mix(state[0], getMean(b, square, {last}));
  state[1] = mix(state[1], getMean(b, square, {last - 1}));
  Value all = getMean(b, state[0], {last - 1});
  Shape rows = getTensorType(state[0]).getShape();
  Value share = b.div(state[0], b.expand(all, rows, {last - 1}));
  return b.mul(b.expand(share, shape, {last}),
               b.expand(state[1], shape, {last - 1}));
}

static Value updateAdafactor(UpdateContext &c, Value parameter, Value gradient,
                             State state) {
  ArithmeticBuilder &b = c.b;
  gradient = withDecay(c, parameter, gradient);
  // decay of step t: 1 - t^-0.8
  Value power = b.binary<PowOp>(c.step, b.like(c.step, -kAdafactorDecay));
  Value keep = b.sub(b.like(power, 1), power);
  Value square = b.add(b.mul(gradient, gradient), kAdafactorEpsilon);
  Value moment;
  if (state.size() == 1) {
    Value fresh = b.sub(b.like(keep, 1), keep);
    state[0] = b.add(c.scale(state[0], keep), c.scale(square, fresh));
    moment = state[0];
  } else {
    moment = updateFactors(c, square, keep, state);
  }
  Value direction = b.mul(gradient, b.unary<RsqrtOp>(moment));
  SmallVector<int64_t> all;
  for (int64_t dim = 0; dim < getTensorType(direction).getRank(); ++dim)
    all.push_back(dim);
  Value rms =
      b.unary<SqrtOp>(getMean(b, b.mul(direction, direction), all));
  Value bound =
      b.binary<MaxOp>(b.mul(rms, 1 / kAdafactorClip), b.like(rms, 1));
  Value size =
      b.div(c.rate, b.convert(bound, getTensorType(c.rate).getElementType()));
  return b.sub(parameter, c.scale(direction, size));
}

static const UpdateRule kRules[] = {
    {"sgd", getSgdState, updateSgd},
    {"adam", getAdamState, updateAdam},
    {"adamw", getAdamState, updateAdamW},
    {"lion", getLionState, updateLion},
    {"adafactor", getAdafactorState, updateAdafactor},
};

const UpdateRule *pplan::findUpdateRule(StringRef name) {
  for (const UpdateRule &rule : kRules)
    if (rule.name == name)
      return &rule;
  return nullptr;
}

std::string pplan::listUpdateRules() {
  std::string text;
  for (const UpdateRule &rule : kRules)
    text += (text.empty() ? "" : ", ") + rule.name.str();
  return text;
}
