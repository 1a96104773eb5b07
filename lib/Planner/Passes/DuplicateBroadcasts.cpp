//===- DuplicateBroadcasts.cpp - One broadcast constant per user ----------===//
//
// Cuts the ties between layers that use one broadcast constant.
//
//===----------------------------------------------------------------------===//
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "pplan/Planner/Passes.h"

using namespace mlir;
using namespace pplan;

namespace pplan {
#define GEN_PASS_DEF_DUPLICATEBROADCASTS
#include "pplan/Planner/Passes.h.inc"
} // namespace pplan

namespace {
struct DuplicateBroadcastsPass
    : pplan::impl::DuplicateBroadcastsBase<DuplicateBroadcastsPass> {
  void runOnOperation() override {
    getOperation().walk([](BroadcastOp op) {
      if (!op.getInput().getDefiningOp<ConstantOp>())
        return;
      OpBuilder builder(op.getContext());
      // The first user keeps the original.
      for (OpOperand &use : llvm::make_early_inc_range(
               llvm::drop_begin(op.getResult().getUses()))) {
        builder.setInsertionPoint(use.getOwner());
        use.set(builder.clone(*op)->getResult(0));
      }
    });
  }
};
} // namespace
