//===- RaisePatterns.cpp - Recognise what exporters decompose -------------===//
//
// The pass and its small patterns; attention, norms and activations have files of
// their own.
//
//===----------------------------------------------------------------------===//
#include "RaisePatterns.h"
#include "pplan/Import/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

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

/// For each dimension of `merged` the sizes that it merges, if `original` is
/// `merged` with dimensions split.
static std::optional<SmallVector<SmallVector<int64_t>>>
getGroups(ArrayRef<int64_t> merged, ArrayRef<int64_t> original) {
  SmallVector<SmallVector<int64_t>> groups;
  size_t next = 0;
  for (int64_t size : merged) {
    SmallVector<int64_t> group;
    int64_t product = 1;
    do {
      if (next == original.size() || original[next] == 0)
        return std::nullopt;
      product *= original[next];
      group.push_back(original[next++]);
    } while (product < size);
    if (product != size)
      return std::nullopt;
    groups.push_back(group);
  }
  if (next != original.size())
    return std::nullopt;
  return groups;
}

namespace {
/// split(transpose(merge(x))) over the same groups is a transpose of x.
struct TransposeOfMerged : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp split,
                                PatternRewriter &rewriter) const override {
    auto transpose = split.getInput().getDefiningOp<TransposeOp>();
    auto merge =
        transpose ? transpose.getInput().getDefiningOp<ReshapeOp>() : nullptr;
    if (!merge)
      return failure();
    auto groups = getGroups(getTensorType(merge.getResult()).getShape(),
                            getTensorType(merge.getInput()).getShape());
    if (!groups)
      return failure();
    SmallVector<int64_t> first = {0};
    for (const auto &group : *groups)
      first.push_back(first.back() + group.size());
    SmallVector<int64_t> shape, permutation;
    for (int64_t dim : transpose.getPermutation()) {
      llvm::append_range(shape, (*groups)[dim]);
      for (size_t i = 0; i < (*groups)[dim].size(); ++i)
        permutation.push_back(first[dim] + i);
    }
    if (getTensorType(split.getResult()).getShape() !=
        ArrayRef<int64_t>(shape))
      return failure();
    rewriter.replaceOpWithNewOp<TransposeOp>(split, merge.getInput(),
                                             permutation);
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
      result = MulOp::create(rewriter, loc, MulOp::create(rewriter, loc, x, x),
                             x);
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
    patterns.add<TransposeOfMerged, ExpandPower>(&getContext());
    populateRaiseAttentionPatterns(patterns);
    populateRaiseNormPatterns(patterns);
    populateRaiseActivationPatterns(patterns);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
