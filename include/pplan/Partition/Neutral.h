//===- Neutral.h - Neutral elements of reductions ---------------*- C++ -*-===//
//
// Decides what padding and absent summands hold so that a reduction does not
// see them.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PARTITION_NEUTRAL_H
#define PPLAN_PARTITION_NEUTRAL_H

#include "mlir/IR/BuiltinTypes.h"
#include "pplan/Dialect/PPlan/PPlanAttrs.h"

namespace pplan {

/// The value that leaves the other operand of the combiner unchanged: 0, 1, and
/// for max and min the least and the greatest value (infinite for floats). A
/// sum of i1 is an exclusive or, its maximum an or. Null for other types.
mlir::TypedAttr getNeutralElement(ReductionKind kind, mlir::Type element);

/// Whether what lies in the padding of an operand can reach the result through a
/// reduction. Rows that scatter_add adds are 0 in the padding, wherever the
/// indices there point.
bool readsPadding(mlir::Operation *op, unsigned operand);

} // namespace pplan

#endif // PPLAN_PARTITION_NEUTRAL_H
