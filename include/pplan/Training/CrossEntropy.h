//===- CrossEntropy.h - Cross-entropy in plain operations -------*- C++ -*-===//
//
// The one place that says what pplan.cross_entropy is made of.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_TRAINING_CROSSENTROPY_H
#define PPLAN_TRAINING_CROSSENTROPY_H

#include "pplan/Training/Gradient.h"

namespace pplan {

/// The loss of each row: log(sum(exp(z))) - z[target] with z = logits - max,
/// and 0 where the target is negative. Every operation may be split along the
/// classes; no tensor of the logits' size need be stored.
mlir::Value emitCrossEntropy(ArithmeticBuilder &builder, CrossEntropyOp op);

/// (softmax(logits) - [class = target]) * gradient, 0 for negative targets.
mlir::Value emitCrossEntropyGradient(ArithmeticBuilder &builder,
                                     CrossEntropyOp op, mlir::Value gradient);

} // namespace pplan

#endif // PPLAN_TRAINING_CROSSENTROPY_H
