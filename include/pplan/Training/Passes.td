// Passes of the train phase: from a model to a training step.
#ifndef PPLAN_TRAINING_PASSES_TD
#define PPLAN_TRAINING_PASSES_TD

include "mlir/Pass/PassBase.td"

def TieParameters : Pass<"pplan-tie-parameters", "::mlir::ModuleOp"> {
  let summary = "Makes one parameter of two that begin as the same matrix or as its transpose";
  let description = [{
    Exporters write a tied embedding twice, once transposed for the product
    with the vocabulary; training would let the two drift apart. Of two
    parameters of at least two dimensions whose files hold the same numbers, bit
    by bit, or the transpose, the second becomes the first (transposed). Those
    whose elements are all equal are left alone: they are alike by their
    initialisation. A remark names each pair.

    Before: `%w: tensor<96x32xf32> {pplan.param = "wte"}, %v: tensor<32x96xf32> {pplan.param = "lm_head"}`.
    After: `%v` is `pplan.transpose %w [1, 0]`, and the argument is gone.
  }];
  let dependentDialects = ["::pplan::PPlanDialect"];
}

def AppendLoss : Pass<"pplan-append-loss", "::mlir::ModuleOp"> {
  let summary = "Turns a model with logits into one with the mean cross-entropy of its next tokens";
  let description = [{
    Before: a function that returns logits, classes in the last dimension.
    After: one with a further input, `targets` (the logits' shape without the
    classes, i64; negative targets are ignored), and as its only result the
    mean loss over all targets that are not negative. Does nothing when the
    function has a single result that is a float scalar already.
  }];
  let options = [
    Option<"logits", "logits", "std::string", "\"\"",
           "Name of the output that has the logits; by default the only output, or the one named 'logits'">,
  ];
  let dependentDialects = ["::pplan::PPlanDialect"];
}

def Differentiate : Pass<"pplan-differentiate", "::mlir::ModuleOp"> {
  let summary = "Appends the gradients of the loss with respect to the parameters";
  let description = [{
    Before: one public function whose result is the loss, a float scalar. After:
    for each trainable parameter (a float argument named by `pplan.param`) a
    result `pplan.gradient = "name"`, summed over micro-batches by
    `pplan.accumulate` and divided by their number, as is the loss. Every
    operation is marked with its `pplan.phase`; gradients of values that depend
    on parameters only count as weight gradients and never feed an input
    gradient.

    Parameters that only mask attention are left as they are.
    Fails, naming the operation, when a parameter reaches the loss through an
    operation without a gradient.
  }];
  let options = [
    Option<"microBatches", "micro-batches", "int64_t", "1", "Micro-batches of a step">,
    Option<"lossScale", "loss-scale", "double", "1.0",
           "Factor on the gradient of the loss, divided out of the accumulated gradients (for f16)">,
    ListOption<"frozen", "frozen", "std::string", "Names of parameters that keep their values">,
  ];
  let dependentDialects = ["::pplan::PPlanDialect"];
}

def AddOptimizer : Pass<"pplan-add-optimizer", "::mlir::ModuleOp"> {
  let summary = "Turns gradients into updated parameters and optimizer state";
  let description = [{
    Before: results `pplan.gradient = "w"`. After: results `pplan.updates = "w"`
    and, for each value that the optimizer keeps, an argument `pplan.state` and
    a result that updates it. The number of steps done is the state `step`; the
    learning rate is computed from it.

    `sgd` (with momentum, Nesterov), `adam`, `adamw` (Loshchilov and Hutter,
    2019), `lion` (Chen et al., 2023) and `adafactor` (Shazeer and Stern,
    2018). Weight decay leaves out parameters of fewer than two dimensions.
  }];
  let options = [
    Option<"kind", "kind", "std::string", "\"adamw\"", "sgd, adam, adamw, lion or adafactor">,
    Option<"learningRate", "lr", "double", "1e-3", "Largest learning rate">,
    Option<"schedule", "schedule", "std::string", "\"constant\"", "constant, linear or cosine">,
    Option<"warmup", "warmup", "int64_t", "0", "Steps in which the rate rises linearly from 0">,
    Option<"totalSteps", "steps", "int64_t", "0", "Steps after which linear and cosine reach the smallest rate">,
    Option<"minimumRate", "min-lr", "double", "0.0", "Smallest rate of linear and cosine">,
    Option<"beta1", "beta1", "double", "0.9", "Decay of the first moment; momentum of sgd">,
    Option<"beta2", "beta2", "double", "0.999", "Decay of the second moment">,
    Option<"epsilon", "epsilon", "double", "1e-8", "Added to the root of the second moment">,
    Option<"weightDecay", "weight-decay", "double", "0.0", "Decoupled decay of adamw and lion, else added to the gradient">,
    Option<"nesterov", "nesterov", "bool", "false", "Nesterov's momentum for sgd">,
    Option<"clipNorm", "clip-norm", "double", "0.0", "Largest global norm of the gradients; 0 does not clip">,
  ];
  let dependentDialects = ["::pplan::PPlanDialect"];
}

def ExpandLosses : Pass<"pplan-expand-losses", "::mlir::ModuleOp"> {
  let summary = "Replaces cross-entropy by plain operations, of which each can be split along the classes";
  let dependentDialects = ["::pplan::PPlanDialect"];
}

def ShareForward : Pass<"pplan-share-forward", "::mlir::ModuleOp"> {
  let summary = "Computes once what several phases of a step compute alike";
  let description = [{
    Common subexpression elimination that ignores the mark of the phase: the
    first of equal operations stays, in its phase. An operation of a phase that
    only later phases use is given to the first of these.
  }];
}

#endif // PPLAN_TRAINING_PASSES_TD
