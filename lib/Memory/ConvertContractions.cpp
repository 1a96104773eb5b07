//===- ConvertContractions.cpp - contract ---------------------------------===//
//
// Turns contractions into products that the runtime's matrix product can
// compute on dense operands, transposing or summing operands first where they
// do not fit.
//
//===----------------------------------------------------------------------===//
#include "Convert.h"
#include "Labelled.h"
#include "pplan/Memory/GemmShape.h"
#include "pplan/Memory/RT.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

/// Sums over the letters that occur nowhere else.
static void sumLonelyLetters(Emitter &e, Labelled &operand, StringRef others) {
  SmallVector<utils::IteratorType> iterators;
  SmallVector<AffineExpr> kept;
  SmallVector<int64_t> shape;
  std::string letters;
  for (auto [i, letter] : llvm::enumerate(operand.letters)) {
    bool keep = others.contains(letter);
    iterators.push_back(keep ? utils::IteratorType::parallel
                             : utils::IteratorType::reduction);
    if (!keep)
      continue;
    letters.push_back(letter);
    kept.push_back(e.b.getAffineDimExpr(i));
    shape.push_back(operand.getType().getDimSize(i));
  }
  if (letters == operand.letters)
    return;
  Type element = operand.getType().getElementType();
  Type compute = getComputeType(element);
  auto type = RankedTensorType::get(shape, compute);
  int64_t rank = operand.getType().getRank();
  auto loop = e.generic(
      operand.value, e.fill(type, e.constant(compute, 0.0)),
      {e.b.getMultiDimIdentityMap(rank),
       AffineMap::get(rank, 0, kept, e.b.getContext())},
      iterators, [&](Emitter &inner, ValueRange args) -> SmallVector<Value> {
        return {emitCombine(inner, ReductionKind::Sum, args[1],
                            inner.load(args[0], element), false)};
      });
  operand.value = loop.getResult(0);
  operand.letters = letters;
  if (compute != element)
    operand.value = e.map(type.clone(element), operand.value,
                          [&](Emitter &inner, ValueRange args) {
                            return inner.store(args[0], element);
                          });
}

static Value emitContract(Emitter &e, Labelled lhs, Labelled rhs,
                          StringRef letters, RankedTensorType type) {
  std::string text = lhs.letters + "," + rhs.letters + "->" + letters.str();
  auto op = e.create<rt::ContractOp>(
      TypeRange{type}, e.b.getStringAttr(text), lhs.value, rhs.value,
      e.empty(type), /*accumulate=*/UnitAttr());
  return op.getResult(0);
}

static Value convertContract(Emitter &e, ContractOp op, ValueRange operands) {
  RankedTensorType type = getStorageTensor(op.getType());
  if (type.getNumElements() == 0)
    return e.empty(type);
  Labelled lhs{operands[0], op.getLhsLetters().str()};
  Labelled rhs{operands[1], op.getRhsLetters().str()};
  std::string result = op.getResultLetters().str();
  if (lhs.getType().getNumElements() == 0 ||
      rhs.getType().getNumElements() == 0)
    return e.fill(type, e.constant(type.getElementType(), 0.0));
  sumLonelyLetters(e, lhs, rhs.letters + result);
  sumLonelyLetters(e, rhs, lhs.letters + result);

  auto fits = [&](const Labelled &a, const Labelled &b) {
    return getGemmShape({a.letters, b.letters, result}, a.getShape(),
                        b.getShape(),
                        StridedShape::getDense(type.getShape()))
        .has_value();
  };
  if (fits(lhs, rhs))
    return emitContract(e, lhs, rhs, result, type);

  // Batch, m, n and k letters in this order always fit.
  auto inBoth = [&](char c) {
    return StringRef(lhs.letters).contains(c) &&
           StringRef(rhs.letters).contains(c);
  };
  auto isBatch = [&](char c) {
    return inBoth(c) && StringRef(result).contains(c);
  };
  std::string batch = filterLetters(result, isBatch);
  std::string m = filterLetters(result, [&](char c) {
    return !inBoth(c) && StringRef(lhs.letters).contains(c);
  });
  std::string n = filterLetters(result, [&](char c) {
    return !inBoth(c) && StringRef(rhs.letters).contains(c);
  });
  std::string k = filterLetters(lhs.letters, [&](char c) {
    return inBoth(c) && !StringRef(result).contains(c);
  });
  permuteTo(e, lhs, batch + m + k);
  permuteTo(e, rhs, batch + k + n);
  std::string canonical = batch + m + n;
  SmallVector<int64_t> shape;
  for (char letter : canonical)
    shape.push_back(type.getDimSize(result.find(letter)));
  Labelled product{emitContract(e, lhs, rhs, canonical,
                                RankedTensorType::get(
                                    shape, type.getElementType())),
                   canonical};
  permuteTo(e, product, result);
  return product.value;
}

FailureOr<Value> memory::convertContraction(Emitter &e, Operation *op,
                                            ValueRange operands) {
  if (auto contract = dyn_cast<ContractOp>(op))
    return convertContract(e, contract, operands);
  return Value();
}
