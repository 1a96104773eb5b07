//===- Convert.h - Conversion of pplan operations, shared parts -*- C++ -*-===//
//
// What the parts of pplan-convert-ops share: how elements are stored and
// computed, and how loops over tensors are made. One source file per family of
// operations; ConvertOps.cpp walks the function and asks each in turn.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_MEMORY_CONVERT_H
#define PPLAN_LIB_MEMORY_CONVERT_H

#include "pplan/Dialect/PPlan/PPlan.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

namespace pplan::memory {

using mlir::FailureOr;
using mlir::OpBuilder;
using mlir::RankedTensorType;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

/// Element type in memory: i1 and ui8 are i8, all others themselves.
Type getStorageType(Type element);
/// Element type that scalars are computed in: f16 and bf16 in f32, ui8 in i8
/// (its operations know their sign), all others themselves.
Type getComputeType(Type element);
/// The tensor type with storage elements.
RankedTensorType getStorageTensor(Type type);

/// A builder with the location of the operation that is being converted.
struct Emitter {
  OpBuilder &b;
  mlir::Location loc;

  template <typename OpTy, typename... Args> OpTy create(Args &&...args) {
    return OpTy::create(b, loc, std::forward<Args>(args)...);
  }
  /// A scalar (or index) constant; a float is rounded to `type`.
  Value constant(Type type, double value);
  Value constantInt(Type type, int64_t value);
  Value constantIndex(int64_t value);

  /// From memory to the type computed in, and back. `element` is the element
  /// type of the pplan tensor.
  Value load(Value stored, Type element);
  Value store(Value computed, Type element);

  /// A tensor without contents.
  Value empty(RankedTensorType storageType);
  /// A tensor filled with a scalar of its element type.
  Value fill(RankedTensorType storageType, Value scalar);

  /// Body of a loop: receives one scalar per input and output (in storage
  /// types) and returns one per output.
  using Body =
      llvm::function_ref<llvm::SmallVector<Value>(Emitter &, ValueRange)>;
  /// A linalg.generic; maps are those of the inputs, then of the outputs.
  mlir::linalg::GenericOp
  generic(ValueRange inputs, ValueRange outputs,
          llvm::ArrayRef<mlir::AffineMap> maps,
          llvm::ArrayRef<mlir::utils::IteratorType> iterators, Body body);
  /// A loop over all elements of `storageType`; inputs have its shape unless
  /// `maps` says how they are read.
  Value map(RankedTensorType storageType, ValueRange inputs,
            llvm::function_ref<Value(Emitter &, ValueRange)> body,
            llvm::ArrayRef<mlir::AffineMap> maps = {});
  /// Position in dimension `dim` of the loop around.
  Value loopIndex(int64_t dim);
  /// Another shape for the same elements.
  Value reshape(Value tensor, llvm::ArrayRef<int64_t> shape);
  /// Result dimension i is operand dimension permutation[i].
  Value transpose(Value tensor, llvm::ArrayRef<int64_t> permutation);
};

/// Elementwise pplan operation on scalars in compute types; null for an
/// operation that is not elementwise.
Value emitScalar(Emitter &e, mlir::Operation *op, ValueRange operands);
/// Combines two scalars; `isUnsigned` for ui8.
Value emitCombine(Emitter &e, ReductionKind kind, Value lhs, Value rhs,
                  bool isUnsigned);
/// The scalar that combining leaves unchanged.
Value emitNeutral(Emitter &e, ReductionKind kind, Type computeType,
                  bool isUnsigned);
/// Scalar conversion between pplan element types, in compute types.
Value emitConvert(Emitter &e, Value value, Type from, Type to);

/// Each takes an operation and its operands in storage types and returns the
/// value of its result; null when the family does not know the operation.
/// Errors are reported at the operation.
FailureOr<Value> convertElementwise(Emitter &e, mlir::Operation *op,
                                    ValueRange operands);
FailureOr<Value> convertStructural(Emitter &e, mlir::Operation *op,
                                   ValueRange operands);
FailureOr<Value> convertReduction(Emitter &e, mlir::Operation *op,
                                  ValueRange operands);
FailureOr<Value> convertNormalization(Emitter &e, mlir::Operation *op,
                                      ValueRange operands);
FailureOr<Value> convertContraction(Emitter &e, mlir::Operation *op,
                                    ValueRange operands);
FailureOr<Value> convertLoss(Emitter &e, mlir::Operation *op,
                             ValueRange operands);
/// The same for operations of one or more results; none when unknown.
FailureOr<llvm::SmallVector<Value>>
convertAttention(Emitter &e, mlir::Operation *op, ValueRange operands);
FailureOr<Value> convertDevice(Emitter &e, mlir::Operation *op,
                               ValueRange operands, MeshAttr mesh);

} // namespace pplan::memory

#endif // PPLAN_LIB_MEMORY_CONVERT_H
