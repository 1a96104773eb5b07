//===- ConvertContractions.cpp - contract and attention -------------------===//
//
// Turns contractions into products that the runtime's matrix product can
// compute on dense operands, transposing or summing operands first where they
// do not fit, and attention into the runtime's attention.
//
//===----------------------------------------------------------------------===//
#include "Convert.h"
#include "pplan/Memory/GemmShape.h"
#include "pplan/Memory/RT.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

namespace {
/// A tensor and the letters of its dimensions.
struct Labelled {
  Value value;
  std::string letters;

  RankedTensorType getType() const {
    return cast<RankedTensorType>(value.getType());
  }
  StridedShape getShape() const {
    return StridedShape::getDense(getType().getShape());
  }
  int64_t getSize(char letter) const {
    return getType().getDimSize(letters.find(letter));
  }
};
} // namespace

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

/// Brings the letters into the order `wanted`.
static void permuteTo(Emitter &e, Labelled &operand, StringRef wanted) {
  if (operand.letters == wanted)
    return;
  SmallVector<int64_t> permutation;
  for (char letter : wanted)
    permutation.push_back(operand.letters.find(letter));
  operand.value = e.transpose(operand.value, permutation);
  operand.letters = wanted.str();
}

/// The letters of `from` for which `keep` holds, in order.
static std::string filterLetters(StringRef from,
                                 function_ref<bool(char)> keep) {
  std::string letters;
  for (char letter : from)
    if (keep(letter))
      letters.push_back(letter);
  return letters;
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

/// Bytes of workspace of the runtime's attention: the bound of
/// pplan_rt_attention_workspace in its interface, for 8-byte elements at most.
static int64_t getWorkspaceBytes(int64_t keys, int64_t valueDim,
                                 int64_t elementBytes) {
  auto roundUp = [](int64_t x) { return (x + 15) / 16 * 16; };
  int64_t elements = 64 * std::min<int64_t>(roundUp(keys), 512) +
                     64 * roundUp(valueDim) + 256;
  return (elements * elementBytes + 63) / 64 * 64;
}

/// An operand of attention in the element type that the runtime computes in.
static Labelled prepareOperand(Emitter &e, Value value, StringRef layout,
                               Type compute, bool isKey) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  if (element != compute)
    value = e.map(type.clone(compute), value,
                  [&](Emitter &inner, ValueRange args) {
                    return inner.load(args[0], element);
                  });
  Labelled operand{value, layout.str()};
  if (layout.back() != 'd' && !(isKey && layout.back() == 't'))
    permuteTo(e, operand,
              filterLetters(layout, [](char c) { return c != 'd'; }) + "d");
  return operand;
}

static FailureOr<Value> convertAttention(Emitter &e, AttentionOp op,
                                         ValueRange operands) {
  RankedTensorType type = getStorageTensor(op.getType());
  if (type.getNumElements() == 0)
    return e.empty(type);
  Type element = type.getElementType();
  Type compute = getComputeType(element);
  SmallVector<StringRef> layouts(
      op.getLayouts().getAsValueRange<StringAttr>());
  int64_t keys = op.getDimSize(1, 't');
  if (keys == 0)
    return e.fill(type, e.constant(element, 0.0));
  Labelled query = prepareOperand(e, operands[0], layouts[0], compute, false);
  Labelled key = prepareOperand(e, operands[1], layouts[1], compute, true);
  Labelled value = prepareOperand(e, operands[2], layouts[2], compute, false);
  Value mask;
  bool boolMask = false;
  if (op.getMask()) {
    mask = operands[3];
    boolMask = getTensorType(op.getMask()).getElementType().isInteger(1);
    Type maskElement = cast<RankedTensorType>(mask.getType()).getElementType();
    if (!boolMask && maskElement != compute)
      mask = e.map(cast<RankedTensorType>(mask.getType()).clone(compute), mask,
                   [&](Emitter &inner, ValueRange args) {
                     return emitConvert(
                         inner, inner.load(args[0], maskElement), maskElement,
                         compute);
                   });
  }
  std::string layout = layouts[3].str();
  if (layout.back() != 'd')
    layout = filterLetters(layout, [](char c) { return c != 'd'; }) + "d";
  SmallVector<int64_t> shape;
  for (char letter : layout)
    shape.push_back(type.getDimSize(layouts[3].find(letter)));
  auto outType = RankedTensorType::get(shape, compute);
  auto workspace = RankedTensorType::get(
      {getWorkspaceBytes(keys, op.getDimSize(2, 'd'),
                         rt::getElementBytes(compute))},
      e.b.getI8Type());
  SmallVector<StringRef> used{query.letters, key.letters, value.letters,
                              layout};
  auto call = e.create<rt::AttentionOp>(
      TypeRange{outType, workspace}, query.value, key.value, value.value, mask,
      e.empty(outType), e.empty(workspace), op.getScaleAttr(),
      op.getCausalAttr(), boolMask ? e.b.getUnitAttr() : UnitAttr(),
      e.b.getStrArrayAttr(used));
  Labelled result{call.getResult(0), layout};
  permuteTo(e, result, layouts[3]);
  if (element == compute)
    return result.value;
  return e.map(type, result.value, [&](Emitter &inner, ValueRange args) {
    return inner.store(args[0], element);
  });
}

FailureOr<Value> memory::convertContraction(Emitter &e, Operation *op,
                                            ValueRange operands) {
  if (auto contract = dyn_cast<ContractOp>(op))
    return convertContract(e, contract, operands);
  if (auto attention = dyn_cast<AttentionOp>(op))
    return convertAttention(e, attention, operands);
  return Value();
}
