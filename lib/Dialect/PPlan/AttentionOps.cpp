//===- AttentionOps.cpp - Attention and its gradient ----------------------===//
//
// Shapes, factors and work of the two operations.
//
//===----------------------------------------------------------------------===//
#include "AttentionShape.h"

using namespace mlir;
using namespace pplan;

AttentionShape::AttentionShape(AttentionOp op)
    : tensors{op.getQuery(), op.getKey(), op.getValue(), op.getResult()},
      mask(op.getMask()), layouts(op.getLayouts()), isCausal(op.getCausal()) {}

AttentionShape::AttentionShape(AttentionBackwardOp op)
    : tensors{op.getQuery(), op.getKey(), op.getValue(), op.getGradient()},
      mask(op.getMask()), layouts(op.getLayouts()), isCausal(op.getCausal()) {}

int64_t AttentionShape::getDim(unsigned tensor, char letter) const {
  return cast<StringAttr>(layouts[tensor]).getValue().find(letter);
}

int64_t AttentionShape::getDimSize(unsigned tensor, char letter) const {
  return getTensorType(tensors[tensor]).getDimSize(getDim(tensor, letter));
}

LogicalResult AttentionShape::verify(Operation *op) const {
  if (layouts.size() != 4)
    return op->emitOpError("needs four layouts (query, key, value, result), found ")
           << layouts.size();
  Type element = getTensorType(tensors[0]).getElementType();
  for (int i = 0; i < 4; ++i) {
    std::string sorted = cast<StringAttr>(layouts[i]).getValue().str();
    llvm::sort(sorted);
    if (sorted != "bdht")
      return op->emitOpError("layout ")
             << layouts[i] << " is not an order of the letters b, h, t, d";
    auto type = getTensorType(tensors[i]);
    if (type.getRank() != 4 || type.getElementType() != element)
      return op->emitOpError("tensor ")
             << i << " should have rank 4 and element type " << element
             << ", found " << type;
  }
  auto same = [&](unsigned a, unsigned b, char ofA, char ofB) {
    return getDimSize(a, ofA) == getDimSize(b, ofB);
  };
  if (!same(0, 1, 'b', 'b') || !same(0, 2, 'b', 'b') || !same(0, 3, 'b', 'b') ||
      !same(0, 1, 'd', 'd') || !same(1, 2, 'h', 'h') || !same(1, 2, 't', 't') ||
      !same(0, 3, 'h', 'h') || !same(0, 3, 't', 't') || !same(2, 3, 'd', 'd'))
    return op->emitOpError("shapes do not fit: query ")
           << tensors[0].getType() << ", key " << tensors[1].getType()
           << ", value " << tensors[2].getType() << ", result " << tensors[3].getType()
           << " in layouts " << layouts;
  int64_t heads = getDimSize(0, 'h'), groups = getDimSize(1, 'h');
  if (groups == 0 || heads % groups != 0)
    return op->emitOpError("has ")
           << heads << " query heads, which " << groups
           << " key/value heads do not divide";
  if (!mask)
    return success();
  auto maskType = getTensorType(mask);
  int64_t full[] = {getDimSize(0, 'b'), heads, getDimSize(0, 't'),
                    getDimSize(1, 't')};
  bool fits = maskType.getRank() == 4 && (maskType.getElementType() == element ||
                                      maskType.getElementType().isInteger(1));
  for (int i = 0; fits && i < 4; ++i)
    fits = maskType.getDimSize(i) == full[i] || maskType.getDimSize(i) == 1;
  if (!fits)
    return op->emitOpError("mask ")
           << maskType << " does not fit [b, h, t, s] = [" << full[0] << ", "
           << full[1] << ", " << full[2] << ", " << full[3]
           << "] (or 1 in any place) of i1 or " << element;
  return success();
}

/// A factor for a dimension of the given size; none for size 1.
static DimFactors makeFactor(ShardingRule &rule, int64_t size,
                             FactorKind kind) {
  if (size == 1)
    return {};
  return {rule.addFactor(size, size == 0 ? FactorKind::Replicated : kind)};
}

llvm::SmallVector<TensorFactors, 5>
AttentionShape::addFactors(ShardingRule &rule) const {
  int64_t groups = getDimSize(1, 'h'), queries = getDimSize(0, 't');
  DimFactors b = makeFactor(rule, getDimSize(0, 'b'), FactorKind::Parallel);
  DimFactors g = makeFactor(rule, groups, FactorKind::Parallel);
  DimFactors h = g;
  llvm::append_range(h, makeFactor(rule, getDimSize(0, 'h') / groups,
                                FactorKind::Parallel));
  DimFactors t = makeFactor(rule, queries,
                         isCausal ? FactorKind::Replicated
                                     : FactorKind::Parallel);
  DimFactors s =
      makeFactor(rule, getDimSize(1, 't'), FactorKind::Replicated);
  DimFactors d =
      makeFactor(rule, getDimSize(0, 'd'), FactorKind::Replicated);
  DimFactors e =
      makeFactor(rule, getDimSize(2, 'd'), FactorKind::Replicated);
  auto place = [&](unsigned index, const DimFactors &heads,
                   const DimFactors &sequence, const DimFactors &width) {
    TensorFactors dims(4);
    dims[getDim(index, 'b')] = b;
    dims[getDim(index, 'h')] = heads;
    dims[getDim(index, 't')] = sequence;
    dims[getDim(index, 'd')] = width;
    return dims;
  };
  SmallVector<TensorFactors, 5> result = {
      place(0, h, t, d), place(1, g, s, d), place(2, g, s, e),
      place(3, h, t, e)};
  if (!mask)
    return result;
  TensorFactors ofMask = {b, h, t, s};
  for (auto [dim, size] : llvm::enumerate(getTensorType(mask).getShape()))
    if (size == 1)
      ofMask[dim].clear();
  result.push_back(ofMask);
  return result;
}

ShardingRule AttentionOp::getShardingRule() {
  ShardingRule rule;
  auto tensors = AttentionShape(*this).addFactors(rule);
  rule.operands = {tensors[0], tensors[1], tensors[2]};
  if (getMask())
    rule.operands.push_back(tensors[4]);
  rule.results = {tensors[3]};
  return rule;
}

/// The space of the factors is b, h, t, s, d, e; `scale` times the work of
/// 2 b h t s (d + e) for the products, and `perScore` for each score.
static double getAttentionWork(const AttentionShape &shape, double products,
                               double perScore) {
  double d = shape.getDimSize(0, 'd'), e = shape.getDimSize(2, 'd');
  return d * e == 0 ? 0 : (2 * products * (d + e) + perScore) / (d * e);
}

double AttentionOp::getFlopsPerPoint() {
  return getAttentionWork(AttentionShape(*this), 1, 16);
}

LogicalResult AttentionBackwardOp::verify() {
  if (failed(AttentionShape(*this).verify(*this)))
    return failure();
  Value operands[] = {getQuery(), getKey(), getValue()};
  for (auto [index, operand] : llvm::enumerate(operands))
    if (getResult(index).getType() != operand.getType())
      return emitOpError("result ")
             << index << " should be " << operand.getType() << ", found "
             << getResult(index).getType();
  return success();
}

ShardingRule AttentionBackwardOp::getShardingRule() {
  ShardingRule rule;
  auto tensors = AttentionShape(*this).addFactors(rule);
  rule.operands = {tensors[0], tensors[1], tensors[2]};
  if (getMask())
    rule.operands.push_back(tensors[4]);
  rule.operands.push_back(tensors[3]);
  rule.results = {tensors[0], tensors[1], tensors[2]};
  return rule;
}

/// Scores, their gradient, and the gradients of query, key and value: five
/// products where the forward pass has two (Dao et al., 2022).
double AttentionBackwardOp::getFlopsPerPoint() {
  return getAttentionWork(AttentionShape(*this), 2.5, 24);
}

bool AttentionBackwardOp::passesPartialSums(
    const llvm::SmallBitVector &partial) {
  return partial.count() == 1 && partial.test(getNumOperands() - 1);
}
