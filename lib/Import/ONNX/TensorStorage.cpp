//===- TensorStorage.cpp - Where the bytes of a tensor are ----------------===//
//
// Raw data inside the file, external data beside it, or typed fields. Nothing
// here trusts a size or a path of the file.
//
//===----------------------------------------------------------------------===//
#include "ModelFile.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace pplan::import;

FailureOr<std::optional<StoredBytes>>
ModelFile::locate(const onnx::TensorProto &tensor, RankedTensorType type,
                  Location at) const {
  int64_t needed =
      type.getNumElements() * getElementBytes(type.getElementType());
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL) {
    FailureOr<StoredBytes> stored = locateExternal(tensor, needed, at);
    if (failed(stored))
      return failure();
    return std::optional<StoredBytes>(std::move(*stored));
  }
  if (tensor.has_segment())
    return emitError(at, "tensor '")
           << tensor.name()
           << "' is stored in segments, which pplan cannot "
              "read";
  if (!tensor.has_raw_data())
    return std::optional<StoredBytes>();
  std::optional<FileSpan> span = outline.getSpan(tensor.raw_data());
  if (!span || span->size != needed)
    return emitError(at, "tensor '")
           << tensor.name() << "' has " << (span ? span->size : 0)
           << " bytes of data, but " << type << " needs " << needed;
  return std::optional<StoredBytes>({path, *span});
}

/// True when a path stays inside the folder it is relative to.
static bool isInside(StringRef relative) {
  if (relative.empty() || relative.contains('\0') ||
      llvm::sys::path::is_absolute(relative))
    return false;
  return std::none_of(llvm::sys::path::begin(relative),
                      llvm::sys::path::end(relative),
                      [](StringRef part) { return part == ".."; });
}

FailureOr<StoredBytes>
ModelFile::locateExternal(const onnx::TensorProto &tensor, int64_t needed,
                          Location at) const {
  auto fail = [&]() -> InFlightDiagnostic {
    return emitError(at, "tensor '") << tensor.name() << "' ";
  };
  StringRef location;
  uint64_t offset = 0, length = 0;
  for (const onnx::StringStringEntryProto &entry : tensor.external_data()) {
    StringRef value = entry.value();
    uint64_t *number = entry.key() == "offset"   ? &offset
                       : entry.key() == "length" ? &length
                                                 : nullptr;
    if (entry.key() == "location")
      location = value;
    else if (number &&
             (value.getAsInteger(10, *number) || *number > uint64_t(INT64_MAX)))
      return fail() << "has the external data " << entry.key() << " '" << value
                    << "', which is not a number of bytes";
  }
  if (!isInside(location))
    return fail() << "has external data at '" << location
                  << "'; the location must be a path inside the model's folder";
  if (length != 0 && length != static_cast<uint64_t>(needed))
    return fail() << "has " << length << " bytes of external data in '"
                  << location << "', but its type needs " << needed;
  SmallString<256> file(llvm::sys::path::parent_path(path));
  llvm::sys::path::append(file, location);
  llvm::sys::fs::file_status status;
  std::error_code error = llvm::sys::fs::status(file, status);
  if (error || !llvm::sys::fs::is_regular_file(status))
    return fail() << "has external data in '" << file << "', which "
                  << (error ? "cannot be read: " + error.message()
                            : std::string("is not a file"));
  if (offset > status.getSize() ||
      static_cast<uint64_t>(needed) > status.getSize() - offset)
    return fail() << "needs " << needed << " bytes at offset " << offset
                  << " of '" << file << "', which has " << status.getSize()
                  << " bytes";
  return StoredBytes{std::string(file), {static_cast<int64_t>(offset), needed}};
}

FailureOr<HostTensor> ModelFile::read(const onnx::TensorProto &tensor,
                                      RankedTensorType type,
                                      Location at) const {
  FailureOr<std::optional<StoredBytes>> stored = locate(tensor, type, at);
  if (failed(stored))
    return failure();
  if (!*stored)
    return decode(tensor, type, at);
  FileSpan span = (*stored)->span;
  std::string bytes;
  if ((*stored)->path == path && tensor.has_raw_data()) {
    bytes = buffer.getBuffer().substr(span.offset, span.size).str();
  } else {
    auto slice = llvm::MemoryBuffer::getFileSlice((*stored)->path, span.size,
                                                  span.offset);
    if (!slice)
      return emitError(at, "cannot read '")
             << (*stored)->path << "': " << slice.getError().message();
    bytes = (*slice)->getBuffer().str();
  }
  if (type.getElementType().isInteger(1))
    for (char &byte : bytes)
      byte = byte != 0;
  return HostTensor(type, std::move(bytes));
}

/// Copies a typed field when it has as many elements as the tensor.
template <typename Field, typename Store>
static LogicalResult copyField(const Field &field, int64_t count, Store store,
                               StringRef name, Location at) {
  if (field.size() != count)
    return emitError(at, "tensor '")
           << name << "' has " << field.size() << " stored elements, but its "
           << "shape has " << count;
  for (int64_t i = 0; i < count; ++i)
    store(i, field.Get(i));
  return success();
}

FailureOr<HostTensor> ModelFile::decode(const onnx::TensorProto &tensor,
                                        RankedTensorType type,
                                        Location at) const {
  Type element = type.getElementType();
  int64_t count = type.getNumElements();
  // Refuse before allocating what the file claims to have.
  int64_t present = tensor.float_data_size() + tensor.double_data_size() +
                    tensor.int32_data_size() + tensor.int64_data_size();
  if (present != count)
    return emitError(at, "tensor '")
           << tensor.name() << "' has " << present
           << " stored elements, but its shape has " << count;
  HostTensor result(type);
  auto storeFloat = [&](int64_t i, double x) { result.setFloat(i, x); };
  auto storeInt = [&](int64_t i, int64_t x) { result.setInt(i, x); };
  LogicalResult copied = success();
  if (element.isF32())
    copied =
        copyField(tensor.float_data(), count, storeFloat, tensor.name(), at);
  else if (element.isF64())
    copied =
        copyField(tensor.double_data(), count, storeFloat, tensor.name(), at);
  else if (element.isInteger(64))
    copied = copyField(tensor.int64_data(), count, storeInt, tensor.name(), at);
  else if (!isa<FloatType>(element))
    copied = copyField(
        tensor.int32_data(), count,
        [&](int64_t i, int32_t x) {
          result.setInt(i, element.isInteger(1) ? x != 0 : x);
        },
        tensor.name(), at);
  else { // f16 and bf16 are stored as their bits
    std::string bits(count * 2, '\0');
    copied = copyField(
        tensor.int32_data(), count,
        [&](int64_t i, int32_t x) {
          uint16_t low = static_cast<uint16_t>(x);
          std::memcpy(&bits[i * 2], &low, 2);
        },
        tensor.name(), at);
    result = HostTensor(type, std::move(bits));
  }
  if (failed(copied))
    return failure();
  return result;
}
