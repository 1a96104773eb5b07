//===- ConstantEvaluator.h - Folds pplan operations at import ---*- C++ -*-===//
//
// Decides which operations are computed while a model is imported: those whose
// operands are all known and whose work is small. Importers build operations
// as if nothing were known and ask here what came out; operations that nobody
// needs any more are erased at the end (`materialize`).
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_IMPORT_CONSTANTEVALUATOR_H
#define PPLAN_LIB_IMPORT_CONSTANTEVALUATOR_H

#include "HostTensor.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>

namespace pplan::import {

/// Bounds on what folding may cost, whatever the input.
struct EvaluatorLimits {
  int64_t tensorBytes = 16 << 20;   ///< largest tensor that is folded
  int64_t totalBytes = 512 << 20;   ///< sum over all tensors
  int64_t totalSteps = 400'000'000; ///< scalar operations over all tensors
};

/// Values whose elements are known.
class ConstantEvaluator {
public:
  explicit ConstantEvaluator(EvaluatorLimits limits = {}) : limits(limits) {}

  /// The elements of `value`, or null when they depend on inputs or are too
  /// many.
  const HostTensor *lookup(mlir::Value value) const;
  /// True when a tensor of that size can still be made known.
  bool hasRoom(int64_t bytes) const {
    return bytes <= limits.tensorBytes && bytes <= limits.totalBytes;
  }
  /// Makes the elements of `value` known. Ignored when the limits are reached.
  void set(mlir::Value value, HostTensor tensor);
  /// Computes the result of an operation of one result whose operands are
  /// known and that is valid (verified).
  void visit(mlir::Operation *op);
  /// Replaces known values that operations of unknown result (or the
  /// terminator) still use by `pplan.constant`, and erases operations without
  /// uses. Float parameters and what only moves their elements stay, and so do
  /// broadcasts, which keeps constants small.
  void materialize(mlir::Block &block);

private:
  bool charge(int64_t bytes, int64_t steps);

  EvaluatorLimits limits;
  llvm::DenseMap<mlir::Value, std::unique_ptr<HostTensor>> known;
};

/// Computes one operation; none when there is no evaluation for it. `operands`
/// are the known contents, in order; the operation is valid.
std::optional<HostTensor>
evaluateElementwise(mlir::Operation *op,
                    llvm::ArrayRef<const HostTensor *> operands);
std::optional<HostTensor>
evaluateStructural(mlir::Operation *op,
                   llvm::ArrayRef<const HostTensor *> operands);
std::optional<HostTensor>
evaluateReduction(mlir::Operation *op,
                  llvm::ArrayRef<const HostTensor *> operands);

} // namespace pplan::import

#endif // PPLAN_LIB_IMPORT_CONSTANTEVALUATOR_H
