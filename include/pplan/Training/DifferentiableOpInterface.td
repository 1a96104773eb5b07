// What the train phase must know of an operation: its gradient.
#ifndef PPLAN_TRAINING_DIFFERENTIABLEOPINTERFACE_TD
#define PPLAN_TRAINING_DIFFERENTIABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def PPlan_DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::pplan";
  let description = [{
    The vector-Jacobian product of an operation, written in operations of the
    pplan dialect. An operation without the interface has no gradient, and a
    loss that depends on a parameter through it cannot be differentiated.
  }];
  let methods = [
    InterfaceMethod<[{
      Emits, through `context`, the gradient of each wanted operand from the
      gradients of the results. An operand that is wanted and given nothing has
      a gradient of zero (as of `floor`).}],
      "void", "buildGradients", (ins "::pplan::GradientContext &":$context)>,
  ];
}

#endif // PPLAN_TRAINING_DIFFERENTIABLEOPINTERFACE_TD
