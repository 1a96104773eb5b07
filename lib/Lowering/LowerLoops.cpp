//===- LowerLoops.cpp - pplan-lower-loops ---------------------------------===//
//
// Decides the order of loops. How a linalg operation becomes loops is MLIR's;
// vectorising them is left to LLVM.
//
//===----------------------------------------------------------------------===//
#include "pplan/Lowering/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"

namespace pplan {
#define GEN_PASS_DEF_LOWERLOOPSPASS
#include "pplan/Lowering/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

/// Stride in elements along loop `dim` with which `operand` is accessed; 0 when
/// it does not move, -1 when that is not known.
static int64_t getStride(linalg::LinalgOp op, OpOperand &operand,
                         unsigned dim) {
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  if (!type)
    return 0;
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return -1;
  AffineMap map = op.getMatchingIndexingMap(&operand);
  int64_t total = 0;
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    if (!expr.isFunctionOfDim(dim))
      continue;
    if (!isa<AffineDimExpr>(expr) || ShapedType::isDynamic(strides[i]))
      return -1;
    total += strides[i];
  }
  return total;
}

/// Cost of having loop `dim` innermost: operands that jump are expensive,
/// destinations more so.
static int64_t getInnermostCost(linalg::LinalgOp op, unsigned dim) {
  int64_t cost = 0;
  for (OpOperand &operand : op->getOpOperands()) {
    int64_t stride = getStride(op, operand, dim);
    bool jumps = stride != 0 && stride != 1;
    if (jumps)
      cost += op.isDpsInit(&operand) ? 3 : 2;
  }
  return cost;
}

/// The order of loops, outermost first.
static SmallVector<unsigned> chooseOrder(linalg::LinalgOp op) {
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  unsigned numLoops = op.getNumLoops();
  unsigned innermost = numLoops - 1;
  int64_t best = std::numeric_limits<int64_t>::max();
  // The last one wins ties; a short innermost loop cannot be vectorised.
  for (unsigned dim = 0; dim < numLoops; ++dim) {
    int64_t cost = getInnermostCost(op, dim) + (sizes[dim] < 8 ? 4 : 0);
    if (cost <= best) {
      best = cost;
      innermost = dim;
    }
  }
  SmallVector<unsigned> order;
  for (bool reductions : {false, true})
    for (unsigned dim = 0; dim < numLoops; ++dim)
      if (dim != innermost &&
          (iterators[dim] == utils::IteratorType::reduction) == reductions)
        order.push_back(dim);
  order.push_back(innermost);
  return order;
}

/// Lets LLVM reorder the additions (products) into an accumulator.
static void allowReordering(linalg::GenericOp op) {
  auto allow = [](Operation *inner, arith::FastMathFlags flags) {
    if (auto fast = dyn_cast<arith::ArithFastMathInterface>(inner)) {
      auto attr = arith::FastMathFlagsAttr::get(inner->getContext(), flags);
      inner->setAttr(fast.getFastMathAttrName(), attr);
    }
  };
  using Flags = arith::FastMathFlags;
  for (Operation &inner : *op.getBody())
    allow(&inner, Flags::contract);
  if (op.getNumReductionLoops() == 0)
    return;
  for (BlockArgument accumulator : op.getRegionOutputArgs())
    for (Operation *user : accumulator.getUsers())
      if (isa<arith::AddFOp, arith::MulFOp>(user) &&
          llvm::is_contained(op.getBody()->getTerminator()->getOperands(),
                             user->getResult(0)))
        allow(user, Flags::reassoc | Flags::contract);
}

namespace {
struct LowerLoopsPass
    : public ::pplan::impl::LowerLoopsPassBase<LowerLoopsPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<linalg::LinalgOp> loops;
    SmallVector<scf::ForallOp> foralls;
    getOperation().walk([&](Operation *op) {
      if (auto loop = dyn_cast<linalg::LinalgOp>(op))
        loops.push_back(loop);
      if (auto forall = dyn_cast<scf::ForallOp>(op))
        foralls.push_back(forall);
    });
    for (linalg::LinalgOp op : loops)
      if (failed(lower(rewriter, op))) {
        op->emitOpError("cannot be turned into loops");
        return signalPassFailure();
      }
    for (scf::ForallOp forall : foralls) {
      rewriter.setInsertionPoint(forall);
      if (failed(scf::forallToForLoop(rewriter, forall))) {
        forall.emitOpError("cannot be turned into loops");
        return signalPassFailure();
      }
    }
  }

  LogicalResult lower(RewriterBase &rewriter, linalg::LinalgOp op) {
    rewriter.setInsertionPoint(op);
    if (auto generic = dyn_cast<linalg::GenericOp>(op.getOperation())) {
      allowReordering(generic);
      if (op.getNumLoops() > 1) {
        FailureOr<linalg::GenericOp> ordered = linalg::interchangeGenericOp(
            rewriter, generic, chooseOrder(op));
        if (succeeded(ordered))
          op = *ordered;
      }
    }
    rewriter.setInsertionPoint(op);
    if (failed(linalg::linalgOpToLoops(rewriter, op)))
      return failure();
    rewriter.eraseOp(op);
    return success();
  }
};
} // namespace
