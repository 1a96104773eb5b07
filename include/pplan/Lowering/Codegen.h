//===- Codegen.h - Machine code of a lowered module -------------*- C++ -*-===//
//
// Decides for which processor and with which optimisations LLVM compiles the
// output of the lower phase.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LOWERING_CODEGEN_H
#define PPLAN_LOWERING_CODEGEN_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace pplan {

/// How machine code is made.
struct CodegenOptions {
  /// Processor as LLVM names it; empty or "native" is the one this runs on.
  std::string cpu;
  /// Additional features, such as "+avx2,-avx512f"; empty for those of `cpu`.
  std::string features;
  /// LLVM's optimisation level, 0 to 3.
  unsigned optLevel = 3;
  /// Width in bits of the vectors that loops prefer; 0 lets pplan choose.
  unsigned vectorWidth = 0;
  /// Writes assembly text instead of an object file.
  bool assembly = false;
  /// Reports memory accesses to ThreadSanitizer, as `clang -fsanitize=thread`
  /// does; for a runtime built that way. Wide vectors would escape it, so that
  /// `optLevel` must be below 2.
  bool threadSanitizer = false;
};

/// True when code can be generated for the processor: empty, "native", or a name
/// that LLVM knows for this machine's architecture.
bool isKnownProcessor(llvm::StringRef cpu);

/// Compiles a module of the LLVM dialect into the object file `path`. Errors
/// (an unknown processor, an unwritable file, a module that is not lowered) are
/// reported at the module.
mlir::LogicalResult emitObject(mlir::ModuleOp module, llvm::StringRef path,
                               const CodegenOptions &options = {});

} // namespace pplan

#endif // PPLAN_LOWERING_CODEGEN_H
