//===- ClusterDescription.h - What a cluster is made of ---------*- C++ -*-===//
//
// Decides what is known about a cluster and how it is read from YAML, strictly.
// What follows from it for times is left to CostModel.h. The format is
// documented in docs/CostModel/cluster.md.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_COSTMODEL_CLUSTERDESCRIPTION_H
#define PPLAN_COSTMODEL_CLUSTERDESCRIPTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pplan {

/// Element types as the arithmetic units know them.
enum class DataType { F64, F32, TF32, BF16, F16, FP8, I8 };
inline constexpr unsigned kNumDataTypes = 7;
/// "f64", "f32", "tf32", "bf16", "f16", "fp8", "i8".
llvm::StringRef stringifyDataType(DataType type);
/// The inverse; none for an unknown name.
std::optional<DataType> parseDataType(llvm::StringRef name);

/// A fraction of a peak rate as a function of problem size: between the given
/// points the logarithm of the fraction is linear in that of the size, outside
/// them the fraction is constant. Without points it is 1. A fraction never
/// grows faster than the size, so that more work never takes less time.
struct EfficiencyCurve {
  /// (size, fraction), sizes increasing, fractions in (0, 1].
  std::vector<std::pair<double, double>> points;
  double at(double size) const;
};

struct DeviceDescription {
  std::string name;
  /// Peak rate in FLOP/s for each DataType; 0: the type is not supported.
  std::array<double, kNumDataTypes> peakFlops{};
  int64_t memoryBytes = 0;
  /// Bytes/s between the memory and the arithmetic units.
  double memoryBandwidth = 0;
  /// Fraction of peakFlops that a matrix product reaches, by its FLOPs.
  EfficiencyCurve gemmEfficiency;
  /// Fraction of memoryBandwidth that a kernel reaches, by its bytes.
  EfficiencyCurve bandwidthEfficiency;
  /// Seconds from one kernel to the next when neither does anything.
  double kernelLaunch = 0;
  /// Watts at full load; 0: unknown.
  double power = 0;
  /// Money for one device and hour; 0: unknown.
  double pricePerHour = 0;
};

/// One level of the interconnect: it joins groups of `span` devices with
/// consecutive ids.
struct InterconnectLevel {
  std::string name;
  /// Devices in one group of this level; the next level's is a multiple.
  int64_t span = 1;
  /// Bytes/s in one direction. Of each device, or, when `shared`, of each
  /// group of the level below, whose devices share it.
  double bandwidth = 0;
  /// Seconds for the first byte between two devices of a group.
  double latency = 0;
  bool shared = false;
};

struct ClusterDescription {
  std::string name;
  /// Where the figures come from.
  std::string source;
  /// Fields whose values nobody measured: "bandwidth_efficiency",
  /// "nvlink.latency". Whoever shows a prediction shows them too.
  std::vector<std::string> estimated;
  DeviceDescription device;
  int64_t devicesPerNode = 1;
  int64_t numNodes = 1;
  /// Innermost first; the last one spans all devices.
  std::vector<InterconnectLevel> levels;

  int64_t numDevices() const { return devicesPerNode * numNodes; }
  /// The smallest machine of this kind with at least `count` devices: part of a
  /// node, or as many whole nodes as it takes (the outermost level grows or
  /// shrinks with them). `count` below 1 counts as 1.
  ClusterDescription withDevices(int64_t count) const;
};

/// Reads a description. Strict: an unknown, missing or repeated key, a wrong
/// type or unit, and a value out of range are errors that read
/// `FILE:LINE:COLUMN: error: MESSAGE`, the line, a caret, and a remedy.
llvm::Expected<ClusterDescription> parseCluster(llvm::StringRef text,
                                                llvm::StringRef fileName);

/// Loads `nameOrPath`: a path when it has a separator or ends in .yaml or .yml,
/// else NAME.yaml in the first of `searchDirs` that has it. The error for an
/// unknown name lists the known ones.
llvm::Expected<ClusterDescription>
loadCluster(llvm::StringRef nameOrPath, llvm::ArrayRef<std::string> searchDirs);

/// Names that loadCluster knows in `searchDirs`, sorted, without repetition.
std::vector<std::string> listClusters(llvm::ArrayRef<std::string> searchDirs);

} // namespace pplan

#endif // PPLAN_COSTMODEL_CLUSTERDESCRIPTION_H
