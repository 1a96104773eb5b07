//===- ImportCommand.cpp - pplan import -----------------------------------===//
//
// Reads a model and writes the graph.
//
//===----------------------------------------------------------------------===//
#include "Session.h"
#include "llvm/Support/raw_ostream.h"

using namespace pplan;
using namespace pplan::driver;

int pplan::driver::runImport(const Options &options, Session &session) {
  if (int code = session.loadModel())
    return code;
  std::string path = options.output.empty() ? "-" : options.output;
  if (int code = session.writeModule(path))
    return code;
  if (path != "-")
    llvm::errs() << "wrote " << path << "; next: pplan plan " << path
                 << " --devices N -o plan.mlir\n";
  return kExitDone;
}
