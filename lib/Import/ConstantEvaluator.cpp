//===- ConstantEvaluator.cpp - Folds pplan operations at import -----------===//
//
// Bookkeeping and limits. How each operation is computed is in
// EvaluateElementwise.cpp, EvaluateStructural.cpp and EvaluateReduction.cpp.
//
//===----------------------------------------------------------------------===//
#include "ConstantEvaluator.h"
#include "mlir/IR/Builders.h"
#include "pplan/Dialect/PPlan/PPlan.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

const HostTensor *ConstantEvaluator::lookup(Value value) const {
  auto found = known.find(value);
  return found == known.end() ? nullptr : found->second.get();
}

bool ConstantEvaluator::charge(int64_t bytes, int64_t steps) {
  if (!hasRoom(bytes) || steps > limits.totalSteps)
    return false;
  limits.totalBytes -= bytes;
  limits.totalSteps -= steps;
  return true;
}

void ConstantEvaluator::set(Value value, HostTensor tensor) {
  if (charge(tensor.getBytes().size(), 0))
    known[value] = std::make_unique<HostTensor>(std::move(tensor));
}

/// Scalar steps of an operation: every element of the result, and for those
/// that combine elements every combination.
static int64_t countSteps(Operation *op) {
  auto result = getTensorType(op->getResult(0));
  int64_t steps = result.getNumElements();
  if (auto contract = dyn_cast<ContractOp>(op)) {
    for (auto [dim, letter] : llvm::enumerate(contract.getLhsLetters()))
      if (!contract.getResultLetters().contains(letter))
        steps *= getTensorType(contract.getLhs()).getDimSize(dim);
    for (auto [dim, letter] : llvm::enumerate(contract.getRhsLetters()))
      if (!contract.getResultLetters().contains(letter) &&
          !contract.getLhsLetters().contains(letter))
        steps *= getTensorType(contract.getRhs()).getDimSize(dim);
    return steps;
  }
  for (Value operand : op->getOperands())
    steps = std::max(steps, getTensorType(operand).getNumElements());
  return steps;
}

/// Only moves elements of its first operand.
static bool isMove(Operation *op) {
  return isa<ReshapeOp, TransposeOp, SliceOp, BroadcastOp, GatherOp>(op);
}

void ConstantEvaluator::visit(Operation *op) {
  SmallVector<const HostTensor *> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(lookup(operand));
    if (!operands.back())
      return;
  }
  if (op->getNumResults() != 1)
    return;
  auto type = getTensorType(op->getResult(0));
  int64_t elementBytes = getElementBytes(type.getElementType());
  // Checked before charge() multiplies, so that nothing overflows.
  if (type.getNumElements() > limits.tensorBytes ||
      !charge(type.getNumElements() * elementBytes, countSteps(op)))
    return;
  std::optional<HostTensor> result = evaluateElementwise(op, operands);
  if (!result)
    result = evaluateStructural(op, operands);
  if (!result)
    result = evaluateReduction(op, operands);
  if (!result)
    return;
  result->isParameter = isMove(op) && operands.front()->isParameter;
  known[op->getResult(0)] = std::make_unique<HostTensor>(std::move(*result));
}

void ConstantEvaluator::materialize(Block &block) {
  // Backwards, so that an operation is seen after all its users.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.hasTrait<OpTrait::IsTerminator>())
      continue;
    if (op.use_empty()) {
      for (Value result : op.getResults())
        known.erase(result);
      op.erase();
      continue;
    }
    const HostTensor *tensor =
        op.getNumResults() == 1 ? lookup(op.getResult(0)) : nullptr;
    if (!tensor || tensor->isParameter || isa<ConstantOp, BroadcastOp>(op))
      continue;
    OpBuilder builder(&op);
    auto constant = ConstantOp::create(builder, op.getLoc(), tensor->toAttr());
    op.getResult(0).replaceAllUsesWith(constant.getResult());
    known.erase(op.getResult(0));
    op.erase();
  }
}
