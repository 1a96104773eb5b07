//===- NormalizationTest.cpp - softmax, layer_norm, rms_norm, run ---------===//
#include "Program.h"
#include <cmath>
#include <gtest/gtest.h>

using namespace pplan::test;
using Index = std::vector<int64_t>;

static Tensor softmax(const Tensor &x, int64_t dim, bool isLog) {
  Tensor y = x;
  forEachIndex(x.shape, [&](const Index &i) {
    double max = -INFINITY, sum = 0;
    Index at = i;
    for (at[dim] = 0; at[dim] < x.shape[dim]; ++at[dim])
      max = std::max(max, x.at(at));
    for (at[dim] = 0; at[dim] < x.shape[dim]; ++at[dim])
      sum += std::exp(x.at(at) - max);
    double shifted = x.at(i) - max;
    y.at(i) = isLog ? shifted - std::log(sum) : std::exp(shifted) / sum;
  });
  return tensor(y.shape, y.values, y.dtype);
}

TEST(Normalization, SoftmaxAlongEveryDimension) {
  for (pplan_dtype dtype : {PPLAN_F32, PPLAN_F64, PPLAN_F16}) {
    double tolerance = dtype == PPLAN_F16 ? 2e-3 : 1e-6;
    Tensor x = random({3, 20, 5}, -8, 8, dtype);
    for (int64_t dim : {0, 1, 2})
      for (bool isLog : {false, true})
        check({x},
              "%y = pplan.softmax %a0 dim " + std::to_string(dim) +
                  (isLog ? " log" : "") + " : " + typeText(x.shape, dtype),
              softmax(x, dim, isLog), tolerance);
  }
}

TEST(Normalization, SoftmaxKeepsMaskedRowsFinite) {
  Tensor x = tensor({1, 3}, {-INFINITY, 0, 1});
  check({x}, "%y = pplan.softmax %a0 dim 1 : tensor<1x3xf32>",
        softmax(x, 1, false), 1e-6);
}

static Tensor norm(const Tensor &x, int64_t numDims, bool center, double epsilon,
                   const Tensor *scale, const Tensor *bias) {
  Tensor y = x;
  int64_t inner = 1;
  for (size_t d = x.shape.size() - numDims; d < x.shape.size(); ++d)
    inner *= x.shape[d];
  for (int64_t row = 0; row < x.size() / inner; ++row) {
    double mean = 0, square = 0;
    for (int64_t j = 0; j < inner; ++j)
      mean += center ? x.values[row * inner + j] / inner : 0;
    for (int64_t j = 0; j < inner; ++j)
      square += std::pow(x.values[row * inner + j] - mean, 2) / inner;
    for (int64_t j = 0; j < inner; ++j) {
      double v = (x.values[row * inner + j] - mean) / std::sqrt(square + epsilon);
      if (scale)
        v *= scale->values[j];
      if (bias)
        v += bias->values[j];
      y.values[row * inner + j] = v;
    }
  }
  return tensor(y.shape, y.values, y.dtype);
}

TEST(Normalization, LayerNorm) {
  for (pplan_dtype dtype : {PPLAN_F32, PPLAN_F64, PPLAN_BF16}) {
    double tolerance = dtype == PPLAN_BF16 ? 1e-2 : 2e-6;
    Tensor x = random({3, 4, 10}, 5, 9, dtype);
    Tensor g = random({10}, -2, 2, dtype, 2), b = random({10}, -2, 2, dtype, 3);
    std::string xt = typeText(x.shape, dtype), gt = typeText({10}, dtype);
    check({x, g, b},
          "%y = pplan.layer_norm %a0 scale %a1 bias %a2 num_dims 1 epsilon "
          "1.0e-5 : " + xt + ", " + gt + ", " + gt,
          norm(x, 1, true, 1e-5, &g, &b), tolerance);
    check({x}, "%y = pplan.layer_norm %a0 num_dims 2 epsilon 1.0e-5 : " + xt,
          norm(x, 2, true, 1e-5, nullptr, nullptr), tolerance);
    check({x}, "%y = pplan.layer_norm %a0 num_dims 3 epsilon 1.0e-5 : " + xt,
          norm(x, 3, true, 1e-5, nullptr, nullptr), tolerance);
    check({x, b},
          "%y = pplan.layer_norm %a0 bias %a1 num_dims 1 epsilon 1.0e-5 : " +
              xt + ", " + gt,
          norm(x, 1, true, 1e-5, nullptr, &b), tolerance);
  }
}

TEST(Normalization, RMSNorm) {
  Tensor x = random({6, 10}), g = random({10}, -2, 2, PPLAN_F32, 2);
  check({x, g},
        "%y = pplan.rms_norm %a0 scale %a1 num_dims 1 epsilon 1.0e-6 : "
        "tensor<6x10xf32>, tensor<10xf32>",
        norm(x, 1, false, 1e-6, &g, nullptr), 2e-6);
  check({x}, "%y = pplan.rms_norm %a0 num_dims 1 epsilon 1.0e-6 : tensor<6x10xf32>",
        norm(x, 1, false, 1e-6, nullptr, nullptr), 2e-6);
}
