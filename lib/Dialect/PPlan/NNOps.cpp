//===- NNOps.cpp - Contractions, reductions, fused operations -------------===//
//
// Verifiers, builders and canonicalization. Their sharding rules are in
// ShardingRules.cpp.
//
//===----------------------------------------------------------------------===//
#include "AttentionShape.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pplan;

static LogicalResult checkDim(Operation *op, int64_t dim,
                              RankedTensorType type) {
  if (dim >= 0 && dim < type.getRank())
    return success();
  return op->emitOpError("dimension ")
         << dim << " is not one of " << type << " (rank " << type.getRank()
         << ")";
}

//===----------------------------------------------------------------------===//
// contract
//===----------------------------------------------------------------------===//

StringRef ContractOp::getLhsLetters() { return getEquation().split(',').first; }
StringRef ContractOp::getRhsLetters() {
  return getEquation().split(',').second.split("->").first;
}
StringRef ContractOp::getResultLetters() {
  return getEquation().split("->").second;
}

void ContractOp::build(OpBuilder &builder, OperationState &state,
                       StringRef equation, Value lhs, Value rhs) {
  auto [left, rest] = equation.split(',');
  auto [right, out] = rest.split("->");
  SmallVector<int64_t> shape;
  for (char letter : out) {
    size_t place = left.find(letter);
    shape.push_back(place != StringRef::npos
                        ? getTensorType(lhs).getDimSize(place)
                        : getTensorType(rhs).getDimSize(right.find(letter)));
  }
  build(builder, state, withShape(getTensorType(lhs), shape), equation, lhs,
        rhs);
}

LogicalResult ContractOp::verify() {
  auto fail = [&]() -> InFlightDiagnostic {
    return emitOpError("equation \"") << getEquation() << "\" ";
  };
  if (getEquation().count(',') != 1 || getEquation().count("->") != 1 ||
      getEquation().find(',') > getEquation().find("->"))
    return fail() << "is not of the form \"ab,bc->ac\"";
  StringRef letters[] = {getLhsLetters(), getRhsLetters(), getResultLetters()};
  RankedTensorType types[] = {getTensorType(getLhs()), getTensorType(getRhs()),
                              getTensorType(getResult())};
  StringRef names[] = {"left operand", "right operand", "result"};
  llvm::SmallDenseMap<char, int64_t> sizes;
  for (int i = 0; i < 3; ++i) {
    if (types[i].getElementType() != types[0].getElementType())
      return emitOpError("element types differ: ")
             << types[0] << " and " << types[i];
    if (static_cast<int64_t>(letters[i].size()) != types[i].getRank())
      return fail() << "has " << letters[i].size() << " letters for the "
                    << names[i] << " of type " << types[i];
    for (auto [dim, letter] : llvm::enumerate(letters[i])) {
      if (!llvm::isAlpha(letter))
        return fail() << "has '" << letter << "' where a letter is due";
      if (letters[i].count(letter) > 1)
        return fail() << "repeats '" << letter << "' in the " << names[i];
      int64_t size = types[i].getDimSize(dim);
      auto [known, isNew] = sizes.try_emplace(letter, size);
      if (isNew && i == 2)
        return fail() << "has '" << letter << "' in the result only";
      if (known->second != size)
        return fail() << "gives '" << letter << "' the sizes " << known->second
                      << " and " << size;
    }
  }
  return success();
}

namespace {
/// A transpose of an operand is another order of the operand's letters.
struct FoldOperandTranspose : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ContractOp op,
                                PatternRewriter &rewriter) const override {
    std::string letters[] = {op.getLhsLetters().str(),
                             op.getRhsLetters().str()};
    Value operands[] = {op.getLhs(), op.getRhs()};
    bool changed = false;
    for (int i = 0; i < 2; ++i) {
      auto transpose = operands[i].getDefiningOp<TransposeOp>();
      if (!transpose || transpose->hasAttr(kShardingsAttr))
        continue;
      std::string before = letters[i];
      for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
        letters[i][from] = before[to];
      operands[i] = transpose.getInput();
      changed = true;
    }
    if (!changed)
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.setEquation(letters[0] + "," + letters[1] + "->" +
                     op.getResultLetters().str());
      op.getLhsMutable().assign(operands[0]);
      op.getRhsMutable().assign(operands[1]);
    });
    return success();
  }
};

/// A transpose of the only use of the result is another order of its letters.
struct FoldResultTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto contract = op.getInput().getDefiningOp<ContractOp>();
    if (!contract || !contract->hasOneUse() ||
        op->hasAttr(kShardingsAttr) || contract->hasAttr(kShardingsAttr))
      return failure();
    std::string letters;
    for (int64_t dim : op.getPermutation())
      letters += contract.getResultLetters()[dim];
    rewriter.replaceOpWithNewOp<ContractOp>(
        op, op.getType(),
        (contract.getLhsLetters() + "," + contract.getRhsLetters() + "->" +
         letters)
            .str(),
        contract.getLhs(), contract.getRhs());
    return success();
  }
};
} // namespace

void ContractOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                             MLIRContext *context) {
  patterns.add<FoldOperandTranspose, FoldResultTranspose>(context);
}

//===----------------------------------------------------------------------===//
// Reductions along dimensions
//===----------------------------------------------------------------------===//

/// The shape without the given dimensions.
static SmallVector<int64_t> dropDims(ArrayRef<int64_t> shape,
                                     ArrayRef<int64_t> dims) {
  SmallVector<int64_t> result;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (!llvm::is_contained(dims, static_cast<int64_t>(dim)))
      result.push_back(size);
  return result;
}

void ReduceOp::build(OpBuilder &builder, OperationState &state,
                     ReductionKind kind, Value input, ArrayRef<int64_t> dims) {
  auto type = getTensorType(input);
  build(builder, state, withShape(type, dropDims(type.getShape(), dims)), kind,
        input, dims);
}

LogicalResult ReduceOp::verify() {
  auto from = getTensorType(getInput());
  int64_t previous = -1;
  for (int64_t dim : getDims()) {
    if (dim <= previous || dim >= from.getRank())
      return emitOpError("dims [")
             << getDims() << "] are not increasing dimensions of " << from;
    previous = dim;
  }
  auto expected = withShape(from, dropDims(from.getShape(), getDims()));
  if (expected != getType())
    return emitOpError("result should be ")
           << expected << ", found " << getType();
  return success();
}

LogicalResult ArgReduceOp::verify() {
  auto from = getTensorType(getInput()), to = getTensorType(getResult());
  int64_t dim = getDim();
  if (failed(checkDim(*this, dim, from)))
    return failure();
  if (getKind() != ReductionKind::Max && getKind() != ReductionKind::Min)
    return emitOpError("kind must be max or min, found ")
           << stringifyReductionKind(getKind());
  if (from.getDimSize(dim) == 0)
    return emitOpError("dimension ") << dim << " of " << from << " is empty";
  auto expected = withShape(to, dropDims(from.getShape(), {dim}));
  if (expected != to)
    return emitOpError("result should be ") << expected << ", found " << to;
  return success();
}

LogicalResult CumSumOp::verify() {
  if (getInput().getType() != getType())
    return emitOpError("operand and result types differ: ")
           << getInput().getType() << " and " << getType();
  return checkDim(*this, getDim(), getTensorType(getInput()));
}

LogicalResult SoftmaxOp::verify() {
  return checkDim(*this, getDim(), getTensorType(getInput()));
}

/// Checks the common operands of the two normalisations.
static LogicalResult verifyNorm(Operation *op, Value input, int64_t numDims,
                                double epsilon, ArrayRef<Value> parameters) {
  auto type = getTensorType(input);
  if (numDims < 1 || numDims > type.getRank())
    return op->emitOpError("normalises ")
           << numDims << " dimensions of " << type << "; 1 to "
           << type.getRank() << " are possible";
  if (!(epsilon >= 0))
    return op->emitOpError("epsilon must not be negative, found ") << epsilon;
  auto expected = withShape(type, type.getShape().take_back(numDims));
  for (Value parameter : parameters)
    if (parameter && parameter.getType() != expected)
      return op->emitOpError("scale and bias should be ")
             << expected << ", found " << parameter.getType();
  return success();
}

LogicalResult LayerNormOp::verify() {
  return verifyNorm(*this, getInput(), getNumDims(),
                    getEpsilon().convertToDouble(), {getScale(), getBias()});
}

LogicalResult RMSNormOp::verify() {
  return verifyNorm(*this, getInput(), getNumDims(),
                    getEpsilon().convertToDouble(), {getScale()});
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

int64_t AttentionOp::getDim(unsigned index, char letter) {
  return AttentionShape(*this).getDim(index, letter);
}

int64_t AttentionOp::getDimSize(unsigned index, char letter) {
  return AttentionShape(*this).getDimSize(index, letter);
}

LogicalResult AttentionOp::verify() {
  return AttentionShape(*this).verify(*this);
}

namespace {
/// Transposes around attention are other layouts.
struct FoldAttentionTranspose : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    SmallVector<Attribute> layouts(op.getLayouts().begin(),
                                   op.getLayouts().end());
    bool changed = false;
    for (unsigned i = 0; i < 3; ++i) {
      auto transpose = op->getOperand(i).getDefiningOp<TransposeOp>();
      if (!transpose || transpose->hasAttr(kShardingsAttr))
        continue;
      std::string before = cast<StringAttr>(layouts[i]).getValue().str();
      std::string after = before;
      for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
        after[from] = before[to];
      layouts[i] = rewriter.getStringAttr(after);
      rewriter.modifyOpInPlace(
          op, [&] { op->setOperand(i, transpose.getInput()); });
      changed = true;
    }
    if (!changed)
      return failure();
    rewriter.modifyOpInPlace(
        op, [&] { op.setLayoutsAttr(rewriter.getArrayAttr(layouts)); });
    return success();
  }
};

struct FoldAttentionResultTranspose : OpRewritePattern<TransposeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(TransposeOp op,
                                PatternRewriter &rewriter) const override {
    auto attention = op.getInput().getDefiningOp<AttentionOp>();
    if (!attention || !attention->hasOneUse() ||
        op->hasAttr(kShardingsAttr) || attention->hasAttr(kShardingsAttr))
      return failure();
    StringRef before = cast<StringAttr>(attention.getLayouts()[3]).getValue();
    std::string after;
    for (int64_t dim : op.getPermutation())
      after += before[dim];
    SmallVector<Attribute> layouts(attention.getLayouts().begin(),
                                   attention.getLayouts().end());
    layouts[3] = rewriter.getStringAttr(after);
    rewriter.replaceOpWithNewOp<AttentionOp>(
        op, op.getType(), attention.getQuery(), attention.getKey(),
        attention.getValue(), attention.getMask(), attention.getScaleAttr(),
        attention.getCausalAttr(), rewriter.getArrayAttr(layouts));
    return success();
  }
};
} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  patterns.add<FoldAttentionTranspose, FoldAttentionResultTranspose>(context);
}
