//===- Elementwise.cpp - Reference of elementwise operations --------------===//
//
// One function of doubles per operation, as its description says.
//
//===----------------------------------------------------------------------===//
#include "Evaluate.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace pplan;

static double nanOr(double a, double b, double value) {
  return std::isnan(a) || std::isnan(b)
             ? std::numeric_limits<double>::quiet_NaN()
             : value;
}

static double gelu(GeluKind kind, double x) {
  if (kind == GeluKind::Erf)
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  double inner = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

static bool compare(Predicate predicate, double a, double b) {
  switch (predicate) {
  case Predicate::EQ:
    return a == b;
  case Predicate::NE:
    return a != b;
  case Predicate::LT:
    return a < b;
  case Predicate::LE:
    return a <= b;
  case Predicate::GT:
    return a > b;
  case Predicate::GE:
    return a >= b;
  }
  return false;
}

/// Bounds of an integer type as doubles.
static std::pair<double, double> getBounds(IntegerType type) {
  double bits = type.getWidth();
  if (type.isUnsigned())
    return {0, std::exp2(bits) - 1};
  return {-std::exp2(bits - 1), std::exp2(bits - 1) - 1};
}

static double convert(double value, Type to) {
  auto type = dyn_cast<IntegerType>(to);
  if (!type)
    return value;
  if (type.getWidth() == 1)
    return value != 0;
  if (std::isnan(value))
    return 0;
  auto [low, high] = getBounds(type);
  return std::min(std::max(std::trunc(value), low), high);
}

static double divide(double a, double b, bool isInteger) {
  if (!isInteger)
    return a / b;
  return b == 0 ? 0 : std::trunc(a / b);
}

static double remainder(double a, double b, bool isInteger) {
  return isInteger && b == 0 ? 0 : std::fmod(a, b);
}

/// Bitwise operations; garbage outside the type is cut down to it.
static int64_t toBits(double value) {
  return std::isnan(value) ? 0 : static_cast<int64_t>(value);
}

using Unary = double (*)(double);
using Binary = double (*)(double, double);

static Unary getUnary(Operation *op) {
  return TypeSwitch<Operation *, Unary>(op)
      .Case<AbsOp>([](auto) { return +[](double x) { return std::fabs(x); }; })
      .Case<SignOp>([](auto) {
        return +[](double x) {
          return std::isnan(x) ? x : double((x > 0) - (x < 0));
        };
      })
      .Case<NegOp>([](auto) { return +[](double x) { return -x; }; })
      .Case<ExpOp>([](auto) { return +[](double x) { return std::exp(x); }; })
      .Case<LogOp>([](auto) { return +[](double x) { return std::log(x); }; })
      .Case<SqrtOp>([](auto) { return +[](double x) { return std::sqrt(x); }; })
      .Case<RsqrtOp>(
          [](auto) { return +[](double x) { return 1 / std::sqrt(x); }; })
      .Case<SinOp>([](auto) { return +[](double x) { return std::sin(x); }; })
      .Case<CosOp>([](auto) { return +[](double x) { return std::cos(x); }; })
      .Case<TanhOp>([](auto) { return +[](double x) { return std::tanh(x); }; })
      .Case<ErfOp>([](auto) { return +[](double x) { return std::erf(x); }; })
      .Case<SigmoidOp>(
          [](auto) { return +[](double x) { return 1 / (1 + std::exp(-x)); }; })
      .Case<SiluOp>(
          [](auto) { return +[](double x) { return x / (1 + std::exp(-x)); }; })
      .Case<ReluOp>([](auto) {
        return +[](double x) { return std::isnan(x) || x > 0 ? x : 0.0; };
      })
      .Case<FloorOp>(
          [](auto) { return +[](double x) { return std::floor(x); }; })
      .Case<CeilOp>([](auto) { return +[](double x) { return std::ceil(x); }; })
      .Case<RoundOp>(
          [](auto) { return +[](double x) { return std::nearbyint(x); }; })
      .Case<ReshardOp>([](auto) { return +[](double x) { return x; }; })
      .Default(Unary(nullptr));
}

static Binary getBinary(Operation *op, bool isInteger) {
  return TypeSwitch<Operation *, Binary>(op)
      .Case<AddOp>(
          [](auto) { return +[](double a, double b) { return a + b; }; })
      .Case<SubOp>(
          [](auto) { return +[](double a, double b) { return a - b; }; })
      .Case<MulOp>(
          [](auto) { return +[](double a, double b) { return a * b; }; })
      .Case<DivOp>([&](auto) {
        return isInteger
                   ? +[](double a, double b) { return divide(a, b, true); }
                   : +[](double a, double b) { return divide(a, b, false); };
      })
      .Case<RemOp>([&](auto) {
        return isInteger
                   ? +[](double a, double b) { return remainder(a, b, true); }
                   : +[](double a, double b) { return remainder(a, b, false); };
      })
      .Case<PowOp>([](auto) {
        return +[](double a, double b) { return std::pow(a, b); };
      })
      .Case<MaxOp>([](auto) {
        return +[](double a, double b) { return nanOr(a, b, a > b ? a : b); };
      })
      .Case<MinOp>([](auto) {
        return +[](double a, double b) { return nanOr(a, b, a < b ? a : b); };
      })
      .Case<AndOp>([](auto) {
        return +[](double a, double b) {
          return double(toBits(a) & toBits(b));
        };
      })
      .Case<OrOp>([](auto) {
        return +[](double a, double b) {
          return double(toBits(a) | toBits(b));
        };
      })
      .Case<XorOp>([](auto) {
        return +[](double a, double b) {
          return double(toBits(a) ^ toBits(b));
        };
      })
      .Default(Binary(nullptr));
}

/// `not` depends on the type: i1 is logical, unsigned wraps.
static double complement(double value, IntegerType type) {
  if (type.getWidth() == 1)
    return value == 0;
  double result = static_cast<double>(~toBits(value));
  return type.isUnsigned() ? result + std::exp2(type.getWidth()) : result;
}

std::optional<HostTensor> pplan::evaluateElementwise(Operation *op,
                                                     HostOperands operands) {
  if (op->getNumResults() != 1 || operands.empty())
    return std::nullopt;
  auto type = getTensorType(op->getResult(0));
  HostTensor result(type.getShape());
  auto map = [&](auto function) {
    for (int64_t i = 0; i < result.size(); ++i)
      result.data[i] = function(i);
    return result;
  };
  auto in = [&](unsigned index, int64_t i) { return operands[index]->data[i]; };
  if (Unary unary = getUnary(op))
    return map([&](int64_t i) { return unary(in(0, i)); });
  if (Binary binary = getBinary(op, type.getElementType().isInteger()))
    return map([&](int64_t i) { return binary(in(0, i), in(1, i)); });
  if (auto gate = dyn_cast<GeluOp>(op))
    return map([&](int64_t i) { return gelu(gate.getKind(), in(0, i)); });
  if (isa<ConvertOp>(op))
    return map(
        [&](int64_t i) { return convert(in(0, i), type.getElementType()); });
  if (isa<NotOp>(op))
    return map([&](int64_t i) {
      return complement(in(0, i), cast<IntegerType>(type.getElementType()));
    });
  if (auto comparison = dyn_cast<CompareOp>(op))
    return map([&](int64_t i) {
      return double(compare(comparison.getPredicate(), in(0, i), in(1, i)));
    });
  if (isa<SelectOp>(op))
    return map([&](int64_t i) { return in(0, i) != 0 ? in(1, i) : in(2, i); });
  return std::nullopt;
}
