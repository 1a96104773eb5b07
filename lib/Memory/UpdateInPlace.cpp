//===- UpdateInPlace.cpp - pplan-update-in-place --------------------------===//
//
// Decides which new values of parameters and state are written where the old
// ones lie at once, and which only when the program is done.
//
//===----------------------------------------------------------------------===//
#include "pplan/Memory/Passes.h"
#include "pplan/Memory/RT.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace pplan {
#define GEN_PASS_DEF_UPDATEINPLACEPASS
#include "pplan/Memory/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

/// The buffer that a chain of views begins with.
static Value getSource(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>())
    value = view.getViewSource();
  return value;
}

/// Whether `op` reads or writes memory of `buffer` in the way of `Effect`.
template <typename Effect> static bool hasEffectOn(Operation *op, Value buffer) {
  return op
      ->walk([&](MemoryEffectOpInterface inner) {
        SmallVector<MemoryEffects::EffectInstance> effects;
        inner.getEffects(effects);
        bool found = llvm::any_of(effects, [&](const auto &effect) {
          return isa<Effect>(effect.getEffect()) && effect.getValue() &&
                 getSource(effect.getValue()) == buffer;
        });
        return found ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// True when `op` computes each element of `to` from the elements of `from` at
/// the same place alone, so that both may be one buffer.
static bool isElementwise(Operation *op, Value from, Value to) {
  if (auto copy = dyn_cast<memref::CopyOp>(op))
    return copy.getSource() == from && copy.getTarget() == to;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumParallelLoops() != generic.getNumLoops())
    return false;
  AffineMap place;
  for (OpOperand &init : generic.getDpsInitsMutable()) {
    if (getSource(init.get()) != to)
      continue;
    if (place || init.get() != to)
      return false;
    place = generic.getMatchingIndexingMap(&init);
  }
  if (!place || !place.isPermutation())
    return false;
  for (OpOperand *input : generic.getDpsInputOperands())
    if (getSource(input->get()) == from &&
        (input->get() != from ||
         generic.getMatchingIndexingMap(input) != place))
      return false;
  return generic.getBody()
             ->walk([&](memref::LoadOp load) {
               return getSource(load.getMemRef()) == from
                          ? WalkResult::interrupt()
                          : WalkResult::advance();
             })
             .wasInterrupted() == false;
}

/// True when nobody reads `old` once `fresh` is being written.
static bool canShare(Block &block, Value old, Value fresh) {
  bool isWritten = false;
  for (Operation &op : block) {
    bool reads = hasEffectOn<MemoryEffects::Read>(&op, old);
    bool writes = hasEffectOn<MemoryEffects::Write>(&op, fresh);
    if (reads && (isWritten || (writes && !isElementwise(&op, old, fresh))))
      return false;
    isWritten |= writes;
  }
  return true;
}

namespace {
struct UpdateInPlacePass
    : public ::pplan::impl::UpdateInPlacePassBase<UpdateInPlacePass> {
  void runOnOperation() override {
    for (func::FuncOp entry : getOperation().getOps<func::FuncOp>())
      if (entry->hasAttr(rt::kResultsAttr))
        update(entry);
  }

  void update(func::FuncOp entry);
};
} // namespace

void UpdateInPlacePass::update(func::FuncOp entry) {
  auto results = entry->getAttrOfType<ArrayAttr>(rt::kResultsAttr);
  unsigned numArguments =
      entry->getAttrOfType<ArrayAttr>(rt::kArgumentsAttr).size();
  if (entry.getNumArguments() != numArguments + results.size())
    return; // no program on buffers
  Block &block = entry.front();
  OpBuilder builder(block.getTerminator());
  SmallVector<Attribute> outputs;
  llvm::BitVector updates(entry.getNumArguments());
  for (auto [index, attr] : llvm::enumerate(results)) {
    auto updated = cast<DictionaryAttr>(attr).getAs<IntegerAttr>("argument");
    if (!updated) {
      outputs.push_back(attr);
      continue;
    }
    Value fresh = entry.getArgument(numArguments + index);
    Value old = entry.getArgument(updated.getInt());
    updates.set(numArguments + index);
    if (canShare(block, old, fresh)) {
      fresh.replaceAllUsesWith(old);
      ++numInPlace;
      continue;
    }
    builder.setInsertionPointToStart(&block);
    Value temporary = memref::AllocOp::create(
        builder, entry.getLoc(), cast<MemRefType>(fresh.getType()),
        builder.getI64IntegerAttr(64));
    fresh.replaceAllUsesWith(temporary);
    builder.setInsertionPoint(block.getTerminator());
    memref::CopyOp::create(builder, entry.getLoc(), temporary, old);
    ++numCopied;
  }
  for (memref::CopyOp copy :
       llvm::make_early_inc_range(block.getOps<memref::CopyOp>()))
    if (copy.getSource() == copy.getTarget())
      copy.erase();
  if (updates.any())
    (void)entry.eraseArguments(updates);
  entry->setAttr(rt::kResultsAttr, builder.getArrayAttr(outputs));
}
