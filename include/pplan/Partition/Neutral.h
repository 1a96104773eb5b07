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

} // namespace pplan

#endif // PPLAN_PARTITION_NEUTRAL_H
