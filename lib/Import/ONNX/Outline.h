//===- Outline.h - An ONNX file without its weights -------------*- C++ -*-===//
//
// Decides how a model's structure is read without reading its weights: the
// protobuf wire format is walked once, every `raw_data` of a tensor is replaced
// by the number of its place in the file, and what is left (the outline) is
// small and goes to protobuf. Files beyond protobuf's 2 GiB limit are read the
// same way. What the fields mean is left to protobuf and the importer.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_IMPORT_ONNX_OUTLINE_H
#define PPLAN_LIB_IMPORT_ONNX_OUTLINE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace pplan::import {

/// A part of a file, in bytes.
struct FileSpan {
  int64_t offset = 0;
  int64_t size = 0;
};

/// A serialized ModelProto whose tensors have, in place of `raw_data`, eight
/// bytes: the index (little-endian) of the span that held it.
struct Outline {
  std::string bytes;
  std::vector<FileSpan> spans;

  /// The span that the `raw_data` of a tensor of the outline stands for; none
  /// when it is not one.
  std::optional<FileSpan> getSpan(llvm::StringRef rawData) const;
};

/// Walks a serialized ModelProto. The error names the offset of the first byte
/// that no protobuf message can have there, for instance in a truncated file.
llvm::Expected<Outline> makeOutline(llvm::StringRef file);

} // namespace pplan::import

#endif // PPLAN_LIB_IMPORT_ONNX_OUTLINE_H
