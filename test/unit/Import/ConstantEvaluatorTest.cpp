//===- ConstantEvaluatorTest.cpp - Folding against known results ----------===//
//
// Operations are parsed from text, evaluated on known operands, and compared
// with results computed by hand; limits and parameters are tested too.
//
//===----------------------------------------------------------------------===//
#include "Import/ConstantEvaluator.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "llvm/Support/Format.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

namespace {
class ConstantEvaluatorTest : public testing::Test {
protected:
  ConstantEvaluatorTest() {
    context.loadDialect<PPlanDialect, func::FuncDialect>();
  }

  /// Evaluates all operations of a function's body in order, constants being
  /// known, and returns the last one's elements as text.
  std::string evaluate(const std::string &body, const std::string &type,
                       EvaluatorLimits limits = {}) {
    std::string text = "func.func @f() -> " + type + " {\n" + body +
                       "\nreturn %r : " + type + "\n}";
    module = parseSourceString<ModuleOp>(text, &context);
    if (!module)
      return "does not parse";
    ConstantEvaluator evaluator(limits);
    Value last;
    auto function = *module->getOps<func::FuncOp>().begin();
    for (Operation &op : function.getBody().front()) {
      if (auto constant = dyn_cast<ConstantOp>(op))
        evaluator.set(constant.getResult(), getContent(constant));
      else if (op.getNumResults() == 1)
        evaluator.visit(&op);
      if (op.getNumResults() == 1)
        last = op.getResult(0);
    }
    const HostTensor *result = evaluator.lookup(last);
    if (!result)
      return "unknown";
    std::string elements;
    llvm::raw_string_ostream os(elements);
    for (int64_t i = 0; i < result->getNumElements(); ++i) {
      os << (i ? " " : "");
      if (result->isFloat())
        os << llvm::format("%.6g", result->getFloat(i));
      else
        os << result->getInt(i);
    }
    return elements;
  }

  static HostTensor getContent(ConstantOp constant) {
    auto elements = cast<DenseElementsAttr>(constant.getValue());
    HostTensor tensor(cast<RankedTensorType>(elements.getType()));
    int64_t index = 0;
    if (tensor.isFloat())
      for (APFloat value : elements.getValues<APFloat>()) {
        bool inexact;
        value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                      &inexact);
        tensor.setFloat(index++, value.convertToDouble());
      }
    else
      for (APInt value : elements.getValues<APInt>())
        tensor.setInt(index++, value.getSExtValue());
    return tensor;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(ConstantEvaluatorTest, Elementwise) {
  EXPECT_EQ("5 -3 0", evaluate(R"(
    %x = pplan.constant dense<[7, -9, 5]> : tensor<3xi64>
    %y = pplan.constant dense<[-2, 6, -5]> : tensor<3xi64>
    %r = pplan.add %x, %y : tensor<3xi64>)",
                               "tensor<3xi64>"));
  EXPECT_EQ("-3 -1 0", evaluate(R"(
    %x = pplan.constant dense<[7, -9, 5]> : tensor<3xi64>
    %y = pplan.constant dense<[-2, 6, 0]> : tensor<3xi64>
    %r = pplan.div %x, %y : tensor<3xi64>)",
                                "tensor<3xi64>"));
  EXPECT_EQ("1 -3 0", evaluate(R"(
    %x = pplan.constant dense<[7, -9, 5]> : tensor<3xi64>
    %y = pplan.constant dense<[-2, 6, 0]> : tensor<3xi64>
    %r = pplan.rem %x, %y : tensor<3xi64>)",
                               "tensor<3xi64>"));
  EXPECT_EQ("nan 2 -inf", evaluate(R"(
    %x = pplan.constant dense<[0x7FC00000, 2.0, 0xFF800000]> : tensor<3xf32>
    %y = pplan.constant dense<[1.0, 1.0, 0xFF800000]> : tensor<3xf32>
    %r = pplan.max %x, %y : tensor<3xf32>)",
                                   "tensor<3xf32>"));
  EXPECT_EQ("1 0 0", evaluate(R"(
    %x = pplan.constant dense<[1.0, 3.0, 0x7FC00000]> : tensor<3xf32>
    %y = pplan.constant dense<[2.0, 3.0, 2.0]> : tensor<3xf32>
    %r = pplan.compare lt %x, %y : tensor<3xf32>)",
                              "tensor<3xi1>"));
  EXPECT_EQ("1 20 3", evaluate(R"(
    %c = pplan.constant dense<[true, false, true]> : tensor<3xi1>
    %x = pplan.constant dense<[1, 2, 3]> : tensor<3xi64>
    %y = pplan.constant dense<[10, 20, 30]> : tensor<3xi64>
    %r = pplan.select %c, %x, %y : tensor<3xi64>)",
                               "tensor<3xi64>"));
}

TEST_F(ConstantEvaluatorTest, DivisionNeverTraps) {
  EXPECT_EQ("-9223372036854775808", evaluate(R"(
    %x = pplan.constant dense<-9223372036854775808> : tensor<1xi64>
    %y = pplan.constant dense<-1> : tensor<1xi64>
    %r = pplan.div %x, %y : tensor<1xi64>)",
                                             "tensor<1xi64>"));
  EXPECT_EQ("0", evaluate(R"(
    %x = pplan.constant dense<-9223372036854775808> : tensor<1xi64>
    %y = pplan.constant dense<-1> : tensor<1xi64>
    %r = pplan.rem %x, %y : tensor<1xi64>)",
                          "tensor<1xi64>"));
}

TEST_F(ConstantEvaluatorTest, Convert) {
  EXPECT_EQ("2 -2 0 2147483647", evaluate(R"(
    %x = pplan.constant dense<[2.7, -2.7, 0x7FC00000, 1.0e20]> : tensor<4xf32>
    %r = pplan.convert %x : tensor<4xf32> to tensor<4xi32>)",
                                          "tensor<4xi32>"));
  EXPECT_EQ("1 0", evaluate(R"(
    %x = pplan.constant dense<[0.25, 0.0]> : tensor<2xf32>
    %r = pplan.convert %x : tensor<2xf32> to tensor<2xi1>)",
                            "tensor<2xi1>"));
  EXPECT_EQ("0.333252", evaluate(R"(
    %x = pplan.constant dense<0.33333334> : tensor<f32>
    %r = pplan.convert %x : tensor<f32> to tensor<f16>)",
                                 "tensor<f16>"));
}

TEST_F(ConstantEvaluatorTest, Structural) {
  const char *x = "%x = pplan.constant dense<[[1, 2, 3], [4, 5, 6]]> : "
                  "tensor<2x3xi64>\n";
  auto on = [&](const char *op, const char *type) {
    return evaluate(std::string(x) + op, type);
  };
  EXPECT_EQ("1 4 2 5 3 6",
            on("%r = pplan.transpose %x [1, 0] : tensor<2x3xi64>",
               "tensor<3x2xi64>"));
  EXPECT_EQ("3 2 1 6 5 4",
            on("%r = pplan.slice %x offsets [0, 2] strides [1, -1] : "
               "tensor<2x3xi64> to tensor<2x3xi64>",
               "tensor<2x3xi64>"));
  EXPECT_EQ("4 5 6 1 2 3 4 5 6",
            on("%i = pplan.constant dense<[1, 0, 9]> : tensor<3xi64>\n"
               "%r = pplan.gather %x, %i dim 0 : tensor<2x3xi64>, "
               "tensor<3xi64> to tensor<3x3xi64>",
               "tensor<3x3xi64>")); // 9 is clamped
  EXPECT_EQ("2 1 4 6",
            on("%i = pplan.constant dense<[[1, 0], [0, 2]]> : tensor<2x2xi64>\n"
               "%r = pplan.gather_elements %x, %i dim 1 : tensor<2x3xi64>, "
               "tensor<2x2xi64> to tensor<2x2xi64>",
               "tensor<2x2xi64>"));
  EXPECT_EQ("9 1 2 3 9 4 5 6",
            on("%r = pplan.pad %x low [0, 1] high [0, 0] value 9 : i64 : "
               "tensor<2x3xi64> to tensor<2x4xi64>",
               "tensor<2x4xi64>"));
  EXPECT_EQ("1 2 3 1 2 3 4 5 6 4 5 6",
            on("%r = pplan.concat %x, %x dim 1 : tensor<2x3xi64>, "
               "tensor<2x3xi64> to tensor<2x6xi64>",
               "tensor<2x6xi64>"));
  EXPECT_EQ("0 0 0 1 1 1",
            on("%r = pplan.iota dim 0 : tensor<2x3xi64>", "tensor<2x3xi64>"));
  EXPECT_EQ("1 2 3 4 5 6 1 2 3 4 5 6",
            on("%r = pplan.broadcast %x dims [1, 2] : tensor<2x3xi64> to "
               "tensor<2x2x3xi64>",
               "tensor<2x2x3xi64>"));
}

TEST_F(ConstantEvaluatorTest, Reductions) {
  const char *x = "%x = pplan.constant dense<[[1, 5, 3], [4, 2, 6]]> : "
                  "tensor<2x3xi64>\n";
  auto on = [&](const char *op, const char *type) {
    return evaluate(std::string(x) + op, type);
  };
  EXPECT_EQ("5 7 9",
            on("%r = pplan.reduce sum %x dims [0] : tensor<2x3xi64> to "
               "tensor<3xi64>",
               "tensor<3xi64>"));
  EXPECT_EQ("720", on("%r = pplan.reduce prod %x dims [0, 1] : tensor<2x3xi64> "
                      "to tensor<i64>",
                      "tensor<i64>"));
  EXPECT_EQ("5 6", on("%r = pplan.reduce max %x dims [1] : tensor<2x3xi64> to "
                      "tensor<2xi64>",
                      "tensor<2xi64>"));
  EXPECT_EQ("1 2", on("%r = pplan.arg_reduce max %x dim 1 : tensor<2x3xi64> to "
                      "tensor<2xi64>",
                      "tensor<2xi64>"));
  EXPECT_EQ("1 6 9 4 6 12", on("%r = pplan.cumsum %x dim 1 : tensor<2x3xi64>",
                               "tensor<2x3xi64>"));
  EXPECT_EQ("8 3 0 8 6 0",
            on("%r = pplan.cumsum %x dim 1 exclusive reverse : tensor<2x3xi64>",
               "tensor<2x3xi64>"));
  EXPECT_EQ("35 32 32 56",
            on("%r = pplan.contract \"mk,nk->mn\" %x, %x : tensor<2x3xi64>, "
               "tensor<2x3xi64> to tensor<2x2xi64>",
               "tensor<2x2xi64>"));
}

TEST_F(ConstantEvaluatorTest, EmptyTensors) {
  EXPECT_EQ("0 0", evaluate(R"(
    %x = pplan.constant dense<> : tensor<2x0xi64>
    %r = pplan.reduce sum %x dims [1] : tensor<2x0xi64> to tensor<2xi64>)",
                            "tensor<2xi64>"));
  EXPECT_EQ("unknown", evaluate(R"(
    %x = pplan.constant dense<> : tensor<2x0xi64>
    %r = pplan.reduce max %x dims [1] : tensor<2x0xi64> to tensor<2xi64>)",
                                "tensor<2xi64>"));
}

TEST_F(ConstantEvaluatorTest, LimitsAreKept) {
  EvaluatorLimits limits;
  limits.tensorBytes = 1024;
  const char *body = R"(
    %x = pplan.constant dense<1> : tensor<i64>
    %r = pplan.broadcast %x dims [] : tensor<i64> to tensor<129xi64>)";
  EXPECT_EQ("unknown", evaluate(body, "tensor<129xi64>", limits));
  EXPECT_NE("unknown", evaluate(body, "tensor<129xi64>"));
  // A huge type is refused without being allocated.
  EXPECT_EQ("unknown", evaluate(R"(
    %x = pplan.constant dense<1> : tensor<i64>
    %r = pplan.broadcast %x dims [] : tensor<i64> to tensor<1099511627776xi64>)",
                                "tensor<1099511627776xi64>"));
  limits = {};
  limits.totalSteps = 100;
  EXPECT_EQ("unknown", evaluate(R"(
    %x = pplan.constant dense<1> : tensor<20x20xi64>
    %r = pplan.contract "mk,nk->mn" %x, %x : tensor<20x20xi64>, tensor<20x20xi64> to tensor<20x20xi64>)",
                                "tensor<20x20xi64>", limits));
}

TEST_F(ConstantEvaluatorTest, ParametersStayParametersWhenOnlyMoved) {
  module = parseSourceString<ModuleOp>(R"(
    func.func @f(%w: tensor<2xf32>) -> (tensor<1x2xf32>, tensor<2xf32>) {
      %m = pplan.reshape %w : tensor<2xf32> to tensor<1x2xf32>
      %c = pplan.cos %w : tensor<2xf32>
      return %m, %c : tensor<1x2xf32>, tensor<2xf32>
    })",
                                       &context);
  ASSERT_TRUE(module);
  Block &block = (*module->getOps<func::FuncOp>().begin()).getBody().front();
  ConstantEvaluator evaluator;
  HostTensor weight(RankedTensorType::get({2}, Float32Type::get(&context)));
  weight.isParameter = true;
  evaluator.set(block.getArgument(0), weight);
  for (Operation &op : block.without_terminator())
    evaluator.visit(&op);
  evaluator.materialize(block);
  Operation *ret = block.getTerminator();
  EXPECT_TRUE(ret->getOperand(0).getDefiningOp<ReshapeOp>());
  EXPECT_TRUE(ret->getOperand(1).getDefiningOp<ConstantOp>());
}
