//===- ConvertElementwise.cpp - Elementwise operations on scalars ---------===//
//
// Decides what each elementwise pplan operation computes for one element, and
// wraps it into a loop. Fusing those loops is left to pplan-fuse-loops.
//
//===----------------------------------------------------------------------===//
#include "Convert.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

static bool isUnsignedElement(Type type) { return type.isUnsignedInteger(); }

static Value select(Emitter &e, Value condition, Value yes, Value no) {
  return e.create<arith::SelectOp>(condition, yes, no);
}

static Value compareInt(Emitter &e, arith::CmpIPredicate predicate, Value lhs,
                        Value rhs) {
  return e.create<arith::CmpIOp>(predicate, lhs, rhs);
}

static Value compareFloat(Emitter &e, arith::CmpFPredicate predicate,
                          Value lhs, Value rhs) {
  return e.create<arith::CmpFOp>(predicate, lhs, rhs);
}

/// 1 / (1 + exp(-x)).
static Value emitSigmoid(Emitter &e, Value x) {
  Value one = e.constant(x.getType(), 1.0);
  Value exponential = e.create<math::ExpOp>(e.create<arith::NegFOp>(x));
  return e.create<arith::DivFOp>(
      one, e.create<arith::AddFOp>(one, exponential));
}

static Value emitGelu(Emitter &e, Value x, GeluKind kind) {
  Type type = x.getType();
  Value inner;
  if (kind == GeluKind::Erf) {
    inner = e.create<math::ErfOp>(
        e.create<arith::MulFOp>(x, e.constant(type, 1.0 / std::sqrt(2.0))));
  } else {
    // sqrt(2 / pi) * (x + 0.044715 x^3) = x * (a + b x^2)
    double a = std::sqrt(2.0 / M_PI);
    Value square = e.create<arith::MulFOp>(x, x);
    Value factor = e.create<arith::AddFOp>(
        e.constant(type, a),
        e.create<arith::MulFOp>(e.constant(type, a * 0.044715), square));
    inner = e.create<math::TanhOp>(e.create<arith::MulFOp>(x, factor));
  }
  Value half = e.create<arith::MulFOp>(x, e.constant(type, 0.5));
  return e.create<arith::MulFOp>(
      half, e.create<arith::AddFOp>(e.constant(type, 1.0), inner));
}

/// -1, 0 or 1; NaN and zeros stay what they are.
static Value emitSign(Emitter &e, Value x, bool isUnsigned) {
  Type type = x.getType();
  Value zero = e.constant(type, 0.0), one = e.constant(type, 1.0);
  if (isa<FloatType>(type)) {
    Value negative = select(e, compareFloat(e, arith::CmpFPredicate::OLT, x, zero),
                            e.constant(type, -1.0), x);
    return select(e, compareFloat(e, arith::CmpFPredicate::OGT, x, zero), one,
                  negative);
  }
  if (isUnsigned)
    return select(e, compareInt(e, arith::CmpIPredicate::ne, x, zero), one,
                  zero);
  Value negative = select(e, compareInt(e, arith::CmpIPredicate::slt, x, zero),
                          e.constantInt(type, -1), zero);
  return select(e, compareInt(e, arith::CmpIPredicate::sgt, x, zero), one,
                negative);
}

static Value emitAbs(Emitter &e, Value x, bool isUnsigned) {
  if (isa<FloatType>(x.getType()))
    return e.create<math::AbsFOp>(x);
  if (isUnsigned)
    return x;
  Value zero = e.constantInt(x.getType(), 0);
  return select(e, compareInt(e, arith::CmpIPredicate::slt, x, zero),
                e.create<arith::SubIOp>(zero, x), x);
}

/// Integer quotient or remainder without undefined cases: x / 0 is 0, and the
/// smallest integer divided by -1 wraps.
static Value emitIntDivision(Emitter &e, Value lhs, Value rhs, bool remainder,
                             bool isUnsigned) {
  Type type = lhs.getType();
  Value zero = e.constantInt(type, 0), one = e.constantInt(type, 1);
  Value isZero = compareInt(e, arith::CmpIPredicate::eq, rhs, zero);
  Value divisor = select(e, isZero, one, rhs);
  if (isUnsigned) {
    Value result = remainder
                       ? Value(e.create<arith::RemUIOp>(lhs, divisor))
                       : Value(e.create<arith::DivUIOp>(lhs, divisor));
    return select(e, isZero, zero, result);
  }
  Value isMinusOne = compareInt(e, arith::CmpIPredicate::eq, rhs,
                                e.constantInt(type, -1));
  divisor = select(e, isMinusOne, one, divisor);
  Value result = remainder ? Value(e.create<arith::RemSIOp>(lhs, divisor))
                           : Value(e.create<arith::DivSIOp>(lhs, divisor));
  Value negated = remainder ? zero : Value(e.create<arith::SubIOp>(zero, lhs));
  return select(e, isZero, zero, select(e, isMinusOne, negated, result));
}

/// Integer power by squaring, unrolled over the bits of the exponent; a
/// negative exponent gives 0 unless the base is 1 or -1.
static Value emitIntPower(Emitter &e, Value base, Value exponent,
                          bool isUnsigned) {
  Type type = base.getType();
  Value zero = e.constantInt(type, 0), one = e.constantInt(type, 1);
  Value result = one, square = base;
  unsigned bits = type.getIntOrFloatBitWidth() - (isUnsigned ? 0 : 1);
  for (unsigned i = 0; i < bits; ++i) {
    Value bit = e.create<arith::AndIOp>(
        e.create<arith::ShRUIOp>(exponent, e.constantInt(type, i)), one);
    Value isSet = compareInt(e, arith::CmpIPredicate::ne, bit, zero);
    result = select(e, isSet, e.create<arith::MulIOp>(result, square), result);
    square = e.create<arith::MulIOp>(square, square);
  }
  if (isUnsigned)
    return result;
  Value minusOne = e.constantInt(type, -1);
  Value odd = compareInt(e, arith::CmpIPredicate::ne,
                         e.create<arith::AndIOp>(exponent, one), zero);
  Value negative = select(
      e, compareInt(e, arith::CmpIPredicate::eq, base, one), one,
      select(e, compareInt(e, arith::CmpIPredicate::eq, base, minusOne),
             select(e, odd, minusOne, one), zero));
  return select(e, compareInt(e, arith::CmpIPredicate::slt, exponent, zero),
                negative, result);
}

static Value emitBinary(Emitter &e, Operation *op, Value lhs, Value rhs) {
  bool isFloat = isa<FloatType>(lhs.getType());
  bool isUnsigned =
      isUnsignedElement(getTensorType(op->getOperand(0)).getElementType());
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](AddOp) -> Value {
        return emitCombine(e, ReductionKind::Sum, lhs, rhs, isUnsigned);
      })
      .Case([&](MulOp) -> Value {
        return emitCombine(e, ReductionKind::Prod, lhs, rhs, isUnsigned);
      })
      .Case([&](MaxOp) -> Value {
        return emitCombine(e, ReductionKind::Max, lhs, rhs, isUnsigned);
      })
      .Case([&](MinOp) -> Value {
        return emitCombine(e, ReductionKind::Min, lhs, rhs, isUnsigned);
      })
      .Case([&](SubOp) -> Value {
        if (isFloat)
          return e.create<arith::SubFOp>(lhs, rhs);
        return e.create<arith::SubIOp>(lhs, rhs);
      })
      .Case([&](DivOp) -> Value {
        if (isFloat)
          return e.create<arith::DivFOp>(lhs, rhs);
        return emitIntDivision(e, lhs, rhs, /*remainder=*/false, isUnsigned);
      })
      .Case([&](RemOp) -> Value {
        if (isFloat)
          return e.create<arith::RemFOp>(lhs, rhs);
        return emitIntDivision(e, lhs, rhs, /*remainder=*/true, isUnsigned);
      })
      .Case([&](PowOp) -> Value {
        if (isFloat)
          return e.create<math::PowFOp>(lhs, rhs);
        return emitIntPower(e, lhs, rhs, isUnsigned);
      })
      .Case([&](AndOp) -> Value { return e.create<arith::AndIOp>(lhs, rhs); })
      .Case([&](OrOp) -> Value { return e.create<arith::OrIOp>(lhs, rhs); })
      .Case([&](XorOp) -> Value { return e.create<arith::XOrIOp>(lhs, rhs); })
      .Default([](Operation *) { return Value(); });
}

static Value emitUnary(Emitter &e, Operation *op, Value x) {
  Type element = getTensorType(op->getOperand(0)).getElementType();
  bool isUnsigned = isUnsignedElement(element);
  bool isFloat = isa<FloatType>(x.getType());
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](AbsOp) { return emitAbs(e, x, isUnsigned); })
      .Case([&](SignOp) { return emitSign(e, x, isUnsigned); })
      .Case([&](NegOp) -> Value {
        if (isFloat)
          return e.create<arith::NegFOp>(x);
        return e.create<arith::SubIOp>(e.constantInt(x.getType(), 0), x);
      })
      .Case([&](ExpOp) -> Value { return e.create<math::ExpOp>(x); })
      .Case([&](LogOp) -> Value { return e.create<math::LogOp>(x); })
      .Case([&](SqrtOp) -> Value { return e.create<math::SqrtOp>(x); })
      .Case([&](RsqrtOp) -> Value {
        return e.create<arith::DivFOp>(e.constant(x.getType(), 1.0),
                                       e.create<math::SqrtOp>(x));
      })
      .Case([&](SinOp) -> Value { return e.create<math::SinOp>(x); })
      .Case([&](CosOp) -> Value { return e.create<math::CosOp>(x); })
      .Case([&](TanhOp) -> Value { return e.create<math::TanhOp>(x); })
      .Case([&](ErfOp) -> Value { return e.create<math::ErfOp>(x); })
      .Case([&](SigmoidOp) { return emitSigmoid(e, x); })
      .Case([&](SiluOp) -> Value {
        return e.create<arith::MulFOp>(x, emitSigmoid(e, x));
      })
      .Case([&](ReluOp) {
        return emitCombine(e, ReductionKind::Max, x,
                           e.constant(x.getType(), 0.0), isUnsigned);
      })
      .Case([&](FloorOp) -> Value { return e.create<math::FloorOp>(x); })
      .Case([&](CeilOp) -> Value { return e.create<math::CeilOp>(x); })
      .Case([&](RoundOp) -> Value { return e.create<math::RoundEvenOp>(x); })
      .Case([&](NotOp) -> Value {
        return e.create<arith::XOrIOp>(x, e.constantInt(x.getType(), -1));
      })
      .Case([&](GeluOp gelu) { return emitGelu(e, x, gelu.getKind()); })
      .Case([&](ConvertOp convert) {
        return emitConvert(e, x, element, convert.getType().getElementType());
      })
      .Case([&](ReshardOp) { return x; })
      .Default([](Operation *) { return Value(); });
}

static Value emitCompare(Emitter &e, CompareOp op, Value lhs, Value rhs) {
  Type element = getTensorType(op.getLhs()).getElementType();
  unsigned index = static_cast<unsigned>(op.getPredicate());
  if (isa<FloatType>(lhs.getType())) {
    using P = arith::CmpFPredicate;
    static constexpr P table[] = {P::OEQ, P::UNE, P::OLT,
                                  P::OLE, P::OGT, P::OGE};
    return compareFloat(e, table[index], lhs, rhs);
  }
  using P = arith::CmpIPredicate;
  static constexpr P signedTable[] = {P::eq,  P::ne,  P::slt,
                                      P::sle, P::sgt, P::sge};
  static constexpr P unsignedTable[] = {P::eq,  P::ne,  P::ult,
                                        P::ule, P::ugt, P::uge};
  bool isUnsigned = isUnsignedElement(element) || element.isInteger(1);
  return compareInt(e, (isUnsigned ? unsignedTable : signedTable)[index], lhs,
                    rhs);
}

Value memory::emitScalar(Emitter &e, Operation *op, ValueRange operands) {
  if (auto compare = dyn_cast<CompareOp>(op))
    return emitCompare(e, compare, operands[0], operands[1]);
  if (isa<SelectOp>(op))
    return select(e, operands[0], operands[1], operands[2]);
  if (operands.size() == 1)
    return emitUnary(e, op, operands[0]);
  if (operands.size() == 2)
    return emitBinary(e, op, operands[0], operands[1]);
  return {};
}

/// True for what emitScalar knows: pplan operations whose operands and result
/// have one shape.
static bool isElementwise(Operation *op) {
  return isa<AbsOp, SignOp, NegOp, ExpOp, LogOp, SqrtOp, RsqrtOp, SinOp, CosOp,
             TanhOp, ErfOp, SigmoidOp, SiluOp, ReluOp, FloorOp, CeilOp,
             RoundOp, NotOp, GeluOp, ConvertOp, AddOp, SubOp, MulOp, DivOp,
             RemOp, PowOp, MaxOp, MinOp, AndOp, OrOp, XorOp, CompareOp,
             SelectOp>(op);
}

/// The value of all elements of a constant exponent, if it is one.
static std::optional<double> getSplatExponent(PowOp op) {
  Value exponent = op.getRhs();
  while (auto broadcast = exponent.getDefiningOp<BroadcastOp>())
    exponent = broadcast.getInput();
  auto constant = exponent.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  auto values = dyn_cast<DenseElementsAttr>(constant.getValue());
  if (!values || !values.isSplat() ||
      !isa<FloatType>(values.getElementType()))
    return std::nullopt;
  return values.getSplatValue<APFloat>().convertToDouble();
}

/// x^n for the small constant n that models use; null for others.
static Value emitConstantPower(Emitter &e, Value x, double n) {
  if (n == 2.0)
    return e.create<arith::MulFOp>(x, x);
  if (n == 3.0)
    return e.create<arith::MulFOp>(x, e.create<arith::MulFOp>(x, x));
  if (n == 4.0) {
    Value square = e.create<arith::MulFOp>(x, x);
    return e.create<arith::MulFOp>(square, square);
  }
  if (n == 1.0)
    return x;
  if (n == -1.0)
    return e.create<arith::DivFOp>(e.constant(x.getType(), 1.0), x);
  return {};
}

FailureOr<Value> memory::convertElementwise(Emitter &e, Operation *op,
                                            ValueRange operands) {
  if (isa<ReshardOp>(op))
    return operands[0];
  if (!isElementwise(op))
    return Value();
  SmallVector<Type> elements;
  for (Value operand : op->getOperands())
    elements.push_back(getTensorType(operand).getElementType());
  Type resultElement = getTensorType(op->getResult(0)).getElementType();
  std::optional<double> exponent;
  if (auto power = dyn_cast<PowOp>(op))
    exponent = getSplatExponent(power);
  return e.map(
      getStorageTensor(op->getResult(0).getType()), operands,
      [&](Emitter &inner, ValueRange args) {
        SmallVector<Value> scalars;
        for (auto [arg, element] : llvm::zip_equal(args, elements))
          scalars.push_back(inner.load(arg, element));
        Value result;
        if (exponent)
          result = emitConstantPower(inner, scalars[0], *exponent);
        if (!result)
          result = emitScalar(inner, op, scalars);
        return inner.store(result, resultElement);
      });
}
