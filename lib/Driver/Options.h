//===- Options.h - Options of the pplan commands ----------------*- C++ -*-===//
//
// Declares the options that commands share. What they mean is decided by the
// commands.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_DRIVER_OPTIONS_H
#define PPLAN_LIB_DRIVER_OPTIONS_H

#include "llvm/Support/CommandLine.h"
#include <optional>
#include <string>

namespace pplan::driver {

/// What the command line says, after parsing.
struct Options {
  std::string model;
  std::vector<std::string> dims;
  std::string format;
  std::string output;
  std::string cluster;
  int64_t devices = 1;
  std::string parallel;
  std::vector<std::string> pins;
  std::optional<std::string> train; ///< of the optimizer; none: inference
  int64_t microBatches = 1;
  std::vector<std::string> frozen;
  std::string logits;
  double timeout = 60;
  bool json = false;
  std::string target;
  std::string compileTo, compileFrom, dumpPhasesTo, cpu;
  std::vector<std::string> programArguments;
};

/// The commands.
enum class Command { None, Import, Plan, Explain, Compile, Run, Solve };

/// Returns kExitDone, or kExitUsage after a message when --timeout is no time.
int checkTimeout(const Options &options);

/// Parses the command line. Returns false after a message when it is wrong.
bool parseCommandLine(int argc, char **argv, Command &command,
                      Options &options);

} // namespace pplan::driver

#endif // PPLAN_LIB_DRIVER_OPTIONS_H
