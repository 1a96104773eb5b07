//===- RaisePatterns.h - Pattern sets of pplan-raise-patterns ---*- C++ -*-===//
//
// Each family of patterns is in a file of its own.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_IMPORT_RAISEPATTERNS_H
#define PPLAN_LIB_IMPORT_RAISEPATTERNS_H

#include "pplan/Dialect/PPlan/PPlan.h"
#include <optional>

namespace pplan {

/// Attention (RaiseAttention.cpp).
void populateRaiseAttentionPatterns(mlir::RewritePatternSet &patterns);
/// LayerNorm and RMSNorm (RaiseNorms.cpp).
void populateRaiseNormPatterns(mlir::RewritePatternSet &patterns);
/// GELU and SiLU (RaiseActivations.cpp).
void populateRaiseActivationPatterns(mlir::RewritePatternSet &patterns);

/// The value that all elements of a float constant have, seen through
/// broadcasts and reshapes.
std::optional<double> getSplatFloat(mlir::Value value);

} // namespace pplan

#endif // PPLAN_LIB_IMPORT_RAISEPATTERNS_H
