//===- GradientTest.cpp - Gradients against finite differences ------------===//
//
// For each operation a function of its operands is differentiated by the pass,
// and each element of each gradient compared with the central difference of the
// loss, both evaluated by the reference interpreter in double.
//
//===----------------------------------------------------------------------===//
#include "pplan/Reference/Interpreter.h"
#include "pplan/Training/Gradient.h"
#include "pplan/Training/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include <cmath>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace pplan;

namespace {
struct Operand {
  std::string type;
  double low, high;   ///< range of the elements
  bool trained = true; ///< else an input
};

struct GradientCase {
  std::string name;
  std::vector<Operand> operands; ///< %a0, %a1, ..
  std::string body;              ///< defines %y
  std::string result;            ///< type of %y
};

MLIRContext &getContext() {
  static MLIRContext *context = [] {
    DialectRegistry registry;
    registry.insert<PPlanDialect, func::FuncDialect>();
    registerGradients(registry);
    auto *made = new MLIRContext(registry);
    made->loadAllAvailableDialects();
    return made;
  }();
  return *context;
}

/// The case as a module whose loss weighs %y with %c.
std::string getText(const GradientCase &gradientCase) {
  std::string text = "func.func @f(";
  for (auto [i, operand] : llvm::enumerate(gradientCase.operands))
    text += "%a" + std::to_string(i) + ": " + operand.type + " {pplan." +
            (operand.trained ? "param" : "input") + " = \"a" +
            std::to_string(i) + "\"}, ";
  text += "%c: " + gradientCase.result + " {pplan.input = \"c\"}) -> " +
          "(tensor<f64> {pplan.output = \"loss\"}) {\n" + gradientCase.body +
          "\n  %p = pplan.mul %y, %c : " + gradientCase.result + "\n";
  size_t rank = std::count(gradientCase.result.begin(),
                           gradientCase.result.end(), 'x');
  std::string dims;
  for (size_t i = 0; i < rank; ++i)
    dims += (i ? ", " : "") + std::to_string(i);
  return text + "  %l = pplan.reduce sum %p dims [" + dims + "] : " +
         gradientCase.result + " to tensor<f64>\n  return %l : tensor<f64>\n}";
}

class Gradient : public testing::TestWithParam<GradientCase> {};

TEST_P(Gradient, MatchesFiniteDifferences) {
  const GradientCase &gradientCase = GetParam();
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(getText(gradientCase), &getContext());
  ASSERT_TRUE(module) << getText(gradientCase);
  OwningOpRef<ModuleOp> plain = module->clone();
  PassManager manager(&getContext());
  manager.addPass(createDifferentiate());
  manager.addPass(createExpandLosses());
  manager.addPass(createShareForward());
  ASSERT_TRUE(succeeded(manager.run(*module)));
  func::FuncOp forward = *plain->getOps<func::FuncOp>().begin();
  func::FuncOp both = *module->getOps<func::FuncOp>().begin();

  std::mt19937 random(7);
  std::vector<HostTensor> values;
  for (auto [i, type] : llvm::enumerate(forward.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    HostTensor value(tensor.getShape());
    bool isWeight = i == gradientCase.operands.size();
    double low = isWeight ? -1 : gradientCase.operands[i].low;
    double high = isWeight ? 1 : gradientCase.operands[i].high;
    for (double &element : value.data) {
      element = std::uniform_real_distribution<double>(low, high)(random);
      if (!isa<FloatType>(tensor.getElementType()))
        element = std::floor(element);
    }
    values.push_back(value);
  }
  auto results = evaluateFunction(both, values);
  ASSERT_TRUE(succeeded(results));
  size_t used = 1;
  for (auto [i, operand] : llvm::enumerate(gradientCase.operands)) {
    if (!operand.trained)
      continue;
    // A parameter without a gradient has one of zero.
    HostTensor gradient(values[i].shape);
    for (size_t r = 0; r < results->size(); ++r) {
      auto name = both.getResultAttrOfType<StringAttr>(r, kGradientAttr);
      if (name && name.getValue() == "a" + std::to_string(i)) {
        gradient = (*results)[r];
        ++used;
      }
    }
    ASSERT_EQ(gradient.shape, values[i].shape);
    for (int64_t place = 0; place < gradient.size(); ++place) {
      const double step = 1e-5;
      double losses[2];
      for (int side = 0; side < 2; ++side) {
        std::vector<HostTensor> moved = values;
        moved[i].data[place] += side ? step : -step;
        auto loss = evaluateFunction(forward, moved);
        ASSERT_TRUE(succeeded(loss));
        losses[side] = (*loss)[0].data[0];
      }
      double expected = (losses[1] - losses[0]) / (2 * step);
      ASSERT_NEAR(gradient.data[place], expected,
                  1e-7 * std::max(1.0, std::abs(expected)))
          << "operand " << i << ", element " << place;
    }
  }
  EXPECT_EQ(used, results->size());
}

GradientCase unary(std::string name, double low = -2, double high = 2) {
  std::string type = "tensor<3x4xf64>";
  return {name, {{type, low, high}}, "  %y = pplan." + name + " %a0 : " + type,
          type};
}
GradientCase binary(std::string name, double low = -2, double high = 2) {
  std::string type = "tensor<3x4xf64>";
  return {name,
          {{type, low, high}, {type, low, high}},
          "  %y = pplan." + name + " %a0, %a1 : " + type,
          type};
}
GradientCase attention(std::string name, std::string options, int heads,
                       int groups, std::string mask = "") {
  std::string q = "tensor<2x3x" + std::to_string(heads) + "x4xf64>";
  std::string k = "tensor<2x5x" + std::to_string(groups) + "x4xf64>";
  std::string v = "tensor<2x5x" + std::to_string(groups) + "x3xf64>";
  std::string o = "tensor<2x3x" + std::to_string(heads) + "x3xf64>";
  GradientCase made{name, {{q, -1, 1}, {k, -1, 1}, {v, -1, 1}}, "", o};
  std::string operand, type;
  if (!mask.empty()) {
    made.operands.push_back({mask, 0, 2, false});
    operand = " mask %a3";
    type = ", " + mask;
  }
  made.body = "  %y = pplan.attention %a0, %a1, %a2" + operand +
              " scale 0.5 " + options +
              " layouts [\"bthd\", \"bthd\", \"bthd\", \"bthd\"] : " + q +
              ", " + k + ", " + v + type + " to " + o;
  return made;
}

const std::string kT = "tensor<3x4xf64>";

std::vector<GradientCase> getCases() {
  std::vector<GradientCase> cases = {
      unary("abs"), unary("sign"), unary("neg"), unary("exp"),
      unary("log", 0.5, 3), unary("sqrt", 0.5, 3), unary("rsqrt", 0.5, 3),
      unary("sin"), unary("cos"), unary("tanh"), unary("erf"),
      unary("sigmoid"), unary("silu"), unary("relu"), unary("floor"),
      unary("ceil"), unary("round"), unary("gelu erf"), unary("gelu tanh"),
      unary("reshard"), unary("accumulate"),
      binary("add"), binary("sub"), binary("mul"), binary("div", 0.5, 3),
      binary("rem", 0.5, 3), binary("pow", 0.5, 3), binary("max"),
      binary("min"),
      {"square", {{kT, -2, 2}}, "  %y = pplan.mul %a0, %a0 : " + kT, kT},
      {"max of equals", {{kT, -2, 2}},
       "  %y = pplan.max %a0, %a0 : " + kT, kT},
      {"select",
       {{"tensor<3x4xi1>", 0, 2, false}, {kT, -2, 2}, {kT, -2, 2}},
       "  %y = pplan.select %a0, %a1, %a2 : " + kT, kT},
      {"convert", {{kT, -2, 2}},
       "  %z = pplan.convert %a0 : " + kT + " to tensor<3x4xf32>\n"
       "  %y = pplan.convert %z : tensor<3x4xf32> to " + kT, kT},
      {"broadcast", {{"tensor<1x4xf64>", -2, 2}},
       "  %y = pplan.broadcast %a0 dims [1, 2] : tensor<1x4xf64> to "
       "tensor<2x3x4xf64>", "tensor<2x3x4xf64>"},
      {"reshape", {{kT, -2, 2}},
       "  %y = pplan.reshape %a0 : " + kT + " to tensor<2x6xf64>",
       "tensor<2x6xf64>"},
      {"transpose", {{"tensor<2x3x4xf64>", -2, 2}},
       "  %y = pplan.transpose %a0 [1, 2, 0] : tensor<2x3x4xf64>",
       "tensor<3x4x2xf64>"},
      {"slice", {{"tensor<3x7xf64>", -2, 2}},
       "  %y = pplan.slice %a0 offsets [1, 2] strides [1, 1] : "
       "tensor<3x7xf64> to tensor<2x4xf64>", "tensor<2x4xf64>"},
      {"slice with strides", {{"tensor<3x7xf64>", -2, 2}},
       "  %y = pplan.slice %a0 offsets [2, 1] strides [-1, 3] : "
       "tensor<3x7xf64> to tensor<3x2xf64>", "tensor<3x2xf64>"},
      {"concat", {{"tensor<3x2xf64>", -2, 2}, {"tensor<3x3xf64>", -2, 2}},
       "  %y = pplan.concat %a0, %a1 dim 1 : tensor<3x2xf64>, "
       "tensor<3x3xf64> to tensor<3x5xf64>", "tensor<3x5xf64>"},
      {"pad", {{kT, -2, 2}},
       "  %y = pplan.pad %a0 low [0, 1] high [2, 0] value 3.0 : f64 : " + kT +
       " to tensor<5x5xf64>", "tensor<5x5xf64>"},
      {"gather", {{"tensor<5x3xf64>", -2, 2},
                  {"tensor<2x4xi64>", -2, 8, false}},
       "  %y = pplan.gather %a0, %a1 dim 0 : tensor<5x3xf64>, "
       "tensor<2x4xi64> to tensor<2x4x3xf64>", "tensor<2x4x3xf64>"},
      {"gather inside", {{"tensor<2x5x3xf64>", -2, 2},
                         {"tensor<4xi32>", -2, 8, false}},
       "  %y = pplan.gather %a0, %a1 dim 1 : tensor<2x5x3xf64>, "
       "tensor<4xi32> to tensor<2x4x3xf64>", "tensor<2x4x3xf64>"},
      {"gather_elements one", {{"tensor<3x5xf64>", -2, 2},
                               {"tensor<3x1xi64>", -1, 6, false}},
       "  %y = pplan.gather_elements %a0, %a1 dim 1 : tensor<3x5xf64>, "
       "tensor<3x1xi64> to tensor<3x1xf64>", "tensor<3x1xf64>"},
      {"gather_elements", {{"tensor<3x5x2xf64>", -2, 2},
                           {"tensor<3x4x2xi64>", -1, 6, false}},
       "  %y = pplan.gather_elements %a0, %a1 dim 1 : tensor<3x5x2xf64>, "
       "tensor<3x4x2xi64> to tensor<3x4x2xf64>", "tensor<3x4x2xf64>"},
      {"scatter_add", {{"tensor<4xi64>", -2, 6, false},
                       {"tensor<2x4x3xf64>", -2, 2}},
       "  %y = pplan.scatter_add %a0, %a1 dim 1 size 5 : tensor<4xi64>, "
       "tensor<2x4x3xf64> to tensor<2x5x3xf64>", "tensor<2x5x3xf64>"},
      {"contract", {{"tensor<2x3x4xf64>", -2, 2}, {"tensor<4x5xf64>", -2, 2}},
       "  %y = pplan.contract \"btk,kn->bnt\" %a0, %a1 : tensor<2x3x4xf64>, "
       "tensor<4x5xf64> to tensor<2x5x3xf64>", "tensor<2x5x3xf64>"},
      {"contract with sums of one operand",
       {{"tensor<2x3x4xf64>", -2, 2}, {"tensor<4x5xf64>", -2, 2}},
       "  %y = pplan.contract \"btk,kn->b\" %a0, %a1 : tensor<2x3x4xf64>, "
       "tensor<4x5xf64> to tensor<2xf64>", "tensor<2xf64>"},
      {"outer product", {{"tensor<3xf64>", -2, 2}, {"tensor<4xf64>", -2, 2}},
       "  %y = pplan.contract \"a,b->ab\" %a0, %a1 : tensor<3xf64>, "
       "tensor<4xf64> to tensor<3x4xf64>", kT},
      {"reduce sum", {{"tensor<2x3x4xf64>", -2, 2}},
       "  %y = pplan.reduce sum %a0 dims [0, 2] : tensor<2x3x4xf64> to "
       "tensor<3xf64>", "tensor<3xf64>"},
      {"reduce max", {{"tensor<2x3x4xf64>", -2, 2}},
       "  %y = pplan.reduce max %a0 dims [2] : tensor<2x3x4xf64> to "
       "tensor<2x3xf64>", "tensor<2x3xf64>"},
      {"reduce min", {{"tensor<2x3x4xf64>", -2, 2}},
       "  %y = pplan.reduce min %a0 dims [0, 2] : tensor<2x3x4xf64> to "
       "tensor<3xf64>", "tensor<3xf64>"},
      {"reduce prod", {{"tensor<2x4xf64>", -2, 2}},
       "  %y = pplan.reduce prod %a0 dims [1] : tensor<2x4xf64> to "
       "tensor<2xf64>", "tensor<2xf64>"},
      {"reduce prod with zeros", {{"tensor<6x3xf64>", -2, 2}},
       "  %s = pplan.floor %a0 : tensor<6x3xf64>\n"
       "  %d = pplan.sub %a0, %s : tensor<6x3xf64>\n"
       "  %h = pplan.constant dense<0.5> : tensor<6x3xf64>\n"
       "  %m = pplan.sub %d, %h : tensor<6x3xf64>\n"
       "  %r = pplan.relu %m : tensor<6x3xf64>\n"
       "  %y = pplan.reduce prod %r dims [1] : tensor<6x3xf64> to "
       "tensor<6xf64>", "tensor<6xf64>"},
      {"cumsum", {{kT, -2, 2}}, "  %y = pplan.cumsum %a0 dim 1 : " + kT, kT},
      {"cumsum exclusive reverse", {{kT, -2, 2}},
       "  %y = pplan.cumsum %a0 dim 0 exclusive reverse : " + kT, kT},
      {"softmax", {{kT, -2, 2}}, "  %y = pplan.softmax %a0 dim 1 : " + kT, kT},
      {"softmax inner", {{"tensor<2x3x4xf64>", -2, 2}},
       "  %y = pplan.softmax %a0 dim 1 : tensor<2x3x4xf64>",
       "tensor<2x3x4xf64>"},
      {"log softmax", {{kT, -2, 2}},
       "  %y = pplan.softmax %a0 dim 0 log : " + kT, kT},
      {"layer_norm",
       {{"tensor<3x5xf64>", -2, 2}, {"tensor<5xf64>", -2, 2},
        {"tensor<5xf64>", -2, 2}},
       "  %y = pplan.layer_norm %a0 scale %a1 bias %a2 num_dims 1 epsilon "
       "1.0e-5 : tensor<3x5xf64>, tensor<5xf64>, tensor<5xf64>",
       "tensor<3x5xf64>"},
      {"layer_norm of two dimensions",
       {{"tensor<2x3x4xf64>", -2, 2}, {kT, -2, 2}},
       "  %y = pplan.layer_norm %a0 scale %a1 num_dims 2 epsilon 1.0e-2 : "
       "tensor<2x3x4xf64>, " + kT, "tensor<2x3x4xf64>"},
      {"layer_norm alone", {{kT, -2, 2}},
       "  %y = pplan.layer_norm %a0 num_dims 1 epsilon 1.0e-5 : " + kT, kT},
      {"rms_norm", {{"tensor<3x5xf64>", -2, 2}, {"tensor<5xf64>", -2, 2}},
       "  %y = pplan.rms_norm %a0 scale %a1 num_dims 1 epsilon 1.0e-6 : "
       "tensor<3x5xf64>, tensor<5xf64>", "tensor<3x5xf64>"},
      {"rms_norm alone", {{kT, -2, 2}},
       "  %y = pplan.rms_norm %a0 num_dims 2 epsilon 1.0e-6 : " + kT, kT},
      attention("attention", "", 2, 2), attention("causal", "causal", 2, 2),
      attention("grouped", "causal", 4, 2),
      attention("masked", "", 2, 1, "tensor<2x1x3x5xi1>"),
      attention("biased", "", 2, 1, "tensor<1x2x3x5xf64>"),
      {"cross_entropy", {{"tensor<2x3x5xf64>", -2, 2},
                         {"tensor<2x3xi64>", -2, 5, false}},
       "  %y = pplan.cross_entropy %a0, %a1 : tensor<2x3x5xf64>, "
       "tensor<2x3xi64> to tensor<2x3xf64>", "tensor<2x3xf64>"},
      {"used twice", {{kT, -2, 2}},
       "  %e = pplan.exp %a0 : " + kT + "\n  %s = pplan.sin %a0 : " + kT +
       "\n  %y = pplan.mul %e, %s : " + kT, kT},
  };
  return cases;
}

INSTANTIATE_TEST_SUITE_P(
    Operations, Gradient, testing::ValuesIn(getCases()),
    [](const testing::TestParamInfo<GradientCase> &info) {
      std::string name = info.param.name;
      for (char &letter : name)
        if (!std::isalnum(letter))
          letter = '_';
      return name;
    });
} // namespace
