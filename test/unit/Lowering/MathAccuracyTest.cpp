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
#include <limits>

using namespace pplan::test;

namespace {
struct Function {
  const char *op;
  double (*reference)(double);
  /// Largest allowed error in units of the last place of the result.
  double maxUlps;
};

/// Distance from `x` to the next float.
double getUlp(double x) {
  float f = std::abs(static_cast<float>(x));
  return std::nextafter(f, INFINITY) - static_cast<double>(f);
}
} // namespace

TEST(MathAccuracy, OverAllMagnitudes) {
  // Every 4093rd bit pattern: about a million values of each sign and size.
  constexpr int64_t kStep = 4093;
  std::vector<double> values;
  auto add = [&](uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    values.push_back(value);
  };
  for (int64_t i = 0; i < (int64_t{1} << 32) / kStep; ++i)
    add(static_cast<uint32_t>(i * kStep));
  // And the neighbours of places where something changes.
  for (float place : {0.0f, 1e-45f, 1.17549435e-38f, 0.70710678f, 1.0f,
                      1.41421356f, 88.722839f, 88.376f, 3.4028235e38f,
                      static_cast<float>(INFINITY), -87.336545f, -88.0f,
                      -103.97f, -1.0f}) {
    uint32_t bits;
    std::memcpy(&bits, &place, 4);
    for (int offset = -1000; offset <= 1000; ++offset)
      add(bits + offset);
  }
  int64_t count = values.size();
  Tensor x{{count}, PPLAN_F32, values};
  const Function functions[] = {
      {"exp", [](double v) { return std::exp(v); }, 1},
      {"log", [](double v) { return std::log(v); }, 1},
      {"tanh", [](double v) { return std::tanh(v); }, 5},
      {"erf", [](double v) { return std::erf(v); }, 5},
  };
  std::string type = typeText(x.shape, PPLAN_F32);
  for (const Function &f : functions) {
    Program program(
        forward({x}, "%y = pplan." + std::string(f.op) + " %a0 : " + type, type));
    ASSERT_TRUE(program.isValid());
    Tensor y = program.run({x})[0];
    double worstUlps = 0, worstAt = 0;
    for (int64_t i = 0; i < count; ++i) {
      double exact = f.reference(x.values[i]);
      float rounded = static_cast<float>(exact);
      double actual = y.values[i];
      if (!std::isfinite(rounded)) {
        ASSERT_TRUE(std::isnan(rounded) ? std::isnan(actual) : actual == rounded)
            << f.op << "(" << x.values[i] << ") is " << actual;
        continue;
      }
      // Results below the normal range may be flushed to zero.
      constexpr double kSmallest = std::numeric_limits<float>::min();
      double unit = std::abs(exact) < kSmallest ? kSmallest : getUlp(exact);
      double ulps = std::abs(actual - exact) / unit;
      if (!(ulps <= worstUlps)) {
        worstUlps = ulps;
        worstAt = x.values[i];
      }
    }
    RecordProperty(std::string(f.op) + "_max_ulps", std::to_string(worstUlps));
    EXPECT_LE(worstUlps, f.maxUlps) << f.op << " is worst at " << worstAt;
  }
}
