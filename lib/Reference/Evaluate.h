//===- Evaluate.h - Groups of operations ------------------------*- C++ -*-===//
//
// Private to the reference interpreter. Each function evaluates one group of
// operations, or returns nothing when `op` is of another.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_REFERENCE_EVALUATE_H
#define PPLAN_LIB_REFERENCE_EVALUATE_H

#include "pplan/Reference/Interpreter.h"

namespace pplan {

using HostOperands = llvm::ArrayRef<const HostTensor *>;

std::optional<HostTensor> evaluateElementwise(mlir::Operation *op,
                                              HostOperands operands);
std::optional<HostTensor> evaluateStructural(mlir::Operation *op,
                                             HostOperands operands);
std::optional<HostTensor> evaluateNN(mlir::Operation *op,
                                     HostOperands operands);

std::optional<HostTensor> evaluateTraining(mlir::Operation *op,
                                           HostOperands operands);
HostTensor evaluateAttention(AttentionOp op, HostOperands operands);
/// Gradients of query, key and value.
std::vector<HostTensor> evaluateAttentionBackward(AttentionBackwardOp op,
                                                  HostOperands operands);

/// An index clamped into [0, n); NaN and anything below is 0.
inline int64_t clampIndex(double value, int64_t n) {
  if (!(value > 0))
    return 0;
  return value >= static_cast<double>(n) ? n - 1 : static_cast<int64_t>(value);
}

/// Applies a combiner; NaN wins in max and min.
double combine(ReductionKind kind, double a, double b);
/// The combiner's neutral element for the element type.
double getNeutral(ReductionKind kind, mlir::Type element);

} // namespace pplan

#endif // PPLAN_LIB_REFERENCE_EVALUATE_H
