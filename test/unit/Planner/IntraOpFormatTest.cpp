//===- IntraOpFormatTest.cpp - Problems as text and JSON ------------------===//
//
// Decides whether both forms read what they should and refuse the rest with
// the place and the reason.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/IntraOpFormat.h"
#include <gtest/gtest.h>

using namespace pplan;

static std::string errorOf(llvm::Expected<IntraOpProblem> problem) {
  return problem ? "" : llvm::toString(problem.takeError());
}

TEST(IntraOpText, ReadsEveryStatement) {
  auto problem = parseIntraOpText("problem two words\n"
                                  "limit 10\n"
                                  "node a rep:1 split:inf # comment\n"
                                  "node b 2.5\n"
                                  "usage a 0 5 8 2\n"
                                  "edge a b 0 | 7\n",
                                  "t");
  ASSERT_TRUE(bool(problem)) << llvm::toString(problem.takeError());
  EXPECT_EQ(problem->name, "two words");
  EXPECT_EQ(*problem->usageLimit, 10);
  EXPECT_EQ(problem->getNode(0).strategies[1], "split");
  EXPECT_EQ(problem->getNode(0).costs[1], kInfiniteCost);
  EXPECT_EQ(problem->getNode(1).costs[0], 2.5);
  EXPECT_EQ(problem->getNode(0).usages[0].bytes[1], 2);
  EXPECT_EQ(problem->getEdges()[0].costs[1], 7);
}

TEST(IntraOpText, ReportsThePlace) {
  struct Case {
    const char *text;
    const char *message;
  };
  const Case cases[] = {
      {"nod a 1",
       "t:1:1: unknown statement 'nod'; known: problem, limit, node, usage, "
       "edge"},
      {"node a", "t:1:7: node 'a' has no strategy; give a cost for each"},
      {"node a 1 x", "t:1:10: expected a cost (a number or inf), got 'x'"},
      {"node a 1\nnode a 2", "t:2:6: node 'a' is stated twice"},
      {"node a 1\nedge a b 1",
       "t:2:8: unknown node 'b'; state it on an earlier line with 'node NAME "
       "COST ...'"},
      {"node a 1\nusage a 1 2",
       "t:2:12: expected the usage of strategy 0 (a whole number), got ''"},
      {"node a 1\nusage a 1 2 3 4", "t:2:15: unexpected '4'"},
      {"node a 1 2\nnode b 1\nedge a b 1",
       "t:3:11: expected 2 x 1 costs, got 1"},
      {"limit many", "t:1:7: expected the limit (a whole number), got 'many'"},
      {"limit -3", "t: the usage limit -3 is negative"},
  };
  for (const Case &c : cases)
    EXPECT_EQ(errorOf(parseIntraOpText(c.text, "t")), c.message) << c.text;
}

static const char *const kExample =
    R"({"problem": {"name": "example",
 "nodes": {"intervals": [[30, 70], [40, 70], [50, 120], [110, 140], [110, 150]],
  "costs": [[15], [55, 65], [25, 45, 35], [85, 75], [95]],
  "usages": [[10], [25, 25], [15, 20, 15], [10, 10], [15]]},
 "edges": {"nodes": [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]],
  "costs": [[30, 40], [50, 10, 40], [90, 10, 20, 80], [60, 20, 1e18],
            [70, 60]]},
 "usage_limit": 50}})";

TEST(IntraOpJson, ReadsTheContestsExample) {
  auto problem = parseIntraOpJson(kExample, "t");
  ASSERT_TRUE(bool(problem)) << llvm::toString(problem.takeError());
  EXPECT_EQ(problem->name, "example");
  EXPECT_EQ(problem->getNumNodes(), 5u);
  EXPECT_EQ(*problem->usageLimit, 50);
  EXPECT_EQ(problem->getNode(2).usages[0].start, 50);
  EXPECT_EQ(problem->getEdges()[3].costs[2], kInfiniteCost);
}

TEST(IntraOpJson, EveryPrefixIsAnError) {
  std::string text = kExample;
  for (size_t length = 0; length < text.size(); ++length)
    EXPECT_NE(errorOf(parseIntraOpJson(text.substr(0, length), "t")), "")
        << length;
}

TEST(IntraOpJson, ReportsThePath) {
  struct Case {
    const char *from, *to, *message;
  };
  const Case cases[] = {
      {"[55, 65]", "[55, \"x\"]",
       "t:3:24: $.problem.nodes.costs[1][1]: expected a number, got '\"'"},
      {"\"costs\": [[15]", "\"cost\": [[15]",
       "t:3:10: $.problem.nodes.cost: unknown key 'cost'; known: intervals, "
       "costs, usages"},
      {"[[10],", "[[1.5],",
       "t:4:15: $.problem.nodes.usages[0][0]: expected a whole number, got "
       "'1.5'"},
      {"[30, 70]", "[30]",
       "t:2:30: $.problem.nodes.intervals[0]: expected two numbers, got 1"},
      {"[[0, 1],", "[[0, 9],",
       "t: $.problem.edges.nodes[0] names node 9, but there are 5 nodes"},
      {"[30, 40],", "[30],",
       "t: edge 0 between node 0 and node 1 has 1 costs for 1 x 2 strategies"},
      {", [95]]", "]",
       "t: $.problem.nodes.intervals has 5 entries, expected 4"},
      {"\"usage_limit\": 50}}", "\"usage_limit\": 50}} x",
       "t:8:22: $: there is more after the problem"},
      {"{\"problem\"", "{\"other\"",
       "t:1:10: $.other: unknown key 'other'; known: problem"},
  };
  for (const Case &c : cases) {
    std::string text = kExample;
    text.replace(text.find(c.from), strlen(c.from), c.to);
    EXPECT_EQ(errorOf(parseIntraOpJson(text, "t")), c.message);
  }
}

TEST(IntraOpJson, DeepNestingIsAnErrorNotACrash) {
  EXPECT_NE(errorOf(parseIntraOpJson(std::string(1000000, '['), "t")), "");
  EXPECT_NE(errorOf(parseIntraOpJson("{\"problem\": {\"nodes\": {\"costs\": " +
                                         std::string(1000000, '['),
                                     "t")),
            "");
}
