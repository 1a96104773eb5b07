//===- ApproximateMath.cpp - pplan-approximate-math -----------------------===//
//
// Decides which functions are computed by polynomials, and how exp and log are:
// their polynomials are Cephes' (expf.c, logf.c; S. Moshier, 1989), what is
// around them is made for vectors. tanh and erf are MLIR's.
//
//===----------------------------------------------------------------------===//
#include "pplan/Lowering/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include <limits>

namespace pplan {
#define GEN_PASS_DEF_APPROXIMATEMATHPASS
#include "pplan/Lowering/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

namespace {
/// Builds f32 and i32 scalar arithmetic at one place.
struct FloatBuilder {
  OpBuilder &b;
  Location loc;

  template <typename OpTy> Value binary(Value x, Value y) {
    return OpTy::create(b, loc, x, y);
  }
  Value f32(float value) {
    return arith::ConstantOp::create(b, loc, b.getF32FloatAttr(value));
  }
  Value i32(int32_t value) {
    return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value));
  }
  Value fma(Value x, Value y, Value z) {
    return math::FmaOp::create(b, loc, x, y, z);
  }
  Value toBits(Value x) {
    return arith::BitcastOp::create(b, loc, b.getI32Type(), x);
  }
  Value fromBits(Value x) {
    return arith::BitcastOp::create(b, loc, b.getF32Type(), x);
  }
  Value select(arith::CmpFPredicate predicate, Value x, Value y, Value yes,
               Value no) {
    Value holds = arith::CmpFOp::create(b, loc, predicate, x, y);
    return arith::SelectOp::create(b, loc, holds, yes, no);
  }
  /// coefficients[0] x^n + ... + coefficients[n].
  Value polynomial(Value x, ArrayRef<float> coefficients) {
    Value sum = f32(coefficients.front());
    for (float coefficient : coefficients.drop_front())
      sum = fma(sum, x, f32(coefficient));
    return sum;
  }
};

/// exp(x) = 2^k exp(r), k = round(x / ln 2), |r| <= ln(2) / 2. Results below
/// the smallest normal float are 0.
struct ExpPattern : public OpRewritePattern<math::ExpOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::ExpOp op,
                                PatternRewriter &rewriter) const override;
};

/// log(x) = e ln 2 + log(m), x = 2^e m, sqrt(1/2) <= m < sqrt(2).
struct LogPattern : public OpRewritePattern<math::LogOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::LogOp op,
                                PatternRewriter &rewriter) const override;
};
} // namespace

LogicalResult ExpPattern::matchAndRewrite(math::ExpOp op,
                                          PatternRewriter &rewriter) const {
  if (!op.getType().isF32())
    return failure();
  FloatBuilder f{rewriter, op.getLoc()};
  using P = arith::CmpFPredicate;
  Value x = op.getOperand();
  // Adding 1.5 * 2^23 rounds to an integer and leaves it in the lowest bits.
  Value magic = f.f32(0x1.8p23f);
  Value shifted = f.fma(x, f.f32(0x1.715476p0f), magic);
  Value k = f.binary<arith::SubFOp>(shifted, magic);
  // ln 2 in two parts; k times the first is exact.
  Value r = f.fma(k, f.f32(-0x1.63p-1f), x);
  r = f.fma(k, f.f32(0x1.bd0106p-13f), r);
  Value p = f.polynomial(r, {1.9875691500e-4f, 1.3981999507e-3f,
                             8.3334519073e-3f, 4.1665795894e-2f,
                             1.6666665459e-1f, 5.0000001201e-1f});
  p = f.fma(p, f.binary<arith::MulFOp>(r, r), r);
  Value mantissa = f.binary<arith::AddFOp>(p, f.f32(1.0f));
  // Where k is 128, exp(r) is below 1, so the sum of the exponents is one.
  Value scaled = f.fromBits(f.binary<arith::AddIOp>(
      f.toBits(mantissa),
      f.binary<arith::ShLIOp>(f.toBits(shifted), f.i32(23))));
  // Above log of the largest float: infinity, or NaN where x is.
  Value infinity = f.f32(std::numeric_limits<float>::infinity());
  Value above = f.binary<arith::AddFOp>(x, infinity);
  Value result = f.select(P::UGT, x, f.f32(0x1.62e42ep6f), above, scaled);
  result = f.select(P::OLT, x, f.f32(-0x1.5d589ep6f), f.f32(0.0f), result);
  rewriter.replaceOp(op, result);
  return success();
}

LogicalResult LogPattern::matchAndRewrite(math::LogOp op,
                                          PatternRewriter &rewriter) const {
  if (!op.getType().isF32())
    return failure();
  FloatBuilder f{rewriter, op.getLoc()};
  using P = arith::CmpFPredicate;
  Value x = op.getOperand(), zero = f.f32(0.0f), one = f.f32(1.0f);
  // Subnormal numbers become normal ones, exactly.
  Value smallest = f.f32(std::numeric_limits<float>::min());
  Value up = f.binary<arith::MulFOp>(x, f.f32(0x1p23f));
  Value normal = f.select(P::OLT, x, smallest, up, x);
  Value offset = f.select(P::OLT, x, smallest, f.f32(-23.0f), zero);
  // The difference of bits to sqrt(1/2) has e where the exponent is.
  Value bits = f.toBits(normal), shift = f.i32(23);
  Value e = f.binary<arith::ShRSIOp>(
      f.binary<arith::SubIOp>(bits, f.i32(0x3f3504f3)), shift);
  Value m = f.fromBits(f.binary<arith::SubIOp>(
      bits, f.binary<arith::ShLIOp>(e, shift)));
  Value exponent = f.binary<arith::AddFOp>(
      arith::SIToFPOp::create(rewriter, op.getLoc(), rewriter.getF32Type(), e),
      offset);
  Value y = f.binary<arith::SubFOp>(m, one);
  Value square = f.binary<arith::MulFOp>(y, y);
  Value cube = f.binary<arith::MulFOp>(square, y);
  // In three parts, which processors can compute side by side.
  Value high = f.polynomial(
      y, {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f});
  Value middle = f.polynomial(
      y, {-1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f});
  Value low = f.polynomial(
      y, {2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f});
  Value p = f.fma(f.fma(high, cube, middle), cube, low);
  p = f.binary<arith::MulFOp>(p, cube);
  p = f.fma(f.f32(-0.5f), square, p);
  Value result = f.fma(exponent, f.f32(0x1.62e43p-1f),
                       f.binary<arith::AddFOp>(y, p));
  Value infinity = f.f32(std::numeric_limits<float>::infinity());
  // Infinity and NaN are their own logarithms.
  result = f.select(P::OLT, x, infinity, result, x);
  result = f.select(P::OLT, x, zero,
                    f.f32(std::numeric_limits<float>::quiet_NaN()), result);
  result = f.select(P::OEQ, x, zero,
                    f.f32(-std::numeric_limits<float>::infinity()), result);
  rewriter.replaceOp(op, result);
  return success();
}

namespace {
struct ApproximateMathPass
    : public ::pplan::impl::ApproximateMathPassBase<ApproximateMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpPattern, LogPattern>(&getContext());
    populateMathPolynomialApproximationPatterns(
        patterns, [](StringRef name) {
          return llvm::is_contained({"math.tanh", "math.erf"}, name);
        });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
