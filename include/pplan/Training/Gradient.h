//===- Gradient.h - What gradient rules are written with --------*- C++ -*-===//
//
// Declares the interface of differentiable operations and the context that its
// rules emit operations through. Which gradients are asked for, and in what
// order, is decided by the pass pplan-differentiate.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_TRAINING_GRADIENT_H
#define PPLAN_TRAINING_GRADIENT_H

#include "pplan/Dialect/PPlan/PPlan.h"
#include "llvm/ADT/BitVector.h"

namespace pplan {

/// Emits elementwise arithmetic at one location. Every operand of an operation
/// has one shape and type; numbers take the type of their neighbour.
class ArithmeticBuilder {
public:
  ArithmeticBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  template <typename OpT, typename... Args> OpT create(Args &&...args) {
    return OpT::create(builder, loc, std::forward<Args>(args)...);
  }
  /// An operation of operand and result type alike.
  template <typename OpT> mlir::Value unary(mlir::Value x) {
    return create<OpT>(x.getType(), x);
  }
  template <typename OpT> mlir::Value binary(mlir::Value x, mlir::Value y) {
    return create<OpT>(x.getType(), x, y);
  }

  mlir::Value add(mlir::Value x, mlir::Value y) { return binary<AddOp>(x, y); }
  mlir::Value sub(mlir::Value x, mlir::Value y) { return binary<SubOp>(x, y); }
  mlir::Value mul(mlir::Value x, mlir::Value y) { return binary<MulOp>(x, y); }
  mlir::Value div(mlir::Value x, mlir::Value y) { return binary<DivOp>(x, y); }
  mlir::Value neg(mlir::Value x) { return unary<NegOp>(x); }
  mlir::Value add(mlir::Value x, double y) { return add(x, like(x, y)); }
  mlir::Value mul(mlir::Value x, double y) { return mul(x, like(x, y)); }
  mlir::Value compare(Predicate predicate, mlir::Value x, mlir::Value y) {
    return create<CompareOp>(predicate, x, y);
  }
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y) {
    return create<SelectOp>(x.getType(), condition, x, y);
  }
  /// The value converted to an element type; itself when it has that already.
  mlir::Value convert(mlir::Value x, mlir::Type element);

  /// A constant of the type, every element `number`.
  mlir::Value splat(mlir::RankedTensorType type, double number);
  /// A constant of the value's type.
  mlir::Value like(mlir::Value x, double number) {
    return splat(getTensorType(x), number);
  }
  /// `x` repeated along the dimensions that `dims` leaves out, to `shape`.
  mlir::Value broadcast(mlir::Value x, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<int64_t> dims);
  /// The inverse of `reduce`: `x` repeated along `dims` of `shape`.
  mlir::Value expand(mlir::Value x, llvm::ArrayRef<int64_t> shape,
                     llvm::ArrayRef<int64_t> dims);
  /// `x` combined along `dims`; itself when there are none.
  mlir::Value reduce(ReductionKind kind, mlir::Value x,
                     llvm::ArrayRef<int64_t> dims);
  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);

  mlir::OpBuilder &getBuilder() { return builder; }
  mlir::Location getLoc() const { return loc; }

private:
  mlir::OpBuilder &builder;
  mlir::Location loc;
};

/// One operation whose gradient is being built.
class GradientContext : public ArithmeticBuilder {
public:
  /// `resultGradients` has one entry per result, null for a zero gradient.
  GradientContext(mlir::OpBuilder &builder, mlir::Operation *op,
                  llvm::ArrayRef<mlir::Value> resultGradients,
                  const llvm::BitVector &wanted)
      : ArithmeticBuilder(builder, op->getLoc()), op(op),
        resultGradients(resultGradients), wanted(wanted),
        gradients(op->getNumOperands()) {}

  /// Gradient of result `index`, of the result's type. Not null for an
  /// operation with one result.
  mlir::Value getResultGradient(unsigned index = 0) const {
    return resultGradients[index];
  }
  /// True when the gradient of an operand is asked for.
  bool wants(unsigned operand) const { return wanted.test(operand); }
  bool wantsAny() const { return wanted.any(); }
  /// States the gradient of an operand, of the operand's type.
  void give(unsigned operand, mlir::Value gradient) {
    gradients[operand] = gradient;
  }
  llvm::ArrayRef<mlir::Value> getGradients() const { return gradients; }

  /// Reports that a wanted gradient does not exist.
  mlir::InFlightDiagnostic refuse() {
    refused = true;
    return op->emitOpError("cannot be differentiated: ");
  }
  bool isRefused() const { return refused; }

private:
  mlir::Operation *op;
  llvm::ArrayRef<mlir::Value> resultGradients;
  const llvm::BitVector &wanted;
  llvm::SmallVector<mlir::Value> gradients;
  bool refused = false;
};

/// Attaches the interface to the operations of the dialect that have gradients.
void registerGradients(mlir::DialectRegistry &registry);

} // namespace pplan

#include "pplan/Training/DifferentiableOpInterface.h.inc"

#endif // PPLAN_TRAINING_GRADIENT_H
