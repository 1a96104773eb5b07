//===- QuantityTest.cpp - Numbers with units ------------------------------===//
//
// Decides whether units are worth what they should be, and whether a wrong one
// is answered with the right ones.
//
//===----------------------------------------------------------------------===//
#include "Quantity.h"
#include <gtest/gtest.h>

using namespace pplan;

static double parse(llvm::StringRef text, Dimension dimension) {
  auto value = parseQuantity(text, dimension);
  if (value)
    return *value;
  ADD_FAILURE() << llvm::toString(value.takeError());
  return -1;
}

static std::string errorOf(llvm::StringRef text, Dimension dimension) {
  auto value = parseQuantity(text, dimension);
  return value ? "" : llvm::toString(value.takeError());
}

TEST(Quantity, Units) {
  EXPECT_EQ(parse("80 GiB", Dimension::Bytes), 85899345920.0);
  EXPECT_EQ(parse("80GB", Dimension::Bytes), 80e9);
  EXPECT_EQ(parse("4096", Dimension::Bytes), 4096);
  EXPECT_EQ(parse("900 GB/s", Dimension::Bandwidth), 900e9);
  EXPECT_EQ(parse("400 Gbit/s", Dimension::Bandwidth), 50e9);
  EXPECT_EQ(parse("312 TFLOP/s", Dimension::Rate), 312e12);
  EXPECT_EQ(parse("1.5e-6", Dimension::Time), 1.5e-6);
  EXPECT_DOUBLE_EQ(parse("5 us", Dimension::Time), 5e-6);
  EXPECT_EQ(parse("0.7 kW", Dimension::Power), 700);
  EXPECT_EQ(parse("10 GFLOP", Dimension::Flops), 1e10);
  EXPECT_EQ(parse("2.5", Dimension::Price), 2.5);
}

TEST(Quantity, WrongUnits) {
  EXPECT_EQ(errorOf("80 gib", Dimension::Bytes),
            "unknown unit 'gib'; did you mean 'GiB'?");
  EXPECT_EQ(errorOf("5 min", Dimension::Time),
            "unknown unit 'min' for a time; use one of s, ms, us, ns");
  EXPECT_EQ(errorOf("3 TB", Dimension::Bandwidth),
            "unknown unit 'TB' for a bandwidth; use one of B/s, MB/s, GB/s, "
            "TB/s, MiB/s, GiB/s, Mbit/s, Gbit/s, Tbit/s");
  EXPECT_EQ(errorOf("many", Dimension::Bytes),
            "expected a size in bytes, got 'many'");
  EXPECT_EQ(errorOf("2 EUR", Dimension::Price),
            "expected a price per hour without a unit, got '2 EUR'");
  EXPECT_EQ(errorOf("", Dimension::Count), "expected a number, got ''");
  EXPECT_EQ(errorOf("1e999 s", Dimension::Time),
            "expected a time, got '1e999 s'");
}
