//===- StructuralTest.cpp - Operations that move elements, run ------------===//
#include "Program.h"
#include <algorithm>
#include <gtest/gtest.h>

using namespace pplan::test;
using Index = std::vector<int64_t>;

/// A tensor whose elements are computed from their index.
static Tensor build(Index shape, pplan_dtype dtype,
                    const std::function<double(const Index &)> &f) {
  Tensor result{shape, dtype, {}};
  forEachIndex(shape, [&](const Index &i) { result.values.push_back(f(i)); });
  return result;
}

TEST(Structural, ConstantsOfEveryKind) {
  check({}, "%y = pplan.constant dense<[1.0, 2.5, -3.0]> : tensor<3xf32>",
        tensor({3}, {1, 2.5, -3}));
  check({}, "%y = pplan.constant dense<2.5> : tensor<2x2xf64>",
        tensor({2, 2}, {2.5, 2.5, 2.5, 2.5}, PPLAN_F64));
  check({}, "%y = pplan.constant dense<[true, false, true]> : tensor<3xi1>",
        tensor({3}, {1, 0, 1}, PPLAN_I1));
  check({}, "%y = pplan.constant dense<true> : tensor<3xi1>",
        tensor({3}, {1, 1, 1}, PPLAN_I1));
  check({}, "%y = pplan.constant dense<[200, 7]> : tensor<2xui8>",
        tensor({2}, {200, 7}, PPLAN_U8));
  check({}, "%y = pplan.constant dense<7> : tensor<i64>",
        tensor({}, {7}, PPLAN_I64));
}

TEST(Structural, Iota) {
  auto column = [](const Index &i) { return double(i[1]); };
  check({}, "%y = pplan.iota dim 1 : tensor<2x3xi64>",
        build({2, 3}, PPLAN_I64, column));
  check({}, "%y = pplan.iota dim 1 : tensor<2x3xf32>",
        build({2, 3}, PPLAN_F32, column));
}

TEST(Structural, Broadcast) {
  Tensor x = random({3});
  check({x},
        "%y = pplan.broadcast %a0 dims [1] : tensor<3xf32> to tensor<2x3x4xf32>",
        build({2, 3, 4}, PPLAN_F32, [&](const Index &i) { return x.at({i[1]}); }));
  Tensor w = random({2, 1});
  check({w},
        "%y = pplan.broadcast %a0 dims [0, 2] : tensor<2x1xf32> to "
        "tensor<2x3x4xf32>",
        build({2, 3, 4}, PPLAN_F32, [&](const Index &i) { return w.at({i[0], 0}); }));
  Tensor s = random({});
  check({s}, "%y = pplan.broadcast %a0 dims [] : tensor<f32> to tensor<2x2xf32>",
        build({2, 2}, PPLAN_F32, [&](const Index &) { return s.values[0]; }));
}

TEST(Structural, Reshape) {
  const std::pair<Index, Index> cases[] = {
      {{4, 6}, {24}},      {{24}, {2, 3, 4}},   {{4, 6}, {6, 4}},
      {{2, 3, 4}, {6, 4}}, {{1, 1}, {}},        {{}, {1, 1, 1}},
      {{3, 1}, {1, 3, 1}}, {{2, 6, 5}, {4, 3, 5}}, {{0, 3}, {3, 0, 7}},
      {{2, 3, 1}, {2, 3}}};
  for (auto &[from, to] : cases) {
    Tensor x = random(from);
    check({x},
          "%y = pplan.reshape %a0 : " + typeText(from, PPLAN_F32) + " to " +
              typeText(to, PPLAN_F32),
          Tensor{to, PPLAN_F32, x.values});
  }
}

TEST(Structural, Transpose) {
  Tensor x = random({2, 3, 5});
  Index order{0, 1, 2};
  do {
    Index shape{x.shape[order[0]], x.shape[order[1]], x.shape[order[2]]};
    Tensor y = build(shape, PPLAN_F32, [&](const Index &i) {
      Index from(3);
      for (int d = 0; d < 3; ++d)
        from[order[d]] = i[d];
      return x.at(from);
    });
    std::string list;
    for (int64_t d : order)
      list += (list.empty() ? "" : ", ") + std::to_string(d);
    check({x}, "%y = pplan.transpose %a0 [" + list + "] : tensor<2x3x5xf32>", y);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Structural, Slice) {
  Tensor x = random({6, 8});
  check({x},
        "%y = pplan.slice %a0 offsets [1, 2] strides [1, 3] : tensor<6x8xf32> "
        "to tensor<4x2xf32>",
        build({4, 2}, PPLAN_F32,
              [&](const Index &i) { return x.at({1 + i[0], 2 + 3 * i[1]}); }));
  check({x},
        "%y = pplan.slice %a0 offsets [5, 0] strides [-1, 1] : "
        "tensor<6x8xf32> to tensor<6x8xf32>",
        build({6, 8}, PPLAN_F32,
              [&](const Index &i) { return x.at({5 - i[0], i[1]}); }));
}

TEST(Structural, Concat) {
  Tensor x = random({2, 3}), y = random({2, 4}, -2, 2, PPLAN_F32, 2);
  Tensor z = build({2, 10}, PPLAN_F32, [&](const Index &i) {
    return i[1] < 3 ? x.at(i) : i[1] < 7 ? y.at({i[0], i[1] - 3})
                                         : x.at({i[0], i[1] - 7});
  });
  check({x, y},
        "%y = pplan.concat %a0, %a1, %a0 dim 1 : tensor<2x3xf32>, "
        "tensor<2x4xf32>, tensor<2x3xf32> to tensor<2x10xf32>",
        z);
  Tensor e = random({2, 0});
  check({e, x},
        "%y = pplan.concat %a0, %a1 dim 1 : tensor<2x0xf32>, tensor<2x3xf32> "
        "to tensor<2x3xf32>",
        x);
}

TEST(Structural, Pad) {
  Tensor x = random({2, 3});
  check({x},
        "%y = pplan.pad %a0 low [1, 0] high [0, 2] value 9.0 : f32 : tensor<2x3xf32> to "
        "tensor<3x5xf32>",
        build({3, 5}, PPLAN_F32, [&](const Index &i) {
          return i[0] >= 1 && i[1] < 3 ? x.at({i[0] - 1, i[1]}) : 9.0;
        }));
}

TEST(Structural, GatherClampsIndices) {
  Tensor table = random({5, 3});
  Tensor ids = tensor({2, 2}, {4, 0, -3, 99}, PPLAN_I64);
  check({table, ids},
        "%y = pplan.gather %a0, %a1 dim 0 : tensor<5x3xf32>, tensor<2x2xi64> "
        "to tensor<2x2x3xf32>",
        build({2, 2, 3}, PPLAN_F32, [&](const Index &i) {
          int64_t id = std::clamp<int64_t>(ids.at({i[0], i[1]}), 0, 4);
          return table.at({id, i[2]});
        }));
  Tensor columns = tensor({2}, {2, 1}, PPLAN_I32);
  check({table, columns},
        "%y = pplan.gather %a0, %a1 dim 1 : tensor<5x3xf32>, tensor<2xi32> to "
        "tensor<5x2xf32>",
        build({5, 2}, PPLAN_F32, [&](const Index &i) {
          return table.at({i[0], int64_t(columns.at({i[1]}))});
        }));
}

TEST(Structural, GatherElements) {
  Tensor x = random({3, 4});
  Tensor ids = tensor({3, 2}, {3, 0, 1, 1, -1, 8}, PPLAN_I64);
  check({x, ids},
        "%y = pplan.gather_elements %a0, %a1 dim 1 : tensor<3x4xf32>, "
        "tensor<3x2xi64> to tensor<3x2xf32>",
        build({3, 2}, PPLAN_F32, [&](const Index &i) {
          return x.at({i[0], std::clamp<int64_t>(ids.at(i), 0, 3)});
        }));
}
