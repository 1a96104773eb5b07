//===- ApproximateMath.cpp - pplan-approximate-math -----------------------===//
//
// Decides which functions are computed by polynomials. The polynomials are
// MLIR's.
//
//===----------------------------------------------------------------------===//
#include "pplan/Lowering/Passes.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace pplan {
#define GEN_PASS_DEF_APPROXIMATEMATHPASS
#include "pplan/Lowering/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

namespace {
struct ApproximateMathPass
    : public ::pplan::impl::ApproximateMathPassBase<ApproximateMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateMathPolynomialApproximationPatterns(
        patterns, [](StringRef name) {
          return llvm::is_contained({"math.exp", "math.log", "math.tanh",
                                     "math.erf"},
                                    name);
        });
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
