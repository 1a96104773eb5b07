//===- MeshTest.cpp - Shapes of device meshes -----------------------------===//
//
// Decides whether exactly the ordered factorisations are enumerated.
//
//===----------------------------------------------------------------------===//
#include "pplan/CostModel/Mesh.h"
#include <gtest/gtest.h>
#include <set>

using namespace pplan;

static std::vector<std::string> names(int64_t devices, unsigned maxAxes) {
  std::vector<std::string> result;
  for (const MeshShape &mesh : enumerateMeshes(devices, maxAxes))
    result.push_back(mesh.str());
  return result;
}

TEST(Mesh, EnumeratesOrderedFactorisations) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(names(8, 3), (Names{"8", "2x4", "4x2", "2x2x2"}));
  EXPECT_EQ(names(8, 2), (Names{"8", "2x4", "4x2"}));
  EXPECT_EQ(names(6, 3), (Names{"6", "2x3", "3x2"}));
  EXPECT_EQ(names(7, 3), (Names{"7"}));
  EXPECT_EQ(names(1, 3), (Names{"1"}));
  EXPECT_EQ(names(0, 3), Names{});
  EXPECT_EQ(names(-4, 3), Names{});
  EXPECT_EQ(names(8, 0), Names{});
}

TEST(Mesh, EveryShapeIsRightAndThereOnce) {
  for (int64_t devices : {12, 64, 96, 1024}) {
    std::set<std::string> seen;
    for (const MeshShape &mesh : enumerateMeshes(devices, 4)) {
      EXPECT_EQ(mesh.numDevices(), devices);
      EXPECT_LE(mesh.axes.size(), 4u);
      EXPECT_TRUE(seen.insert(mesh.str()).second) << mesh.str();
    }
  }
  // 2^10 into k ordered factors of at least 2: binomial(9, k - 1).
  EXPECT_EQ(enumerateMeshes(1024, 4).size(), 1u + 9 + 36 + 84);
}

TEST(Mesh, LargePrimesTakeNoTime) {
  EXPECT_EQ(names(1000003, 10), (std::vector<std::string>{"1000003"}));
}
