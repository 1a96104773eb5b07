//===- ReuseOperands.cpp - pplan-reuse-operands ---------------------------===//
//
// Decides which elementwise loops work in place. That no value is lost is
// guaranteed by bufferisation, which copies where the choice was wrong.
//
//===----------------------------------------------------------------------===//
#include "pplan/Memory/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace pplan {
#define GEN_PASS_DEF_REUSEOPERANDSPASS
#include "pplan/Memory/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

/// True for operations whose result is a view of their operand once
/// bufferised.
static bool isView(Operation *op) {
  return isa<tensor::ExtractSliceOp, tensor::ExpandShapeOp,
             tensor::CollapseShapeOp, tensor::CastOp>(op);
}

/// True when `value` or a view of it is used by anything but `op` after it, or
/// inside another operation's region.
static bool isUsedAfter(Value value, Operation *op) {
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = op->getBlock()->findAncestorOpInBlock(*user);
    if (user == op)
      continue;
    if (!ancestor || ancestor == op || op->isBeforeInBlock(ancestor))
      return true;
    if (isView(user) && isUsedAfter(user->getResult(0), op))
      return true;
  }
  return false;
}

/// The value a chain of views begins with.
static Value getViewSource(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isView(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// True when the loop may write into this input's buffer.
static bool canOverwrite(linalg::GenericOp op, OpOperand *input,
                         OpOperand *init) {
  Value value = input->get();
  if (value.getType() != init->get().getType() ||
      op.getMatchingIndexingMap(input) != op.getMatchingIndexingMap(init) ||
      !op.getMatchingIndexingMap(input).isPermutation())
    return false;
  // Another operand that reads the same value elsewhere forbids it.
  for (OpOperand &other : op->getOpOperands())
    if (&other != input && getViewSource(other.get()) == getViewSource(value) &&
        op.getMatchingIndexingMap(&other) != op.getMatchingIndexingMap(input))
      return false;
  Value source = getViewSource(value);
  Operation *def = source.getDefiningOp();
  if (!def || !isa<DestinationStyleOpInterface, scf::ForallOp>(def) ||
      def->getBlock() != op->getBlock())
    return false;
  // A slice of a value may be overwritten only with the whole of it dead.
  return !isUsedAfter(source, op);
}

/// True when the loop's body reads elements of `value` at computed places.
static bool bodyCaptures(linalg::GenericOp op, Value value) {
  bool captures = false;
  op.getBody()->walk([&](tensor::ExtractOp extract) {
    captures |= getViewSource(extract.getTensor()) == getViewSource(value);
  });
  return captures;
}

/// True for a value that the program returns: it has a buffer of its own.
static bool isReturned(Value value) {
  return llvm::any_of(value.getUsers(),
                      [](Operation *user) { return isa<func::ReturnOp>(user); });
}

namespace {
struct ReuseOperandsPass
    : public ::pplan::impl::ReuseOperandsPassBase<ReuseOperandsPass> {
  void runOnOperation() override {
    getOperation().walk([&](linalg::GenericOp op) {
      if (op.getNumParallelLoops() != op.getNumLoops())
        return;
      for (OpOperand &init : op.getDpsInitsMutable()) {
        if (!init.get().getDefiningOp<tensor::EmptyOp>() ||
            isReturned(op.getTiedOpResult(&init)))
          continue;
        for (OpOperand *input : op.getDpsInputOperands()) {
          if (llvm::is_contained(op.getDpsInits(), input->get()) ||
              !canOverwrite(op, input, &init) ||
              bodyCaptures(op, input->get()))
            continue;
          init.set(input->get());
          ++numReused;
          break;
        }
      }
    });
  }
};
} // namespace
