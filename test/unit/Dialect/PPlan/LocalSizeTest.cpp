//===- LocalSizeTest.cpp - Parts of a dimension against enumeration -------===//
//
// Decides whether local sizes and ranges are those of the definition of
// `#pplan.sharding`: cut at one axis after the other, in equal padded parts.
//
//===----------------------------------------------------------------------===//
#include "RandomSharding.h"
#include <gtest/gtest.h>

using namespace pplan;
using namespace pplan::test;

namespace {

/// Compares everything about dimension n over the axes with the enumeration.
void checkDimension(int64_t n, llvm::ArrayRef<int8_t> axes,
                    const DeviceMesh &mesh) {
  bool even = true;
  std::vector<int> holders(n, 0);
  forEachDevice(mesh, [&](const Indices &coordinates) {
    int64_t padded;
    Indices held = cutOut(n, axes, mesh, coordinates, padded);
    EXPECT_EQ(getLocalSize(n, axes, mesh), padded);
    ShardRange range = getShardRange(n, axes, mesh, coordinates);
    EXPECT_EQ(range.length, static_cast<int64_t>(held.size()));
    for (size_t i = 0; i < held.size(); ++i)
      EXPECT_EQ(held[i], range.offset + static_cast<int64_t>(i));
    even &= range.length == padded;
    for (int64_t element : held)
      ++holders[element];
  });
  EXPECT_EQ(isEvenlySplit(n, axes, mesh), even)
      << n << " over " << mesh.getProduct(axes);
  // Each element is on as many devices as there are along the other axes.
  for (int copies : holders)
    EXPECT_EQ(copies, mesh.getNumDevices() / mesh.getProduct(axes));
}

TEST(LocalSize, OneAxisIsCeilingDivision) {
  for (int64_t n = 0; n <= 40; ++n)
    for (int64_t k = 1; k <= 9; ++k)
      checkDimension(n, {0}, DeviceMesh{{k}});
}

TEST(LocalSize, NestedAxesMatchEnumeration) {
  for (int64_t n = 0; n <= 20; ++n)
    for (int64_t a = 1; a <= 4; ++a)
      for (int64_t b = 1; b <= 4; ++b)
        for (int64_t c = 1; c <= 3; ++c) {
          DeviceMesh mesh{{a, b, c}};
          checkDimension(n, {}, mesh);
          checkDimension(n, {0, 1}, mesh);
          checkDimension(n, {1, 0}, mesh);
          checkDimension(n, {2, 0, 1}, mesh);
        }
}

// 9 over 2 is 5 and 4; each over 4 is 2, 2, 1, 0 and 2, 2, 0, 0. Division by
// the product of the axes, 8, would give parts of 2 at other places.
TEST(LocalSize, NestingIsNotDivisionByTheProduct) {
  DeviceMesh mesh{{2, 4}};
  EXPECT_EQ(getLocalSize(9, {0, 1}, mesh), 2);
  int64_t expected[8][2] = {{0, 2}, {2, 2}, {4, 1}, {6, 0},
                            {5, 2}, {7, 2}, {9, 0}, {11, 0}};
  for (int64_t device = 0; device < 8; ++device) {
    ShardRange range = getShardRange(9, {0, 1}, mesh, {device / 4, device % 4});
    EXPECT_EQ(range.length, expected[device][1]) << "device " << device;
    if (range.length > 0)
      EXPECT_EQ(range.offset, expected[device][0]) << "device " << device;
  }
}

TEST(LocalSize, ShapesAreDimensionByDimension) {
  DeviceMesh mesh{{2, 4}};
  TensorSharding sharding = TensorSharding::getReplicated(3);
  sharding.dims[0] = {1};
  sharding.dims[2] = {0};
  EXPECT_EQ(getLocalShape({9, 7, 4}, sharding, mesh),
            (llvm::SmallVector<int64_t>{3, 7, 2}));
}

TEST(LocalSize, LargeSizesDoNotOverflow) {
  DeviceMesh mesh{{1 << 20}};
  int64_t n = int64_t(1) << 60;
  EXPECT_EQ(getLocalSize(n, {0}, mesh), int64_t(1) << 40);
  ShardRange range = getShardRange(n, {0}, mesh, {(1 << 20) - 1});
  EXPECT_EQ(range.offset + range.length, n);
}

} // namespace
