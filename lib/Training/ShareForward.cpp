//===- ShareForward.cpp - Common subexpressions across phases -------------===//
//
// MLIR's elimination keeps operations apart whose phases differ; this one does
// not.
//
//===----------------------------------------------------------------------===//
#include "StepFunction.h"
#include "pplan/Training/Passes.h"

using namespace mlir;
using namespace pplan;

namespace pplan {
#define GEN_PASS_DEF_SHAREFORWARD
#include "pplan/Training/Passes.h.inc"
} // namespace pplan

namespace {
/// What makes two operations compute the same: all but locations and phases.
struct Sameness : llvm::DenseMapInfo<Operation *> {
  static DictionaryAttr getMeaning(Operation *op) {
    NamedAttrList attrs(op->getDiscardableAttrDictionary());
    attrs.erase(kPhaseAttr);
    return attrs.getDictionary(op->getContext());
  }
  static unsigned getHashValue(const Operation *constOp) {
    auto *op = const_cast<Operation *>(constOp);
    return llvm::hash_combine(
        op->getName(), getMeaning(op), op->hashProperties(),
        llvm::hash_combine_range(op->getResultTypes().begin(),
                                 op->getResultTypes().end()),
        llvm::hash_combine_range(op->getOperands().begin(),
                                 op->getOperands().end()));
  }
  static bool isEqual(const Operation *constLeft, const Operation *constRight) {
    auto *left = const_cast<Operation *>(constLeft),
         *right = const_cast<Operation *>(constRight);
    if (left == right)
      return true;
    for (Operation *special : {getEmptyKey(), getTombstoneKey()})
      if (left == special || right == special)
        return false;
    return left->getName() == right->getName() &&
           left->getOperands() == right->getOperands() &&
           left->getResultTypes() == right->getResultTypes() &&
           getMeaning(left) == getMeaning(right) &&
           left->getName().compareOpProperties(left->getPropertiesStorage(),
                                               right->getPropertiesStorage());
  }
};

struct ShareForwardPass : pplan::impl::ShareForwardBase<ShareForwardPass> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> function = getStepFunction(getOperation());
    if (failed(function))
      return signalPassFailure();
    llvm::DenseSet<Operation *, Sameness> first;
    Block &block = function->front();
    for (Operation &op :
         llvm::make_early_inc_range(block.without_terminator())) {
      if (!isPure(&op))
        continue;
      auto [known, isNew] = first.insert(&op);
      if (isNew)
        continue;
      op.replaceAllUsesWith(*known);
      op.erase();
    }
    SmallVector<Operation *> left;
    for (Operation &op : block.without_terminator())
      left.push_back(&op);
    for (Operation *op : llvm::reverse(left)) {
      if (isOpTriviallyDead(op))
        op->erase();
      else
        postpone(*op);
    }
  }

  /// Moves the mark, not the operation, to the first phase that needs it. An
  /// accumulation keeps its own.
  static void postpone(Operation &op) {
    auto phase = op.getAttrOfType<PhaseAttr>(kPhaseAttr);
    if (!phase || isa<AccumulateOp>(op))
      return;
    std::optional<Phase> earliest;
    for (Operation *user : op.getUsers()) {
      auto its = user->getAttrOfType<PhaseAttr>(kPhaseAttr);
      if (!its)
        return;
      earliest = std::min(earliest.value_or(its.getValue()), its.getValue());
    }
    if (earliest && *earliest > phase.getValue() &&
        phase.getValue() != Phase::Forward)
      op.setAttr(kPhaseAttr, PhaseAttr::get(op.getContext(), *earliest));
  }
};
} // namespace
