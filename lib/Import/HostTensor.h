//===- HostTensor.h - Elements that the importer knows ----------*- C++ -*-===//
//
// Holds the elements of a tensor while an importer folds shape computations.
// What may be folded is decided by ConstantEvaluator.h; these tensors never
// outlive an import.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_IMPORT_HOSTTENSOR_H
#define PPLAN_LIB_IMPORT_HOSTTENSOR_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include <cstring>
#include <string>

namespace pplan::import {

/// Bytes that one element takes in files and in a HostTensor: its width, and
/// one byte for i1.
int64_t getElementBytes(mlir::Type elementType);

/// Most dimensions of a tensor. No model has as many, and what works on pairs of
/// dimensions would take long on a shape from a hostile file.
constexpr size_t maxRank = 64;

/// Product of the sizes; none when one is negative, when the product is above
/// 2^48, which no tensor that can be computed reaches, or for more than maxRank
/// sizes.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// Row-major, little-endian elements of a tensor of static shape.
class HostTensor {
public:
  HostTensor() = default;
  /// A tensor of zeros.
  explicit HostTensor(mlir::RankedTensorType type);
  /// Takes the elements, whose number of bytes must be getNumBytes(type).
  HostTensor(mlir::RankedTensorType type, std::string bytes);
  /// A tensor<nxi64>.
  static HostTensor fromInts(mlir::MLIRContext *context,
                             llvm::ArrayRef<int64_t> values);

  mlir::RankedTensorType getType() const { return type; }
  mlir::Type getElementType() const { return type.getElementType(); }
  llvm::ArrayRef<int64_t> getShape() const { return type.getShape(); }
  int64_t getNumElements() const { return numElements; }
  const std::string &getBytes() const { return bytes; }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(getElementType()); }

  /// Element `index` in row-major order, converted to the asked-for type;
  /// floats truncate toward zero, NaN gives 0.
  double getFloat(int64_t index) const;
  int64_t getInt(int64_t index) const;
  /// Stores an element, rounded to nearest even or wrapped around.
  void setFloat(int64_t index, double value);
  void setInt(int64_t index, int64_t value);
  /// Copies element `from` of `source`, which has the same element type.
  void copyElement(int64_t index, const HostTensor &source, int64_t from) {
    std::memcpy(&bytes[index * width], &source.bytes[from * width], width);
  }

  /// The same elements under another shape with as many elements.
  HostTensor reshaped(llvm::ArrayRef<int64_t> shape) const;
  /// All elements as integers.
  llvm::SmallVector<int64_t> getInts() const;
  /// The attribute of `pplan.constant`.
  mlir::DenseElementsAttr toAttr() const;

  /// True for the content of a float parameter and for what only moves its
  /// elements: such values stay parameters and never become constants.
  bool isParameter = false;

private:
  mlir::RankedTensorType type;
  int64_t numElements = 0;
  int64_t width = 1;
  std::string bytes;
};

/// Row-major strides of a shape, in elements.
llvm::SmallVector<int64_t> getStrides(llvm::ArrayRef<int64_t> shape);

/// Calls `visit` with each position of `shape` in row-major order.
void forEachPosition(
    llvm::ArrayRef<int64_t> shape,
    llvm::function_ref<void(llvm::ArrayRef<int64_t> position)> visit);

} // namespace pplan::import

#endif // PPLAN_LIB_IMPORT_HOSTTENSOR_H
