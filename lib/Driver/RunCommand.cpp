//===- RunCommand.cpp - pplan run -----------------------------------------===//
//
// Replaces this process by the compiled program.
//
//===----------------------------------------------------------------------===//
#include "Session.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace pplan;
using namespace pplan::driver;

int pplan::driver::runProgram(const Options &options) {
  std::string path = options.model;
  if (!llvm::StringRef(path).contains('/'))
    path = "./" + path;
  if (!llvm::sys::fs::can_execute(path)) {
    llvm::errs() << "pplan run: '" << options.model
                 << "' is not an executable program; make one with pplan "
                    "compile MODEL -o PROG\n";
    return kExitBadInput;
  }
  std::vector<char *> arguments = {path.data()};
  std::vector<std::string> rest = options.programArguments;
  for (std::string &argument : rest)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  execv(path.c_str(), arguments.data());
  llvm::errs() << "pplan run: cannot start '" << options.model
               << "': " << std::strerror(errno) << '\n';
  return kExitBadInput;
}
