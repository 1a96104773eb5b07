//===- GemmShape.h - Contractions as strided batched products ---*- C++ -*-===//
//
// Decides whether a contraction of strided operands is one call of the
// runtime's matrix product, and with which sizes and strides. Leaves packing of
// operands that do not fit to the caller.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_MEMORY_GEMMSHAPE_H
#define PPLAN_MEMORY_GEMMSHAPE_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <optional>

namespace pplan {

/// Sizes and strides (in elements) of a tensor in memory.
struct StridedShape {
  llvm::SmallVector<int64_t> sizes;
  llvm::SmallVector<int64_t> strides;

  /// A dense row-major tensor.
  static StridedShape getDense(llvm::ArrayRef<int64_t> sizes);
  /// The layout of a buffer; none when a size or stride is not static.
  static std::optional<StridedShape> get(mlir::MemRefType type);
};

/// A matrix product as `pplan_gemm_desc` describes it. When `swapped`, the
/// contraction's right operand is A and its left operand is B.
struct GemmShape {
  int64_t m = 1, n = 1, k = 1;
  int64_t lda = 1, ldb = 1, ldc = 1;
  std::array<int64_t, 3> batch{1, 1, 1};
  std::array<int64_t, 3> strideA{0, 0, 0}, strideB{0, 0, 0}, strideC{0, 0, 0};
  bool transA = false, transB = false;
  bool swapped = false;
};

/// Letters of the three tensors of an equation "ab,bc->ac".
struct Equation {
  llvm::StringRef lhs, rhs, result;
  /// Splits the text; none unless it has the form "x,y->z".
  static std::optional<Equation> parse(llvm::StringRef text);
};

/// The product that computes `equation`; none when the strides do not allow it:
/// a letter that only one operand has, more than one summed group of letters,
/// more than three batch groups, or no unit stride where one is needed. Letters
/// of size 1 are ignored; adjacent letters are merged.
std::optional<GemmShape> getGemmShape(const Equation &equation,
                                      const StridedShape &lhs,
                                      const StridedShape &rhs,
                                      const StridedShape &result);

} // namespace pplan

#endif // PPLAN_MEMORY_GEMMSHAPE_H
