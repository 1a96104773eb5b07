//===- FuseLoops.cpp - pplan-fuse-loops -----------------------------------===//
//
// Decides which elementwise loop is worth fusing into its consumer. How two
// loops become one is MLIR's elementwise fusion.
//
//===----------------------------------------------------------------------===//
#include "pplan/Memory/Passes.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace pplan {
#define GEN_PASS_DEF_FUSELOOPSPASS
#include "pplan/Memory/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

/// Operations in a loop's body above which it is not computed twice.
static constexpr unsigned kCheapBodySize = 4;

/// True for a loop that only moves elements.
static bool isCopy(linalg::GenericOp op) {
  return op.getBody()->getOperations().size() == 1;
}

/// True when every input is read fewer times than the output is written, and
/// the arithmetic is cheap: computing it again costs less than a pass over
/// memory.
static bool isCheapToRepeat(linalg::GenericOp op) {
  Block *body = op.getBody();
  if (body->getOperations().size() > kCheapBodySize)
    return false;
  for (Operation &inner : *body)
    if (isa<arith::DivFOp, arith::DivSIOp, arith::RemSIOp, arith::RemFOp,
            tensor::ExtractOp>(inner) ||
        isa_and_nonnull<math::MathDialect>(inner.getDialect()))
      return false;
  for (OpOperand *input : op.getDpsInputOperands())
    if (op.getMatchingIndexingMap(input).isPermutation())
      return false;
  return true;
}

/// True when a transposed read would end up in a loop that reads other tensors
/// along their rows, with the strided side innermost.
static bool isTransposingCopy(linalg::GenericOp op) {
  if (!isCopy(op) || op.getNumDpsInputs() != 1)
    return false;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  return map.isPermutation() && !map.isIdentity();
}

static bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || producer->getNumResults() != 1)
    return false;
  Value result = producer->getResult(0);
  bool onlyUser = llvm::all_of(result.getUsers(), [&](Operation *user) {
    return user == consumer.getOperation();
  });
  // Inside a row loop a producer would be computed once per row.
  if (producer->getBlock() != consumer->getBlock())
    return false;
  if (isTransposingCopy(producer))
    return onlyUser;
  // A consumer that repeats the producer's elements computes them repeatedly.
  bool repeats = !consumer.getMatchingIndexingMap(operand).isPermutation();
  if (repeats && !isCopy(producer))
    return isCheapToRepeat(producer);
  return onlyUser || isCopy(producer) || isCheapToRepeat(producer);
}

namespace {
struct FuseLoopsPass : public ::pplan::impl::FuseLoopsPassBase<FuseLoopsPass> {
  unsigned countLoops() {
    unsigned count = 0;
    getOperation().walk([&](linalg::LinalgOp) { ++count; });
    return count;
  }
  void runOnOperation() override {
    numLoopsBefore += countLoops();
    RewritePatternSet patterns(&getContext());
    linalg::populateElementwiseOpsFusionPatterns(patterns, shouldFuse);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(patterns);
    linalg::GenericOp::getCanonicalizationPatterns(patterns, &getContext());
    linalg::FillOp::getCanonicalizationPatterns(patterns, &getContext());
    tensor::EmptyOp::getCanonicalizationPatterns(patterns, &getContext());
    tensor::ExpandShapeOp::getCanonicalizationPatterns(patterns,
                                                       &getContext());
    tensor::CollapseShapeOp::getCanonicalizationPatterns(patterns,
                                                         &getContext());
    GreedyRewriteConfig config;
    config.setUseTopDownTraversal(true);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns),
                                     config))) {
      getOperation().emitError("fusing loops did not come to an end");
      return signalPassFailure();
    }
    numLoopsAfter += countLoops();
  }
};
} // namespace
