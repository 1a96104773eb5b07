//===- Labelled.h - Tensors whose dimensions have letters -------*- C++ -*-===//
//
// How contractions and attention speak of dimensions while they are converted.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_MEMORY_LABELLED_H
#define PPLAN_LIB_MEMORY_LABELLED_H

#include "Convert.h"
#include "pplan/Memory/GemmShape.h"

namespace pplan::memory {

/// A tensor and the letters of its dimensions.
struct Labelled {
  Value value;
  std::string letters;

  RankedTensorType getType() const {
    return mlir::cast<RankedTensorType>(value.getType());
  }
  StridedShape getShape() const {
    return StridedShape::getDense(getType().getShape());
  }
  int64_t getSize(char letter) const {
    return getType().getDimSize(letters.find(letter));
  }
};

/// Brings the letters into the order `wanted`.
void permuteTo(Emitter &e, Labelled &operand, llvm::StringRef wanted);
/// The letters of `from` for which `keep` holds, in order.
std::string filterLetters(llvm::StringRef from,
                          llvm::function_ref<bool(char)> keep);

} // namespace pplan::memory

#endif // PPLAN_LIB_MEMORY_LABELLED_H
