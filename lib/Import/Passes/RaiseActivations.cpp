//===- RaiseActivations.cpp - Recognise decomposed GELU and SiLU ----------===//
//
// A product is taken apart into its factors and the product of its scalars, so
// that any order of the multiplications matches; the argument of erf or tanh is
// compared as a polynomial in x.
//
//===----------------------------------------------------------------------===//
#include "RaisePatterns.h"
#include "mlir/IR/Builders.h"
#include <array>
#include <cmath>

using namespace mlir;
using namespace pplan;

/// Products and sums are looked through to this depth.
static constexpr int kMaxDepth = 8;

/// Splits a product into its factors; scalars are multiplied into `scalar`.
static void collectFactors(Value value, SmallVectorImpl<Value> &factors,
                           double &scalar, int depth = 0) {
  if (std::optional<double> splat = getSplatFloat(value)) {
    scalar *= *splat;
    return;
  }
  if (auto product = value.getDefiningOp<MulOp>();
      product && depth < kMaxDepth) {
    collectFactors(product.getLhs(), factors, scalar, depth + 1);
    collectFactors(product.getRhs(), factors, scalar, depth + 1);
    return;
  }
  if (auto quotient = value.getDefiningOp<DivOp>())
    if (std::optional<double> splat = getSplatFloat(quotient.getRhs());
        splat && *splat != 0 && depth < kMaxDepth) {
      scalar /= *splat;
      collectFactors(quotient.getLhs(), factors, scalar, depth + 1);
      return;
    }
  factors.push_back(value);
}

/// Coefficients of 1, x, x^2 and x^3.
using Polynomial = std::array<double, 4>;

/// `value` as a polynomial in `x`, if it is one of degree 3 or less.
static std::optional<Polynomial> getPolynomial(Value value, Value x,
                                               int depth = 0) {
  if (value == x)
    return Polynomial{0, 1, 0, 0};
  if (std::optional<double> splat = getSplatFloat(value))
    return Polynomial{*splat, 0, 0, 0};
  Operation *op = value.getDefiningOp();
  if (!op || !isa<AddOp, MulOp, DivOp>(op) || depth == kMaxDepth)
    return std::nullopt;
  auto left = getPolynomial(op->getOperand(0), x, depth + 1);
  auto right =
      left ? getPolynomial(op->getOperand(1), x, depth + 1) : std::nullopt;
  if (!right)
    return std::nullopt;
  Polynomial result{};
  if (isa<AddOp>(op)) {
    for (int i = 0; i < 4; ++i)
      result[i] = (*left)[i] + (*right)[i];
    return result;
  }
  if (isa<DivOp>(op)) {
    if ((*right)[0] == 0 || (*right)[1] != 0 || (*right)[2] != 0 ||
        (*right)[3] != 0)
      return std::nullopt;
    for (int i = 0; i < 4; ++i)
      result[i] = (*left)[i] / (*right)[0];
    return result;
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      double coefficient = (*left)[i] * (*right)[j];
      if (i + j < 4)
        result[i + j] += coefficient;
      else if (coefficient != 0)
        return std::nullopt;
    }
  return result;
}

static bool isClose(double a, double b) {
  return std::fabs(a - b) <= 1e-3 * std::fabs(b);
}

/// For 1 + erf(..) or 1 + tanh(..): the kind of GELU of `x` that the function
/// with this argument belongs to.
static std::optional<GeluKind> matchGate(Value value, Value x) {
  auto sum = value.getDefiningOp<AddOp>();
  if (!sum)
    return std::nullopt;
  Value function;
  if (getSplatFloat(sum.getRhs()) == 1.0)
    function = sum.getLhs();
  else if (getSplatFloat(sum.getLhs()) == 1.0)
    function = sum.getRhs();
  else
    return std::nullopt;
  Operation *op = function.getDefiningOp();
  if (!op || !isa<ErfOp, TanhOp>(op))
    return std::nullopt;
  std::optional<Polynomial> argument = getPolynomial(op->getOperand(0), x);
  if (!argument || (*argument)[0] != 0 || (*argument)[2] != 0)
    return std::nullopt;
  auto [zero, linear, square, cubic] = *argument;
  if (isa<ErfOp>(op))
    return isClose(linear, M_SQRT1_2) && cubic == 0
               ? std::optional(GeluKind::Erf)
               : std::nullopt;
  double slope = std::sqrt(M_2_PI);
  return isClose(linear, slope) && isClose(cubic, slope * 0.044715)
             ? std::optional(GeluKind::Tanh)
             : std::nullopt;
}

namespace {
/// x/2 * (1 + erf(x / sqrt(2))) and its approximation by tanh.
struct RaiseGelu : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    if (!isa<FloatType>(op.getType().getElementType()))
      return failure();
    SmallVector<Value> factors;
    double scalar = 1;
    collectFactors(op, factors, scalar);
    // x itself may be a product, whose other factors would be in the list.
    if (factors.size() == 2 && isClose(scalar, 0.5))
      for (int i = 0; i < 2; ++i)
        if (auto kind = matchGate(factors[1 - i], factors[i])) {
          rewriter.replaceOpWithNewOp<GeluOp>(op, factors[i], *kind);
          return success();
        }
    return failure();
  }
};

/// x * sigmoid(x)
struct RaiseSilu : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    for (auto [gate, x] : {std::pair(op.getLhs(), op.getRhs()),
                           std::pair(op.getRhs(), op.getLhs())}) {
      auto sigmoid = gate.getDefiningOp<SigmoidOp>();
      if (!sigmoid || sigmoid.getInput() != x)
        continue;
      rewriter.replaceOpWithNewOp<SiluOp>(op, x);
      return success();
    }
    return failure();
  }
};
} // namespace

void pplan::populateRaiseActivationPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseGelu, RaiseSilu>(patterns.getContext());
}
