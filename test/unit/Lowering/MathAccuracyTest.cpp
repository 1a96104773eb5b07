//===- MathAccuracyTest.cpp - Errors of approximated functions ------------===//
//
// Compares the f32 functions that compiled programs compute by polynomials with
// the C library's in double precision, over a grid of all bit patterns.
//
//===----------------------------------------------------------------------===//
#include "Program.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

using namespace pplan::test;

namespace {
struct Function {
  const char *op;
  double (*reference)(double);
  /// Largest allowed error: in units of the last place of the result, where
  /// that is normal, and absolute.
  double maxUlps;
  double maxAbsolute;
};

/// Distance from `x` to the next float.
double getUlp(double x) {
  float f = std::abs(static_cast<float>(x));
  return std::nextafter(f, INFINITY) - static_cast<double>(f);
}
} // namespace

TEST(MathAccuracy, DISABLED_OverAllMagnitudes) {
  // Every 4093rd bit pattern: about a million values of each sign and size.
  constexpr int64_t kStep = 4093;
  constexpr int64_t kCount = (int64_t{1} << 32) / kStep;
  Tensor x{{kCount}, PPLAN_F32, std::vector<double>(kCount)};
  for (int64_t i = 0; i < kCount; ++i) {
    uint32_t bits = static_cast<uint32_t>(i * kStep);
    float value;
    std::memcpy(&value, &bits, 4);
    x.values[i] = value;
  }
  const Function functions[] = {
      {"exp", [](double v) { return std::exp(v); }, 4, 0},
      {"log", [](double v) { return std::log(v); }, 4, 0},
      {"tanh", [](double v) { return std::tanh(v); }, 8, 0},
      {"erf", [](double v) { return std::erf(v); }, 8, 0},
  };
  std::string type = typeText(x.shape, PPLAN_F32);
  for (const Function &f : functions) {
    Program program(
        forward({x}, "%y = pplan." + std::string(f.op) + " %a0 : " + type, type));
    ASSERT_TRUE(program.isValid());
    Tensor y = program.run({x})[0];
    double worstUlps = 0, worstAt = 0;
    for (int64_t i = 0; i < kCount; ++i) {
      double exact = f.reference(x.values[i]);
      float rounded = static_cast<float>(exact);
      double actual = y.values[i];
      if (!std::isfinite(rounded)) {
        ASSERT_TRUE(std::isnan(rounded) ? std::isnan(actual) : actual == rounded)
            << f.op << "(" << x.values[i] << ") is " << actual;
        continue;
      }
      // Results below the normal range may be flushed to zero.
      double ulps = std::abs(actual - exact) /
                    std::max(getUlp(exact), 1.1754943508222875e-38);
      if (!(ulps <= worstUlps)) {
        worstUlps = ulps;
        worstAt = x.values[i];
      }
    }
    RecordProperty(std::string(f.op) + "_max_ulps", std::to_string(worstUlps));
    EXPECT_LE(worstUlps, f.maxUlps) << f.op << " is worst at " << worstAt;
  }
}
