//===- AnnotateRanges.cpp - pplan-annotate-ranges -------------------------===//
//
// Which values of an integer input mean something.
//
//===----------------------------------------------------------------------===//
#include "pplan/Import/Passes.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include <limits>

using namespace mlir;
using namespace pplan;

namespace pplan {
#define GEN_PASS_DEF_ANNOTATERANGES
#include "pplan/Import/Passes.h.inc"
} // namespace pplan

/// The argument that holds the same numbers in the same or another integer type
/// or shape, or null.
static BlockArgument getSource(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    bool keepsNumbers =
        isa<ReshapeOp, TransposeOp, BroadcastOp>(op) ||
        (isa<ConvertOp>(op) &&
         isa<IntegerType>(getTensorType(op->getOperand(0)).getElementType()));
    if (!keepsNumbers)
      return nullptr;
    value = op->getOperand(0);
  }
  return dyn_cast<BlockArgument>(value);
}

/// The value behind `x < 0 ? x + n : x`, or null.
static Value getWrapped(Value value) {
  auto select = value.getDefiningOp<SelectOp>();
  if (!select)
    return nullptr;
  Value x = select.getOnFalse();
  auto compare = select.getCondition().getDefiningOp<CompareOp>();
  auto add = select.getOnTrue().getDefiningOp<AddOp>();
  bool matches = compare && add && compare.getPredicate() == Predicate::LT &&
                 compare.getLhs() == x &&
                 (add.getLhs() == x || add.getRhs() == x);
  return matches ? x : Value();
}

namespace {
struct AnnotateRangesPass
    : pplan::impl::AnnotateRangesBase<AnnotateRangesPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (auto gather = dyn_cast<GatherOp>(op))
        visitIndices(gather.getIndices(), getTensorType(gather.getInput())
                                              .getDimSize(gather.getDim()));
      else if (auto gather = dyn_cast<GatherElementsOp>(op))
        visitIndices(gather.getIndices(), getTensorType(gather.getInput())
                                              .getDimSize(gather.getDim()));
      else if (auto loss = dyn_cast<CrossEntropyOp>(op))
        restrict(getSource(loss.getTargets()),
                 std::numeric_limits<int64_t>::min(),
                 getTensorType(loss.getLogits()).getShape().back() - 1);
    });
  }

  void visitIndices(Value indices, int64_t size) {
    if (Value wrapped = getWrapped(indices))
      restrict(getSource(wrapped), -size, size - 1);
    else
      restrict(getSource(indices), 0, size - 1);
  }

  /// Narrows the range of an input.
  void restrict(BlockArgument argument, int64_t least, int64_t greatest) {
    func::FuncOp function = getOperation();
    if (!argument || argument.getOwner() != &function.front() ||
        !isa<IntegerType>(getTensorType(argument).getElementType()) ||
        function.getArgAttr(argument.getArgNumber(), kParamAttr))
      return;
    unsigned index = argument.getArgNumber();
    if (auto old =
            function.getArgAttrOfType<DenseI64ArrayAttr>(index, kRangeAttr)) {
      least = std::max(least, old[0]);
      greatest = std::min(greatest, old[1]);
    }
    // Nothing is in the range of an empty table, but nobody may read it either.
    if (least <= greatest)
      function.setArgAttr(
          index, kRangeAttr,
          Builder(function.getContext())
              .getDenseI64ArrayAttr({least, greatest}));
  }
};
} // namespace
