//===- OptimizeCollectives.cpp - Fewer and smaller collectives ------------===//
//
// Local rewrites of the device view. Which reshards are needed was decided
// before; this removes what is visible only once they stand next to each
// other.
//
//===----------------------------------------------------------------------===//
#include "EmitReshard.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "pplan/Partition/Passes.h"

namespace pplan {
#define GEN_PASS_DEF_OPTIMIZECOLLECTIVES
#include "pplan/Partition/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;
using namespace pplan::spmd;

/// Number of devices in a group.
static int64_t getGroupSize(Operation *op, FlatSymbolRefAttr name,
                            ArrayAttr axes) {
  MeshAttr mesh = lookupMesh(op, name).getShape();
  return DeviceMesh::get(mesh).getProduct(*getAxes(axes, mesh));
}

namespace {
/// shard_slice(all_gather x) over the same axes of the same dimension is x.
struct FoldSliceOfGather : OpRewritePattern<ShardSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ShardSliceOp slice,
                                PatternRewriter &rewriter) const override {
    auto gather = slice.getInput().getDefiningOp<AllGatherOp>();
    if (!gather || gather.getDim() != slice.getDim() ||
        gather.getAxes() != slice.getAxes() ||
        gather.getMesh() != slice.getMesh() ||
        gather.getInput().getType() != slice.getType())
      return failure();
    rewriter.replaceOp(slice, gather.getInput());
    return success();
  }
};

/// shard_slice(all_reduce x) is a reduce_scatter over the slice's axes and an
/// all_reduce of the smaller part over the others.
struct FuseReduceScatter : OpRewritePattern<ShardSliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ShardSliceOp slice,
                                PatternRewriter &rewriter) const override {
    auto reduce = slice.getInput().getDefiningOp<AllReduceOp>();
    if (!reduce || !reduce->hasOneUse() || reduce.getMesh() != slice.getMesh())
      return failure();
    SmallVector<Attribute> rest(reduce.getAxes().begin(),
                                reduce.getAxes().end());
    for (Attribute axis : slice.getAxes()) {
      if (!llvm::is_contained(rest, axis))
        return failure();
      llvm::erase(rest, axis);
    }
    Value result = ReduceScatterOp::create(
        rewriter, reduce.getLoc(), slice.getType(), reduce.getKind(),
        reduce.getInput(), slice.getDim(), slice.getMesh(), slice.getAxes());
    if (!rest.empty())
      result = AllReduceOp::create(rewriter, reduce.getLoc(), slice.getType(),
                                   reduce.getKind(), result, slice.getMesh(),
                                   rewriter.getArrayAttr(rest));
    rewriter.replaceOp(slice, result);
    return success();
  }
};

/// Converts before gathering when that leaves fewer bytes to send.
struct NarrowBeforeGather : OpRewritePattern<ConvertOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ConvertOp convert,
                                PatternRewriter &rewriter) const override {
    auto gather = convert.getInput().getDefiningOp<AllGatherOp>();
    if (!gather || !gather->hasOneUse())
      return failure();
    auto part = getTensorType(gather.getInput());
    Type element = convert.getType().getElementType();
    if (getElementBytes(element) >= getElementBytes(part.getElementType()))
      return failure();
    Value narrow = ConvertOp::create(
        rewriter, convert.getLoc(),
        RankedTensorType::get(part.getShape(), element), gather.getInput());
    copyState(gather.getInput(), narrow);
    rewriter.replaceOpWithNewOp<AllGatherOp>(convert, convert.getType(), narrow,
                                             gather.getDim(), gather.getMesh(),
                                             gather.getAxes());
    return success();
  }

  /// The state of an elementwise result is its operand's, of its own type.
  static void copyState(Value from, Value to) {
    Operation *op = from.getDefiningOp();
    auto state = op ? op->getAttrOfType<ArrayAttr>(kStateAttr) : ArrayAttr();
    if (!state || state.size() != 2)
      return;
    auto type = dyn_cast<TypeAttr>(state[1]);
    auto tensor =
        type ? dyn_cast<RankedTensorType>(type.getValue()) : RankedTensorType();
    if (!tensor)
      return;
    auto converted = RankedTensorType::get(tensor.getShape(),
                                           getTensorType(to).getElementType());
    to.getDefiningOp()->setAttr(
        kStateAttr,
        ArrayAttr::get(op->getContext(), {state[0], TypeAttr::get(converted)}));
  }
};

/// Gathers before a widening conversion.
struct WidenAfterGather : OpRewritePattern<AllGatherOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(AllGatherOp gather,
                                PatternRewriter &rewriter) const override {
    auto convert = gather.getInput().getDefiningOp<ConvertOp>();
    if (!convert || !convert->hasOneUse())
      return failure();
    Type from = getTensorType(convert.getInput()).getElementType();
    if (getElementBytes(from) >=
        getElementBytes(convert.getType().getElementType()))
      return failure();
    auto type = getTensorType(gather.getResult());
    Value whole = AllGatherOp::create(
        rewriter, gather.getLoc(), RankedTensorType::get(type.getShape(), from),
        convert.getInput(), gather.getDim(), gather.getMesh(),
        gather.getAxes());
    rewriter.replaceOpWithNewOp<ConvertOp>(gather, type, whole);
    return success();
  }
};

/// A collective in a group of one device, or a permutation that moves nothing.
template <typename OpTy> struct DropTrivial : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    bool isTrivial = getGroupSize(op, op.getMeshAttr(), op.getAxes()) == 1;
    if constexpr (std::is_same_v<OpTy, PermuteOp>) {
      bool isIdentity = true;
      for (auto [from, to] : llvm::enumerate(op.getTargets()))
        isIdentity &= to == static_cast<int64_t>(from);
      isTrivial |= isIdentity;
    }
    if (!isTrivial || op->getOperand(0).getType() != op.getType())
      return failure();
    rewriter.replaceOp(op, op->getOperand(0));
    return success();
  }
};

struct OptimizeCollectivesPass
    : pplan::impl::OptimizeCollectivesBase<OptimizeCollectivesPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<FoldSliceOfGather, FuseReduceScatter, NarrowBeforeGather,
                 WidenAfterGather, DropTrivial<AllReduceOp>,
                 DropTrivial<AllGatherOp>, DropTrivial<ReduceScatterOp>,
                 DropTrivial<AllToAllOp>, DropTrivial<PermuteOp>,
                 DropTrivial<ShardSliceOp>>(&getContext());
    auto count = [&] {
      int64_t collectives = 0;
      getOperation().walk(
          [&](Operation *op) { collectives += isCollective(op); });
      return collectives;
    };
    int64_t before = count();
    // Folding is off: folders do not keep `spmd.state`.
    GreedyRewriteConfig config;
    config.enableFolding(false).enableConstantCSE(false);
    if (failed(
            applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      return signalPassFailure();
    numRewritten += before - count();
  }
};
} // namespace
