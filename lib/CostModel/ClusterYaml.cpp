//===- ClusterYaml.cpp - Reads a cluster description ----------------------===//
//
// Decides which keys a cluster file has, their ranges, and what must hold
// between them. How errors read is decided by StrictYaml.cpp, units by
// Quantity.cpp. The format is documented in docs/CostModel/cluster.md.
//
//===----------------------------------------------------------------------===//
#include "StrictYaml.h"
#include "pplan/CostModel/ClusterDescription.h"
#include "llvm/ADT/STLExtras.h"

using namespace pplan;
using llvm::StringRef;
using llvm::Twine;
using YamlNode = llvm::yaml::Node;

// Bounds that no machine passes, so that products stay finite.
static constexpr int64_t kMaxCount = 1 << 20;
static constexpr double kMaxRate = 1e20;
static constexpr double kMaxBytes = 1e18;
static constexpr double kMaxTime = 10;

namespace {
class ClusterReader {
public:
  ClusterReader(StringRef text, StringRef fileName) : yaml(text, fileName) {}

  llvm::Expected<ClusterDescription> read() {
    if (llvm::Error e = yaml.readDocument(
            [&](YamlNode &root) { return readCluster(root); }))
      return std::move(e);
    return std::move(cluster);
  }

private:
  bool readCluster(YamlNode &node);
  bool readDevice(YamlNode &node);
  bool readPeaks(YamlNode &node);
  bool readCurve(YamlNode &node, StringRef what, Dimension sizeDimension,
                 EfficiencyCurve &curve);
  bool readLevel(YamlNode &node);
  bool checkLevels(YamlNode &root);
  bool readEstimated(YamlNode &node);
  bool checkEstimated();

  StrictYaml yaml;
  ClusterDescription cluster;
  std::vector<llvm::SMRange> spanPlaces, estimatedPlaces;
};
} // namespace

bool ClusterReader::readPeaks(YamlNode &node) {
  llvm::SMRange place = yaml.getPlace(node);
  bool any = false;
  bool ok = yaml.readEntries(
      node, "peak_flops",
      [&](llvm::yaml::ScalarNode &key, StringRef name, YamlNode &value) {
        std::optional<DataType> type = parseDataType(name);
        if (!type) {
          llvm::SmallVector<StringRef> names;
          for (unsigned i = 0; i < kNumDataTypes; ++i)
            names.push_back(stringifyDataType(static_cast<DataType>(i)));
          return yaml.error(key, "unknown type '" + name + "' in 'peak_flops'" +
                                     suggestName(name, names));
        }
        any = true;
        return yaml.readQuantity(
            value, name, Dimension::Rate, 0, /*open=*/true, kMaxRate,
            cluster.device.peakFlops[static_cast<unsigned>(*type)]);
      });
  if (ok && !any)
    return yaml.error(place, "'peak_flops' has no type; give at least f32");
  return ok;
}

bool ClusterReader::readCurve(YamlNode &node, StringRef what,
                              Dimension sizeDimension, EfficiencyCurve &curve) {
  return yaml.readSequence(node, what, [&](YamlNode &point) {
    double values[2] = {0, 0};
    unsigned count = 0;
    llvm::SMRange place = yaml.getPlace(point);
    bool ok = yaml.readSequence(point, what, [&](YamlNode &value) {
      ++count;
      if (count == 1)
        return yaml.readQuantity(value, "size", sizeDimension, 0, true, 1e30,
                                 values[0]);
      if (count == 2)
        return yaml.readQuantity(value, "fraction", Dimension::Count, 0, true,
                                 1, values[1]);
      return yaml.error(value, "a point of '" + what +
                                   "' is [size, fraction], got a third value");
    });
    if (!ok)
      return false;
    if (count != 2)
      return yaml.error(place, "a point of '" + what +
                                   "' is [size, fraction], got " +
                                   Twine(count) + " values");
    if (!curve.points.empty()) {
      auto [size, fraction] = curve.points.back();
      if (values[0] <= size)
        return yaml.error(place, "sizes of '" + what + "' must increase, got " +
                                     formatNumber(values[0]) + " after " +
                                     formatNumber(size));
      if (values[1] / fraction > values[0] / size * (1 + 1e-9))
        return yaml.error(
            place, "'" + what + "' grows faster than the size between " +
                       formatNumber(size) + " and " + formatNumber(values[0]) +
                       ", so that more work would take less time");
    }
    curve.points.emplace_back(values[0], values[1]);
    return true;
  });
}

bool ClusterReader::readDevice(YamlNode &node) {
  DeviceDescription &device = cluster.device;
  auto quantity = [&](StringRef what, Dimension dimension, bool open,
                      double high, double &value) {
    return [&, what, dimension, open, high](YamlNode &n) {
      return yaml.readQuantity(n, what, dimension, 0, open, high, value);
    };
  };
  auto name = [&](YamlNode &n) {
    return yaml.readText(n, "name", device.name);
  };
  auto peaks = [&](YamlNode &n) { return readPeaks(n); };
  auto memory = [&](YamlNode &n) {
    double bytes = 0;
    if (!yaml.readQuantity(n, "memory", Dimension::Bytes, 0, true, kMaxBytes,
                           bytes))
      return false;
    device.memoryBytes = static_cast<int64_t>(bytes);
    return true;
  };
  auto bandwidth = quantity("memory_bandwidth", Dimension::Bandwidth, true,
                            kMaxRate, device.memoryBandwidth);
  auto gemm = [&](YamlNode &n) {
    return readCurve(n, "gemm_efficiency", Dimension::Flops,
                     device.gemmEfficiency);
  };
  auto stream = [&](YamlNode &n) {
    return readCurve(n, "bandwidth_efficiency", Dimension::Bytes,
                     device.bandwidthEfficiency);
  };
  auto launch = quantity("kernel_launch", Dimension::Time, false, kMaxTime,
                         device.kernelLaunch);
  auto power = quantity("power", Dimension::Power, false, 1e6, device.power);
  auto price = quantity("price_per_hour", Dimension::Price, false, 1e6,
                        device.pricePerHour);
  return yaml.readMapping(node, "device",
                          {{"name", true, name},
                           {"peak_flops", true, peaks},
                           {"memory", true, memory},
                           {"memory_bandwidth", true, bandwidth},
                           {"gemm_efficiency", false, gemm},
                           {"bandwidth_efficiency", false, stream},
                           {"kernel_launch", true, launch},
                           {"power", false, power},
                           {"price_per_hour", false, price}});
}

bool ClusterReader::readLevel(YamlNode &node) {
  InterconnectLevel level;
  auto name = [&](YamlNode &n) { return yaml.readText(n, "name", level.name); };
  auto span = [&](YamlNode &n) {
    spanPlaces.push_back(n.getSourceRange());
    return yaml.readInteger(n, "span", 1, kMaxCount, level.span);
  };
  auto bandwidth = [&](YamlNode &n) {
    return yaml.readQuantity(n, "bandwidth", Dimension::Bandwidth, 0, true,
                             kMaxRate, level.bandwidth);
  };
  auto latency = [&](YamlNode &n) {
    return yaml.readQuantity(n, "latency", Dimension::Time, 0, false, kMaxTime,
                             level.latency);
  };
  auto shared = [&](YamlNode &n) {
    return yaml.readBool(n, "shared", level.shared);
  };
  if (!yaml.readMapping(node, "level",
                        {{"name", true, name},
                         {"span", true, span},
                         {"bandwidth", true, bandwidth},
                         {"latency", true, latency},
                         {"shared", false, shared}}))
    return false;
  cluster.levels.push_back(level);
  return true;
}

bool ClusterReader::checkLevels(YamlNode &root) {
  if (cluster.levels.empty())
    return yaml.error(root, "'levels' is empty; give at least the level that "
                            "joins the devices of a node");
  int64_t inner = 1;
  for (auto [level, place] : llvm::zip(cluster.levels, spanPlaces)) {
    if (level.span < inner || level.span % inner)
      return yaml.error(place, "span " + Twine(level.span) + " of level '" +
                                   level.name +
                                   "' must be a multiple of the span " +
                                   Twine(inner) + " of the level inside it");
    inner = level.span;
  }
  if (inner != cluster.numDevices())
    return yaml.error(spanPlaces.back(),
                      "the last level spans " + Twine(inner) +
                          " devices, but " + Twine(cluster.numNodes) +
                          " nodes of " + Twine(cluster.devicesPerNode) +
                          " have " + Twine(cluster.numDevices()));
  return true;
}

bool ClusterReader::readEstimated(YamlNode &node) {
  return yaml.readSequence(node, "estimated", [&](YamlNode &field) {
    estimatedPlaces.push_back(field.getSourceRange());
    return yaml.readText(field, "estimated", cluster.estimated.emplace_back());
  });
}

bool ClusterReader::checkEstimated() {
  std::vector<std::string> fields = {
      "peak_flops",    "memory", "memory_bandwidth",     "gemm_efficiency",
      "kernel_launch", "power",  "bandwidth_efficiency", "price_per_hour"};
  for (const InterconnectLevel &level : cluster.levels)
    for (StringRef field : {".bandwidth", ".latency"})
      fields.push_back(level.name + field.str());
  llvm::SmallVector<StringRef> names(fields.begin(), fields.end());
  for (auto [field, place] : llvm::zip(cluster.estimated, estimatedPlaces))
    if (!llvm::is_contained(fields, field))
      return yaml.error(place, "'estimated' names an unknown field '" + field +
                                   "'" + suggestName(field, names));
  return true;
}

bool ClusterReader::readCluster(YamlNode &node) {
  auto name = [&](YamlNode &n) {
    return yaml.readText(n, "name", cluster.name);
  };
  auto source = [&](YamlNode &n) {
    return yaml.readText(n, "source", cluster.source);
  };
  auto estimated = [&](YamlNode &n) { return readEstimated(n); };
  auto device = [&](YamlNode &n) { return readDevice(n); };
  auto perNode = [&](YamlNode &n) {
    return yaml.readInteger(n, "devices_per_node", 1, kMaxCount,
                            cluster.devicesPerNode);
  };
  auto nodes = [&](YamlNode &n) {
    return yaml.readInteger(n, "nodes", 1, kMaxCount, cluster.numNodes);
  };
  auto levels = [&](YamlNode &n) {
    return yaml.readSequence(n, "levels",
                             [&](YamlNode &level) { return readLevel(level); });
  };
  return yaml.readMapping(node, "cluster",
                          {{"name", true, name},
                           {"source", false, source},
                           {"estimated", false, estimated},
                           {"device", true, device},
                           {"devices_per_node", true, perNode},
                           {"nodes", true, nodes},
                           {"levels", true, levels}}) &&
         checkLevels(node) && checkEstimated();
}

llvm::Expected<ClusterDescription> pplan::parseCluster(StringRef text,
                                                       StringRef fileName) {
  return ClusterReader(text, fileName).read();
}
