//===- GradientModels.h - From gradient rules to interface models -*- C++ -*-=//
//
// Private to the train phase. A rule is a function of an operation and a
// gradient context; this makes it the operation's DifferentiableOpInterface.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_TRAINING_GRADIENTMODELS_H
#define PPLAN_LIB_TRAINING_GRADIENTMODELS_H

#include "pplan/Training/Gradient.h"

namespace pplan {

template <typename OpT, void (*rule)(OpT, GradientContext &)>
struct GradientModel
    : DifferentiableOpInterface::ExternalModel<GradientModel<OpT, rule>, OpT> {
  void buildGradients(mlir::Operation *op, GradientContext &context) const {
    rule(llvm::cast<OpT>(op), context);
  }
};

template <typename OpT, void (*rule)(OpT, GradientContext &)>
struct GradientRule {
  static void attach(mlir::MLIRContext &context) {
    OpT::template attachInterface<GradientModel<OpT, rule>>(context);
  }
};
template <typename OpT>
OpT getOperationOf(void (*)(OpT, GradientContext &));

/// Attaches each rule to the operation that it takes.
template <auto... rules> void attachGradients(mlir::MLIRContext &context) {
  (GradientRule<decltype(getOperationOf(rules)), rules>::attach(context), ...);
}

void attachElementwiseGradients(mlir::MLIRContext &context);
void attachStructuralGradients(mlir::MLIRContext &context);
void attachNNGradients(mlir::MLIRContext &context);

} // namespace pplan

#endif // PPLAN_LIB_TRAINING_GRADIENTMODELS_H
