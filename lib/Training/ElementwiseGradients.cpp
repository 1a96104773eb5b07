//===- ElementwiseGradients.cpp - Gradients of elementwise operations -----===//
//
// One rule per operation: the derivative as the textbook has it, in terms of
// the result where that spares a transcendental function.
//
//===----------------------------------------------------------------------===//
#include "GradientModels.h"

using namespace mlir;
using namespace pplan;

static constexpr double kSqrtHalf = 0.70710678118654752440;
static constexpr double kInvSqrt2Pi = 0.39894228040143267794;
static constexpr double kTwoOverSqrtPi = 1.12837916709551257390;
static constexpr double kSqrt2OverPi = 0.79788456080286535588;

/// 1 - x.
static Value complement(GradientContext &c, Value x) {
  return c.sub(c.like(x, 1), x);
}

static void absGradient(AbsOp op, GradientContext &c) {
  c.give(0, c.mul(c.getResultGradient(), c.unary<SignOp>(op.getInput())));
}
static void negGradient(NegOp, GradientContext &c) {
  c.give(0, c.neg(c.getResultGradient()));
}
static void expGradient(ExpOp op, GradientContext &c) {
  c.give(0, c.mul(c.getResultGradient(), op.getResult()));
}
static void logGradient(LogOp op, GradientContext &c) {
  c.give(0, c.div(c.getResultGradient(), op.getInput()));
}
static void sqrtGradient(SqrtOp op, GradientContext &c) {
  c.give(0, c.div(c.mul(c.getResultGradient(), 0.5), op.getResult()));
}
static void rsqrtGradient(RsqrtOp op, GradientContext &c) {
  Value y = op.getResult();
  c.give(0, c.mul(c.mul(c.getResultGradient(), -0.5), c.mul(y, c.mul(y, y))));
}
static void sinGradient(SinOp op, GradientContext &c) {
  c.give(0, c.mul(c.getResultGradient(), c.unary<CosOp>(op.getInput())));
}
static void cosGradient(CosOp op, GradientContext &c) {
  Value sine = c.unary<SinOp>(op.getInput());
  c.give(0, c.neg(c.mul(c.getResultGradient(), sine)));
}
static void tanhGradient(TanhOp op, GradientContext &c) {
  Value square = c.mul(op.getResult(), op.getResult());
  c.give(0, c.mul(c.getResultGradient(), complement(c, square)));
}
static void erfGradient(ErfOp op, GradientContext &c) {
  Value square = c.mul(op.getInput(), op.getInput());
  Value slope = c.mul(c.unary<ExpOp>(c.neg(square)), kTwoOverSqrtPi);
  c.give(0, c.mul(c.getResultGradient(), slope));
}
static void sigmoidGradient(SigmoidOp op, GradientContext &c) {
  Value y = op.getResult();
  c.give(0, c.mul(c.getResultGradient(), c.mul(y, complement(c, y))));
}
static void siluGradient(SiluOp op, GradientContext &c) {
  // s + x s (1 - s)
  Value x = op.getInput(), s = c.unary<SigmoidOp>(x);
  Value slope = c.mul(s, c.add(c.mul(x, complement(c, s)), 1));
  c.give(0, c.mul(c.getResultGradient(), slope));
}
static void reluGradient(ReluOp op, GradientContext &c) {
  Value x = op.getInput(), zero = c.like(x, 0);
  c.give(0, c.select(c.compare(Predicate::GT, x, zero), c.getResultGradient(),
                     zero));
}
static void geluGradient(GeluOp op, GradientContext &c) {
  Value x = op.getInput(), slope;
  if (op.getKind() == GeluKind::Erf) {
    // Phi(x) + x phi(x)
    Value area = c.mul(c.add(c.unary<ErfOp>(c.mul(x, kSqrtHalf)), 1), 0.5);
    Value bell = c.mul(c.unary<ExpOp>(c.mul(c.mul(x, x), -0.5)), kInvSqrt2Pi);
    slope = c.add(area, c.mul(x, bell));
  } else {
    // (1 + h)/2 + x/2 (1 - h^2) u', h = tanh(u), u = sqrt(2/pi) (x + a x^3)
    Value square = c.mul(x, x);
    Value u = c.mul(c.mul(x, c.add(c.mul(square, 0.044715), 1)), kSqrt2OverPi);
    Value h = c.unary<TanhOp>(u);
    Value inner = c.mul(c.add(c.mul(square, 3 * 0.044715), 1), kSqrt2OverPi);
    slope = c.add(c.mul(c.add(h, 1), 0.5),
                  c.mul(c.mul(c.mul(x, 0.5), complement(c, c.mul(h, h))),
                        inner));
  }
  c.give(0, c.mul(c.getResultGradient(), slope));
}

static void convertGradient(ConvertOp op, GradientContext &c) {
  c.give(0, c.convert(c.getResultGradient(),
                      getTensorType(op.getInput()).getElementType()));
}

static void addGradient(AddOp, GradientContext &c) {
  c.give(0, c.getResultGradient());
  c.give(1, c.getResultGradient());
}
static void subGradient(SubOp, GradientContext &c) {
  c.give(0, c.getResultGradient());
  if (c.wants(1))
    c.give(1, c.neg(c.getResultGradient()));
}
static void mulGradient(MulOp op, GradientContext &c) {
  if (c.wants(0))
    c.give(0, c.mul(c.getResultGradient(), op.getRhs()));
  if (c.wants(1))
    c.give(1, c.mul(c.getResultGradient(), op.getLhs()));
}
static void divGradient(DivOp op, GradientContext &c) {
  Value left = c.div(c.getResultGradient(), op.getRhs());
  c.give(0, left);
  if (c.wants(1))
    c.give(1, c.neg(c.mul(left, op.getResult())));
}
static void remGradient(RemOp op, GradientContext &c) {
  // x rem y = x - trunc(x / y) y
  c.give(0, c.getResultGradient());
  if (!c.wants(1))
    return;
  Value quotient = c.div(c.sub(op.getLhs(), op.getResult()), op.getRhs());
  c.give(1, c.neg(c.mul(c.getResultGradient(),
                        c.unary<RoundOp>(quotient))));
}
static void powGradient(PowOp op, GradientContext &c) {
  Value x = op.getLhs(), p = op.getRhs(), g = c.getResultGradient();
  Value zero = c.like(x, 0);
  if (c.wants(0)) {
    // p x^(p-1), and 0 where p is 0, also at x = 0
    Value slope = c.mul(p, c.binary<PowOp>(x, c.add(p, -1)));
    c.give(0, c.mul(g, c.select(c.compare(Predicate::EQ, p, zero), zero,
                                slope)));
  }
  if (c.wants(1)) {
    // x^p log x, and 0 at x = 0, where x^p no longer depends on p > 0
    Value slope = c.mul(op.getResult(), c.unary<LogOp>(x));
    c.give(1, c.mul(g, c.select(c.compare(Predicate::EQ, x, zero), zero,
                                slope)));
  }
}

/// Larger or smaller operand: equal operands share the gradient evenly.
template <typename OpT>
static void extremumGradient(OpT op, GradientContext &c, Predicate wins) {
  Value x = op.getLhs(), y = op.getRhs(), g = c.getResultGradient();
  Value zero = c.like(g, 0), half = c.mul(g, 0.5);
  Value tie = c.compare(Predicate::EQ, x, y);
  auto share = [&](Value mine, Value other) {
    Value alone = c.select(c.compare(wins, mine, other), g, zero);
    return c.select(tie, half, alone);
  };
  if (c.wants(0))
    c.give(0, share(x, y));
  if (c.wants(1))
    c.give(1, share(y, x));
}
static void maxGradient(MaxOp op, GradientContext &c) {
  extremumGradient(op, c, Predicate::GT);
}
static void minGradient(MinOp op, GradientContext &c) {
  extremumGradient(op, c, Predicate::LT);
}

static void selectGradient(SelectOp op, GradientContext &c) {
  Value g = c.getResultGradient(), zero = c.like(g, 0);
  if (c.wants(1))
    c.give(1, c.select(op.getCondition(), g, zero));
  if (c.wants(2))
    c.give(2, c.select(op.getCondition(), zero, g));
}

static void reshardGradient(ReshardOp, GradientContext &c) {
  c.give(0, c.getResultGradient());
}

/// Piecewise constant: the gradient is zero wherever it exists.
template <typename OpT> static void zeroGradient(OpT, GradientContext &) {}

void pplan::attachElementwiseGradients(MLIRContext &context) {
  attachGradients<absGradient, negGradient, expGradient, logGradient,
                  sqrtGradient, rsqrtGradient, sinGradient, cosGradient,
                  tanhGradient, erfGradient, sigmoidGradient, siluGradient,
                  reluGradient, geluGradient, convertGradient, addGradient,
                  subGradient, mulGradient, divGradient, remGradient,
                  powGradient, maxGradient, minGradient, selectGradient,
                  reshardGradient, zeroGradient<SignOp>, zeroGradient<FloorOp>,
                  zeroGradient<CeilOp>, zeroGradient<RoundOp>>(context);
}
