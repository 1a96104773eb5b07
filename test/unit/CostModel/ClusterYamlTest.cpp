//===- ClusterYamlTest.cpp - Cluster descriptions -------------------------===//
//
// Decides whether every shipped description loads and every kind of mistake
// in one is reported with its place and a remedy.
//
//===----------------------------------------------------------------------===//
#include "pplan/CostModel/ClusterDescription.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace pplan;

static const char *const kGood = R"(name: box
source: a test
device:
  name: chip
  peak_flops:
    f32: 10 TFLOP/s
    bf16: 100 TFLOP/s
  memory: 16 GiB
  memory_bandwidth: 1 TB/s
  gemm_efficiency: [[1 MFLOP, 0.1], [1 GFLOP, 0.8]]
  kernel_launch: 2 us
  power: 300 W
  price_per_hour: 1.5
devices_per_node: 4
nodes: 2
levels:
  - name: bus
    span: 4
    bandwidth: 100 GB/s
    latency: 1 us
  - name: net
    span: 8
    bandwidth: 100 Gbit/s
    latency: 10 us
    shared: true
)";

static std::string errorOf(llvm::StringRef text) {
  auto cluster = parseCluster(text, "c.yaml");
  return cluster ? "" : llvm::toString(cluster.takeError());
}

TEST(ClusterYaml, ReadsEveryKey) {
  auto cluster = parseCluster(kGood, "c.yaml");
  ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
  EXPECT_EQ(cluster->name, "box");
  EXPECT_EQ(cluster->source, "a test");
  const DeviceDescription &device = cluster->device;
  EXPECT_EQ(device.name, "chip");
  EXPECT_EQ(device.peakFlops[unsigned(DataType::BF16)], 100e12);
  EXPECT_EQ(device.peakFlops[unsigned(DataType::FP8)], 0);
  EXPECT_EQ(device.memoryBytes, int64_t(16) << 30);
  EXPECT_EQ(device.memoryBandwidth, 1e12);
  EXPECT_EQ(device.gemmEfficiency.points.size(), 2u);
  EXPECT_EQ(device.power, 300);
  EXPECT_EQ(device.pricePerHour, 1.5);
  EXPECT_EQ(cluster->numDevices(), 8);
  EXPECT_FALSE(cluster->levels[0].shared);
  EXPECT_TRUE(cluster->levels[1].shared);
  EXPECT_EQ(cluster->levels[1].bandwidth, 12.5e9);
}

TEST(ClusterYaml, ReportsEveryMistakeAtItsPlace) {
  struct Case {
    const char *from, *to, *message;
  };
  const Case cases[] = {
      {"memory_bandwidth", "memory_bandwith",
       "c.yaml:9:3: error: unknown key 'memory_bandwith' in 'device'; did you "
       "mean 'memory_bandwidth'?\n"
       "  memory_bandwith: 1 TB/s\n"
       "  ^"},
      {"nodes: 2", "nodes: 2\ncolour: red",
       "c.yaml:16:1: error: unknown key 'colour' in 'cluster'; known: name, "
       "source, estimated, device, devices_per_node, nodes, levels\n"
       "colour: red\n"
       "^"},
      {"    bf16:", "    bf17:",
       "c.yaml:7:5: error: unknown type 'bf17' in 'peak_flops'; did you mean "
       "'bf16'?\n"
       "    bf17: 100 TFLOP/s\n"
       "    ^"},
      {"nodes: 2", "nodes: 2\nestimated: [kernel_launsh]",
       "c.yaml:16:13: error: 'estimated' names an unknown field "
       "'kernel_launsh'; did you mean 'kernel_launch'?\n"
       "estimated: [kernel_launsh]\n"
       "            ^"},
      {"nodes: 2", "nodes: two",
       "c.yaml:15:8: error: 'nodes' must be a whole number, got 'two'\n"
       "nodes: two\n"
       "       ^"},
      {"nodes: 2", "nodes: 0",
       "c.yaml:15:8: error: 'nodes' must be from 1 to 1048576, got 0\n"
       "nodes: 0\n"
       "       ^"},
      {"nodes: 2", "nodes: 3",
       "c.yaml:22:11: error: the last level spans 8 devices, but 3 nodes of 4 "
       "have 12\n"
       "    span: 8\n"
       "          ^"},
      {"span: 4", "span: 3",
       "c.yaml:22:11: error: span 8 of level 'net' must be a multiple of the "
       "span 3 of the level inside it\n"
       "    span: 8\n"
       "          ^"},
      {"memory: 16 GiB", "memory: -1 GiB",
       "c.yaml:8:11: error: 'memory' must be more than 0, got '-1 GiB'\n"
       "  memory: -1 GiB\n"
       "          ^"},
      {"memory: 16 GiB", "memory: 16 gib",
       "c.yaml:8:11: error: 'memory': unknown unit 'gib'; did you mean 'GiB'?\n"
       "  memory: 16 gib\n"
       "          ^"},
      {"memory: 16 GiB", "memory: [16]",
       "c.yaml:8:11: error: 'memory' must be a scalar, got a sequence\n"
       "  memory: [16]\n"
       "          ^"},
      {"kernel_launch: 2 us", "kernel_launch: 2000 s",
       "c.yaml:11:18: error: 'kernel_launch' must be at most 10, got '2000 "
       "s'\n"
       "  kernel_launch: 2000 s\n"
       "                 ^"},
      {"  kernel_launch: 2 us\n", "",
       "c.yaml:4:3: error: 'device' lacks the key 'kernel_launch'\n"
       "  name: chip\n"
       "  ^"},
      {"shared: true", "shared: yes",
       "c.yaml:25:13: error: 'shared' must be true or false, got 'yes'\n"
       "    shared: yes\n"
       "            ^"},
      {"source: a test", "name: again",
       "c.yaml:2:1: error: key 'name' is given twice in 'cluster'\n"
       "name: again\n"
       "^"},
      {"[1 GFLOP, 0.8]", "[1 GFLOP, 1.2]",
       "c.yaml:10:47: error: 'fraction' must be at most 1, got '1.2'\n"
       "  gemm_efficiency: [[1 MFLOP, 0.1], [1 GFLOP, 1.2]]\n"
       "                                              ^"},
      {"[1 GFLOP, 0.8]", "[1 MFLOP, 0.8]",
       "c.yaml:10:37: error: sizes of 'gemm_efficiency' must increase, got "
       "1e+06 after 1e+06\n"
       "  gemm_efficiency: [[1 MFLOP, 0.1], [1 MFLOP, 0.8]]\n"
       "                                    ^"},
      {"[1 GFLOP, 0.8]", "[2 MFLOP, 0.8]",
       "c.yaml:10:37: error: 'gemm_efficiency' grows faster than the size "
       "between 1e+06 and 2e+06, so that more work would take less time\n"
       "  gemm_efficiency: [[1 MFLOP, 0.1], [2 MFLOP, 0.8]]\n"
       "                                    ^"},
      {"[1 GFLOP, 0.8]", "[1 GFLOP]",
       "c.yaml:10:37: error: a point of 'gemm_efficiency' is [size, fraction], "
       "got 1 values\n"
       "  gemm_efficiency: [[1 MFLOP, 0.1], [1 GFLOP]]\n"
       "                                    ^"},
  };
  for (const Case &c : cases) {
    std::string text = kGood;
    size_t at = text.find(c.from);
    ASSERT_NE(at, std::string::npos) << c.from;
    text.replace(at, strlen(c.from), c.to);
    EXPECT_EQ(errorOf(text), c.message);
  }
}

TEST(ClusterYaml, TheDocumentedExampleIsRead) {
  auto page = llvm::MemoryBuffer::getFile(PPLAN_DOCS_DIR "/cluster.md");
  ASSERT_TRUE(bool(page));
  llvm::StringRef example =
      (*page)->getBuffer().split("```yaml\n").second.split("```").first;
  EXPECT_FALSE(example.empty());
  EXPECT_EQ(errorOf(example), "");
}

TEST(ClusterYaml, WhatIsNoDescriptionIsAnError) {
  for (const char *text :
       {"", "a", "- 1", "[", "name: *x", "name: &x y\n", "{{{{", "name: 'x",
        "--- !<", "\xff\xfe", "name: x\n---\nname: y", "? [a] : b",
        "device: {peak_flops: {}}", "levels: 3", "a: [b"})
    EXPECT_NE(errorOf(text), "") << text;
  EXPECT_NE(errorOf(std::string(200000, '[')), "");
  EXPECT_NE(errorOf("name: " + std::string(200000, '[')), "");
  EXPECT_NE(errorOf("name: x\n" + std::string(200000, '-')), "");
}

TEST(ClusterYaml, EveryPrefixIsReadOrRefused) {
  std::string text = kGood;
  // The last line can go: `shared` has a default.
  size_t complete = text.find("    shared");
  for (size_t length = 0; length + 10 < complete; ++length)
    EXPECT_NE(errorOf(text.substr(0, length)), "") << length;
}

TEST(Clusters, EveryShippedOneLoads) {
  std::vector<std::string> dirs = {PPLAN_CLUSTER_DIR};
  std::vector<std::string> names = listClusters(dirs);
  EXPECT_GE(names.size(), 6u);
  for (const std::string &name : names) {
    auto cluster = loadCluster(name, dirs);
    ASSERT_TRUE(bool(cluster)) << llvm::toString(cluster.takeError());
    EXPECT_EQ(cluster->name, name);
    EXPECT_NE(cluster->source, "");
    EXPECT_GT(cluster->device.peakFlops[unsigned(DataType::F32)], 0);
  }
}

TEST(Clusters, UnknownNameListsTheKnownOnes) {
  auto cluster = loadCluster("dgx-z9", {std::string(PPLAN_CLUSTER_DIR)});
  ASSERT_FALSE(bool(cluster));
  EXPECT_EQ(llvm::toString(cluster.takeError()),
            "unknown cluster 'dgx-z9'; known clusters: cpu-threads, dgx-a100, "
            "dgx-b200, dgx-h100, dgx-h200, gb200-nvl72; or give the path of a "
            ".yaml file");
  auto missing = loadCluster("./nowhere.yaml", {});
  ASSERT_FALSE(bool(missing));
  EXPECT_EQ(llvm::toString(missing.takeError()),
            "cannot read cluster file './nowhere.yaml': No such file or "
            "directory");
}

TEST(Clusters, ShrinkAndGrow) {
  auto cluster = parseCluster(kGood, "c.yaml");
  ASSERT_TRUE(bool(cluster));
  ClusterDescription one = cluster->withDevices(1);
  EXPECT_EQ(one.numDevices(), 1);
  EXPECT_EQ(one.levels.size(), 1u);
  ClusterDescription part = cluster->withDevices(3);
  EXPECT_EQ(part.numDevices(), 3);
  EXPECT_EQ(part.levels.back().span, 3);
  ClusterDescription grown = cluster->withDevices(30);
  EXPECT_EQ(grown.numNodes, 8);
  EXPECT_EQ(grown.levels.back().span, 32);
  EXPECT_EQ(grown.levels.size(), 2u);
}
