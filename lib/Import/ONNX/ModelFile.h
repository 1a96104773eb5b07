//===- ModelFile.h - An opened ONNX file and its tensors' bytes -*- C++ -*-===//
//
// Decides whether a file is an ONNX model of a version that is supported, what
// type a stored tensor has and where its bytes are. What the graph means is
// left to GraphImporter.h.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_IMPORT_ONNX_MODELFILE_H
#define PPLAN_LIB_IMPORT_ONNX_MODELFILE_H

#include "../HostTensor.h"
#include "Outline.h"
#include "mlir/IR/Location.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <memory>
#include <onnx/onnx_pb.h>

namespace pplan::import {

/// Bytes of a tensor in a file: the model itself or one beside it.
struct StoredBytes {
  std::string path;
  FileSpan span;
};

/// The opset domain "ai.onnx" is written as "" too; this is the one form used.
inline llvm::StringRef normalizeDomain(llvm::StringRef domain) {
  return domain == "ai.onnx" ? "" : domain;
}

class ModelFile {
public:
  /// Parses a model and checks its versions; reports and returns null when it
  /// is no model or of a version outside what is supported. The buffer must
  /// outlive the result.
  static std::unique_ptr<ModelFile> open(llvm::MemoryBufferRef buffer,
                                         mlir::MLIRContext *context);

  const onnx::ModelProto &getProto() const { return proto; }
  /// Absolute path of the file.
  llvm::StringRef getPath() const { return path; }
  /// `path:0:0`, the place of everything that has no name.
  mlir::Location getLoc() const { return loc; }
  /// The place of a named node or tensor.
  mlir::Location getLoc(llvm::StringRef name) const;
  /// Version of an operator set that the model imports, or 0.
  int64_t getOpset(llvm::StringRef domain) const;

  /// Element type for a TensorProto::DataType; null when pplan has none.
  mlir::Type getElementType(int32_t dataType) const;
  /// Name of a TensorProto::DataType for messages, e.g. "int16".
  static std::string getTypeName(int32_t dataType);
  /// Type of a stored tensor; reports and fails when pplan has no such type.
  mlir::FailureOr<mlir::RankedTensorType>
  getType(const onnx::TensorProto &tensor, mlir::Location at) const;
  /// The file and place of the tensor's bytes, or none when they are not
  /// stored as such (typed fields). Reports and fails when there are too few or
  /// too many, or when external data is missing or outside the model's folder.
  mlir::FailureOr<std::optional<StoredBytes>>
  locate(const onnx::TensorProto &tensor, mlir::RankedTensorType type,
         mlir::Location at) const;
  /// Reads the tensor's elements; reports and fails as locate() does.
  mlir::FailureOr<HostTensor> read(const onnx::TensorProto &tensor,
                                   mlir::RankedTensorType type,
                                   mlir::Location at) const;

private:
  ModelFile(llvm::MemoryBufferRef buffer, mlir::MLIRContext *context);
  mlir::LogicalResult checkVersions();
  mlir::FailureOr<StoredBytes> locateExternal(const onnx::TensorProto &tensor,
                                              int64_t size,
                                              mlir::Location at) const;
  mlir::FailureOr<HostTensor> decode(const onnx::TensorProto &tensor,
                                     mlir::RankedTensorType type,
                                     mlir::Location at) const;

  llvm::MemoryBufferRef buffer;
  std::string path;
  mlir::MLIRContext *context;
  mlir::Location loc;
  Outline outline;
  onnx::ModelProto proto;
  llvm::StringMap<int64_t> opsets;
};

} // namespace pplan::import

#endif // PPLAN_LIB_IMPORT_ONNX_MODELFILE_H
