//===- DeviceTest.cpp - Device programs on several ranks ------------------===//
#include "Program.h"
#include <gtest/gtest.h>

using namespace pplan::test;

/// A program on a 2 x 2 mesh with one input and one result.
static std::string onMesh(const std::string &input, const std::string &body,
                          const std::string &result) {
  return "pplan.mesh @m = <[\"x\"=2, \"y\"=2]>\n"
         "func.func @forward(%a: " + input + " {pplan.input = \"a\"}) -> (" +
         result + " {pplan.output = \"y\"}) {\n  " + body + "\n  return %y : " +
         result + "\n}\n";
}

static std::vector<Tensor> runEach(const std::string &text,
                                   const std::vector<Tensor> &inputs) {
  Program program(text);
  std::vector<std::vector<Tensor>> perRank;
  for (const Tensor &input : inputs)
    perRank.push_back({input});
  std::vector<Tensor> first;
  for (auto &outputs : program.runRanks(perRank))
    first.push_back(outputs.at(0));
  return first;
}

static std::vector<Tensor> numbered(std::vector<int64_t> shape) {
  std::vector<Tensor> inputs;
  for (int rank = 0; rank < 4; ++rank) {
    Tensor x{shape, PPLAN_F32, {}};
    for (int64_t i = 0; i < x.size(); ++i)
      x.values.push_back(100 * rank + i);
    inputs.push_back(x);
  }
  return inputs;
}

TEST(Device, AllReduceLeavesItsOperandAlone) {
  auto out = runEach(
      onMesh("tensor<2xf32>",
             "%d = pplan.add %a, %a : tensor<2xf32>\n"
             "  %r = spmd.all_reduce sum %d on @m [\"y\"] : tensor<2xf32>\n"
             "  %y = pplan.sub %r, %d : tensor<2xf32>",
             "tensor<2xf32>"),
      numbered({2}));
  // r - d is twice what the partner on "y" has.
  ASSERT_EQ(out.size(), 4u);
  expectNear(out[0], tensor({2}, {200, 202}));
  expectNear(out[1], tensor({2}, {0, 2}));
  expectNear(out[2], tensor({2}, {600, 602}));
  expectNear(out[3], tensor({2}, {400, 402}));
}

TEST(Device, AllGatherCutsPadding) {
  auto out = runEach(onMesh("tensor<1x2xf32>",
                            "%y = spmd.all_gather %a dim 1 on @m [\"x\"] : "
                            "tensor<1x2xf32> to tensor<1x3xf32>",
                            "tensor<1x3xf32>"),
                     numbered({1, 2}));
  ASSERT_EQ(out.size(), 4u);
  expectNear(out[0], tensor({1, 3}, {0, 1, 200}));
  expectNear(out[3], tensor({1, 3}, {100, 101, 300}));
}

TEST(Device, ReduceScatterAndAllToAll) {
  auto scatter = runEach(onMesh("tensor<3xf32>",
                                "%y = spmd.reduce_scatter sum %a dim 0 on @m "
                                "[\"y\"] : tensor<3xf32> to tensor<2xf32>",
                                "tensor<2xf32>"),
                         numbered({3}));
  ASSERT_EQ(scatter.size(), 4u);
  expectNear(scatter[0], tensor({2}, {100, 102}));
  expectNear(scatter[1], tensor({2}, {104, 0}));
  auto exchange = runEach(
      onMesh("tensor<2x2xf32>",
             "%y = spmd.all_to_all %a split_dim 0 concat_dim 1 on @m [\"y\"] : "
             "tensor<2x2xf32> to tensor<1x4xf32>",
             "tensor<1x4xf32>"),
      numbered({2, 2}));
  ASSERT_EQ(exchange.size(), 4u);
  expectNear(exchange[0], tensor({1, 4}, {0, 1, 100, 101}));
  expectNear(exchange[1], tensor({1, 4}, {2, 3, 102, 103}));
}

TEST(Device, Permute) {
  auto out = runEach(onMesh("tensor<1xf32>",
                            "%y = spmd.permute %a targets [1, 0] on @m [\"x\"] "
                            ": tensor<1xf32>",
                            "tensor<1xf32>"),
                     numbered({1}));
  ASSERT_EQ(out.size(), 4u);
  expectNear(out[0], tensor({1}, {200}));
  expectNear(out[3], tensor({1}, {100}));
}

TEST(Device, ShardSlicePadsWithZero) {
  auto out = runEach(onMesh("tensor<5xf32>",
                            "%y = spmd.shard_slice %a dim 0 on @m [\"x\", "
                            "\"y\"] : tensor<5xf32> to tensor<2xf32>",
                            "tensor<2xf32>"),
                     numbered({5}));
  // ceil(5 / 2) = 3, ceil(3 / 2) = 2: parts 0-1, 2, 3-4, nothing.
  ASSERT_EQ(out.size(), 4u);
  expectNear(out[0], tensor({2}, {0, 1}));
  expectNear(out[1], tensor({2}, {102, 0}));
  expectNear(out[2], tensor({2}, {203, 204}));
  expectNear(out[3], tensor({2}, {0, 0}));
}

TEST(Device, ShardOffsetIsNested) {
  auto out = runEach(onMesh("tensor<1xi64>",
                            "%y = spmd.shard_offset size 5 on @m [\"x\", "
                            "\"y\"] : tensor<i64>",
                            "tensor<i64>"),
                     std::vector<Tensor>(4, tensor({1}, {0}, PPLAN_I64)));
  ASSERT_EQ(out.size(), 4u);
  for (auto [rank, offset] : {std::pair{0, 0}, {1, 2}, {2, 3}, {3, 5}})
    expectNear(out[rank], tensor({}, {double(offset)}, PPLAN_I64));
}

TEST(Device, MaskPadding) {
  auto out = runEach(onMesh("tensor<1x2xf32>",
                            "%y = spmd.mask_padding %a dim 1 size 3 fill -1.0 "
                            ": f32 on @m [\"y\"] : tensor<1x2xf32>",
                            "tensor<1x2xf32>"),
                     numbered({1, 2}));
  ASSERT_EQ(out.size(), 4u);
  expectNear(out[0], tensor({1, 2}, {0, 1}));
  expectNear(out[1], tensor({1, 2}, {100, -1}));
}

TEST(Device, LayoutsReachTheDescriptor) {
  Program program(R"(
pplan.mesh @m = <["x"=2, "y"=2]>
func.func @forward(%a: tensor<2x3xf32> {pplan.input = "a", spmd.layout = [#pplan.sharding<@m, [{"y"}, {}]>, tensor<3x3xf32>]})
    -> (tensor<2x3xf32> {pplan.output = "y", spmd.layout = [#pplan.sharding<@m, [{"y"}, {}]>, tensor<3x3xf32>]}) {
  return %a : tensor<2x3xf32>
})");
  ASSERT_TRUE(program.isValid());
  const pplan_program *p = program.get();
  ASSERT_EQ(p->num_axes, 2);
  EXPECT_STREQ(p->axes[1].name, "y");
  EXPECT_EQ(p->num_ranks, 4);
  ASSERT_EQ(p->inputs[0].rank, 2);
  EXPECT_EQ(p->inputs[0].dims[0].global_size, 3);
  EXPECT_EQ(p->inputs[0].dims[0].local_size, 2);
  ASSERT_EQ(p->inputs[0].dims[0].num_axes, 1);
  EXPECT_EQ(p->inputs[0].dims[0].axes[0], 1);
  EXPECT_EQ(p->inputs[0].dims[1].num_axes, 0);
}
