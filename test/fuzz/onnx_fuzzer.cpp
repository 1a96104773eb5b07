//===- onnx_fuzzer.cpp - Arbitrary bytes as an ONNX model -----------------===//
//
// The importer must answer every input with a module that verifies or with a
// diagnostic: no crash, no hang, no unbounded memory. What is imported goes
// through the passes of the import phase too.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "pplan/Import/ONNX.h"
#include "pplan/Import/Passes.h"

/// Reports what must never happen in a way that libFuzzer notices.
static void require(bool condition, const char *what) {
  if (condition)
    return;
  std::fprintf(stderr, "onnx_fuzzer: %s\n", what);
  std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  int64_t diagnostics = 0;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diag) {
    // Formatting is part of what is tested.
    diagnostics += !diag.str().empty();
    return mlir::success();
  });
  pplan::OnnxImportOptions options;
  options.sidecarPath = "/dev/null";
  // Names of the dimensions in the corpus, so that it is read to its end.
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  for (auto [name, value] :
       {std::pair("batch", 2), std::pair("seq", 5), std::pair("n", 3)})
    if (bytes.contains(name))
      options.dims[name] = value;
  auto module = pplan::importOnnx(
      llvm::MemoryBufferRef(bytes, "/nowhere/model.onnx"), options, &context);
  if (!module) {
    require(diagnostics > 0, "failed without a diagnostic");
    return 0;
  }
  mlir::PassManager manager(&context);
  pplan::buildImportPipeline(manager);
  require(mlir::succeeded(manager.run(*module)), "the import phase failed");
  require(mlir::succeeded(mlir::verify(*module)), "the module is invalid");
  return 0;
}
