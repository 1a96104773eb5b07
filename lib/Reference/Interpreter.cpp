//===- Interpreter.cpp - Functions in the global view ---------------------===//
//
// Runs operations in order; the operations themselves are in Elementwise,
// Structural and NN.
//
//===----------------------------------------------------------------------===//
#include "Evaluate.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace pplan;

FailureOr<std::vector<HostTensor>>
pplan::evaluateOp(Operation *op, ArrayRef<const HostTensor *> operands) {
  if (auto backward = dyn_cast<AttentionBackwardOp>(op))
    return evaluateAttentionBackward(backward, operands);
  for (auto evaluate : {evaluateElementwise, evaluateStructural, evaluateNN,
                        evaluateTraining})
    if (std::optional<HostTensor> result = evaluate(op, operands))
      return std::vector<HostTensor>{std::move(*result)};
  return op->emitOpError("is unknown to the reference interpreter");
}

FailureOr<std::vector<HostTensor>>
pplan::evaluateFunction(func::FuncOp function, ArrayRef<HostTensor> arguments) {
  if (arguments.size() != function.getNumArguments())
    return function.emitOpError("takes ")
           << function.getNumArguments() << " arguments, given "
           << arguments.size();
  llvm::DenseMap<Value, HostTensor> values;
  for (auto [argument, value] : llvm::zip(function.getArguments(), arguments))
    values[argument] = value;
  std::vector<HostTensor> results;
  for (Operation &op : function.getBody().front()) {
    std::vector<HostTensor> copies;
    SmallVector<const HostTensor *> operands;
    copies.reserve(op.getNumOperands());
    for (Value operand : op.getOperands())
      copies.push_back(values[operand]);
    for (const HostTensor &copy : copies)
      operands.push_back(&copy);
    if (isa<func::ReturnOp>(op))
      return copies;
    FailureOr<std::vector<HostTensor>> made = evaluateOp(&op, operands);
    if (failed(made))
      return failure();
    for (auto [result, value] : llvm::zip(op.getResults(), *made))
      values[result] = std::move(value);
  }
  return results;
}
