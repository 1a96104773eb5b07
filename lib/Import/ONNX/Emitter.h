//===- Emitter.h - Builds pplan operations during an import -----*- C++ -*-===//
//
// Builds operations, verifies each as it is made and folds it when its operands
// are known, and writes broadcasting out. What an ONNX operator means is
// decided by the op tables (OpTable.h).
//
// A null Value means that an error has been reported. Every function here takes
// null operands and then returns null, so that calls nest without checks.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_IMPORT_ONNX_EMITTER_H
#define PPLAN_LIB_IMPORT_ONNX_EMITTER_H

#include "../ConstantEvaluator.h"
#include "mlir/IR/Builders.h"
#include "pplan/Dialect/PPlan/PPlan.h"

namespace pplan::import {

class Emitter {
public:
  Emitter(mlir::OpBuilder builder, ConstantEvaluator &evaluator)
      : builder(builder), evaluator(evaluator), loc(builder.getUnknownLoc()) {}

  mlir::OpBuilder builder;
  ConstantEvaluator &evaluator;
  /// Place of the operations built from now on.
  mlir::Location loc;
  /// What messages are about, e.g. "MatMul '/layer.0/MatMul'"; may be empty.
  std::string subject;

  /// Builds an operation, verifies and folds it. Null when an operand is null
  /// or the operation is invalid, which is reported.
  template <typename Op, typename... Args> mlir::Value create(Args &&...args) {
    if ((isNull(args) || ...))
      return {};
    return finish(Op::create(builder, loc, std::forward<Args>(args)...));
  }
  /// Verifies and (if `fold`) folds an operation that was just built.
  mlir::Value finish(mlir::Operation *op, bool fold = true);

  /// Elements of a value, or null when they are not known.
  const HostTensor *getKnown(mlir::Value value) const {
    return value ? evaluator.lookup(value) : nullptr;
  }

  mlir::Value constant(HostTensor tensor);
  mlir::Value constantInts(llvm::ArrayRef<int64_t> values);
  /// A tensor of one value in the type of `like` (its shape too), known only
  /// if `like` is: whole tensors next to run-time values would waste memory.
  mlir::Value fill(mlir::Value like, double value);
  mlir::Value fill(mlir::RankedTensorType type, double value,
                   bool known = true);

  /// The common shape of both under ONNX's multidirectional broadcasting; none
  /// when there is none.
  static std::optional<llvm::SmallVector<int64_t>>
  getCommonShape(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);
  /// Repeats `value` to `shape`, aligned at the last dimension; folded only if
  /// `fold`. Reports and returns null when that is impossible.
  mlir::Value broadcastTo(mlir::Value value, llvm::ArrayRef<int64_t> shape,
                          bool fold = true);
  /// Brings the operands to their common shape; false after an error.
  bool broadcastAll(llvm::MutableArrayRef<mlir::Value> values);

  /// A binary operation with broadcasting; element types must be equal.
  template <typename Op> mlir::Value binary(mlir::Value a, mlir::Value b) {
    mlir::Value values[] = {a, b};
    if (!checkSameElementType(a, b) || !broadcastAll(values))
      return {};
    return create<Op>(values[0], values[1]);
  }
  /// The same with a number of the operand's type on the right.
  template <typename Op> mlir::Value binary(mlir::Value a, double b) {
    return a ? create<Op>(a, fill(a, b)) : mlir::Value();
  }
  mlir::Value compare(Predicate predicate, mlir::Value a, mlir::Value b);
  mlir::Value compare(Predicate predicate, mlir::Value a, double b);
  mlir::Value select(mlir::Value condition, mlir::Value onTrue,
                     mlir::Value onFalse);
  mlir::Value convert(mlir::Value value, mlir::Type elementType);
  /// Reports and returns null when the numbers of elements differ.
  mlir::Value reshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value value, llvm::ArrayRef<int64_t> permutation);
  mlir::Value slice(mlir::Value value, llvm::ArrayRef<int64_t> offsets,
                    llvm::ArrayRef<int64_t> sizes,
                    llvm::ArrayRef<int64_t> strides = {});
  /// Elements [begin, begin + size) of one dimension.
  mlir::Value sliceDim(mlir::Value value, int64_t dim, int64_t begin,
                       int64_t size);
  mlir::Value concat(llvm::ArrayRef<mlir::Value> values, int64_t dim);
  /// Sum, maximum, ... over `dims`, which stay with size 1 if `keep`.
  mlir::Value reduce(ReductionKind kind, mlir::Value value,
                     llvm::ArrayRef<int64_t> dims, bool keep);
  mlir::Value mean(mlir::Value value, llvm::ArrayRef<int64_t> dims, bool keep);
  /// `indices` below 0 count from the end of a dimension of size `size`.
  mlir::Value wrapIndices(mlir::Value indices, int64_t size);
  mlir::Value iota(llvm::ArrayRef<int64_t> shape, mlir::Type elementType,
                   int64_t dim);

  /// Reports at the current place, about the current subject.
  mlir::InFlightDiagnostic error();

private:
  bool checkSameElementType(mlir::Value a, mlir::Value b);
  static bool isNull(mlir::Value value) { return !value; }
  template <typename T> static bool isNull(const T &) { return false; }
};

} // namespace pplan::import

#endif // PPLAN_LIB_IMPORT_ONNX_EMITTER_H
