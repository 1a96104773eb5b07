//===- options.h - command line of stand-alone executables ------*- C++ -*-===//
//
// Which options there are and what is a usage error. What they do is in
// runner.cpp and listing.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_OPTIONS_H
#define PPLAN_RT_CORE_OPTIONS_H

#include "params.h"

#include <string>
#include <utility>
#include <vector>

namespace pplan::rt {

/// What the executable is asked to do.
struct Options {
  enum class Mode { Run, Help, Version, ListIO, Memory };
  Mode What = Mode::Run;
  std::string Program; ///< argv[0]
  std::vector<std::pair<std::string, std::string>> Inputs; ///< name, file
  std::string OutputDir;                                   ///< empty: none
  std::string DataFile; ///< --data, or empty
  int32_t TokenBytes = 2;
  std::string SaveDir; ///< --save, or empty
  std::string LoadDir; ///< --load, or empty
  std::string LogFile;  ///< --log, or empty; "-" is standard output
  int64_t Iterations = 1;
  int64_t Warmup = 0;
  bool Profile = false;
  bool Json = false;
  bool RandomInputs = false;
  uint64_t Seed = 0;
  ParamFiles Files;
};

/// Parses the command line; returns "" or what is wrong with it.
std::string parseOptions(int Argc, const char *const *Argv, Options &Out);

/// The text of --help for a program.
std::string helpText(const pplan_program &P, const Options &O);

/// The inputs and outputs, and the bytes per rank, as tab-separated text or as
/// JSON.
std::string listIO(const pplan_program &P, bool Json);
std::string listMemory(const pplan_program &P, bool Json);

/// `Text` as a JSON string with its quotes.
std::string jsonString(const std::string &Text);

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_OPTIONS_H
