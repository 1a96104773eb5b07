//===- RaiseNorms.cpp - Recognise decomposed normalisations ---------------===//
//
// x / sqrt(mean(x^2) + epsilon) over the last dimensions is rms_norm; where x
// is y - mean(y), it is layer_norm of y. Scale and bias that follow go into the
// operation by patterns of their own.
//
//===----------------------------------------------------------------------===//
#include "RaisePatterns.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;
using namespace pplan;

/// The operand of a broadcast that gives each row (all dimensions but the last
/// ones) one number: result[i, .., d] = operand[i, .., 0]. Null otherwise.
static Value getRowStatistic(Value value) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast)
    return {};
  for (auto [index, dim] : llvm::enumerate(broadcast.getDims()))
    if (dim != static_cast<int64_t>(index))
      return {};
  return broadcast.getInput();
}

/// Strips reshapes that only add or remove dimensions of size 1 at the end.
static Value stripTrailingOnes(Value value) {
  while (auto reshape = value.getDefiningOp<ReshapeOp>()) {
    ArrayRef<int64_t> from = getTensorType(reshape.getInput()).getShape();
    ArrayRef<int64_t> to = getTensorType(value).getShape();
    size_t common = std::min(from.size(), to.size());
    auto isOne = [](int64_t size) { return size == 1; };
    if (from.take_front(common) != to.take_front(common) ||
        !llvm::all_of(from.drop_front(common), isOne) ||
        !llvm::all_of(to.drop_front(common), isOne))
      break;
    value = reshape.getInput();
  }
  return value;
}

static bool isClose(double a, double b) {
  return std::fabs(a - b) <= 1e-5 * std::fabs(b);
}

namespace {
/// A mean over the last `numDims` dimensions of `operand`.
struct Mean {
  Value operand;
  int64_t numDims = 0;
};
} // namespace

/// Matches a sum divided by the number of summed elements.
static std::optional<Mean> matchMean(Value value) {
  double factor = 1;
  ReduceOp reduce;
  for (value = stripTrailingOnes(value); !reduce;
       value = stripTrailingOnes(value)) {
    Operation *op = value.getDefiningOp();
    if (!op)
      return std::nullopt;
    if ((reduce = dyn_cast<ReduceOp>(op)))
      break;
    if (!isa<MulOp, DivOp>(op))
      return std::nullopt;
    std::optional<double> scalar = getSplatFloat(op->getOperand(1));
    bool onLeft = !scalar && isa<MulOp>(op);
    if (onLeft)
      scalar = getSplatFloat(op->getOperand(0));
    if (!scalar || *scalar == 0)
      return std::nullopt;
    factor = isa<MulOp>(op) ? factor * *scalar : factor / *scalar;
    value = op->getOperand(onLeft ? 1 : 0);
  }
  auto type = getTensorType(reduce.getInput());
  ArrayRef<int64_t> dims = reduce.getDims();
  if (reduce.getKind() != ReductionKind::Sum || dims.empty() ||
      dims.back() != type.getRank() - 1 ||
      dims.front() != type.getRank() - static_cast<int64_t>(dims.size()))
    return std::nullopt;
  double count = 1;
  for (int64_t dim : dims)
    count *= type.getDimSize(dim);
  if (!isClose(factor * count, 1))
    return std::nullopt;
  return Mean{reduce.getInput(), static_cast<int64_t>(dims.size())};
}

/// The operand of a square.
static Value matchSquare(Value value) {
  auto product = value.getDefiningOp<MulOp>();
  return product && product.getLhs() == product.getRhs() ? product.getLhs()
                                                         : Value();
}

/// Strips `+ epsilon` with a constant.
static Value stripEpsilon(Value value, double &epsilon) {
  epsilon = 0;
  auto sum = value.getDefiningOp<AddOp>();
  if (!sum)
    return value;
  for (auto [number, rest] : {std::pair(sum.getRhs(), sum.getLhs()),
                              std::pair(sum.getLhs(), sum.getRhs())})
    if (std::optional<double> splat = getSplatFloat(number);
        splat && *splat >= 0) {
      epsilon = *splat;
      return rest;
    }
  return value;
}

/// For a row statistic 1 / sqrt(v) (or, with `inverted` false, sqrt(v)): v.
static Value matchDeviation(Value value, bool inverted) {
  value = stripTrailingOnes(value);
  if (!inverted) {
    auto root = value.getDefiningOp<SqrtOp>();
    return root ? stripTrailingOnes(root.getInput()) : Value();
  }
  if (auto root = value.getDefiningOp<RsqrtOp>())
    return stripTrailingOnes(root.getInput());
  auto quotient = value.getDefiningOp<DivOp>();
  if (!quotient || getSplatFloat(quotient.getLhs()) != 1.0)
    return {};
  return matchDeviation(quotient.getRhs(), /*inverted=*/false);
}

/// Rewrites centred / sqrt(mean(centred^2) + epsilon).
static LogicalResult raiseNorm(Operation *op, Value centred, Value deviation,
                               bool inverted, PatternRewriter &rewriter) {
  Value statistic = getRowStatistic(deviation);
  Value variance = statistic ? matchDeviation(statistic, inverted) : Value();
  if (!variance)
    return failure();
  double epsilon;
  std::optional<Mean> mean = matchMean(stripEpsilon(variance, epsilon));
  if (!mean || matchSquare(mean->operand) != centred)
    return failure();
  auto numDims = static_cast<uint64_t>(mean->numDims);
  if (auto difference = centred.getDefiningOp<SubOp>()) {
    Value row = getRowStatistic(difference.getRhs());
    std::optional<Mean> centre = row ? matchMean(row) : std::nullopt;
    if (centre && centre->operand == difference.getLhs() &&
        centre->numDims == mean->numDims) {
      rewriter.replaceOpWithNewOp<LayerNormOp>(
          op, difference.getLhs(), Value(), Value(), numDims, APFloat(epsilon));
      return success();
    }
  }
  rewriter.replaceOpWithNewOp<RMSNormOp>(op, centred, Value(), numDims,
                                         APFloat(epsilon));
  return success();
}

namespace {
struct RaiseNormQuotient : OpRewritePattern<DivOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(DivOp op,
                                PatternRewriter &rewriter) const override {
    return raiseNorm(op, op.getLhs(), op.getRhs(), /*inverted=*/false,
                     rewriter);
  }
};

struct RaiseNormProduct : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    if (succeeded(raiseNorm(op, op.getLhs(), op.getRhs(), /*inverted=*/true,
                            rewriter)))
      return success();
    return raiseNorm(op, op.getRhs(), op.getLhs(), /*inverted=*/true, rewriter);
  }
};
} // namespace

/// The operand of a broadcast along the leading dimensions to a value of the
/// norm's type, if it has the shape of the normalised dimensions.
static Value getNormParameter(Value value, int64_t numDims) {
  auto type = getTensorType(value);
  ArrayRef<int64_t> inner = type.getShape().take_back(numDims);
  if (type.getRank() == numDims)
    return value;
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  if (!broadcast || getTensorType(broadcast.getInput()).getShape() != inner ||
      broadcast.getDims().front() != type.getRank() - numDims)
    return {};
  return broadcast.getInput();
}

/// The norm that one operand of a product or sum is, if nothing else uses it,
/// and the parameter that the other operand is.
template <typename Norm>
static std::pair<Norm, Value> matchNormAndParameter(Operation *op) {
  for (int i = 0; i < 2; ++i) {
    auto norm = op->getOperand(i).getDefiningOp<Norm>();
    if (!norm || !norm->hasOneUse() || norm->hasAttr(kShardingsAttr))
      continue;
    if (Value parameter =
            getNormParameter(op->getOperand(1 - i), norm.getNumDims()))
      return {norm, parameter};
  }
  return {};
}

namespace {
struct FoldLayerNormScale : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    auto [norm, scale] = matchNormAndParameter<LayerNormOp>(op);
    if (!norm || norm.getScale() || norm.getBias())
      return failure();
    rewriter.replaceOpWithNewOp<LayerNormOp>(op, norm.getInput(), scale,
                                             Value(), norm.getNumDims(),
                                             norm.getEpsilon());
    return success();
  }
};

struct FoldLayerNormBias : OpRewritePattern<AddOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AddOp op,
                                PatternRewriter &rewriter) const override {
    auto [norm, bias] = matchNormAndParameter<LayerNormOp>(op);
    if (!norm || norm.getBias())
      return failure();
    rewriter.replaceOpWithNewOp<LayerNormOp>(
        op, norm.getInput(), norm.getScale(), bias, norm.getNumDims(),
        norm.getEpsilon());
    return success();
  }
};

struct FoldRMSNormScale : OpRewritePattern<MulOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(MulOp op,
                                PatternRewriter &rewriter) const override {
    auto [norm, scale] = matchNormAndParameter<RMSNormOp>(op);
    if (!norm || norm.getScale())
      return failure();
    rewriter.replaceOpWithNewOp<RMSNormOp>(
        op, norm.getInput(), scale, norm.getNumDims(), norm.getEpsilon());
    return success();
  }
};
} // namespace

void pplan::populateRaiseNormPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseNormQuotient, RaiseNormProduct, FoldLayerNormScale,
               FoldLayerNormBias, FoldRMSNormScale>(patterns.getContext());
}
