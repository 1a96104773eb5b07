//===- Link.cpp - From an object file to an executable --------------------===//
//
// Finds the runtime's libraries and a linker driver, and runs it.
//
//===----------------------------------------------------------------------===//
#include "pplan/Lowering/Link.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mlir;
using namespace pplan;

// Set by CMake: where the runtime was built, where it will be installed, and
// what it needs (separated by ';').
#ifndef PPLAN_RUNTIME_DIRS
#define PPLAN_RUNTIME_DIRS ""
#endif
#ifndef PPLAN_RUNTIME_LIBRARIES
#define PPLAN_RUNTIME_LIBRARIES ""
#endif

static std::vector<std::string> splitList(StringRef text) {
  SmallVector<StringRef> parts;
  text.split(parts, ';', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  return {parts.begin(), parts.end()};
}

/// Path of a library in the first directory that has it, or empty.
static std::string findLibrary(StringRef name, ArrayRef<std::string> dirs) {
  for (StringRef dir : dirs) {
    SmallString<128> path(dir);
    llvm::sys::path::append(path, name);
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  return {};
}

/// Runs `args`; what it prints is returned in `output`. The result is its exit
/// code, negative when it could not be run.
static int runCaptured(StringRef program, ArrayRef<StringRef> args,
                       std::string &output) {
  SmallString<128> capture;
  if (llvm::sys::fs::createTemporaryFile("pplan-link", "txt", capture)) {
    output = "cannot make a temporary file";
    return -1;
  }
  StringRef path = capture;
  std::optional<StringRef> redirects[] = {StringRef(), path, path};
  int code = llvm::sys::ExecuteAndWait(program, args, std::nullopt, redirects,
                                       /*SecondsToWait=*/0, /*MemoryLimit=*/0,
                                       &output);
  if (auto buffer = llvm::MemoryBuffer::getFile(path))
    output += (*buffer)->getBuffer().str();
  llvm::sys::fs::remove(path);
  return code;
}

/// The first linker driver that exists; reports those tried.
static FailureOr<std::string> findDriver(Location loc,
                                         ArrayRef<std::string> names) {
  for (StringRef name : names)
    if (auto path = llvm::sys::findProgramByName(name))
      return *path;
  return emitError(loc) << "no linker driver found; tried "
                        << llvm::join(names, ", ")
                        << "; install clang or gcc";
}

/// True when the driver finds lld, several times as fast as ld: in the path, or
/// beside the driver itself.
static bool hasLLD(StringRef driver) {
  SmallString<128> real;
  if (llvm::sys::fs::real_path(driver, real))
    real = driver;
  StringRef beside = llvm::sys::path::parent_path(real);
  return llvm::sys::findProgramByName("ld.lld") ||
         llvm::sys::findProgramByName("ld.lld", {beside});
}

LogicalResult pplan::linkExecutable(MLIRContext *context, StringRef objectPath,
                                    StringRef outputPath,
                                    const LinkOptions &options) {
  Location loc = UnknownLoc::get(context);
  std::vector<std::string> dirs = options.searchDirs;
  llvm::append_range(dirs, splitList(PPLAN_RUNTIME_DIRS));
  std::string mainLibrary = findLibrary("libpplan_rt_main.a", dirs);
  std::string library = findLibrary("libpplan_rt.a", dirs);
  if (mainLibrary.empty() || library.empty())
    return emitError(loc) << "cannot find "
                          << (library.empty() ? "libpplan_rt.a"
                                              : "libpplan_rt_main.a")
                          << " in any of " << llvm::join(dirs, ", ");
  std::vector<std::string> drivers = options.drivers;
  if (drivers.empty())
    drivers = {"clang-22", "clang", "cc", "c++"};
  FailureOr<std::string> driver = findDriver(loc, drivers);
  if (failed(driver))
    return failure();

  std::vector<std::string> args = {*driver,     "-o",    outputPath.str(),
                                   objectPath.str(), mainLibrary, library};
  llvm::append_range(args, splitList(PPLAN_RUNTIME_LIBRARIES));
  // The runtime is C++; its standard library is linked in where that exists.
  llvm::append_range(args, std::vector<std::string>{
                               "-Wl,-Bstatic", "-lstdc++", "-Wl,-Bdynamic",
                               "-lpthread", "-lm", "-Wl,--gc-sections"});
  llvm::append_range(args, options.extraArgs);
  SmallVector<StringRef> refs(args.begin(), args.end());
  std::string output;
  if (hasLLD(*driver)) {
    SmallVector<StringRef> fast(refs);
    fast.insert(fast.begin() + 1, "-fuse-ld=lld");
    if (runCaptured(*driver, fast, output) == 0)
      return success();
  }
  // Also where lld is too old for the libraries, or the driver for lld.
  output.clear();
  int code = runCaptured(*driver, refs, output);
  if (code == 0)
    return success();
  auto diag = emitError(loc) << "linking '" << outputPath << "' failed: "
                             << *driver << " ended with code " << code;
  if (!output.empty())
    diag.attachNote() << "it said: " << StringRef(output).rtrim();
  return diag;
}
