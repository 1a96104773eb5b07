//===- RaisePatterns.cpp - Recognise what exporters decompose -------------===//
//
// The pass and its small patterns; attention, norms and activations have files
// of their own.
//
//===----------------------------------------------------------------------===//
#include "RaisePatterns.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "pplan/Import/Passes.h"

using namespace mlir;
using namespace pplan;

namespace pplan {
#define GEN_PASS_DEF_RAISEPATTERNS
#include "pplan/Import/Passes.h.inc"
} // namespace pplan

std::optional<double> pplan::getSplatFloat(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<BroadcastOp, ReshapeOp>(op)) {
      value = op->getOperand(0);
      continue;
    }
    auto constant = dyn_cast<ConstantOp>(op);
    if (!constant)
      return std::nullopt;
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements || !elements.isSplat() ||
        !isa<FloatType>(elements.getElementType()))
      return std::nullopt;
    bool inexact;
    APFloat number = elements.getSplatValue<APFloat>();
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &inexact);
    return number.convertToDouble();
  }
  return std::nullopt;
}

/// For each dimension of `merged` the sizes that it is split into, if `split`
/// is `merged` with dimensions split.
static std::optional<SmallVector<SmallVector<int64_t>>>
getGroups(ArrayRef<int64_t> merged, ArrayRef<int64_t> split) {
  SmallVector<SmallVector<int64_t>> groups;
  size_t next = 0;
  for (int64_t size : merged) {
    SmallVector<int64_t> group;
    int64_t product = 1;
    do {
      if (next == split.size() || split[next] == 0)
        return std::nullopt;
      product *= split[next];
      group.push_back(split[next++]);
    } while (product < size);
    if (product != size)
      return std::nullopt;
    groups.push_back(group);
  }
  if (next != split.size())
    return std::nullopt;
  return groups;
}

namespace {
/// split(transpose(merge(x))), where the split leaves every dimension of the
/// transpose apart, is transpose(reshape(x)): heads that were merged with the
/// batch and split again are then one transpose of x.
struct SplitOfTranspose : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp split,
                                PatternRewriter &rewriter) const override {
    auto transpose = split.getInput().getDefiningOp<TransposeOp>();
    auto merge =
        transpose ? transpose.getInput().getDefiningOp<ReshapeOp>() : nullptr;
    if (!merge || split->hasAttr(kShardingsAttr))
      return failure();
    // The sizes into which the split takes each dimension of the transpose.
    auto groups =
        getGroups(transpose.getType().getShape(), split.getType().getShape());
    if (!groups)
      return failure();
    // The same sizes in the order before the transpose.
    ArrayRef<int64_t> order = transpose.getPermutation();
    SmallVector<int64_t> shape, first(order.size()), permutation;
    for (size_t dim = 0; dim < order.size(); ++dim) {
      size_t place =
          llvm::find(order, static_cast<int64_t>(dim)) - order.begin();
      first[dim] = shape.size();
      llvm::append_range(shape, (*groups)[place]);
    }
    for (auto [place, dim] : llvm::enumerate(order))
      for (size_t i = 0; i < (*groups)[place].size(); ++i)
        permutation.push_back(first[dim] + i);
    Value inner = merge.getInput();
    if (getTensorType(inner).getShape() != ArrayRef<int64_t>(shape))
      inner = ReshapeOp::create(rewriter, merge.getLoc(),
                                withShape(merge.getType(), shape), inner);
    rewriter.replaceOpWithNewOp<TransposeOp>(split, inner, permutation);
    return success();
  }
};

/// A power with a small constant exponent.
struct ExpandPower : OpRewritePattern<PowOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PowOp op,
                                PatternRewriter &rewriter) const override {
    std::optional<double> exponent = getSplatFloat(op.getRhs());
    if (!exponent)
      return failure();
    Location loc = op.getLoc();
    Value x = op.getLhs();
    auto one = [&]() -> Value {
      RankedTensorType type = op.getType();
      return ConstantOp::create(
          rewriter, loc, type,
          DenseElementsAttr::get(
              type, rewriter.getFloatAttr(type.getElementType(), 1.0)));
    };
    Value result;
    if (*exponent == 1)
      result = x;
    else if (*exponent == 2)
      result = MulOp::create(rewriter, loc, x, x);
    else if (*exponent == 3)
      result =
          MulOp::create(rewriter, loc, MulOp::create(rewriter, loc, x, x), x);
    else if (*exponent == 0.5)
      result = SqrtOp::create(rewriter, loc, x);
    else if (*exponent == -0.5)
      result = RsqrtOp::create(rewriter, loc, x);
    else if (*exponent == -1)
      result = DivOp::create(rewriter, loc, one(), x);
    else
      return failure();
    rewriter.replaceOp(op, result);
    return success();
  }
};

struct RaisePatternsPass : pplan::impl::RaisePatternsBase<RaisePatternsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SplitOfTranspose, ExpandPower>(&getContext());
    populateRaiseAttentionPatterns(patterns);
    populateRaiseNormPatterns(patterns);
    populateRaiseActivationPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
