//===- GraphTest.cpp - Random graphs under random shardings ---------------===//
//
// With the reference interpreter; CompiledTest.cpp does it with machine code.
//
//===----------------------------------------------------------------------===//
#include "RandomGraph.h"
#include <gtest/gtest.h>

using namespace pplan;
using namespace pplan::test;

TEST(Graphs, RandomGraphsUnderRandomShardings) {
  Random random(5);
  int64_t cases = getCases(5000);
  for (int64_t i = 0; i < cases; ++i) {
    RandomGraph graph(random, pick(random, 1, 8), /*partialBoundary=*/true);
    std::string error = checkSharded(graph.getModule(), random);
    ASSERT_TRUE(error.empty()) << "case " << i << ": " << error;
  }
}
