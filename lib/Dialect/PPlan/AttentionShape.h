//===- AttentionShape.h - Tensors and layouts of attention ------*- C++ -*-===//
//
// What pplan.attention and its gradient share: where each dimension lies,
// whether the shapes fit, and the factors.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_DIALECT_PPLAN_ATTENTIONSHAPE_H
#define PPLAN_LIB_DIALECT_PPLAN_ATTENTIONSHAPE_H

#include "pplan/Dialect/PPlan/PPlan.h"

namespace pplan {

/// Query, key, value and result (or its gradient), with their layouts.
struct AttentionShape {
  mlir::Value tensors[4];
  mlir::Value mask; ///< may be null
  mlir::ArrayAttr layouts;
  bool isCausal;

  explicit AttentionShape(AttentionOp op);
  explicit AttentionShape(AttentionBackwardOp op);

  /// Position of dimension 'b', 'h', 't' or 'd' in a tensor.
  int64_t getDim(unsigned tensor, char letter) const;
  int64_t getDimSize(unsigned tensor, char letter) const;
  mlir::LogicalResult verify(mlir::Operation *op) const;

  /// Adds the factors to the rule; returns those of query, key, value, result
  /// and, if there is one, the mask.
  llvm::SmallVector<TensorFactors, 5> addFactors(ShardingRule &rule) const;
};

} // namespace pplan

#endif // PPLAN_LIB_DIALECT_PPLAN_ATTENTIONSHAPE_H
