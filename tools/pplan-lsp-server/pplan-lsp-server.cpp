//===- pplan-lsp-server.cpp - Editor support for pplan's .mlir ------------===//
//
// MLIR's language server with pplan's dialects: diagnostics, definitions and
// hovers while a plan is edited by hand.
//
//===----------------------------------------------------------------------===//
#include "pplan/Driver/Registration.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pplan::registerAllDialects(registry);
  return failed(mlir::MlirLspServerMain(argc, argv, registry));
}
