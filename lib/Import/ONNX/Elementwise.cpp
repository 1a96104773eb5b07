//===- Elementwise.cpp - ONNX operators that work element by element ------===//
//
// Arithmetic, comparison, logic, activations and casts. Activations that pplan
// has no operation for are written out.
//
//===----------------------------------------------------------------------===//
#include "GraphImporter.h"
#include "OpTable.h"
#include <cmath>

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

//===----------------------------------------------------------------------===//
// One operation per operator
//===----------------------------------------------------------------------===//

template <typename Op> static LogicalResult unary(Node &n) {
  return n.yield(n.e.create<Op>(n.input(0)));
}

template <typename Op> static LogicalResult binary(Node &n) {
  Value a = n.input(0), b = n.input(1);
  return n.yield(n.e.binary<Op>(a, b));
}

/// Max, Min, Sum and Mean take any number of operands.
template <typename Op> static LogicalResult variadic(Node &n) {
  Value result = n.input(0);
  for (int64_t i = 1; i < n.getNumInputs(); ++i)
    result = n.e.binary<Op>(result, n.input(i));
  return n.yield(result);
}

static LogicalResult meanOfOperands(Node &n) {
  if (failed(variadic<AddOp>(n)))
    return failure();
  double scale = 1.0 / static_cast<double>(n.getNumInputs());
  return n.yield(n.e.binary<MulOp>(n.getResults()[0], scale));
}

template <Predicate predicate> static LogicalResult compare(Node &n) {
  Value a = n.input(0), b = n.input(1);
  return n.yield(n.e.compare(predicate, a, b));
}

static LogicalResult where(Node &n) {
  Value condition = n.input(0), onTrue = n.input(1), onFalse = n.input(2);
  return n.yield(n.e.select(condition, onTrue, onFalse));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

static LogicalResult reciprocal(Node &n) {
  Value x = n.input(0);
  return n.yield(n.e.create<DivOp>(n.e.fill(x, 1.0), x));
}

/// x^exponent as products or roots where that is exact; null where it is not.
static Value powBySpecialCase(Emitter &e, Value x, double exponent) {
  if (exponent == 1)
    return x;
  if (exponent == 2)
    return e.create<MulOp>(x, x);
  if (exponent == 3)
    return e.create<MulOp>(e.create<MulOp>(x, x), x);
  if (!isa<FloatType>(getTensorType(x).getElementType()))
    return {};
  if (exponent == 0.5)
    return e.create<SqrtOp>(x);
  if (exponent == -0.5)
    return e.create<RsqrtOp>(x);
  if (exponent == -1)
    return e.create<DivOp>(e.fill(x, 1.0), x);
  return {};
}

static LogicalResult pow(Node &n) {
  Value x = n.input(0), y = n.input(1);
  if (!x || !y)
    return failure();
  const HostTensor *known = n.e.getKnown(y);
  bool extends = getTensorType(y).getRank() <= getTensorType(x).getRank();
  if (known && known->getNumElements() == 1 && extends)
    if (Value special = powBySpecialCase(n.e, x, known->getFloat(0)))
      return n.yield(special);
  // The result has the base's type; an integer base with a float exponent is
  // computed in the exponent's type.
  Type base = getTensorType(x).getElementType();
  Type exponent = getTensorType(y).getElementType();
  bool inExponentType = !isa<FloatType>(base) && isa<FloatType>(exponent);
  Type compute = inExponentType ? exponent : base;
  return n.yield(n.e.convert(
      n.e.binary<PowOp>(n.e.convert(x, compute), n.e.convert(y, compute)),
      base));
}

/// fmod = 1 has the sign of the dividend, otherwise (integers) the divisor's.
static LogicalResult mod(Node &n) {
  Value x = n.input(0), y = n.input(1);
  Value rem = n.e.binary<RemOp>(x, y);
  if (!rem || n.getInt("fmod", 0))
    return n.yield(rem);
  Emitter &e = n.e;
  Value values[] = {rem, y};
  if (!e.broadcastAll(values))
    return failure();
  Value differ = e.create<XorOp>(e.compare(Predicate::LT, values[0], 0.0),
                                 e.compare(Predicate::LT, values[1], 0.0));
  Value wrong =
      e.create<AndOp>(e.compare(Predicate::NE, values[0], 0.0), differ);
  return n.yield(
      e.select(wrong, e.create<AddOp>(values[0], values[1]), values[0]));
}

static LogicalResult clip(Node &n) {
  Value x = n.input(0);
  if (n.has(1))
    x = n.e.binary<MaxOp>(x, n.input(1));
  if (n.has(2))
    x = n.e.binary<MinOp>(x, n.input(2));
  return n.yield(x);
}

static LogicalResult cast(Node &n) {
  Value x = n.input(0);
  int64_t to = n.getInt("to", 0);
  Type element = n.graph.getFile().getElementType(to);
  if (!element)
    return n.unsupported("to = " + ModelFile::getTypeName(to));
  return n.yield(n.e.convert(x, element));
}

static LogicalResult castLike(Node &n) {
  Value x = n.input(0), like = n.input(1);
  if (!like)
    return failure();
  return n.yield(n.e.convert(x, getTensorType(like).getElementType()));
}

static LogicalResult isNaN(Node &n) {
  Value x = n.input(0);
  return n.yield(n.e.create<CompareOp>(Predicate::NE, x, x));
}

static LogicalResult isInf(Node &n) {
  Value x = n.input(0);
  bool negative = n.getInt("detect_negative", 1);
  bool positive = n.getInt("detect_positive", 1);
  if (negative && positive)
    x = n.e.create<AbsOp>(x);
  else if (!negative && !positive)
    return n.yield(n.e.create<CompareOp>(Predicate::LT, x, x));
  double infinity = positive ? INFINITY : -INFINITY;
  return n.yield(n.e.compare(Predicate::EQ, x, infinity));
}

static LogicalResult tan(Node &n) {
  Value x = n.input(0);
  return n.yield(n.e.create<DivOp>(n.e.create<SinOp>(x), n.e.create<CosOp>(x)));
}

/// (exp(x) - exp(-x)) / 2 or, for `Op` = AddOp, its even counterpart.
template <typename Op> static LogicalResult hyperbolic(Node &n) {
  Value x = n.input(0);
  Value up = n.e.create<ExpOp>(x);
  Value down = n.e.create<ExpOp>(n.e.create<NegOp>(x));
  return n.yield(n.e.binary<MulOp>(n.e.create<Op>(up, down), 0.5));
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

static LogicalResult gelu(Node &n) {
  std::string approximate = n.getString("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return n.error() << "unknown approximation '" << approximate
                     << "'; ONNX has 'none' and 'tanh'";
  return n.yield(n.e.create<GeluOp>(
      n.input(0), approximate == "none" ? GeluKind::Erf : GeluKind::Tanh));
}

static LogicalResult fastGelu(Node &n) {
  Value x = n.input(0);
  if (n.has(1))
    x = n.e.binary<AddOp>(x, n.input(1));
  return n.yield(n.e.create<GeluOp>(x, GeluKind::Tanh));
}

static LogicalResult biasGelu(Node &n) {
  Value x = n.input(0), bias = n.input(1);
  return n.yield(n.e.create<GeluOp>(n.e.binary<AddOp>(x, bias), GeluKind::Erf));
}

/// x * sigmoid(alpha * x)
static LogicalResult swish(Node &n, double alpha) {
  Value x = n.input(0);
  if (alpha == 1)
    return n.yield(n.e.create<SiluOp>(x));
  return n.yield(
      n.e.create<MulOp>(x, n.e.create<SigmoidOp>(n.e.binary<MulOp>(x, alpha))));
}
static LogicalResult swish(Node &n) {
  return swish(n, n.getFloat("alpha", 1.0));
}
static LogicalResult quickGelu(Node &n) {
  return swish(n, n.getFloat("alpha", 1.702));
}

/// max(0, min(1, alpha * x + beta))
static Value hardSigmoid(Emitter &e, Value x, double alpha, double beta) {
  Value line = e.binary<AddOp>(e.binary<MulOp>(x, alpha), beta);
  return e.binary<MaxOp>(e.binary<MinOp>(line, 1.0), 0.0);
}
static LogicalResult hardSigmoid(Node &n) {
  return n.yield(hardSigmoid(n.e, n.input(0), n.getFloat("alpha", 0.2),
                             n.getFloat("beta", 0.5)));
}
static LogicalResult hardSwish(Node &n) {
  Value x = n.input(0);
  return n.yield(n.e.create<MulOp>(x, hardSigmoid(n.e, x, 1.0 / 6, 0.5)));
}

/// x where x > 0 (or >= threshold), `otherwise` elsewhere.
static Value positiveOr(Emitter &e, Value x, Value otherwise) {
  return e.select(e.compare(Predicate::GT, x, 0.0), x, otherwise);
}

static LogicalResult leakyRelu(Node &n) {
  Value x = n.input(0);
  Value scaled = n.e.binary<MulOp>(x, n.getFloat("alpha", 0.01));
  return n.yield(positiveOr(n.e, x, scaled));
}

static LogicalResult prelu(Node &n) {
  Value x = n.input(0), slope = n.input(1);
  return n.yield(positiveOr(n.e, x, n.e.binary<MulOp>(x, slope)));
}

static LogicalResult thresholdedRelu(Node &n) {
  Value x = n.input(0);
  Value above = n.e.compare(Predicate::GT, x, n.getFloat("alpha", 1.0));
  return n.yield(n.e.select(above, x, n.e.fill(x, 0.0)));
}

/// alpha * (exp(x / divisor) - 1)
static Value scaledExpm1(Emitter &e, Value x, double alpha, double divisor) {
  Value scaled = divisor == 1 ? x : e.binary<MulOp>(x, 1 / divisor);
  return e.binary<MulOp>(e.binary<SubOp>(e.create<ExpOp>(scaled), 1.0), alpha);
}

static LogicalResult elu(Node &n) {
  Value x = n.input(0);
  return n.yield(
      positiveOr(n.e, x, scaledExpm1(n.e, x, n.getFloat("alpha", 1.0), 1.0)));
}

static LogicalResult celu(Node &n) {
  Value x = n.input(0);
  double alpha = n.getFloat("alpha", 1.0);
  return n.yield(positiveOr(n.e, x, scaledExpm1(n.e, x, alpha, alpha)));
}

static LogicalResult selu(Node &n) {
  Value x = n.input(0);
  double alpha = n.getFloat("alpha", 1.6732632423543772848170429916717);
  double gamma = n.getFloat("gamma", 1.0507009873554804934193349852946);
  Value elu = positiveOr(n.e, x, scaledExpm1(n.e, x, alpha, 1.0));
  return n.yield(n.e.binary<MulOp>(elu, gamma));
}

/// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), which cannot overflow
static Value softplus(Emitter &e, Value x) {
  Value small = e.create<ExpOp>(e.create<NegOp>(e.create<AbsOp>(x)));
  Value rest = e.create<LogOp>(e.binary<AddOp>(small, 1.0));
  return e.create<AddOp>(e.create<ReluOp>(x), rest);
}
static LogicalResult softplus(Node &n) {
  return n.yield(softplus(n.e, n.input(0)));
}

static LogicalResult mish(Node &n) {
  Value x = n.input(0);
  return n.yield(n.e.create<MulOp>(x, n.e.create<TanhOp>(softplus(n.e, x))));
}

static LogicalResult softsign(Node &n) {
  Value x = n.input(0);
  return n.yield(
      n.e.create<DivOp>(x, n.e.binary<AddOp>(n.e.create<AbsOp>(x), 1.0)));
}

ArrayRef<OpEntry> pplan::import::getElementwiseOps() {
  static const OpEntry table[] = {
      {"Abs", unary<AbsOp>},
      {"Add", binary<AddOp>},
      {"And", binary<AndOp>},
      {"BitwiseAnd", binary<AndOp>},
      {"BitwiseNot", unary<NotOp>},
      {"BitwiseOr", binary<OrOp>},
      {"BitwiseXor", binary<XorOp>},
      {"Cast", cast},
      {"CastLike", castLike},
      {"Ceil", unary<CeilOp>},
      {"Celu", celu},
      {"Clip", clip},
      {"Cos", unary<CosOp>},
      {"Cosh", hyperbolic<AddOp>},
      {"Div", binary<DivOp>},
      {"Elu", elu},
      {"Equal", compare<Predicate::EQ>},
      {"Erf", unary<ErfOp>},
      {"Exp", unary<ExpOp>},
      {"Floor", unary<FloorOp>},
      {"Gelu", gelu},
      {"Greater", compare<Predicate::GT>},
      {"GreaterOrEqual", compare<Predicate::GE>},
      {"HardSigmoid", hardSigmoid},
      {"HardSwish", hardSwish},
      {"IsInf", isInf},
      {"IsNaN", isNaN},
      {"LeakyRelu", leakyRelu},
      {"Less", compare<Predicate::LT>},
      {"LessOrEqual", compare<Predicate::LE>},
      {"Log", unary<LogOp>},
      {"Max", variadic<MaxOp>},
      {"Mean", meanOfOperands},
      {"Min", variadic<MinOp>},
      {"Mish", mish},
      {"Mod", mod},
      {"Mul", binary<MulOp>},
      {"Neg", unary<NegOp>},
      {"Not", unary<NotOp>},
      {"Or", binary<OrOp>},
      {"PRelu", prelu},
      {"Pow", pow},
      {"Reciprocal", reciprocal},
      {"Relu", unary<ReluOp>},
      {"Round", unary<RoundOp>},
      {"Selu", selu},
      {"Sigmoid", unary<SigmoidOp>},
      {"Sign", unary<SignOp>},
      {"Sin", unary<SinOp>},
      {"Sinh", hyperbolic<SubOp>},
      {"Softplus", softplus},
      {"Softsign", softsign},
      {"Sqrt", unary<SqrtOp>},
      {"Sub", binary<SubOp>},
      {"Sum", variadic<AddOp>},
      {"Swish", swish},
      {"Tan", tan},
      {"Tanh", unary<TanhOp>},
      {"ThresholdedRelu", thresholdedRelu},
      {"Where", where},
      {"Xor", binary<XorOp>},
      {"BiasGelu", biasGelu, "com.microsoft"},
      {"FastGelu", fastGelu, "com.microsoft"},
      {"Gelu", gelu, "com.microsoft"},
      {"QuickGelu", quickGelu, "com.microsoft"},
  };
  return table;
}
