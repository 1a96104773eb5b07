//===- Driver.cpp - The pplan command -------------------------------------===//
//
// Parses the command line and calls the command.
//
//===----------------------------------------------------------------------===//
#include "pplan/Driver/Driver.h"
#include "Options.h"
#include "Session.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include <cstdlib>

using namespace pplan;
using namespace pplan::driver;

int pplan::runDriver(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  if (const char *noColor = std::getenv("NO_COLOR"); noColor && *noColor) {
    llvm::errs().enable_colors(false);
    llvm::outs().enable_colors(false);
  }
  Command command = Command::None;
  Options options;
  if (!parseCommandLine(argc, argv, command, options))
    return kExitUsage;
  if (command == Command::Run)
    return runProgram(options);
  if (command == Command::Solve)
    return runSolve(options);
  Session session(options, llvm::sys::fs::getMainExecutable(
                               argv[0], reinterpret_cast<void *>(&runDriver)));
  switch (command) {
  case Command::Import:
    return runImport(options, session);
  case Command::Plan:
    return runPlan(options, session);
  case Command::Explain:
    return runExplain(options, session);
  default:
    return runCompile(options, session);
  }
}
