//===- ReductionTest.cpp - Reductions, run --------------------------------===//
#include "Program.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace pplan::test;
using Index = std::vector<int64_t>;

static Tensor reduce(const Tensor &x, const Index &dims, double init,
                     double (*combine)(double, double)) {
  Index shape;
  for (size_t d = 0; d < x.shape.size(); ++d)
    if (std::find(dims.begin(), dims.end(), int64_t(d)) == dims.end())
      shape.push_back(x.shape[d]);
  Tensor y{shape, x.dtype, std::vector<double>(Tensor::count(shape), init)};
  forEachIndex(x.shape, [&](const Index &i) {
    Index kept;
    for (size_t d = 0; d < i.size(); ++d)
      if (std::find(dims.begin(), dims.end(), int64_t(d)) == dims.end())
        kept.push_back(i[d]);
    y.at(kept) = combine(y.at(kept), x.at(i));
  });
  return tensor(y.shape, y.values, y.dtype);
}

static double add(double x, double y) { return x + y; }
static double mul(double x, double y) { return x * y; }
static double larger(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y);
}
static double smaller(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? NAN : std::min(x, y);
}

TEST(Reduction, EveryKindOverEveryDimension) {
  const double inf = std::numeric_limits<double>::infinity();
  struct {
    const char *name;
    double init;
    double (*f)(double, double);
  } kinds[] = {{"sum", 0, add}, {"prod", 1, mul}, {"max", -inf, larger},
               {"min", inf, smaller}};
  const std::pair<Index, const char *> dimLists[] = {
      {{0}, "[0]"}, {{1}, "[1]"}, {{2}, "[2]"}, {{0, 2}, "[0, 2]"},
      {{0, 1, 2}, "[0, 1, 2]"}};
  Tensor x = random({3, 4, 9});
  for (auto &kind : kinds)
    for (auto &[dims, text] : dimLists) {
      Tensor y = reduce(x, dims, kind.init, kind.f);
      check({x},
            "%y = pplan.reduce " + std::string(kind.name) + " %a0 dims " + text +
                " : tensor<3x4x9xf32> to " + typeText(y.shape, PPLAN_F32),
            y, 1e-6);
    }
}

TEST(Reduction, NaNWins) {
  Tensor x = tensor({2, 2}, {1, NAN, 3, 4});
  check({x}, "%y = pplan.reduce max %a0 dims [1] : tensor<2x2xf32> to tensor<2xf32>",
        tensor({2}, {NAN, 4}));
  check({x}, "%y = pplan.reduce min %a0 dims [1] : tensor<2x2xf32> to tensor<2xf32>",
        tensor({2}, {NAN, 3}));
}

TEST(Reduction, HalfIsSummedInSinglePrecision) {
  // 4096 ones: f16 would stop at 2048, bf16 at 256.
  for (pplan_dtype dtype : {PPLAN_F16, PPLAN_BF16}) {
    Tensor x = tensor({4096}, std::vector<double>(4096, 1.0), dtype);
    check({x},
          "%y = pplan.reduce sum %a0 dims [0] : " + typeText({4096}, dtype) +
              " to " + typeText({}, dtype),
          tensor({}, {4096}, dtype), 0);
  }
}

TEST(Reduction, Integers) {
  Tensor x = tensor({2, 3}, {1, -5, 3, 7, 2, 2}, PPLAN_I64);
  check({x}, "%y = pplan.reduce sum %a0 dims [1] : tensor<2x3xi64> to tensor<2xi64>",
        tensor({2}, {-1, 11}, PPLAN_I64));
  check({x}, "%y = pplan.reduce max %a0 dims [1] : tensor<2x3xi64> to tensor<2xi64>",
        tensor({2}, {3, 7}, PPLAN_I64));
  Tensor u = tensor({2}, {200, 3}, PPLAN_U8);
  check({u}, "%y = pplan.reduce max %a0 dims [0] : tensor<2xui8> to tensor<ui8>",
        tensor({}, {200}, PPLAN_U8));
}

TEST(Reduction, EmptyDimensionGivesTheNeutralElement) {
  Tensor x = random({2, 0});
  check({x}, "%y = pplan.reduce sum %a0 dims [1] : tensor<2x0xf32> to tensor<2xf32>",
        tensor({2}, {0, 0}));
  check({x}, "%y = pplan.reduce max %a0 dims [1] : tensor<2x0xf32> to tensor<2xf32>",
        tensor({2}, {-INFINITY, -INFINITY}));
}

TEST(Reduction, ArgReduceTakesTheFirst) {
  Tensor x = tensor({2, 4}, {1, 9, 9, 2, -INFINITY, -INFINITY, -INFINITY, -INFINITY});
  check({x}, "%y = pplan.arg_reduce max %a0 dim 1 : tensor<2x4xf32> to tensor<2xi64>",
        tensor({2}, {1, 0}, PPLAN_I64));
  Tensor i = tensor({2, 3}, {4, -2, 0, -2, -3, 5}, PPLAN_I32);
  check({i}, "%y = pplan.arg_reduce min %a0 dim 0 : tensor<2x3xi32> to tensor<3xi32>",
        tensor({3}, {1, 1, 0}, PPLAN_I32));
}

TEST(Reduction, CumSum) {
  Tensor x = random({2, 5, 3});
  for (int64_t dim : {0, 1, 2})
    for (bool exclusive : {false, true})
      for (bool reverse : {false, true}) {
        Tensor y = x;
        forEachIndex(x.shape, [&](const Index &i) {
          double sum = 0;
          for (int64_t j = 0; j < x.shape[dim]; ++j) {
            bool before = reverse ? j > i[dim] : j < i[dim];
            if (!before && !(j == i[dim] && !exclusive))
              continue;
            Index at = i;
            at[dim] = j;
            sum += x.at(at);
          }
          y.at(i) = sum;
        });
        check({x},
              "%y = pplan.cumsum %a0 dim " + std::to_string(dim) +
                  (exclusive ? " exclusive" : "") + (reverse ? " reverse" : "") +
                  " : tensor<2x5x3xf32>",
              y, 1e-6);
      }
}
