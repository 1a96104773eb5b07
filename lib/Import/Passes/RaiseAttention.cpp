//===- RaiseAttention.cpp - Recognise decomposed attention ----------------===//
//
// Matches contract(softmax(mask(scale(contract(q, k)))), v) from the outside
// in. The letters of the two equations say which dimension plays which part,
// so that any order of dimensions matches.
//
//===----------------------------------------------------------------------===//
#include "RaisePatterns.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace pplan;

namespace {
/// What has been found on the way from the scores inward.
struct Match {
  Value query, key, value, mask;
  bool causal = false;
  double scale = 1;
  std::string layouts[4];
};
} // namespace

/// Strips products and quotients with scalars, collecting them in `scale`.
static Value stripScale(Value value, double &scale) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<MulOp>(op)) {
      std::optional<double> right = getSplatFloat(op->getOperand(1));
      std::optional<double> left =
          right ? std::nullopt : getSplatFloat(op->getOperand(0));
      if (!left && !right)
        break;
      scale *= right ? *right : *left;
      value = op->getOperand(right ? 0 : 1);
    } else if (isa<DivOp>(op)) {
      std::optional<double> right = getSplatFloat(op->getOperand(1));
      if (!right || *right == 0)
        break;
      scale /= *right;
      value = op->getOperand(0);
    } else {
      break;
    }
  }
  return value;
}

/// Below this an additive mask hides a key in any of the float types.
static constexpr double kHidden = -1e4;

/// True when the constant mask [.., t, s] is the causal one: zero (or true)
/// for keys 0 to i + s - t of query i, hidden elsewhere.
static bool isCausalConstant(Value mask, int64_t queries, int64_t keys) {
  // What is added around the last two dimensions does not matter.
  while (Operation *op = mask.getDefiningOp()) {
    if (!isa<BroadcastOp, ReshapeOp>(op))
      break;
    ArrayRef<int64_t> from = getTensorType(op->getOperand(0)).getShape();
    ArrayRef<int64_t> to = getTensorType(mask).getShape();
    if (from.size() < 2 || to.size() < 2 ||
        from.take_back(2) != to.take_back(2))
      return false;
    if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
      ArrayRef<int64_t> dims = broadcast.getDims().take_back(2);
      int64_t rank = to.size();
      if (dims[0] != rank - 2 || dims[1] != rank - 1)
        return false;
    }
    mask = op->getOperand(0);
  }
  auto constant = mask.getDefiningOp<ConstantOp>();
  auto elements =
      constant ? dyn_cast<DenseElementsAttr>(constant.getValue()) : nullptr;
  if (!elements || elements.isSplat())
    return false;
  ArrayRef<int64_t> shape = elements.getType().getShape();
  if (shape.size() < 2 || shape[shape.size() - 1] != keys ||
      shape[shape.size() - 2] != queries)
    return false;
  bool isBool = elements.getElementType().isInteger(1);
  if (!isBool && !isa<FloatType>(elements.getElementType()))
    return false;
  auto check = [&](int64_t index, bool seen, double added) {
    int64_t query = index / keys % queries, key = index % keys;
    bool expected = key <= query + keys - queries;
    return isBool ? seen == expected
                  : (expected ? added == 0 : added < kHidden);
  };
  int64_t index = 0;
  if (isBool) {
    for (bool seen : elements.getValues<bool>())
      if (!check(index++, seen, 0))
        return false;
    return true;
  }
  for (APFloat number : elements.getValues<APFloat>()) {
    bool inexact;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &inexact);
    if (!check(index++, false, number.convertToDouble()))
      return false;
  }
  return true;
}

/// A mask as the operation takes it: rank 4, each dimension whole or 1.
static Value makeMask(OpBuilder &builder, Value mask,
                      ArrayRef<int64_t> scores) {
  if (auto broadcast = mask.getDefiningOp<BroadcastOp>()) {
    SmallVector<int64_t> shape(scores.size(), 1);
    RankedTensorType from = getTensorType(broadcast.getInput());
    for (auto [index, dim] : llvm::enumerate(broadcast.getDims()))
      shape[dim] = from.getDimSize(index);
    mask = broadcast.getInput();
    if (from.getShape() != ArrayRef<int64_t>(shape))
      mask = ReshapeOp::create(builder, mask.getLoc(), withShape(from, shape),
                               mask);
  }
  return mask;
}

/// softmax(x), or the same with NaN replaced by 0.
static SoftmaxOp matchSoftmax(Value value) {
  if (auto select = value.getDefiningOp<SelectOp>()) {
    auto softmax = select.getOnFalse().getDefiningOp<SoftmaxOp>();
    auto compare = select.getCondition().getDefiningOp<CompareOp>();
    std::optional<double> zero = getSplatFloat(select.getOnTrue());
    bool isGuard = softmax && compare && zero && *zero == 0 &&
                   compare.getPredicate() == Predicate::NE &&
                   compare.getLhs() == softmax.getResult() &&
                   compare.getRhs() == softmax.getResult();
    return isGuard ? softmax : nullptr;
  }
  return value.getDefiningOp<SoftmaxOp>();
}

/// Strips one mask from the scores; false if there is one that does not fit.
static bool matchMask(OpBuilder &builder, Value &scores, Match &match) {
  RankedTensorType type = getTensorType(scores);
  int64_t queries = type.getDimSize(2), keys = type.getDimSize(3);
  auto take = [&](Value mask, Value inner) {
    if (match.mask || match.causal)
      return false; // two masks are left as they are
    if (isCausalConstant(mask, queries, keys))
      match.causal = true;
    else
      match.mask = makeMask(builder, mask, type.getShape());
    scores = inner;
    return true;
  };
  if (auto add = scores.getDefiningOp<AddOp>()) {
    // The scores are the side that leads to a contraction.
    for (int side = 0; side < 2; ++side) {
      double ignored = 1;
      if (stripScale(add->getOperand(side), ignored)
              .getDefiningOp<ContractOp>())
        return take(add->getOperand(1 - side), add->getOperand(side));
    }
    return false;
  }
  if (auto select = scores.getDefiningOp<SelectOp>()) {
    std::optional<double> hidden = getSplatFloat(select.getOnFalse());
    if (!hidden || *hidden > kHidden)
      return false;
    // A finite fill gives a fully masked row the mean; only minus infinity
    // or a causal mask, which has no such row, means the same.
    bool isCausal = isCausalConstant(select.getCondition(), queries, keys) &&
                    keys >= queries;
    if (!isCausal && *hidden != -std::numeric_limits<double>::infinity())
      return false;
    return take(select.getCondition(), select.getOnTrue());
  }
  return true;
}

/// Finds the parts that the dimensions of both contractions play.
static bool matchLetters(ContractOp scores, ContractOp output, Match &match) {
  StringRef result = scores.getResultLetters();
  StringRef probability = output.getLhsLetters();
  StringRef value = output.getRhsLetters();
  if (result.size() != 4 || probability.size() != 4 || value.size() != 4 ||
      output.getResultLetters().size() != 4 ||
      scores.getLhsLetters().size() != 4 || scores.getRhsLetters().size() != 4)
    return false;
  // Scores must be [b, h, t, s].
  StringRef queryLetters = scores.getLhsLetters();
  StringRef keyLetters = scores.getRhsLetters();
  match.query = scores.getLhs();
  match.key = scores.getRhs();
  char t = result[2], s = result[3];
  if (!queryLetters.contains(t)) {
    std::swap(queryLetters, keyLetters);
    std::swap(match.query, match.key);
  }
  if (!queryLetters.contains(t) || keyLetters.contains(t) ||
      !keyLetters.contains(s) || queryLetters.contains(s))
    return false;
  auto rename = [](StringRef letters, StringRef from) {
    std::string layout;
    for (char letter : letters) {
      size_t place = from.find(letter);
      layout += place == StringRef::npos ? '?' : "bhttd"[place];
    }
    return layout;
  };
  // The contracted letter d is in both operands, b and h as well.
  char d = 0;
  for (char letter : queryLetters)
    if (!result.contains(letter))
      d = letter;
  if (!d || !keyLetters.contains(d))
    return false;
  std::string qk = (Twine(result) + Twine(d)).str();
  match.layouts[0] = rename(queryLetters, qk);
  match.layouts[1] = rename(keyLetters, qk);
  // In the output: probability [b, h, t, s], value has b, h, s and e.
  char e = 0;
  for (char letter : value)
    if (!probability.contains(letter))
      e = letter;
  if (!e || value.contains(probability[2]) || !value.contains(probability[3]) ||
      output.getResultLetters().contains(probability[3]))
    return false;
  std::string pv = (Twine(probability) + Twine(e)).str();
  match.layouts[2] = rename(value, pv);
  match.layouts[3] = rename(output.getResultLetters(), pv);
  for (const std::string &layout : match.layouts) {
    std::string sorted = layout;
    llvm::sort(sorted);
    if (sorted != "bdht")
      return false;
  }
  return true;
}

/// How often each head of `value` is repeated:
/// reshape(broadcast([.., g, 1, ..] to [.., g, repeats, ..])), or 1.
static int64_t countRepeats(Value value, int64_t headDim) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  auto broadcast =
      reshape ? reshape.getInput().getDefiningOp<BroadcastOp>() : nullptr;
  if (!broadcast)
    return 1;
  RankedTensorType merged = getTensorType(value);
  RankedTensorType wide = getTensorType(broadcast.getResult());
  RankedTensorType narrow = getTensorType(broadcast.getInput());
  if (wide.getRank() != merged.getRank() + 1)
    return 1;
  SmallVector<int64_t> expected(merged.getShape());
  int64_t heads = wide.getDimSize(headDim);
  int64_t times = wide.getDimSize(headDim + 1);
  expected[headDim] = times;
  expected.insert(expected.begin() + headDim, heads);
  if (heads * times != merged.getDimSize(headDim) ||
      wide.getShape() != ArrayRef<int64_t>(expected))
    return 1;
  // The broadcast repeats that dimension and nothing else.
  SmallVector<int64_t> before(wide.getShape());
  before[headDim + 1] = 1;
  SmallVector<int64_t> seen(wide.getRank(), 1);
  for (auto [index, dim] : llvm::enumerate(broadcast.getDims()))
    seen[dim] = narrow.getDimSize(index);
  return seen == before ? times : 1;
}

/// The tensor before its heads were repeated, which countRepeats has found.
static Value stripRepeat(OpBuilder &builder, Value value, int64_t headDim,
                         int64_t repeats) {
  auto reshape = value.getDefiningOp<ReshapeOp>();
  auto broadcast = reshape.getInput().getDefiningOp<BroadcastOp>();
  SmallVector<int64_t> shape(getTensorType(value).getShape());
  shape[headDim] /= repeats;
  return ReshapeOp::create(builder, value.getLoc(),
                           withShape(getTensorType(value), shape),
                           broadcast.getInput());
}

namespace {
struct RaiseAttention : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ContractOp output,
                                PatternRewriter &rewriter) const override {
    SoftmaxOp softmax = matchSoftmax(output.getLhs());
    if (!softmax || softmax.getLog() || softmax.getDim() != 3 ||
        softmax.getType().getRank() != 4)
      return failure();
    Match match;
    Value scores = stripScale(softmax.getInput(), match.scale);
    if (match.scale != 1 && !scores.getDefiningOp<ContractOp>())
      return failure(); // a scale outside the mask would scale the mask
    if (!matchMask(rewriter, scores, match))
      return failure();
    scores = stripScale(scores, match.scale);
    auto product = scores.getDefiningOp<ContractOp>();
    match.value = output.getRhs();
    if (!product || !isa<FloatType>(output.getType().getElementType()) ||
        !matchLetters(product, output, match))
      return failure();
    match.query = stripScale(match.query, match.scale);
    match.key = stripScale(match.key, match.scale);
    // Transposes below the scale become layouts.
    foldTranspose(match.query, match.layouts[0]);
    foldTranspose(match.key, match.layouts[1]);
    foldTranspose(match.value, match.layouts[2]);
    if (match.mask && !fitsMask(match, product))
      return failure();
    SmallVector<Attribute> layouts;
    for (const std::string &layout : match.layouts)
      layouts.push_back(rewriter.getStringAttr(layout));
    rewriter.replaceOpWithNewOp<AttentionOp>(
        output, output.getType(), match.query, match.key, match.value,
        match.mask, rewriter.getF64FloatAttr(match.scale),
        match.causal ? rewriter.getUnitAttr() : UnitAttr(),
        rewriter.getArrayAttr(layouts));
    return success();
  }

private:
  static void foldTranspose(Value &value, std::string &layout) {
    while (auto transpose = value.getDefiningOp<TransposeOp>()) {
      std::string before = layout;
      for (auto [to, from] : llvm::enumerate(transpose.getPermutation()))
        layout[from] = before[to];
      value = transpose.getInput();
    }
  }

  /// Mask of rank 4, of i1 or the element type, each dimension whole or 1.
  static bool fitsMask(const Match &match, ContractOp scores) {
    RankedTensorType mask = getTensorType(match.mask);
    RankedTensorType type = scores.getType();
    if (mask.getRank() != 4 || (!mask.getElementType().isInteger(1) &&
                                mask.getElementType() != type.getElementType()))
      return false;
    for (int64_t dim = 0; dim < 4; ++dim)
      if (mask.getDimSize(dim) != 1 &&
          mask.getDimSize(dim) != type.getDimSize(dim))
        return false;
    return true;
  }
};

/// Takes keys and values unrepeated if both were repeated alike.
struct UngroupAttention : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (op->hasAttr(kShardingsAttr))
      return failure();
    int64_t ofKey = countRepeats(op.getKey(), op.getDim(1, 'h'));
    int64_t ofValue = countRepeats(op.getValue(), op.getDim(2, 'h'));
    if (ofKey != ofValue || ofKey == 1)
      return failure();
    Value key = stripRepeat(rewriter, op.getKey(), op.getDim(1, 'h'), ofKey);
    Value value =
        stripRepeat(rewriter, op.getValue(), op.getDim(2, 'h'), ofValue);
    rewriter.modifyOpInPlace(op, [&] {
      op.getKeyMutable().assign(key);
      op.getValueMutable().assign(value);
    });
    return success();
  }
};

/// A constant mask that is the causal one is the causal form.
struct CausalFromMask : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AttentionOp op,
                                PatternRewriter &rewriter) const override {
    if (!op.getMask() || !isCausalConstant(op.getMask(), op.getDimSize(0, 't'),
                                           op.getDimSize(1, 't')))
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.getMaskMutable().clear();
      op.setCausal(true);
    });
    return success();
  }
};
} // namespace

void pplan::populateRaiseAttentionPatterns(RewritePatternSet &patterns) {
  patterns.add<RaiseAttention, UngroupAttention, CausalFromMask>(
      patterns.getContext());
  // Transposes of the operands hide repeats.
  AttentionOp::getCanonicalizationPatterns(patterns, patterns.getContext());
}
