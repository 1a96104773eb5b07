//===- ConvertScalar.cpp - Combiners and conversions of scalars -----------===//
//
// Decides what combining two elements means for each kind of reduction and
// type, and how an element changes its type.
//
//===----------------------------------------------------------------------===//
#include "Convert.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

Value memory::emitCombine(Emitter &e, ReductionKind kind, Value lhs, Value rhs,
                          bool isUnsigned) {
  if (isa<FloatType>(lhs.getType())) {
    switch (kind) {
    case ReductionKind::Sum:
      return e.create<arith::AddFOp>(lhs, rhs);
    case ReductionKind::Prod:
      return e.create<arith::MulFOp>(lhs, rhs);
    case ReductionKind::Max:
      return e.create<arith::MaximumFOp>(lhs, rhs);
    case ReductionKind::Min:
      return e.create<arith::MinimumFOp>(lhs, rhs);
    }
  }
  switch (kind) {
  case ReductionKind::Sum:
    return e.create<arith::AddIOp>(lhs, rhs);
  case ReductionKind::Prod:
    return e.create<arith::MulIOp>(lhs, rhs);
  case ReductionKind::Max:
    if (isUnsigned)
      return e.create<arith::MaxUIOp>(lhs, rhs);
    return e.create<arith::MaxSIOp>(lhs, rhs);
  case ReductionKind::Min:
    if (isUnsigned)
      return e.create<arith::MinUIOp>(lhs, rhs);
    return e.create<arith::MinSIOp>(lhs, rhs);
  }
  return {};
}

Value memory::emitNeutral(Emitter &e, ReductionKind kind, Type type,
                          bool isUnsigned) {
  double infinity = std::numeric_limits<double>::infinity();
  bool isFloat = isa<FloatType>(type);
  unsigned width = type.getIntOrFloatBitWidth();
  auto integer = [&](const APInt &value) -> Value {
    return e.create<arith::ConstantOp>(e.b.getIntegerAttr(type, value));
  };
  switch (kind) {
  case ReductionKind::Sum:
    return e.constant(type, 0.0);
  case ReductionKind::Prod:
    return e.constant(type, 1.0);
  case ReductionKind::Max:
    if (isFloat)
      return e.constant(type, -infinity);
    return integer(isUnsigned ? APInt::getZero(width)
                              : APInt::getSignedMinValue(width));
  case ReductionKind::Min:
    if (isFloat)
      return e.constant(type, infinity);
    return integer(isUnsigned ? APInt::getMaxValue(width)
                              : APInt::getSignedMaxValue(width));
  }
  return {};
}

/// Float to integer: truncates, saturates, NaN gives 0.
static Value emitFloatToInt(Emitter &e, Value value, Type to) {
  Type from = value.getType();
  unsigned width = to.getIntOrFloatBitWidth();
  bool isUnsigned = to.isUnsignedInteger();
  Type target = getComputeType(to);
  APInt low = isUnsigned ? APInt::getZero(width)
                         : APInt::getSignedMinValue(width);
  APInt high = isUnsigned ? APInt::getMaxValue(width)
                          : APInt::getSignedMaxValue(width);
  // 2^k is exact in every float type; above and below it the value saturates.
  double above = std::ldexp(1.0, isUnsigned ? width : width - 1);
  double below = isUnsigned ? 0.0 : -above;
  auto compare = [&](arith::CmpFPredicate predicate, Value x, Value y) {
    return e.create<arith::CmpFOp>(predicate, x, y);
  };
  Value tooHigh =
      compare(arith::CmpFPredicate::OGE, value, e.constant(from, above));
  Value tooLow =
      compare(arith::CmpFPredicate::OLT, value, e.constant(from, below));
  Value isNaN = compare(arith::CmpFPredicate::UNO, value, value);
  Value outside = e.create<arith::OrIOp>(
      isNaN, e.create<arith::OrIOp>(tooHigh, tooLow));
  Value safe =
      e.create<arith::SelectOp>(outside, e.constant(from, 0.0), value);
  Value result = isUnsigned ? Value(e.create<arith::FPToUIOp>(target, safe))
                            : Value(e.create<arith::FPToSIOp>(target, safe));
  auto integer = [&](const APInt &bits) -> Value {
    return e.create<arith::ConstantOp>(e.b.getIntegerAttr(target, bits));
  };
  result = e.create<arith::SelectOp>(tooHigh, integer(high), result);
  return e.create<arith::SelectOp>(tooLow, integer(low), result);
}

/// f64 to f32, inexact values to the neighbour with an odd last bit: rounding
/// that once more, to 16 bits, gives what rounding the f64 at once would give
/// (Boldo and Melquiond, "When double rounding is odd", 2005).
static Value emitRoundToOdd(Emitter &e, Value value) {
  Type i32 = e.b.getI32Type(), f32 = e.b.getF32Type();
  Type f64 = value.getType();
  auto compare = [&](arith::CmpFPredicate predicate, Value x, Value y) {
    return e.create<arith::CmpFOp>(predicate, x, y);
  };
  Value nearest = e.create<arith::TruncFOp>(f32, value);
  Value back = e.create<arith::ExtFOp>(f64, nearest);
  Value isInexact = compare(arith::CmpFPredicate::ONE, back, value);
  Value isAway =
      compare(arith::CmpFPredicate::OGT, e.create<math::AbsFOp>(back),
              e.create<math::AbsFOp>(value));
  Value one = e.constantInt(i32, 1);
  Value bits = e.create<arith::BitcastOp>(i32, nearest);
  Value truncated = e.create<arith::SelectOp>(
      isAway, Value(e.create<arith::SubIOp>(bits, one)), bits);
  Value odd = e.create<arith::SelectOp>(
      isInexact, Value(e.create<arith::OrIOp>(truncated, one)), bits);
  return e.create<arith::BitcastOp>(f32, odd);
}

Value memory::emitConvert(Emitter &e, Value value, Type from, Type to) {
  Type target = getComputeType(to);
  Type source = value.getType();
  bool toBool = to.isInteger(1);
  if (from == to)
    return value;
  if (isa<FloatType>(from)) {
    if (toBool)
      return e.create<arith::CmpFOp>(arith::CmpFPredicate::UNE, value,
                                     e.constant(source, 0.0));
    if (!isa<FloatType>(to))
      return emitFloatToInt(e, value, to);
    unsigned fromWidth = source.getIntOrFloatBitWidth();
    unsigned toWidth = target.getIntOrFloatBitWidth();
    if (fromWidth == 64 && to.getIntOrFloatBitWidth() == 16)
      return emitRoundToOdd(e, value);
    if (toWidth > fromWidth)
      return e.create<arith::ExtFOp>(target, value);
    if (toWidth < fromWidth)
      return e.create<arith::TruncFOp>(target, value);
    return value;
  }
  bool isUnsigned = from.isUnsignedInteger() || from.isInteger(1);
  if (toBool)
    return e.create<arith::CmpIOp>(arith::CmpIPredicate::ne, value,
                                   e.constantInt(source, 0));
  if (isa<FloatType>(to)) {
    if (isUnsigned)
      return e.create<arith::UIToFPOp>(target, value);
    return e.create<arith::SIToFPOp>(target, value);
  }
  unsigned fromWidth = source.getIntOrFloatBitWidth();
  unsigned toWidth = target.getIntOrFloatBitWidth();
  if (toWidth < fromWidth)
    return e.create<arith::TruncIOp>(target, value);
  if (toWidth == fromWidth)
    return value;
  if (isUnsigned)
    return e.create<arith::ExtUIOp>(target, value);
  return e.create<arith::ExtSIOp>(target, value);
}
