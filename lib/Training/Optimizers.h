//===- Optimizers.h - Update rules as data ----------------------*- C++ -*-===//
//
// Private to the train phase. An update rule turns a parameter, its gradient
// and the state kept for it into their new values.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_TRAINING_OPTIMIZERS_H
#define PPLAN_LIB_TRAINING_OPTIMIZERS_H

#include "pplan/Training/Gradient.h"

namespace pplan {

/// What all parameters share in one update.
struct UpdateContext {
  ArithmeticBuilder &b;
  mlir::Value rate; ///< learning rate, an f64 scalar
  mlir::Value step; ///< number of this step from 1, an f64 scalar
  double beta1, beta2, epsilon, weightDecay;
  bool nesterov;

  /// Every element of `x` times the scalar.
  mlir::Value scale(mlir::Value x, mlir::Value scalar);
  /// a x + (1 - a) y
  mlir::Value mix(double a, mlir::Value x, mlir::Value y);
};

/// State that a rule keeps for a parameter.
struct StateSpec {
  llvm::StringRef name;
  llvm::SmallVector<int64_t> shape; ///< f32
};

struct UpdateRule {
  llvm::StringRef name;
  llvm::SmallVector<StateSpec> (*getState)(llvm::ArrayRef<int64_t> shape,
                                           const UpdateContext &context);
  /// Returns the new parameter; `state` holds the old state and then the new.
  /// Everything is in f32 or wider.
  mlir::Value (*update)(UpdateContext &context, mlir::Value parameter,
                        mlir::Value gradient,
                        llvm::MutableArrayRef<mlir::Value> state);
};

/// Rules by name; null when there is none of that name.
const UpdateRule *findUpdateRule(llvm::StringRef name);
/// For messages: the known names.
std::string listUpdateRules();

} // namespace pplan

#endif // PPLAN_LIB_TRAINING_OPTIMIZERS_H
