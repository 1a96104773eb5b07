//===- GraphTest.cpp - Whole programs: boundaries, fusion, memory ---------===//
#include "Program.h"
#include "pplan/Memory/RT.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace pplan::test;

TEST(Graph, TwoLayerPerceptron) {
  Tensor x = random({4, 8}), w0 = random({8, 16}, -1, 1, PPLAN_F32, 2),
         b0 = random({16}, -1, 1, PPLAN_F32, 3),
         w1 = random({16, 5}, -1, 1, PPLAN_F32, 4);
  Tensor y{{4, 5}, PPLAN_F32, {}};
  for (int64_t i = 0; i < 4; ++i) {
    std::vector<double> z(5, 0);
    for (int64_t h = 0; h < 16; ++h) {
      double a = b0.values[h];
      for (int64_t k = 0; k < 8; ++k)
        a += x.at({i, k}) * w0.at({k, h});
      double g = a / 2 * (1 + std::erf(a / std::sqrt(2.0)));
      for (int64_t o = 0; o < 5; ++o)
        z[o] += g * w1.at({h, o});
    }
    double max = *std::max_element(z.begin(), z.end()), sum = 0;
    for (double &value : z)
      sum += value = std::exp(value - max);
    for (double value : z)
      y.values.push_back(value / sum);
  }
  check({x, w0, b0, w1}, R"(
    %h = pplan.contract "bk,kn->bn" %a0, %a1 : tensor<4x8xf32>, tensor<8x16xf32> to tensor<4x16xf32>
    %b = pplan.broadcast %a2 dims [1] : tensor<16xf32> to tensor<4x16xf32>
    %s = pplan.add %h, %b : tensor<4x16xf32>
    %g = pplan.gelu erf %s : tensor<4x16xf32>
    %z = pplan.contract "bk,kn->bn" %g, %a3 : tensor<4x16xf32>, tensor<16x5xf32> to tensor<4x5xf32>
    %y = pplan.softmax %z dim 1 : tensor<4x5xf32>)",
        y, 1e-6);
}

TEST(Graph, BoundariesOfEveryKind) {
  Program program(R"(
func.func @forward(%x: tensor<3xf32> {pplan.input = "x"}, %unused: tensor<2xi64> {pplan.input = "u"}, %b: tensor<2xi1> {pplan.input = "b"})
    -> (tensor<3xf32> {pplan.output = "same"}, tensor<3xf32> {pplan.output = "twice"}, tensor<3xf32> {pplan.output = "again"},
        tensor<2xf32> {pplan.output = "constant"}, tensor<2xi1> {pplan.output = "bool"}, tensor<1x3xf32> {pplan.output = "view"},
        tensor<0x4xf32> {pplan.output = "empty"}) {
  %d = pplan.add %x, %x : tensor<3xf32>
  %c = pplan.constant dense<[4.0, 5.0]> : tensor<2xf32>
  %v = pplan.reshape %d : tensor<3xf32> to tensor<1x3xf32>
  %e = pplan.constant dense<0.0> : tensor<0x4xf32>
  return %x, %d, %d, %c, %b, %v, %e : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xi1>, tensor<1x3xf32>, tensor<0x4xf32>
})");
  ASSERT_TRUE(program.isValid());
  EXPECT_STREQ(program.get()->inputs[1].name, "u");
  EXPECT_EQ(program.get()->inputs[2].dtype, PPLAN_I1);
  Tensor x = tensor({3}, {1, 2, 3}), b = tensor({2}, {1, 0}, PPLAN_I1);
  auto results = program.run({x, tensor({2}, {7, 8}, PPLAN_I64), b});
  ASSERT_EQ(results.size(), 7u);
  expectNear(results[0], x);
  expectNear(results[1], tensor({3}, {2, 4, 6}));
  expectNear(results[2], tensor({3}, {2, 4, 6}));
  expectNear(results[3], tensor({2}, {4, 5}));
  expectNear(results[4], b);
  expectNear(results[5], tensor({1, 3}, {2, 4, 6}));
  expectNear(results[6], tensor({0, 4}, {}));
}

TEST(Graph, NoOperationsAndNoResults) {
  Program program("func.func @forward(%x: tensor<3xf32> {pplan.input = \"x\"}) "
                  "{ return }");
  ASSERT_TRUE(program.isValid());
  EXPECT_EQ(program.get()->num_outputs, 0);
  EXPECT_EQ(program.get()->arena_bytes, 0u);
  EXPECT_TRUE(program.run({random({3})}).empty());
}

TEST(Graph, ReusedValuesAreNotOverwritten) {
  // Each value has several readers, in an order that tempts to work in place.
  Tensor x = random({4, 8});
  Tensor y = x;
  for (double &v : y.values) {
    double a = v + v, b = std::exp(a), c = a * b, d = c - a;
    v = b + d + a;
  }
  check({x}, R"(
    %a = pplan.add %a0, %a0 : tensor<4x8xf32>
    %b = pplan.exp %a : tensor<4x8xf32>
    %c = pplan.mul %a, %b : tensor<4x8xf32>
    %d = pplan.sub %c, %a : tensor<4x8xf32>
    %e = pplan.add %b, %d : tensor<4x8xf32>
    %y = pplan.add %e, %a : tensor<4x8xf32>)",
        y, 1e-6);
}

TEST(Graph, TransposedOperandsAreNotOverwritten) {
  Tensor x = random({4, 4});
  Tensor y = x;
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 4; ++j)
      y.at({i, j}) = std::exp(x.at({i, j})) + std::exp(x.at({j, i}));
  check({x}, R"(
    %a = pplan.exp %a0 : tensor<4x4xf32>
    %t = pplan.transpose %a [1, 0] : tensor<4x4xf32>
    %y = pplan.add %a, %t : tensor<4x4xf32>)",
        y, 1e-6);
}

TEST(Graph, SlicesOfAProductFeedAttentionLikeUses) {
  Tensor x = random({2, 12});
  Tensor y{{2, 4}, PPLAN_F32, {}};
  forEachIndex({2, 4}, [&](const std::vector<int64_t> &i) {
    double q = 2 * x.at({i[0], i[1]}), k = 2 * x.at({i[0], i[1] + 4}),
           v = 2 * x.at({i[0], i[1] + 8});
    y.values.push_back(q * k + v);
  });
  check({x}, R"(
    %d = pplan.add %a0, %a0 : tensor<2x12xf32>
    %q = pplan.slice %d offsets [0, 0] strides [1, 1] : tensor<2x12xf32> to tensor<2x4xf32>
    %k = pplan.slice %d offsets [0, 4] strides [1, 1] : tensor<2x12xf32> to tensor<2x4xf32>
    %v = pplan.slice %d offsets [0, 8] strides [1, 1] : tensor<2x12xf32> to tensor<2x4xf32>
    %p = pplan.mul %q, %k : tensor<2x4xf32>
    %y = pplan.add %p, %v : tensor<2x4xf32>)",
        y, 1e-6);
}

TEST(Graph, ArenaIsWhatTheModuleSays) {
  auto context = makeContext();
  auto module = lower(*context, forward({random({64, 64})}, R"(
    %h = pplan.contract "ab,bc->ac" %a0, %a0 : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32>
    %y = pplan.contract "ab,bc->ac" %h, %h : tensor<64x64xf32>, tensor<64x64xf32> to tensor<64x64xf32>)",
                                        "tensor<64x64xf32>"));
  ASSERT_TRUE(module);
  auto memory = module.get()->getAttrOfType<mlir::DictionaryAttr>(
      pplan::rt::kMemoryAttr);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory.getAs<mlir::IntegerAttr>("arena").getInt(), 64 * 64 * 4);
}
