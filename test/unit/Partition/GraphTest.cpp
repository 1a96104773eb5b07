//===- GraphTest.cpp - Random graphs under random shardings ---------------===//
//
// Operations draw operands from what is there already, so that values have
// several uses and reshards are shared, folded and optimised.
//
//===----------------------------------------------------------------------===//
#include "OpCases.h"
#include "llvm/ADT/StringSwitch.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pplan;
using namespace pplan::test;

/// Operations that jump where rounding differs are left to OpTest.
static bool isContinuous(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases({"sign", "floor", "ceil", "round", "compare", "arg_reduce"}, false)
      .Cases({"convert", "rem", "pow", "log", "rsqrt", "sqrt"}, false)
      .Cases({"prod", "exp", "div", "integer div"}, false)
      .Default(true);
}

namespace {
class GraphBuilder {
public:
  GraphBuilder(ArrayRef<int64_t> meshSizes, Random &random)
      : random(random),
        m(&getContext(), meshSizes), commonSize{pick(random, 1, 9),
                                                pick(random, 1, 9)} {}

  std::string check(int64_t numOps) {
    std::vector<const OpCase *> cases;
    for (const OpCase &opCase : getOpCases())
      if (isContinuous(opCase.name))
        cases.push_back(&opCase);
    for (int64_t i = 0; i < numOps; ++i) {
      Value value = cases[pick(random, 0, cases.size() - 1)]->build(
          m,
          [&](ArrayRef<int64_t> shape, Type element) {
            return take(RankedTensorType::get(shape, element));
          },
          [&] { return getSize(); });
      if (pick(random, 0, 3) > 0)
        m.annotate(value, getAny(value));
      values.push_back(value);
    }
    SmallVector<Value> results;
    SmallVector<TensorSharding> shardings;
    for (Value value : values)
      if (value.use_empty() || pick(random, 0, 4) == 0) {
        results.push_back(value);
        shardings.push_back(getAny(value));
      }
    m.finish(results, shardings);
    return checkSharded(*m.module, random);
  }

private:
  /// Few different sizes, so that shapes meet again.
  int64_t getSize() {
    return pick(random, 0, 9) == 0 ? pick(random, 1, 9)
                                   : commonSize[pick(random, 0, 1)];
  }

  TensorSharding getAny(Value value) {
    auto type = getTensorType(value);
    return getRandomSharding(random, type.getRank(), m.mesh,
                             !type.getElementType().isInteger(1) &&
                                 pick(random, 0, 2) == 0);
  }

  /// A value of the type that is there already, or a new argument.
  Value take(RankedTensorType type) {
    SmallVector<Value> fitting;
    for (Value value : values)
      if (value.getType() == type)
        fitting.push_back(value);
    if (!fitting.empty() && pick(random, 0, 4) > 0)
      return fitting[pick(random, 0, fitting.size() - 1)];
    Value argument =
        m.addArgument(type, TensorSharding::getReplicated(type.getRank()));
    m.annotate(argument, getAny(argument));
    values.push_back(argument);
    return argument;
  }

  Random &random;
  ModuleBuilder m;
  int64_t commonSize[2];
  std::vector<Value> values;
};
} // namespace

TEST(Graphs, RandomGraphsUnderRandomShardings) {
  Random random(5);
  std::vector<std::vector<int64_t>> meshes = {
      {2}, {3}, {4}, {2, 2}, {2, 4}, {3, 2}, {2, 1}, {2, 2, 2}};
  int64_t cases = getCases(5000);
  for (int64_t i = 0; i < cases; ++i) {
    GraphBuilder graph(meshes[pick(random, 0, meshes.size() - 1)], random);
    std::string error = graph.check(pick(random, 1, 8));
    ASSERT_TRUE(error.empty()) << "case " << i << ": " << error;
  }
}
