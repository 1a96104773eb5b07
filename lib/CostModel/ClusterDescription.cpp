//===- ClusterDescription.cpp - What a cluster is made of -----------------===//
//
// Decides how efficiency curves are interpolated, how a description shrinks
// and grows with the number of devices, and where a named one is looked for.
// Reading YAML is left to ClusterYaml.cpp.
//
//===----------------------------------------------------------------------===//
#include "pplan/CostModel/ClusterDescription.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <cmath>

using namespace pplan;
using llvm::StringRef;

static constexpr StringRef kDataTypeNames[kNumDataTypes] = {
    "f64", "f32", "tf32", "bf16", "f16", "fp8", "i8"};

StringRef pplan::stringifyDataType(DataType type) {
  return kDataTypeNames[static_cast<unsigned>(type)];
}

std::optional<DataType> pplan::parseDataType(StringRef name) {
  for (unsigned i = 0; i < kNumDataTypes; ++i)
    if (kDataTypeNames[i] == name)
      return static_cast<DataType>(i);
  return std::nullopt;
}

double EfficiencyCurve::at(double size) const {
  if (points.empty())
    return 1.0;
  if (!(size > points.front().first))
    return points.front().second;
  if (size >= points.back().first)
    return points.back().second;
  auto upper = llvm::upper_bound(
      points, size, [](double s, const auto &p) { return s < p.first; });
  const auto &[s2, f2] = *upper;
  const auto &[s1, f1] = *std::prev(upper);
  double t = std::log(size / s1) / std::log(s2 / s1);
  return f1 * std::pow(f2 / f1, t);
}

ClusterDescription ClusterDescription::withDevices(int64_t count) const {
  ClusterDescription result = *this;
  count = std::max<int64_t>(count, 1);
  if (count <= devicesPerNode) {
    result.devicesPerNode = count;
    result.numNodes = 1;
  } else {
    result.numNodes = (count + devicesPerNode - 1) / devicesPerNode;
  }
  int64_t total = result.numDevices();
  result.levels.clear();
  for (const InterconnectLevel &level : levels) {
    result.levels.push_back(level);
    if (level.span >= total)
      break;
  }
  if (!result.levels.empty())
    result.levels.back().span = total;
  return result;
}

std::vector<std::string>
pplan::listClusters(llvm::ArrayRef<std::string> searchDirs) {
  std::vector<std::string> names;
  for (const std::string &dir : searchDirs) {
    std::error_code ec;
    llvm::sys::fs::directory_iterator it(dir, ec), end;
    for (; !ec && it != end; it.increment(ec)) {
      StringRef path = it->path();
      if (llvm::sys::path::extension(path) == ".yaml")
        names.push_back(llvm::sys::path::stem(path).str());
    }
  }
  llvm::sort(names);
  names.erase(llvm::unique(names), names.end());
  return names;
}

static llvm::Expected<ClusterDescription> loadFile(StringRef path) {
  // A description is a page of text; a cap keeps a mistaken path from being
  // read whole.
  constexpr uint64_t maxBytes = 1 << 20;
  llvm::sys::fs::file_status status;
  if (std::error_code ec = llvm::sys::fs::status(path, status))
    return llvm::createStringError(ec, "cannot read cluster file '%s': %s",
                                   path.str().c_str(), ec.message().c_str());
  if (llvm::sys::fs::is_directory(status))
    return llvm::createStringError("cannot read cluster file '%s': it is a "
                                   "directory",
                                   path.str().c_str());
  if (status.getSize() > maxBytes)
    return llvm::createStringError(
        "cluster file '%s' has %llu bytes, a description has at most %llu",
        path.str().c_str(), (unsigned long long)status.getSize(),
        (unsigned long long)maxBytes);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer)
    return llvm::createStringError(
        buffer.getError(), "cannot read cluster file '%s': %s",
        path.str().c_str(), buffer.getError().message().c_str());
  return parseCluster((*buffer)->getBuffer(), path);
}

llvm::Expected<ClusterDescription>
pplan::loadCluster(StringRef nameOrPath,
                   llvm::ArrayRef<std::string> searchDirs) {
  if (nameOrPath.contains('/') || nameOrPath.ends_with(".yaml") ||
      nameOrPath.ends_with(".yml"))
    return loadFile(nameOrPath);
  for (const std::string &dir : searchDirs) {
    llvm::SmallString<128> path(dir);
    llvm::sys::path::append(path, nameOrPath + ".yaml");
    if (!nameOrPath.empty() && llvm::sys::fs::exists(path))
      return loadFile(path);
  }
  std::vector<std::string> known = listClusters(searchDirs);
  std::string message =
      ("unknown cluster '" + nameOrPath + "'; known clusters: ").str();
  message += known.empty() ? "none" : llvm::join(known, ", ");
  message += "; or give the path of a .yaml file";
  return llvm::createStringError(message);
}
