//===- LayerName.cpp - What the user calls an operation -------------------===//
//
// Searches source locations for a name.
//
//===----------------------------------------------------------------------===//
#include "LayerName.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/Support/Path.h"

using namespace mlir;

/// A name in the location, or empty.
static std::string findName(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (std::string name = findName(part); !name.empty())
        return name;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return findName(call.getCallee());
  return {};
}

/// File and line in the location, or empty.
static std::string findLine(Location loc) {
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return llvm::sys::path::filename(file.getFilename().getValue()).str() +
           ":" + std::to_string(file.getLine());
  if (auto fused = dyn_cast<FusedLoc>(loc)) {
    for (Location part : fused.getLocations())
      if (std::string line = findLine(part); !line.empty())
        return line;
  }
  if (auto call = dyn_cast<CallSiteLoc>(loc))
    return findLine(call.getCallee());
  return {};
}

std::string pplan::getLayerName(Location loc, StringRef fallback) {
  std::string name = findName(loc);
  if (name.empty())
    name = findLine(loc);
  return name.empty() ? fallback.str() : name;
}
