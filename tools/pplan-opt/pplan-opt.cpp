//===- pplan-opt.cpp - Run passes and pipelines on .mlir ------------------===//
//
// The developer's tool: every pass and every phase's pipeline, with MLIR's
// usual options (crash reproducers, timing, verification of diagnostics).
//
//===----------------------------------------------------------------------===//
#include "pplan/Driver/Registration.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  pplan::registerAllDialects(registry);
  pplan::registerAllPasses();
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "pplan optimizer driver\n", registry));
}
