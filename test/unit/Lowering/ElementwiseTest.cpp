//===- ElementwiseTest.cpp - Every elementwise operation, run -------------===//
#include "Program.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace pplan::test;

namespace {
using Unary = double (*)(double);
struct UnaryCase {
  const char *op;
  Unary reference;
  double low, high;
};
const double kInf = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
double relu(double x) { return std::isnan(x) ? x : std::max(x, 0.0); }

const UnaryCase kUnaryCases[] = {
    {"abs", [](double x) { return std::abs(x); }, -5, 5},
    {"sign", sign, -5, 5},
    {"neg", [](double x) { return -x; }, -5, 5},
    {"exp", [](double x) { return std::exp(x); }, -20, 5},
    {"log", [](double x) { return std::log(x); }, 1e-3, 50},
    {"sqrt", [](double x) { return std::sqrt(x); }, 0, 9},
    {"rsqrt", [](double x) { return 1 / std::sqrt(x); }, 0.1, 9},
    {"sin", [](double x) { return std::sin(x); }, -100, 100},
    {"cos", [](double x) { return std::cos(x); }, -100, 100},
    {"tanh", [](double x) { return std::tanh(x); }, -6, 6},
    {"erf", [](double x) { return std::erf(x); }, -4, 4},
    {"sigmoid", sigmoid, -30, 30},
    {"silu", [](double x) { return x * sigmoid(x); }, -10, 10},
    {"relu", relu, -3, 3},
    {"floor", [](double x) { return std::floor(x); }, -9, 9},
    {"ceil", [](double x) { return std::ceil(x); }, -9, 9},
    {"round", [](double x) { return std::nearbyint(x); }, -9, 9},
    {"gelu erf",
     [](double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2.0))); }, -5,
     5},
    {"gelu tanh",
     [](double x) {
       return x / 2 *
              (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
     },
     -5, 5},
};

Tensor apply(const Tensor &x, const std::function<double(double)> &f) {
  Tensor y = x;
  for (double &value : y.values)
    value = f(value);
  return tensor(y.shape, y.values, y.dtype);
}

void checkUnary(const UnaryCase &c, pplan_dtype dtype, double tolerance) {
  Tensor x = random({5, 7}, c.low, c.high, dtype);
  std::string type = typeText(x.shape, dtype);
  check({x}, "%y = pplan." + std::string(c.op) + " %a0 : " + type,
        apply(x, c.reference), tolerance);
}
} // namespace

TEST(Elementwise, UnaryF32) {
  for (const UnaryCase &c : kUnaryCases)
    checkUnary(c, PPLAN_F32, 1e-6);
}

TEST(Elementwise, UnaryF64) {
  for (const UnaryCase &c : kUnaryCases)
    checkUnary(c, PPLAN_F64, 1e-14);
}

TEST(Elementwise, UnaryF16) {
  for (const UnaryCase &c : kUnaryCases)
    checkUnary(c, PPLAN_F16, 1.1e-3);
}

TEST(Elementwise, UnaryBF16) {
  for (const UnaryCase &c : kUnaryCases)
    checkUnary(c, PPLAN_BF16, 8e-3);
}

TEST(Elementwise, SpecialValuesFollowTheLibrary) {
  Tensor x = tensor({7}, {0.0, -0.0, kInf, -kInf, kNaN, 100, -100});
  for (const UnaryCase &c : kUnaryCases)
    check({x}, "%y = pplan." + std::string(c.op) + " %a0 : tensor<7xf32>",
          apply(x, c.reference), 1e-6);
}

TEST(Elementwise, UnaryIntegers) {
  for (pplan_dtype dtype : {PPLAN_I32, PPLAN_I64, PPLAN_I8}) {
    Tensor x = tensor({6}, {-7, -1, 0, 1, 9, 100}, dtype);
    std::string type = typeText({6}, dtype);
    check({x}, "%y = pplan.abs %a0 : " + type,
          apply(x, [](double v) { return std::abs(v); }));
    check({x}, "%y = pplan.sign %a0 : " + type, apply(x, sign));
    check({x}, "%y = pplan.neg %a0 : " + type,
          apply(x, [](double v) { return -v; }));
    check({x}, "%y = pplan.relu %a0 : " + type, apply(x, relu));
    check({x}, "%y = pplan.not %a0 : " + type,
          apply(x, [](double v) { return -v - 1; }));
  }
  Tensor b = tensor({4}, {0, 1, 1, 0}, PPLAN_I1);
  check({b}, "%y = pplan.not %a0 : tensor<4xi1>",
        tensor({4}, {1, 0, 0, 1}, PPLAN_I1));
}

namespace {
using Binary = std::function<double(double, double)>;
Tensor zip(const Tensor &x, const Tensor &y, const Binary &f) {
  Tensor z = x;
  for (size_t i = 0; i < z.values.size(); ++i)
    z.values[i] = f(x.values[i], y.values[i]);
  return tensor(z.shape, z.values, z.dtype);
}
double pickMax(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? kNaN : std::max(x, y);
}
double pickMin(double x, double y) {
  return std::isnan(x) || std::isnan(y) ? kNaN : std::min(x, y);
}
} // namespace

TEST(Elementwise, BinaryFloats) {
  std::pair<const char *, Binary> cases[] = {
      {"add", std::plus<double>()},
      {"sub", std::minus<double>()},
      {"mul", std::multiplies<double>()},
      {"div", std::divides<double>()},
      {"rem", [](double x, double y) { return std::fmod(x, y); }},
      {"max", pickMax},
      {"min", pickMin},
  };
  for (pplan_dtype dtype : {PPLAN_F32, PPLAN_F64, PPLAN_F16, PPLAN_BF16}) {
    double tolerance = dtype == PPLAN_F64   ? 1e-14
                       : dtype == PPLAN_F32 ? 1e-6
                                            : 1e-2;
    Tensor x = random({3, 5}, -4, 4, dtype), y = random({3, 5}, 1, 3, dtype, 2);
    for (auto &[op, f] : cases)
      check({x, y},
            "%y = pplan." + std::string(op) + " %a0, %a1 : " +
                typeText(x.shape, dtype),
            zip(x, y, f), tolerance);
  }
  Tensor x = tensor({4}, {kNaN, 1, -kInf, 2}), y = tensor({4}, {1, kNaN, 3, 2});
  check({x, y}, "%y = pplan.max %a0, %a1 : tensor<4xf32>", zip(x, y, pickMax));
  check({x, y}, "%y = pplan.min %a0, %a1 : tensor<4xf32>", zip(x, y, pickMin));
}

TEST(Elementwise, Power) {
  Tensor x = random({9}, 0.1, 3), y = random({9}, -2, 2, PPLAN_F32, 2);
  Binary power = [](double a, double b) { return std::pow(a, b); };
  check({x, y}, "%y = pplan.pow %a0, %a1 : tensor<9xf32>", zip(x, y, power),
        1e-6);
  Tensor signedX = random({9}, -3, 3);
  for (double n : {-1.0, 1.0, 2.0, 3.0, 4.0, 0.5, 2.5}) {
    Tensor base = n == 0.5 || n == 2.5 ? x : signedX;
    check({base},
          "%c = pplan.constant dense<" + std::to_string(n) +
              "> : tensor<9xf32>\n  %y = pplan.pow %a0, %c : tensor<9xf32>",
          apply(base, [n](double v) { return std::pow(v, n); }), 1e-6);
  }
  Tensor i = tensor({6}, {2, -3, 1, -1, 0, 7}, PPLAN_I32);
  Tensor k = tensor({6}, {10, 3, -5, -3, 0, 2}, PPLAN_I32);
  check({i, k}, "%y = pplan.pow %a0, %a1 : tensor<6xi32>",
        tensor({6}, {1024, -27, 1, -1, 1, 49}, PPLAN_I32));
}

TEST(Elementwise, IntegerDivisionHasNoUndefinedCases) {
  double low = std::numeric_limits<int32_t>::min();
  Tensor x = tensor({6}, {7, -7, 7, 5, low, low}, PPLAN_I32);
  Tensor y = tensor({6}, {2, 2, -2, 0, -1, 0}, PPLAN_I32);
  check({x, y}, "%y = pplan.div %a0, %a1 : tensor<6xi32>",
        tensor({6}, {3, -3, -3, 0, low, 0}, PPLAN_I32));
  check({x, y}, "%y = pplan.rem %a0, %a1 : tensor<6xi32>",
        tensor({6}, {1, -1, 1, 0, 0, 0}, PPLAN_I32));
  Tensor u = tensor({3}, {200, 200, 9}, PPLAN_U8);
  Tensor v = tensor({3}, {7, 255, 0}, PPLAN_U8);
  check({u, v}, "%y = pplan.div %a0, %a1 : tensor<3xui8>",
        tensor({3}, {28, 0, 0}, PPLAN_U8));
  check({u, v}, "%y = pplan.max %a0, %a1 : tensor<3xui8>",
        tensor({3}, {200, 255, 9}, PPLAN_U8));
}

TEST(Elementwise, Logic) {
  Tensor x = tensor({4}, {0, 0, 1, 1}, PPLAN_I1);
  Tensor y = tensor({4}, {0, 1, 0, 1}, PPLAN_I1);
  check({x, y}, "%y = pplan.and %a0, %a1 : tensor<4xi1>",
        tensor({4}, {0, 0, 0, 1}, PPLAN_I1));
  check({x, y}, "%y = pplan.or %a0, %a1 : tensor<4xi1>",
        tensor({4}, {0, 1, 1, 1}, PPLAN_I1));
  check({x, y}, "%y = pplan.xor %a0, %a1 : tensor<4xi1>",
        tensor({4}, {0, 1, 1, 0}, PPLAN_I1));
  Tensor i = tensor({2}, {12, -1}, PPLAN_I64), j = tensor({2}, {10, 5}, PPLAN_I64);
  check({i, j}, "%y = pplan.and %a0, %a1 : tensor<2xi64>",
        tensor({2}, {8, 5}, PPLAN_I64));
}

TEST(Elementwise, CompareAndSelect) {
  Tensor x = tensor({4}, {1, 2, 3, kNaN}), y = tensor({4}, {2, 2, 2, 2});
  std::pair<const char *, std::vector<double>> cases[] = {
      {"eq", {0, 1, 0, 0}}, {"ne", {1, 0, 1, 1}}, {"lt", {1, 0, 0, 0}},
      {"le", {1, 1, 0, 0}}, {"gt", {0, 0, 1, 0}}, {"ge", {0, 1, 1, 0}}};
  for (auto &[predicate, expected] : cases)
    check({x, y},
          "%y = pplan.compare " + std::string(predicate) +
              " %a0, %a1 : tensor<4xf32>",
          tensor({4}, expected, PPLAN_I1));
  check({x, y},
        "%c = pplan.compare gt %a0, %a1 : tensor<4xf32>\n"
        "  %y = pplan.select %c, %a0, %a1 : tensor<4xf32>",
        tensor({4}, {2, 2, 3, 2}));
  Tensor u = tensor({2}, {200, 1}, PPLAN_U8), v = tensor({2}, {100, 1}, PPLAN_U8);
  check({u, v}, "%y = pplan.compare gt %a0, %a1 : tensor<2xui8>",
        tensor({2}, {1, 0}, PPLAN_I1));
}

TEST(Elementwise, ConvertSaturates) {
  Tensor x = tensor({7}, {1.9, -1.9, 3e9, -3e9, kNaN, kInf, -kInf});
  double high = std::numeric_limits<int32_t>::max();
  double low = std::numeric_limits<int32_t>::min();
  check({x}, "%y = pplan.convert %a0 : tensor<7xf32> to tensor<7xi32>",
        tensor({7}, {1, -1, high, low, 0, high, low}, PPLAN_I32));
  check({x}, "%y = pplan.convert %a0 : tensor<7xf32> to tensor<7xui8>",
        tensor({7}, {1, 0, 255, 0, 0, 255, 0}, PPLAN_U8));
  check({x}, "%y = pplan.convert %a0 : tensor<7xf32> to tensor<7xi1>",
        tensor({7}, {1, 1, 1, 1, 1, 1, 1}, PPLAN_I1));
}

TEST(Elementwise, ConvertBetweenAllTypes) {
  pplan_dtype all[] = {PPLAN_F32, PPLAN_F64, PPLAN_F16, PPLAN_BF16, PPLAN_I1,
                       PPLAN_I8,  PPLAN_U8,  PPLAN_I32, PPLAN_I64};
  for (pplan_dtype from : all)
    for (pplan_dtype to : all) {
      Tensor x = tensor({3}, {0, 1, from == PPLAN_I1 ? 1.0 : 5.0}, from);
      std::vector<double> expected = x.values;
      if (to == PPLAN_I1)
        expected = {0, 1, 1};
      check({x},
            "%y = pplan.convert %a0 : " + typeText({3}, from) + " to " +
                typeText({3}, to),
            tensor({3}, expected, to));
    }
}
