//===- Neutral.cpp - Neutral elements of reductions -----------------------===//
//
// See Neutral.h.
//
//===----------------------------------------------------------------------===//
#include "pplan/Partition/Neutral.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "llvm/ADT/APFloat.h"

using namespace mlir;
using namespace pplan;

TypedAttr pplan::getNeutralElement(ReductionKind kind, Type element) {
  bool isLow = kind == ReductionKind::Max;
  if (auto type = dyn_cast<FloatType>(element)) {
    switch (kind) {
    case ReductionKind::Sum:
      return FloatAttr::get(type, 0.0);
    case ReductionKind::Prod:
      return FloatAttr::get(type, 1.0);
    default:
      return FloatAttr::get(type,
                            APFloat::getInf(type.getFloatSemantics(), isLow));
    }
  }
  auto type = dyn_cast<IntegerType>(element);
  if (!type)
    return nullptr;
  unsigned bits = type.getWidth();
  switch (kind) {
  case ReductionKind::Sum:
    return IntegerAttr::get(type, APInt(bits, 0));
  case ReductionKind::Prod:
    return IntegerAttr::get(type, APInt(bits, 1));
  default:
    break;
  }
  if (type.isUnsigned() || bits == 1)
    return IntegerAttr::get(type, isLow ? APInt::getZero(bits)
                                        : APInt::getMaxValue(bits));
  return IntegerAttr::get(type, isLow ? APInt::getSignedMinValue(bits)
                                      : APInt::getSignedMaxValue(bits));
}

bool pplan::readsPadding(Operation *op, unsigned operand) {
  return !isa<ScatterAddOp>(op) || operand != 0;
}
