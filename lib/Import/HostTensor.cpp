//===- HostTensor.cpp - A tensor whose elements the importer knows --------===//
//
// Element access by type, and the way into attributes.
//
//===----------------------------------------------------------------------===//
#include "HostTensor.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace pplan::import;

int64_t pplan::import::getElementBytes(Type elementType) {
  unsigned bits = elementType.getIntOrFloatBitWidth();
  return bits < 8 ? 1 : bits / 8;
}

std::optional<int64_t> pplan::import::countElements(ArrayRef<int64_t> shape) {
  constexpr int64_t limit = int64_t(1) << 48;
  int64_t count = 1;
  bool empty = false;
  if (shape.size() > maxRank)
    return std::nullopt;
  for (int64_t size : shape) {
    if (size < 0 || size > limit)
      return std::nullopt;
    empty |= size == 0;
    if (size != 0 && count > limit / size)
      return std::nullopt;
    count *= std::max<int64_t>(size, 1);
  }
  return empty ? 0 : count;
}

HostTensor::HostTensor(RankedTensorType type)
    : type(type), numElements(type.getNumElements()),
      width(getElementBytes(type.getElementType())),
      bytes(numElements * width, '\0') {}

HostTensor::HostTensor(RankedTensorType type, std::string bytes)
    : type(type), numElements(type.getNumElements()),
      width(getElementBytes(type.getElementType())), bytes(std::move(bytes)) {
  this->bytes.resize(numElements * width);
}

HostTensor HostTensor::fromInts(MLIRContext *context,
                                ArrayRef<int64_t> values) {
  HostTensor result(RankedTensorType::get(static_cast<int64_t>(values.size()),
                                          IntegerType::get(context, 64)));
  for (auto [index, value] : llvm::enumerate(values))
    result.setInt(index, value);
  return result;
}

template <typename T> static T load(const char *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}
template <typename T> static void store(char *to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

double HostTensor::getFloat(int64_t index) const {
  Type element = getElementType();
  const char *from = &bytes[index * width];
  if (element.isF32())
    return load<float>(from);
  if (element.isF64())
    return load<double>(from);
  if (auto narrow = dyn_cast<FloatType>(element)) {
    llvm::APFloat value(narrow.getFloatSemantics(),
                        llvm::APInt(16, load<uint16_t>(from)));
    bool losesInfo;
    value.convert(llvm::APFloat::IEEEdouble(),
                  llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return value.convertToDouble();
  }
  return static_cast<double>(getInt(index));
}

/// Truncates toward zero and saturates; NaN gives 0.
static int64_t toInt(double value) {
  if (std::isnan(value))
    return 0;
  if (value >= 0x1p63)
    return std::numeric_limits<int64_t>::max();
  if (value < -0x1p63)
    return std::numeric_limits<int64_t>::min();
  return static_cast<int64_t>(value);
}

int64_t HostTensor::getInt(int64_t index) const {
  Type element = getElementType();
  if (isFloat())
    return toInt(getFloat(index));
  const char *from = &bytes[index * width];
  if (width == 8)
    return load<int64_t>(from);
  if (width == 4)
    return load<int32_t>(from);
  if (element.isInteger(1) || element.isUnsignedInteger())
    return load<uint8_t>(from);
  return load<int8_t>(from);
}

void HostTensor::setFloat(int64_t index, double value) {
  Type element = getElementType();
  char *to = &bytes[index * width];
  if (element.isF32())
    return store(to, static_cast<float>(value));
  if (element.isF64())
    return store(to, value);
  if (auto narrow = dyn_cast<FloatType>(element)) {
    llvm::APFloat converted(value);
    bool losesInfo;
    converted.convert(narrow.getFloatSemantics(),
                      llvm::APFloat::rmNearestTiesToEven, &losesInfo);
    return store(
        to, static_cast<uint16_t>(converted.bitcastToAPInt().getZExtValue()));
  }
  setInt(index, toInt(value));
}

void HostTensor::setInt(int64_t index, int64_t value) {
  if (isFloat())
    return setFloat(index, static_cast<double>(value));
  char *to = &bytes[index * width];
  if (width == 8)
    store(to, value);
  else if (width == 4)
    store(to, static_cast<int32_t>(value));
  else if (getElementType().isInteger(1))
    store<uint8_t>(to, value & 1);
  else
    store(to, static_cast<uint8_t>(value));
}

HostTensor HostTensor::reshaped(ArrayRef<int64_t> shape) const {
  HostTensor result = *this;
  result.type = RankedTensorType::get(shape, getElementType());
  return result;
}

SmallVector<int64_t> HostTensor::getInts() const {
  SmallVector<int64_t> values;
  for (int64_t i = 0; i < numElements; ++i)
    values.push_back(getInt(i));
  return values;
}

DenseElementsAttr HostTensor::toAttr() const {
  bool splat = numElements > 0;
  for (int64_t i = 1; splat && i < numElements; ++i)
    splat = std::memcmp(bytes.data(), &bytes[i * width], width) == 0;
  if (getElementType().isInteger(1)) {
    SmallVector<bool> values(splat ? 1 : numElements);
    for (auto [index, value] : llvm::enumerate(values))
      value = bytes[index] != 0;
    return DenseElementsAttr::get(type, values);
  }
  return DenseElementsAttr::getFromRawBuffer(
      type, ArrayRef<char>(bytes.data(), splat ? width : bytes.size()));
}

SmallVector<int64_t> pplan::import::getStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = static_cast<int64_t>(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  return strides;
}

void pplan::import::forEachPosition(
    ArrayRef<int64_t> shape, function_ref<void(ArrayRef<int64_t>)> visit) {
  if (llvm::is_contained(shape, 0))
    return;
  SmallVector<int64_t> position(shape.size(), 0);
  while (true) {
    visit(position);
    int64_t dim = static_cast<int64_t>(shape.size()) - 1;
    while (dim >= 0 && ++position[dim] == shape[dim])
      position[dim--] = 0;
    if (dim < 0)
      return;
  }
}
