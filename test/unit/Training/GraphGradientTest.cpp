//===- GraphGradientTest.cpp - Gradients of random graphs, sharded --------===//
//
// Random graphs are differentiated, every value of forward and backward gets a
// random sharding, and the gradients are those of the unsharded graph.
//
//===----------------------------------------------------------------------===//
#include "RandomGraph.h"
#include "mlir/Pass/PassManager.h"
#include "pplan/Training/Gradient.h"
#include "pplan/Training/Passes.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pplan;
using namespace pplan::test;

namespace {
bool isFloat(Value value) {
  return isa<FloatType>(getTensorType(value).getElementType());
}

/// Makes every float argument a parameter, and the sum of all float results the
/// only result.
void makeLoss(func::FuncOp function) {
  Builder attrs(function.getContext());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    function.setArgAttr(i,
                        isFloat(function.getArgument(i)) ? kParamAttr
                                                         : kInputAttr,
                        attrs.getStringAttr("v" + std::to_string(i)));
  Operation *terminator = function.front().getTerminator();
  OpBuilder builder(terminator);
  ArithmeticBuilder b(builder, function.getLoc());
  Value loss;
  for (Value value : terminator->getOperands()) {
    if (!isFloat(value))
      continue;
    SmallVector<int64_t> dims;
    for (int64_t i = 0; i < getTensorType(value).getRank(); ++i)
      dims.push_back(i);
    Value sum = b.reduce(ReductionKind::Sum, value, dims);
    loss = loss ? b.add(loss, sum) : sum;
  }
  if (!loss)
    loss = ConstantOp::create(
        builder, function.getLoc(),
        DenseElementsAttr::get(RankedTensorType::get({}, builder.getF32Type()),
                               0.0f));
  terminator->setOperands(loss);
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.getArgumentTypes(), loss.getType()));
  function.setResAttrsAttr(attrs.getArrayAttr({attrs.getDictionaryAttr({})}));
}
} // namespace

TEST(GraphGradients, RandomGraphsUnderRandomShardings) {
  MLIRContext &context = getContext();
  DialectRegistry registry;
  registerGradients(registry);
  context.appendDialectRegistry(registry);
  Random random(8);
  int64_t wanted = getCases(3000), checked = 0, refused = 0;
  while (checked < wanted) {
    RandomGraph graph(random, pick(random, 1, 6), /*partialBoundary=*/false);
    makeLoss(graph.getFunction());
    PassManager manager(&context);
    manager.addPass(createDifferentiate());
    // Some operations have no gradient.
    ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
    if (failed(manager.run(graph.getModule()))) {
      ASSERT_LT(++refused, 4 * (checked + 100));
      continue;
    }
    graph.annotateRest();
    std::string error = checkSharded(graph.getModule(), random);
    ASSERT_TRUE(error.empty()) << "case " << checked << ": " << error;
    ++checked;
  }
  RecordProperty("refused", std::to_string(refused));
}
