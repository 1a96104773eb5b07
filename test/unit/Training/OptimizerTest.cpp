//===- OptimizerTest.cpp - Update rules against their recurrences ---------===//
//
// Runs several steps of a quadratic loss through the reference interpreter and
// through the recurrences of each paper, written out again for one scalar.
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

using namespace mlir;
using namespace pplan;

namespace {
/// loss = sum(w^2 c) over a 1 x 2 parameter, gradient 2 w c.
constexpr const char *kModel = R"(
func.func @f(%c: tensor<1x2xf64> {pplan.input = "c"}, %w: tensor<1x2xf64> {pplan.param = "w"}) -> (tensor<f64> {pplan.output = "loss"}) {
  %s = pplan.mul %w, %w : tensor<1x2xf64>
  %p = pplan.mul %s, %c : tensor<1x2xf64>
  %l = pplan.reduce sum %p dims [0, 1] : tensor<1x2xf64> to tensor<f64>
  return %l : tensor<f64>
})";

using Step = std::function<double(int t, double w, double gradient)>;

/// Runs five steps both ways and compares the parameter after each.
void compare(const AddOptimizerOptions &options, const Step &first,
             const Step &second) {
  DialectRegistry registry;
  registry.insert<PPlanDialect, func::FuncDialect>();
  registerGradients(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  auto module = parseSourceString<ModuleOp>(kModel, &context);
  ASSERT_TRUE(module);
  PassManager manager(&context);
  TrainingOptions all;
  buildTrainPipeline(manager, all, createAddOptimizer(options));
  ASSERT_TRUE(succeeded(manager.run(*module)));
  func::FuncOp function = *module->getOps<func::FuncOp>().begin();

  std::vector<HostTensor> arguments;
  std::map<std::string, size_t> places;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto type = cast<RankedTensorType>(function.getArgumentTypes()[i]);
    arguments.push_back(HostTensor(type.getShape()));
    for (StringRef attr : {kParamAttr, kStepStateAttr})
      if (auto name = function.getArgAttrOfType<StringAttr>(i, attr))
        places[name.getValue().str()] = i;
  }
  arguments[0].data = {0.5, 2.0};
  arguments[places["w"]].data = {1.0, -0.75};
  double expected[] = {1.0, -0.75};
  const Step *steps[] = {&first, &second};
  for (int t = 1; t <= 5; ++t) {
    auto results = evaluateFunction(function, arguments);
    ASSERT_TRUE(succeeded(results));
    for (auto [i, value] : llvm::enumerate(*results))
      if (auto name =
              function.getResultAttrOfType<StringAttr>(i, kUpdatesAttr))
        arguments[places.at(name.getValue().str())] = value;
    for (int i = 0; i < 2; ++i) {
      double gradient = 2 * expected[i] * arguments[0].data[i];
      expected[i] = (*steps[i])(t, expected[i], gradient);
      ASSERT_NEAR(arguments[places["w"]].data[i], expected[i], 1e-9)
          << "element " << i << " after step " << t;
    }
  }
}

AddOptimizerOptions makeOptions(std::string kind) {
  AddOptimizerOptions options;
  options.kind = kind;
  options.learningRate = 0.1;
  return options;
}

TEST(Optimizer, SgdWithMomentumAndDecay) {
  for (bool nesterov : {false, true}) {
    AddOptimizerOptions options = makeOptions("sgd");
    options.weightDecay = 0.01;
    options.nesterov = nesterov;
    double v[2] = {0, 0};
    auto make = [&](int i) {
      return [&v, i, nesterov](int, double w, double g) {
        g += 0.01 * w;
        v[i] = 0.9 * v[i] + g;
        return w - 0.1 * (nesterov ? g + 0.9 * v[i] : v[i]);
      };
    };
    compare(options, make(0), make(1));
  }
}

TEST(Optimizer, AdamAndAdamW) {
  for (bool decoupled : {false, true}) {
    AddOptimizerOptions options = makeOptions(decoupled ? "adamw" : "adam");
    options.weightDecay = 0.02;
    double m[2] = {0, 0}, v[2] = {0, 0};
    auto make = [&](int i) {
      return [&m, &v, i, decoupled](int t, double w, double g) {
        if (decoupled)
          w -= 0.1 * 0.02 * w;
        else
          g += 0.02 * w;
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        double mean = m[i] / (1 - std::pow(0.9, t));
        double square = v[i] / (1 - std::pow(0.999, t));
        return w - 0.1 * mean / (std::sqrt(square) + 1e-8);
      };
    };
    compare(options, make(0), make(1));
  }
}

TEST(Optimizer, Lion) {
  AddOptimizerOptions options = makeOptions("lion");
  options.beta2 = 0.99;
  options.weightDecay = 0.1;
  double m[2] = {0, 0};
  auto make = [&](int i) {
    return [&m, i](int, double w, double g) {
      double direction = 0.9 * m[i] + 0.1 * g;
      m[i] = 0.99 * m[i] + 0.01 * g;
      return w - 0.1 * ((direction > 0) - (direction < 0) + 0.1 * w);
    };
  };
  compare(options, make(0), make(1));
}

TEST(Optimizer, WarmupAndCosine) {
  AddOptimizerOptions options = makeOptions("sgd");
  options.beta1 = 0;
  options.schedule = "cosine";
  options.warmup = 2;
  options.totalSteps = 4;
  options.minimumRate = 0.01;
  auto step = [](int t, double w, double g) {
    double done = std::min(std::max((t - 2) / 2.0, 0.0), 1.0);
    double rate = 0.01 + 0.09 * 0.5 * (1 + std::cos(M_PI * done));
    return w - rate * std::min(t / 2.0, 1.0) * g;
  };
  compare(options, step, step);
}

TEST(Optimizer, ClippingUsesTheNormOfAllGradients) {
  AddOptimizerOptions options = makeOptions("sgd");
  options.beta1 = 0;
  options.clipNorm = 0.5;
  double state[2] = {1.0, -0.75}, scale = 1;
  auto first = [&](int, double w, double g) {
    double other = 2 * state[1] * 2.0;
    scale = std::min(1.0, 0.5 / (std::sqrt(g * g + other * other) + 1e-6));
    return state[0] = w - 0.1 * scale * g;
  };
  auto second = [&](int, double w, double g) {
    return state[1] = w - 0.1 * scale * g;
  };
  compare(options, first, second);
}

TEST(Optimizer, Adafactor) {
  // A matrix of one row: its column means are the squares themselves.
  double v[2] = {0, 0}, w[2] = {1.0, -0.75};
  double next[2];
  auto advance = [&](int t) {
    double keep = 1 - std::pow(t, -0.8), g[2] = {w[0], 4 * w[1]}, u[2];
    for (int i = 0; i < 2; ++i) {
      v[i] = keep * v[i] + (1 - keep) * (g[i] * g[i] + 1e-30);
      u[i] = g[i] / std::sqrt(v[i]);
    }
    double rms = std::sqrt((u[0] * u[0] + u[1] * u[1]) / 2);
    for (int i = 0; i < 2; ++i)
      w[i] = next[i] = w[i] - 0.1 * u[i] / std::max(rms, 1.0);
  };
  auto first = [&](int t, double, double) {
    advance(t);
    return next[0];
  };
  auto second = [&](int, double, double) { return next[1]; };
  compare(makeOptions("adafactor"), first, second);
}
} // namespace
