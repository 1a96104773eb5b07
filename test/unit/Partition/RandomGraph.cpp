//===- RandomGraph.cpp - Random graphs under random shardings -------------===//
//
// See RandomGraph.h.
//
//===----------------------------------------------------------------------===//
#include "RandomGraph.h"
#include "llvm/ADT/StringSwitch.h"

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

static std::vector<int64_t> pickMesh(Random &random) {
  static const std::vector<int64_t> meshes[] = {
      {2}, {3}, {4}, {2, 2}, {2, 4}, {3, 2}, {2, 1}, {2, 2, 2}};
  return meshes[pick(random, 0, std::size(meshes) - 1)];
}

RandomGraph::RandomGraph(Random &random, int64_t numOps, bool partialBoundary)
    : random(random), partialBoundary(partialBoundary),
      m(&getContext(), pickMesh(random)),
      commonSize{pick(random, 1, 9), pick(random, 1, 9)} {
  build(numOps);
}

void RandomGraph::build(int64_t numOps) {
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
      shardings.push_back(getAny(value, partialBoundary));
    }
  m.finish(results, shardings);
}

/// Few different sizes, so that shapes meet again.
int64_t RandomGraph::getSize() {
  return pick(random, 0, 9) == 0 ? pick(random, 1, 9)
                                 : commonSize[pick(random, 0, 1)];
}

TensorSharding RandomGraph::getAny(Value value, bool allowPartial) {
  auto type = getTensorType(value);
  return getRandomSharding(random, type.getRank(), m.mesh,
                           allowPartial &&
                               !type.getElementType().isInteger(1) &&
                               pick(random, 0, 2) == 0);
}

/// A value of the type that is there already, or a new argument.
Value RandomGraph::take(RankedTensorType type) {
  SmallVector<Value> fitting;
  for (Value value : values)
    if (value.getType() == type)
      fitting.push_back(value);
  if (!fitting.empty() && pick(random, 0, 4) > 0)
    return fitting[pick(random, 0, fitting.size() - 1)];
  Value argument =
      m.addArgument(type, TensorSharding::getReplicated(type.getRank()));
  m.annotate(argument, getAny(argument, partialBoundary));
  values.push_back(argument);
  return argument;
}

void RandomGraph::annotateRest() {
  for (Operation &op : m.function.front().without_terminator())
    for (Value value : op.getResults())
      if (!getSharding(value) && pick(random, 0, 3) > 0)
        m.annotate(value, getAny(value));
  for (unsigned i = 0; i < m.function.getNumResults(); ++i) {
    Value value = m.function.front().getTerminator()->getOperand(i);
    m.function.setResultAttr(
        i, kShardingAttr,
        getAny(value, partialBoundary).toAttr(m.meshName, m.meshAttr));
  }
}
