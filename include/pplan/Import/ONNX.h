//===- ONNX.h - Import of ONNX models ---------------------------*- C++ -*-===//
//
// The ONNX front door. Decides nothing about parallelism: what comes out is the
// model's own graph in pplan operations on whole tensors.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_IMPORT_ONNX_H
#define PPLAN_IMPORT_ONNX_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBufferRef.h"
#include <string>

namespace pplan {

/// What an import needs to know beside the file.
struct OnnxImportOptions {
  /// Sizes of the model's symbolic dimensions by name. A dimension i of input
  /// "x" that has no name in the file is called "x.i".
  llvm::StringMap<int64_t> dims;
  /// Where weights are written that the file does not store as plain bytes (or
  /// that are computed from others); only written when there are any. Empty:
  /// the model's path with `.weights.safetensors` in place of its extension.
  std::string sidecarPath;
};

/// Reads an ONNX model (opset 13 to 23, IR version 3 to 13) from a file.
///
/// The module has one function, `forward`: the graph's inputs as arguments
/// (`pplan.input`), then its weights (`pplan.param` and `pplan.data`, which
/// says where in which file their bytes are), and its outputs as results
/// (`pplan.output`). All shapes are static; computations on shapes are folded;
/// locations are the names of nodes.
///
/// Null when the file cannot be read, is malformed, or uses what pplan lacks;
/// each is one diagnostic. Unsupported operators are reported all at once.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(llvm::StringRef path,
                                             const OnnxImportOptions &options,
                                             mlir::MLIRContext *context);

/// The same for a model in memory; the buffer's identifier is its path, which
/// locations and #pplan.data name and beside which external data is looked for.
mlir::OwningOpRef<mlir::ModuleOp> importOnnx(llvm::MemoryBufferRef buffer,
                                             const OnnxImportOptions &options,
                                             mlir::MLIRContext *context);

} // namespace pplan

#endif // PPLAN_IMPORT_ONNX_H
