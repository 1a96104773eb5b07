//===- SplitDimensions.cpp - Give hidden factors their own dimensions -----===//
//
// Moves reshapes that split dimensions up through the operations that make
// them, so that every factor is a dimension. Which factor is then split over a
// mesh is decided by the planner.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/Passes.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace pplan;

namespace pplan {
#define GEN_PASS_DEF_SPLITDIMENSIONS
#include "pplan/Planner/Passes.h.inc"
} // namespace pplan

/// For each dimension the sizes it is split into (one size: it stays).
using Split = SmallVector<SmallVector<int64_t, 2>>;

/// The split that turns shape `from` into `to`, if there is one.
static std::optional<Split> getSplit(ArrayRef<int64_t> from,
                                     ArrayRef<int64_t> to) {
  Split split;
  size_t next = 0;
  for (int64_t size : from) {
    SmallVector<int64_t, 2> parts;
    int64_t product = 1;
    if (size == 0)
      return std::nullopt;
    do {
      if (next == to.size() || to[next] == 0)
        return std::nullopt;
      product *= to[next];
      parts.push_back(to[next++]);
    } while (product < size);
    if (product != size)
      return std::nullopt;
    split.push_back(parts);
  }
  if (next != to.size())
    return std::nullopt;
  return split;
}

static bool isTrivial(const Split &split) {
  return llvm::all_of(split,
                      [](const auto &parts) { return parts.size() == 1; });
}

static Value reshapeTo(OpBuilder &builder, Value value,
                       ArrayRef<int64_t> shape) {
  RankedTensorType type = getTensorType(value);
  if (type.getShape() == shape)
    return value;
  return ReshapeOp::create(builder, value.getLoc(), withShape(type, shape),
                           value);
}

static bool isAnnotated(Operation *op) {
  return !op || op->hasAttr(kShardingsAttr);
}

/// The split of a reshape whose operand `OpTy` makes for it alone.
template <typename OpTy>
static OpTy getOnlySource(ReshapeOp reshape, std::optional<Split> &split) {
  auto source = reshape.getInput().getDefiningOp<OpTy>();
  if (!source || !source->hasOneUse() || isAnnotated(source) ||
      isAnnotated(reshape))
    return nullptr;
  split = getSplit(getTensorType(reshape.getInput()).getShape(),
                   getTensorType(reshape.getResult()).getShape());
  if (!split || isTrivial(*split))
    return nullptr;
  return source;
}

namespace {
struct SplitElementwise : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp reshape,
                                PatternRewriter &rewriter) const override {
    Operation *source = reshape.getInput().getDefiningOp();
    if (!source || !source->hasOneUse() || isAnnotated(source) ||
        isAnnotated(reshape) || isa<ReshardOp>(source) ||
        source->getNumOperands() == 0 ||
        !(source->hasTrait<OpTrait::SameOperandsAndResultType>() ||
          source->hasTrait<OpTrait::SameOperandsAndResultShape>()))
      return failure();
    ArrayRef<int64_t> shape = getTensorType(reshape.getResult()).getShape();
    std::optional<Split> split =
        getSplit(getTensorType(reshape.getInput()).getShape(), shape);
    if (!split || isTrivial(*split))
      return failure();
    OperationState state(source->getLoc(), source->getName());
    for (Value operand : source->getOperands())
      state.addOperands(reshapeTo(rewriter, operand, shape));
    state.addTypes(reshape.getType());
    state.addAttributes(source->getAttrs());
    rewriter.replaceOp(reshape, rewriter.create(state));
    return success();
  }
};

struct SplitBroadcast : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp reshape,
                                PatternRewriter &rewriter) const override {
    std::optional<Split> split;
    auto source = getOnlySource<BroadcastOp>(reshape, split);
    if (!source)
      return failure();
    SmallVector<int64_t> firstPart;
    int64_t position = 0;
    for (const auto &parts : *split) {
      firstPart.push_back(position);
      position += parts.size();
    }
    SmallVector<int64_t> shape, dims;
    for (auto [dim, size] : llvm::zip(
             source.getDims(), getTensorType(source.getInput()).getShape()))
      for (auto [place, part] : llvm::enumerate((*split)[dim])) {
        shape.push_back(size == 1 ? 1 : part);
        dims.push_back(firstPart[dim] + place);
      }
    rewriter.replaceOpWithNewOp<BroadcastOp>(
        reshape, reshape.getType(),
        reshapeTo(rewriter, source.getInput(), shape), dims);
    return success();
  }
};

/// Letters that an equation does not use yet.
class FreshLetters {
public:
  explicit FreshLetters(StringRef equation) : used(equation.str()) {}
  /// 0 when the alphabet is used up.
  char next() {
    static constexpr StringLiteral alphabet =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (char letter : alphabet)
      if (used.find(letter) == std::string::npos) {
        used += letter;
        return letter;
      }
    return 0;
  }

private:
  std::string used;
};

/// What a letter becomes: its new letters and their sizes.
using LetterSplits =
    llvm::SmallDenseMap<char, std::pair<std::string, SmallVector<int64_t, 2>>>;

/// New letters for each dimension that is split; false if they run out.
bool addLetterSplits(StringRef letters, const Split &split,
                     FreshLetters &fresh, LetterSplits &out) {
  for (auto [letter, parts] : llvm::zip(letters, split)) {
    if (parts.size() == 1)
      continue;
    std::string names(1, letter);
    for (size_t i = 1; i < parts.size(); ++i) {
      char name = fresh.next();
      if (!name)
        return false;
      names += name;
    }
    out[letter] = {names, parts};
  }
  return true;
}

std::string applyToLetters(StringRef letters, const LetterSplits &splits) {
  std::string result;
  for (char letter : letters) {
    auto found = splits.find(letter);
    result += found == splits.end() ? std::string(1, letter)
                                    : found->second.first;
  }
  return result;
}

Value applyToOperand(OpBuilder &builder, StringRef letters, Value value,
                     const LetterSplits &splits) {
  SmallVector<int64_t> shape;
  for (auto [letter, size] :
       llvm::zip(letters, getTensorType(value).getShape())) {
    auto found = splits.find(letter);
    if (found == splits.end())
      shape.push_back(size);
    else
      llvm::append_range(shape, found->second.second);
  }
  return reshapeTo(builder, value, shape);
}

Value buildSplitContract(OpBuilder &builder, ContractOp op,
                         const LetterSplits &splits) {
  std::string left = applyToLetters(op.getLhsLetters(), splits);
  std::string right = applyToLetters(op.getRhsLetters(), splits);
  std::string result = applyToLetters(op.getResultLetters(), splits);
  Value lhs = applyToOperand(builder, op.getLhsLetters(), op.getLhs(), splits);
  Value rhs = applyToOperand(builder, op.getRhsLetters(), op.getRhs(), splits);
  return ContractOp::create(builder, op.getLoc(),
                            left + "," + right + "->" + result, lhs, rhs);
}

struct SplitContractResult : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp reshape,
                                PatternRewriter &rewriter) const override {
    std::optional<Split> split;
    auto source = getOnlySource<ContractOp>(reshape, split);
    if (!source)
      return failure();
    FreshLetters fresh(source.getEquation());
    LetterSplits splits;
    if (!addLetterSplits(source.getResultLetters(), *split, fresh, splits))
      return failure();
    rewriter.replaceOp(reshape, buildSplitContract(rewriter, source, splits));
    return success();
  }
};

/// A merge before a contraction that sums over the merged dimension: the
/// contraction sums over its parts instead.
struct SplitContractOperand : OpRewritePattern<ContractOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ContractOp op,
                                PatternRewriter &rewriter) const override {
    if (isAnnotated(op))
      return failure();
    StringRef letters[] = {op.getLhsLetters(), op.getRhsLetters()};
    for (unsigned i = 0; i < 2; ++i) {
      auto merge = op->getOperand(i).getDefiningOp<ReshapeOp>();
      if (!merge || isAnnotated(merge))
        continue;
      std::optional<Split> split =
          getSplit(getTensorType(merge.getResult()).getShape(),
                   getTensorType(merge.getInput()).getShape());
      if (!split || isTrivial(*split))
        continue;
      bool onlySummed = true;
      for (auto [letter, parts] : llvm::zip(letters[i], *split))
        onlySummed &= parts.size() == 1 ||
                      !op.getResultLetters().contains(letter);
      FreshLetters fresh(op.getEquation());
      LetterSplits splits;
      if (!onlySummed ||
          !addLetterSplits(letters[i], *split, fresh, splits))
        continue;
      rewriter.replaceOp(op, buildSplitContract(rewriter, op, splits));
      return success();
    }
    return failure();
  }
};

/// Equal slices of one dimension become slices of a dimension of its own.
struct SplitSlices : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  /// The one dimension that an equal slice cuts, or -1.
  static int64_t getCutDim(SliceOp slice) {
    int64_t cut = -1;
    ArrayRef<int64_t> from = getTensorType(slice.getInput()).getShape();
    ArrayRef<int64_t> to = getTensorType(slice.getResult()).getShape();
    for (size_t dim = 0; dim < from.size(); ++dim) {
      if (slice.isFullDim(dim))
        continue;
      if (cut >= 0 || slice.getStrides()[dim] != 1 || to[dim] <= 1 ||
          from[dim] % to[dim] || slice.getOffsets()[dim] % to[dim])
        return -1;
      cut = dim;
    }
    return cut;
  }

  LogicalResult matchAndRewrite(SliceOp slice,
                                PatternRewriter &rewriter) const override {
    int64_t cut = getCutDim(slice);
    Operation *source = slice.getInput().getDefiningOp();
    if (cut < 0 || isAnnotated(slice) || !source)
      return failure();
    for (Operation *user : slice.getInput().getUsers()) {
      auto other = dyn_cast<SliceOp>(user);
      if (auto reshape = dyn_cast<ReshapeOp>(user); reshape && !other)
        continue; // the split that an equal slice has been given
      if (!other || getCutDim(other) != cut ||
          other.getType() != slice.getType())
        return failure();
    }
    SmallVector<int64_t> split(getTensorType(slice.getInput()).getShape());
    int64_t size = getTensorType(slice.getResult()).getDimSize(cut);
    int64_t count = split[cut] / size;
    split[cut] = size;
    split.insert(split.begin() + cut, count);
    SmallVector<int64_t> offsets(split.size(), 0), strides(split.size(), 1);
    offsets[cut] = slice.getOffsets()[cut] / size;
    Value parts = reshapeTo(rewriter, slice.getInput(), split);
    split[cut] = 1;
    Value part = SliceOp::create(
        rewriter, slice.getLoc(), withShape(slice.getType(), split), parts,
        offsets, strides);
    rewriter.replaceOp(slice,
                       reshapeTo(rewriter, part, slice.getType().getShape()));
    return success();
  }
};

/// A split of what a slice takes whole is a split before the slice.
struct SplitBeforeSlice : OpRewritePattern<ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReshapeOp reshape,
                                PatternRewriter &rewriter) const override {
    auto slice = reshape.getInput().getDefiningOp<SliceOp>();
    if (!slice || !slice->hasOneUse() || isAnnotated(slice) ||
        isAnnotated(reshape))
      return failure();
    // Dimensions of size 1 that the slice makes may vanish in the reshape.
    ArrayRef<int64_t> sliced = getTensorType(slice.getResult()).getShape();
    SmallVector<int64_t> kept, keptDims;
    for (auto [dim, size] : llvm::enumerate(sliced))
      if (slice.isFullDim(dim)) {
        kept.push_back(size);
        keptDims.push_back(dim);
      } else if (size != 1) {
        return failure();
      }
    std::optional<Split> split =
        getSplit(kept, getTensorType(reshape.getResult()).getShape());
    if (!split || isTrivial(*split))
      return failure();
    SmallVector<int64_t> before, after, offsets, strides;
    ArrayRef<int64_t> whole = getTensorType(slice.getInput()).getShape();
    size_t next = 0;
    for (size_t dim = 0; dim < whole.size(); ++dim) {
      if (next == keptDims.size() ||
          keptDims[next] != static_cast<int64_t>(dim)) {
        before.push_back(whole[dim]);
        after.push_back(1);
        offsets.push_back(slice.getOffsets()[dim]);
        strides.push_back(slice.getStrides()[dim]);
        continue;
      }
      for (int64_t part : (*split)[next]) {
        before.push_back(part);
        after.push_back(part);
        offsets.push_back(0);
        strides.push_back(1);
      }
      ++next;
    }
    Value input = reshapeTo(rewriter, slice.getInput(), before);
    Value part =
        SliceOp::create(rewriter, slice.getLoc(),
                        withShape(slice.getType(), after), input, offsets,
                        strides);
    rewriter.replaceOp(
        reshape, reshapeTo(rewriter, part, reshape.getType().getShape()));
    return success();
  }
};

struct SplitDimensionsPass
    : pplan::impl::SplitDimensionsBase<SplitDimensionsPass> {
  void runOnOperation() override;
};
} // namespace

/// Gives a parameter the shape in which its only user reshapes it.
static bool reshapeParameters(func::FuncOp function) {
  bool changed = false;
  SmallVector<Type> types(function.getArgumentTypes());
  for (auto [index, argument] : llvm::enumerate(function.getArguments())) {
    if (!function.getArgAttr(index, kParamAttr) ||
        function.getArgAttr(index, kShardingAttr) || !argument.hasOneUse())
      continue;
    auto reshape = dyn_cast<ReshapeOp>(*argument.getUsers().begin());
    if (!reshape || isAnnotated(reshape))
      continue;
    types[index] = reshape.getType();
    argument.setType(reshape.getType());
    reshape.getResult().replaceAllUsesWith(argument);
    reshape.erase();
    changed = true;
  }
  if (changed)
    function.setFunctionType(FunctionType::get(
        function.getContext(), types, function.getResultTypes()));
  return changed;
}

void SplitDimensionsPass::runOnOperation() {
  MLIRContext *context = &getContext();
  RewritePatternSet patterns(context);
  patterns.add<SplitElementwise, SplitBroadcast, SplitContractResult,
               SplitContractOperand, SplitSlices, SplitBeforeSlice>(context);
  ContractOp::getCanonicalizationPatterns(patterns, context);
  AttentionOp::getCanonicalizationPatterns(patterns, context);
  FrozenRewritePatternSet frozen(std::move(patterns));
  // A round ends with equal reshapes of one value merged, which makes it the
  // only use of its source and lets the next round go on from there.
  constexpr int maxRounds = 16;
  bool changed = true;
  for (int round = 0; round < maxRounds && changed; ++round) {
    changed = false;
    bool rewritten = false, merged = false;
    GreedyRewriteConfig config;
    if (failed(applyPatternsGreedily(getOperation(), frozen, config,
                                     &rewritten)))
      return signalPassFailure();
    IRRewriter rewriter(context);
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation(), &merged);
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal())
        changed |= reshapeParameters(function);
    changed |= merged;
  }
}
