//===- EvaluateElementwise.cpp - Elementwise operations on constants ------===//
//
// Computes in double precision for floats and in 64 bits for integers, then
// rounds to the element type once: at least as accurate as the operation in
// its own type.
//
//===----------------------------------------------------------------------===//
#include "ConstantEvaluator.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

static double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

static double gelu(GeluKind kind, double x) {
  if (kind == GeluKind::Erf)
    return x / 2 * (1 + std::erf(x * M_SQRT1_2));
  double inner = std::sqrt(M_2_PI) * (x + 0.044715 * x * x * x);
  return x / 2 * (1 + std::tanh(inner));
}

/// NaN if either is, unlike std::fmax.
static double maximum(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y);
}
static double minimum(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : std::min(x, y);
}

static std::optional<double> computeFloat(Operation *op, double x) {
  return TypeSwitch<Operation *, std::optional<double>>(op)
      .Case([&](AbsOp) { return std::fabs(x); })
      .Case([&](SignOp) { return sign(x); })
      .Case([&](NegOp) { return -x; })
      .Case([&](ExpOp) { return std::exp(x); })
      .Case([&](LogOp) { return std::log(x); })
      .Case([&](SqrtOp) { return std::sqrt(x); })
      .Case([&](RsqrtOp) { return 1 / std::sqrt(x); })
      .Case([&](SinOp) { return std::sin(x); })
      .Case([&](CosOp) { return std::cos(x); })
      .Case([&](TanhOp) { return std::tanh(x); })
      .Case([&](ErfOp) { return std::erf(x); })
      .Case([&](SigmoidOp) { return sigmoid(x); })
      .Case([&](SiluOp) { return x * sigmoid(x); })
      .Case([&](ReluOp) { return maximum(x, 0); })
      .Case([&](FloorOp) { return std::floor(x); })
      .Case([&](CeilOp) { return std::ceil(x); })
      .Case([&](RoundOp) { return std::nearbyint(x); })
      .Case([&](GeluOp gelu) { return ::gelu(gelu.getKind(), x); })
      .Default(std::nullopt);
}

static std::optional<double> computeFloat(Operation *op, double x, double y) {
  return TypeSwitch<Operation *, std::optional<double>>(op)
      .Case([&](AddOp) { return x + y; })
      .Case([&](SubOp) { return x - y; })
      .Case([&](MulOp) { return x * y; })
      .Case([&](DivOp) { return x / y; })
      .Case([&](RemOp) { return std::fmod(x, y); })
      .Case([&](PowOp) { return std::pow(x, y); })
      .Case([&](MaxOp) { return maximum(x, y); })
      .Case([&](MinOp) { return minimum(x, y); })
      .Default(std::nullopt);
}

/// Arithmetic that wraps around instead of overflowing.
static int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }

static std::optional<int64_t> computeInt(Operation *op, int64_t x) {
  return TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](AbsOp) { return x < 0 ? wrap(0 - uint64_t(x)) : x; })
      .Case([&](SignOp) { return int64_t(x > 0) - int64_t(x < 0); })
      .Case([&](NegOp) { return wrap(0 - uint64_t(x)); })
      .Case([&](ReluOp) { return std::max<int64_t>(x, 0); })
      .Case([&](NotOp) { return ~x; })
      .Default(std::nullopt);
}

static int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  uint64_t result = 1, factor = base;
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return wrap(result);
}

static std::optional<int64_t> computeInt(Operation *op, int64_t x, int64_t y) {
  bool overflows = y == -1; // INT64_MIN / -1 traps
  return TypeSwitch<Operation *, std::optional<int64_t>>(op)
      .Case([&](AddOp) { return wrap(uint64_t(x) + uint64_t(y)); })
      .Case([&](SubOp) { return wrap(uint64_t(x) - uint64_t(y)); })
      .Case([&](MulOp) { return wrap(uint64_t(x) * uint64_t(y)); })
      .Case([&](DivOp) {
        return y == 0 ? 0 : overflows ? wrap(0 - uint64_t(x)) : x / y;
      })
      .Case([&](RemOp) { return y == 0 || overflows ? 0 : x % y; })
      .Case([&](PowOp) { return power(x, y); })
      .Case([&](MaxOp) { return std::max(x, y); })
      .Case([&](MinOp) { return std::min(x, y); })
      .Case([&](AndOp) { return x & y; })
      .Case([&](OrOp) { return x | y; })
      .Case([&](XorOp) { return x ^ y; })
      .Default(std::nullopt);
}

template <typename T> static bool compare(Predicate predicate, T x, T y) {
  switch (predicate) {
  case Predicate::EQ:
    return x == y;
  case Predicate::NE:
    return x != y;
  case Predicate::LT:
    return x < y;
  case Predicate::LE:
    return x <= y;
  case Predicate::GT:
    return x > y;
  case Predicate::GE:
    return x >= y;
  }
  return false;
}

/// Rounds or converts each element to the result's type.
static void convert(const HostTensor &from, HostTensor &to) {
  bool toBool = to.getElementType().isInteger(1);
  unsigned bits = to.getElementType().getIntOrFloatBitWidth();
  bool isUnsigned = to.getElementType().isUnsignedInteger();
  double low = isUnsigned ? 0 : -std::ldexp(1.0, bits - 1);
  double high = std::ldexp(1.0, isUnsigned ? bits : bits - 1) - 1;
  for (int64_t i = 0; i < to.getNumElements(); ++i) {
    if (toBool)
      to.setInt(i,
                from.isFloat() ? from.getFloat(i) != 0 : from.getInt(i) != 0);
    else if (to.isFloat())
      to.setFloat(i, from.getFloat(i));
    else if (from.isFloat() && bits < 64)
      to.setFloat(i, std::min(std::max(from.getFloat(i), low), high));
    else
      to.setInt(i, from.getInt(i));
  }
}

static bool evaluateSpecial(Operation *op,
                            ArrayRef<const HostTensor *> operands,
                            HostTensor &result) {
  int64_t count = result.getNumElements();
  if (auto compareOp = dyn_cast<CompareOp>(op)) {
    Predicate predicate = compareOp.getPredicate();
    const HostTensor &x = *operands[0], &y = *operands[1];
    for (int64_t i = 0; i < count; ++i)
      result.setInt(i, x.isFloat()
                           ? compare(predicate, x.getFloat(i), y.getFloat(i))
                           : compare(predicate, x.getInt(i), y.getInt(i)));
    return true;
  }
  if (isa<SelectOp>(op)) {
    for (int64_t i = 0; i < count; ++i)
      result.copyElement(i, *operands[operands[0]->getInt(i) ? 1 : 2], i);
    return true;
  }
  if (isa<ConvertOp>(op)) {
    convert(*operands[0], result);
    return true;
  }
  return false;
}

std::optional<HostTensor>
pplan::import::evaluateElementwise(Operation *op,
                                   ArrayRef<const HostTensor *> operands) {
  if (operands.empty())
    return std::nullopt;
  HostTensor result(getTensorType(op->getResult(0)));
  if (isa<CompareOp, SelectOp, ConvertOp>(op))
    return evaluateSpecial(op, operands, result)
               ? std::optional<HostTensor>(std::move(result))
               : std::nullopt;
  // Everything else has one type for all operands and the result.
  if (operands.size() > 2 || operands[0]->getType() != result.getType() ||
      operands.back()->getType() != result.getType())
    return std::nullopt;
  bool binary = operands.size() == 2;
  for (int64_t i = 0; i < result.getNumElements(); ++i) {
    if (result.isFloat()) {
      double x = operands[0]->getFloat(i);
      auto y = binary ? computeFloat(op, x, operands[1]->getFloat(i))
                      : computeFloat(op, x);
      if (!y)
        return std::nullopt;
      result.setFloat(i, *y);
    } else {
      int64_t x = operands[0]->getInt(i);
      auto y = binary ? computeInt(op, x, operands[1]->getInt(i))
                      : computeInt(op, x);
      if (!y)
        return std::nullopt;
      result.setInt(i, *y);
    }
  }
  return result;
}
