//===- HostileTest.cpp - Models made to take long or much memory ----------===//
//
// Each model is small or of ordinary size, and would cost far more than its
// size if something were quadratic or multiplied: it must be imported or
// refused within seconds.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "pplan/Import/ONNX.h"
#include "pplan/Import/Passes.h"
#include <chrono>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

using namespace mlir;

namespace {
/// Generous, since other tests run at the same time.
constexpr std::chrono::seconds limit(20);

onnx::ModelProto makeModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(18);
  return model;
}

void addInput(onnx::ModelProto &model, const std::string &name,
              std::vector<int64_t> shape) {
  onnx::ValueInfoProto *input = model.mutable_graph()->add_input();
  input->set_name(name);
  auto *tensor = input->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(onnx::TensorProto::FLOAT);
  tensor->mutable_shape();
  for (int64_t size : shape)
    tensor->mutable_shape()->add_dim()->set_dim_value(size);
}

onnx::NodeProto &addNode(onnx::GraphProto &graph, const std::string &op,
                         const std::vector<std::string> &inputs,
                         const std::string &output) {
  onnx::NodeProto *node = graph.add_node();
  node->set_op_type(op);
  for (const std::string &input : inputs)
    node->add_input(input);
  node->add_output(output);
  return *node;
}

void addInts(onnx::ModelProto &model, const std::string &name,
             const std::vector<int64_t> &values) {
  onnx::TensorProto *tensor = model.mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::INT64);
  tensor->add_dims(values.size());
  tensor->mutable_int64_data()->Add(values.begin(), values.end());
}

void setAttribute(onnx::NodeProto &node, const std::string &name,
                  int64_t value) {
  onnx::AttributeProto *attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_i(value);
  attribute->set_type(onnx::AttributeProto::INT);
}

/// Imports the model and runs the import phase; the message if it is refused.
std::string import(onnx::ModelProto &model, const std::string &output) {
  model.mutable_graph()->add_output()->set_name(output);
  std::string bytes = model.SerializeAsString(), messages;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  ScopedDiagnosticHandler handler(
      &context, [&](Diagnostic &diag) { messages += diag.str() + "\n"; });
  pplan::OnnxImportOptions options;
  options.sidecarPath = "/dev/null";
  auto begin = std::chrono::steady_clock::now();
  auto module = pplan::importOnnx(llvm::MemoryBufferRef(bytes, "model.onnx"),
                                  options, &context);
  if (module) {
    PassManager manager(&context);
    pplan::buildImportPipeline(manager);
    EXPECT_TRUE(succeeded(manager.run(*module))) << messages;
  } else {
    EXPECT_FALSE(messages.empty());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, limit);
  return module ? "" : messages;
}

bool contains(const std::string &text, const char *part) {
  return text.find(part) != std::string::npos;
}
} // namespace

TEST(Hostile, AMillionDimensions) {
  onnx::ModelProto model = makeModel();
  addInput(model, "x", {1});
  addInts(model, "shape", std::vector<int64_t>(1'000'000, 1));
  addNode(*model.mutable_graph(), "Reshape", {"x", "shape"}, "y");
  EXPECT_TRUE(contains(import(model, "y"), "Reshape 'y'"));
}

TEST(Hostile, AMillionAxes) {
  onnx::ModelProto model = makeModel();
  addInput(model, "x", {1});
  std::vector<int64_t> axes(1'000'000);
  for (size_t i = 0; i < axes.size(); ++i)
    axes[i] = i;
  addInts(model, "axes", axes);
  addNode(*model.mutable_graph(), "Unsqueeze", {"x", "axes"}, "y");
  EXPECT_TRUE(contains(import(model, "y"), "1000000 axes"));
}

TEST(Hostile, InputOfAMillionDimensions) {
  onnx::ModelProto model = makeModel();
  addInput(model, "x", std::vector<int64_t>(1'000'000, 1));
  addNode(*model.mutable_graph(), "Neg", {"x"}, "y");
  EXPECT_TRUE(contains(import(model, "y"), "impossible shape"));
}

TEST(Hostile, EmptyTensorsWithHugeBlocks) {
  for (const char *op : {"DepthToSpace", "SpaceToDepth"}) {
    onnx::ModelProto model = makeModel();
    addInput(model, "x", {1, 0, int64_t(1) << 40, int64_t(1) << 8});
    setAttribute(addNode(*model.mutable_graph(), op, {"x"}, "y"), "blocksize",
                 1 << 16);
    EXPECT_FALSE(import(model, "y").empty());
  }
}

/// Functions of two calls each: 2^30 nodes after inlining.
TEST(Hostile, FunctionsThatMultiply) {
  onnx::ModelProto model = makeModel();
  addInput(model, "x", {2});
  model.add_opset_import()->set_domain("local");
  for (int level = 0; level < 30; ++level) {
    onnx::FunctionProto *function = model.add_functions();
    function->set_domain("local");
    function->set_name("f" + std::to_string(level));
    function->add_input("a");
    function->add_output("c");
    for (const char *step : {"ab", "bc"}) {
      onnx::NodeProto *node = function->add_node();
      bool last = level == 29;
      node->set_op_type(last ? "Neg" : "f" + std::to_string(level + 1));
      node->set_domain(last ? "" : "local");
      node->set_name(step);
      node->add_input(std::string(1, step[0]));
      node->add_output(std::string(1, step[1]));
    }
  }
  addNode(*model.mutable_graph(), "f0", {"x"}, "y").set_domain("local");
  EXPECT_TRUE(contains(import(model, "y"), "after inlining"));
}

/// One megabyte in the call becomes a terabyte in the function's attributes.
TEST(Hostile, AttributesThatMultiply) {
  onnx::ModelProto model = makeModel();
  addInput(model, "x", {2});
  model.add_opset_import()->set_domain("local");
  onnx::FunctionProto *function = model.add_functions();
  function->set_domain("local");
  function->set_name("f");
  function->add_input("a");
  function->add_output("b");
  onnx::NodeProto *node = function->add_node();
  node->set_op_type("Neg");
  node->add_input("a");
  node->add_output("b");
  for (int i = 0; i < 1'000'000; ++i) {
    onnx::AttributeProto *attribute = node->add_attribute();
    attribute->set_name("n");
    attribute->set_ref_attr_name("big");
  }
  onnx::NodeProto &call = addNode(*model.mutable_graph(), "f", {"x"}, "y");
  call.set_domain("local");
  onnx::AttributeProto *big = call.add_attribute();
  big->set_name("big");
  big->set_s(std::string(1 << 20, 'x'));
  EXPECT_TRUE(contains(import(model, "y"), "after inlining"));
}

/// The name of a call is a part of the name of every node in the function.
TEST(Hostile, NamesThatMultiply) {
  onnx::ModelProto model = makeModel();
  addInput(model, "x", {2});
  model.add_opset_import()->set_domain("local");
  onnx::FunctionProto *function = model.add_functions();
  function->set_domain("local");
  function->set_name("f");
  function->add_input("v0");
  function->add_output("v50000");
  for (int i = 0; i < 50'000; ++i) {
    onnx::NodeProto *node = function->add_node();
    node->set_op_type("Neg");
    node->add_input("v" + std::to_string(i));
    node->add_output("v" + std::to_string(i + 1));
  }
  onnx::NodeProto &call = addNode(*model.mutable_graph(), "f", {"x"}, "y");
  call.set_domain("local");
  call.set_name(std::string(1 << 20, 'n'));
  EXPECT_TRUE(contains(import(model, "y"), "after inlining"));
}

TEST(Hostile, LongChains) {
  for (const char *op : {"Neg", "Relu", "Identity", "Softmax", "Tanh"}) {
    onnx::ModelProto model = makeModel();
    addInput(model, "x", {2, 3});
    std::string last = "x";
    for (int i = 0; i < 50'000; ++i) {
      std::string next = "v" + std::to_string(i);
      addNode(*model.mutable_graph(), op, {last}, next);
      last = next;
    }
    EXPECT_EQ(import(model, last), "") << op;
  }
}

/// Adds form what the raising of norms, activations and attention looks at.
TEST(Hostile, OneValueWithManyUses) {
  onnx::ModelProto model = makeModel();
  addInput(model, "x", {2, 3});
  std::string last = "x";
  for (int i = 0; i < 20'000; ++i) {
    std::string product = "p" + std::to_string(i), sum = "s" + std::to_string(i);
    addNode(*model.mutable_graph(), i % 2 ? "Mul" : "Sub", {"x", "x"}, product);
    addNode(*model.mutable_graph(), i % 3 ? "Add" : "Div", {last, product}, sum);
    last = sum;
  }
  EXPECT_EQ(import(model, last), "");
}

TEST(Hostile, ManyOperands) {
  for (const char *op : {"Concat", "Sum", "Max"}) {
    onnx::ModelProto model = makeModel();
    addInput(model, "x", {2, 3});
    setAttribute(addNode(*model.mutable_graph(), op,
                         std::vector<std::string>(20'000, "x"), "y"),
                 "axis", 0);
    EXPECT_EQ(import(model, "y"), "") << op;
  }
}

/// Folding stops at a budget: each reduction reads a million elements.
TEST(Hostile, MuchToFold) {
  onnx::ModelProto model = makeModel();
  addInput(model, "x", {1});
  onnx::GraphProto &graph = *model.mutable_graph();
  addInts(model, "start", {0});
  addInts(model, "end", {1'900'000});
  addInts(model, "step", {1});
  addNode(graph, "Range", {"start", "end", "step"}, "r");
  addNode(graph, "Shape", {"x"}, "s0");
  for (int i = 0; i < 1000; ++i) {
    std::string n = std::to_string(i);
    addNode(graph, "ReduceMax", {"r"}, "m" + n);
    addNode(graph, "Add", {"s" + n, "m" + n}, "s" + std::to_string(i + 1));
  }
  EXPECT_EQ(import(model, "s1000"), "");
}
