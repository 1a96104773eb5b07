//===- Link.h - From an object file to an executable ------------*- C++ -*-===//
//
// Decides which linker driver and which libraries make a stand-alone program.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LOWERING_LINK_H
#define PPLAN_LOWERING_LINK_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace pplan {

/// How a program is linked.
struct LinkOptions {
  /// Directories searched for libpplan_rt_main.a and libpplan_rt.a, before
  /// those where pplan was built and installed.
  std::vector<std::string> searchDirs;
  /// Linker drivers tried in this order; empty for clang-22, clang, cc, c++.
  std::vector<std::string> drivers;
  /// Further arguments of the linker driver.
  std::vector<std::string> extraArgs;
};

/// Links the object file at `objectPath` with the runtime into the executable
/// `outputPath`, with lld where the driver finds it and that succeeds, otherwise
/// with the driver's own linker. Errors are reported at an unknown location of `context`: which
/// libraries or drivers were looked for and where, or the linker's own message.
mlir::LogicalResult linkExecutable(mlir::MLIRContext *context,
                                   llvm::StringRef objectPath,
                                   llvm::StringRef outputPath,
                                   const LinkOptions &options = {});

} // namespace pplan

#endif // PPLAN_LOWERING_LINK_H
