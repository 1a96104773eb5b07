//===- Training.cpp - Reference of what training adds ---------------------===//
//
// Losses, accumulation and scattering, element by element.
//
//===----------------------------------------------------------------------===//
#include "Evaluate.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace pplan;

static HostTensor evaluateCrossEntropy(CrossEntropyOp op,
                                       HostOperands operands) {
  HostTensor result(op.getType().getShape());
  int64_t classes = operands[0]->shape.back();
  for (int64_t row = 0; row < result.size(); ++row) {
    double target = operands[1]->data[row];
    if (target < 0)
      continue;
    const double *logits = operands[0]->data.data() + row * classes;
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t i = 0; i < classes; ++i)
      top = std::max(top, logits[i]);
    for (int64_t i = 0; i < classes; ++i)
      sum += std::exp(logits[i] - top);
    double picked = target < static_cast<double>(classes)
                        ? logits[static_cast<int64_t>(target)] - top
                        : 0;
    result.data[row] = std::log(sum) - picked;
  }
  return result;
}

static HostTensor evaluateScatterAdd(ScatterAddOp op, HostOperands operands) {
  HostTensor result(op.getType().getShape());
  const HostTensor &indices = *operands[0], &updates = *operands[1];
  size_t dim = op.getDim(), count = indices.shape.size();
  int64_t size = op.getSize();
  forEachIndex(updates.shape, [&](ArrayRef<int64_t> index) {
    double place = indices.at(index.slice(dim, count));
    if (!(place >= 0 && place < static_cast<double>(size)))
      return;
    SmallVector<int64_t> to(index.take_front(dim));
    to.push_back(static_cast<int64_t>(place));
    llvm::append_range(to, index.drop_front(dim + count));
    result.at(to) += updates.at(index);
  });
  return result;
}

std::optional<HostTensor> pplan::evaluateTraining(Operation *op,
                                                  HostOperands operands) {
  if (auto loss = dyn_cast<CrossEntropyOp>(op))
    return evaluateCrossEntropy(loss, operands);
  if (auto scatter = dyn_cast<ScatterAddOp>(op))
    return evaluateScatterAdd(scatter, operands);
  if (isa<AccumulateOp>(op)) // of one micro-batch
    return *operands[0];
  return std::nullopt;
}
