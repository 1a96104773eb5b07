//===- CompiledTest.cpp - Sharded machine code against unsharded ----------===//
//
// Random graphs under random shardings go through all phases after planning and
// run on one thread per device; the interpreter says what the unsharded graph
// computes. With PPLAN_TSAN in the environment the machine code reports its
// memory accesses to ThreadSanitizer, which must then be part of the binary.
//
//===----------------------------------------------------------------------===//
#include "../Lowering/Program.h"
#include "../Partition/RandomGraph.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"
#include "pplan/Partition/Passes.h"
#include <cmath>
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mlir;
using namespace pplan;
using namespace pplan::test;

namespace {
/// How an argument or result is spread over the devices.
struct Layout {
  TensorSharding sharding;
  RankedTensorType type;
};
} // namespace

static Layout getLayout(Attribute attr, MeshAttr mesh) {
  auto parts = cast<ArrayAttr>(attr);
  return {TensorSharding::get(cast<ShardingAttr>(parts[0]), mesh),
          cast<RankedTensorType>(cast<TypeAttr>(parts[1]).getValue())};
}

static pplan_dtype getDType(Type element) {
  if (element.isF32())
    return PPLAN_F32;
  return element.isInteger(1)    ? PPLAN_I1
         : element.isInteger(32) ? PPLAN_I32
                                 : PPLAN_I64;
}

static Tensor toTensor(const HostTensor &tensor, Type element) {
  return {{tensor.shape.begin(), tensor.shape.end()},
          getDType(element),
          tensor.data};
}

static HostTensor toHostTensor(const Tensor &tensor) {
  HostTensor result(tensor.shape);
  result.data = tensor.values;
  return result;
}

static std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  return text;
}

static CodegenOptions getCodegenOptions() {
  CodegenOptions options;
  options.threadSanitizer = std::getenv("PPLAN_TSAN") != nullptr;
  options.optLevel = options.threadSanitizer ? 1 : 3;
  return options;
}

/// Each device's parts of the arguments, garbage in their padding.
static std::vector<std::vector<Tensor>>
splitArguments(func::FuncOp program, ArrayRef<HostTensor> arguments,
               MeshAttr meshAttr) {
  DeviceMesh mesh = DeviceMesh::get(meshAttr);
  std::vector<std::vector<Tensor>> parts(mesh.getNumDevices());
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    Layout layout =
        getLayout(program.getArgAttr(i, spmd::kLayoutAttr), meshAttr);
    Type element = layout.type.getElementType();
    for (auto [device, own] : llvm::enumerate(parts))
      own.push_back(toTensor(getShard(argument, layout.sharding, mesh,
                                      getCoordinates(device, mesh),
                                      getGarbage(element)),
                             element));
  }
  return parts;
}

/// What is wrong with a result in float32 of graphs whose values stay small, or
/// nothing.
static std::string compare(const HostTensor &actual,
                           const HostTensor &expected) {
  double largest = 1;
  for (double value : expected.data)
    if (std::isfinite(value))
      largest = std::max(largest, std::fabs(value));
  for (int64_t i = 0; i < expected.size(); ++i) {
    double a = actual.data[i], e = expected.data[i];
    bool same = std::isfinite(e) ? std::fabs(a - e) <= 1e-4 * largest
                                 : (std::isnan(e) ? std::isnan(a) : a == e);
    if (!same)
      return "element " + std::to_string(i) + " is " + std::to_string(a) +
             " instead of " + std::to_string(e);
  }
  return "";
}

static std::string checkCompiled(ModuleOp module, Random &random) {
  std::string messages;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diag) {
    messages += diag.str() + "\n";
    return success();
  });
  auto function = *module.getOps<func::FuncOp>().begin();
  std::vector<HostTensor> arguments = getRandomArguments(random, function);
  auto expected = evaluateFunction(function, arguments);
  OwningOpRef<ModuleOp> device(module.clone());
  PassManager manager(module.getContext());
  buildPartitionPipeline(manager);
  if (failed(expected) || failed(manager.run(*device)))
    return messages + print(module);

  auto entry = *device->getOps<func::FuncOp>().begin();
  MeshAttr meshAttr = (*module.getOps<MeshOp>().begin()).getShape();
  Program program(print(*device), getCodegenOptions());
  auto outputs = program.runRanks(splitArguments(entry, arguments, meshAttr));
  if (outputs.empty())
    return "the program cannot be compiled or run\n" + print(*device);
  for (size_t i = 0; i < expected->size(); ++i) {
    Layout layout =
        getLayout(entry.getResultAttr(i, spmd::kLayoutAttr), meshAttr);
    DeviceTensors parts;
    for (const std::vector<Tensor> &own : outputs)
      parts.push_back(toHostTensor(own[i]));
    auto whole = joinShards(layout.type.getShape(), parts, layout.sharding,
                            DeviceMesh::get(meshAttr), /*tolerance=*/0);
    std::string error = whole ? compare(*whole, (*expected)[i])
                              : "copies on different devices differ";
    if (!error.empty())
      return "result " + std::to_string(i) + ": " + error + "\nglobal view:\n" +
             print(module) + "\ndevice view:\n" + print(*device);
  }
  return "";
}

TEST(Compiled, RandomGraphsUnderRandomShardings) {
  Random random(6);
  int64_t cases = getCases(250);
  for (int64_t i = 0; i < cases; ++i) {
    RandomGraph graph(random, pick(random, 1, 8), /*partialBoundary=*/false);
    std::string error = checkCompiled(graph.getModule(), random);
    ASSERT_TRUE(error.empty() && !HasFailure()) << "case " << i << ": " << error;
  }
}
