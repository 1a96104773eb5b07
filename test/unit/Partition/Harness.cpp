//===- Harness.cpp - Sharded against unsharded ----------------------------===//
//
// See Harness.h.
//
//===----------------------------------------------------------------------===//
#include "Harness.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "pplan/Partition/Passes.h"
#include <cmath>
#include <cstdlib>

using namespace mlir;
using namespace pplan;
using namespace pplan::test;

MLIRContext &pplan::test::getContext() {
  static MLIRContext *context = [] {
    auto *result = new MLIRContext(MLIRContext::Threading::DISABLED);
    result->loadDialect<PPlanDialect, spmd::SPMDDialect, func::FuncDialect>();
    return result;
  }();
  return *context;
}

ModuleBuilder::ModuleBuilder(MLIRContext *context, ArrayRef<int64_t> meshSizes)
    : builder(context), loc(builder.getUnknownLoc()),
      module(ModuleOp::create(loc)) {
  SmallVector<MeshAxisAttr> axes;
  for (auto [index, size] : llvm::enumerate(meshSizes))
    axes.push_back(
        MeshAxisAttr::get(context, std::string(1, 'a' + index), size));
  meshAttr = MeshAttr::get(context, axes);
  mesh = DeviceMesh::get(meshAttr);
  meshName = FlatSymbolRefAttr::get(context, "mesh");
  builder.setInsertionPointToEnd(module->getBody());
  MeshOp::create(builder, loc, "mesh", meshAttr);
  function =
      func::FuncOp::create(builder, loc, "f", builder.getFunctionType({}, {}));
  builder.setInsertionPointToEnd(function.addEntryBlock());
}

Value ModuleBuilder::addArgument(RankedTensorType type,
                                 const TensorSharding &sharding) {
  unsigned index = function.getNumArguments();
  (void)function.insertArgument(index, type, builder.getDictionaryAttr({}),
                                loc);
  function.setArgAttr(index, kShardingAttr,
                      sharding.toAttr(meshName, meshAttr));
  return function.getArgument(index);
}

void ModuleBuilder::annotate(Value value, const TensorSharding &sharding) {
  setSharding(value, sharding.toAttr(meshName, meshAttr));
}

void ModuleBuilder::finish(ArrayRef<Value> values,
                           ArrayRef<TensorSharding> shardings) {
  func::ReturnOp::create(builder, loc, values);
  SmallVector<Type> results;
  for (Value value : values)
    results.push_back(value.getType());
  function.setFunctionType(
      builder.getFunctionType(function.getArgumentTypes(), results));
  for (auto [index, sharding] : llvm::enumerate(shardings))
    function.setResultAttr(index, kShardingAttr,
                           sharding.toAttr(meshName, meshAttr));
}

TensorSharding pplan::test::getRandomSharding(Random &random, unsigned rank,
                                              const DeviceMesh &mesh,
                                              bool allowPartial) {
  TensorSharding sharding = TensorSharding::getReplicated(rank);
  SmallVector<int8_t> axes;
  for (size_t axis = 0; axis < mesh.sizes.size(); ++axis)
    axes.push_back(axis);
  std::shuffle(axes.begin(), axes.end(), random);
  for (int8_t axis : axes) {
    int64_t last = static_cast<int64_t>(rank) - (allowPartial ? 0 : 1);
    int64_t place = pick(random, -1, last);
    if (place == static_cast<int64_t>(rank))
      sharding.partial.push_back(axis);
    else if (place >= 0)
      sharding.dims[place].push_back(axis);
  }
  llvm::sort(sharding.partial);
  if (!sharding.partial.empty())
    sharding.partialKind = static_cast<ReductionKind>(pick(random, 0, 3));
  return sharding;
}

std::vector<TensorSharding> pplan::test::getAllShardings(unsigned rank,
                                                         const DeviceMesh &mesh,
                                                         ReductionKind kind) {
  std::vector<TensorSharding> all = {TensorSharding::getReplicated(rank)};
  for (size_t axis = 0; axis < mesh.sizes.size(); ++axis) {
    std::vector<TensorSharding> next = all;
    for (const TensorSharding &base : all) {
      for (unsigned dim = 0; dim < rank; ++dim)
        for (size_t place = 0; place <= base.dims[dim].size(); ++place) {
          next.push_back(base);
          AxisList &axes = next.back().dims[dim];
          axes.insert(axes.begin() + place, axis);
        }
      next.push_back(base);
      next.back().partial.push_back(axis);
      next.back().partialKind = kind;
    }
    all = std::move(next);
  }
  return all;
}

static HostTensor getRandomTensor(Random &random, RankedTensorType type) {
  HostTensor tensor(type.getShape());
  for (double &value : tensor.data) {
    if (type.getElementType().isInteger(1))
      value = pick(random, 0, 1);
    else if (isa<IntegerType>(type.getElementType()))
      value = pick(random, 0, 9);
    else
      value = (2 * pick(random, -8, 7) + 1) / 8.0; // not 0: x / 0 is not linear
  }
  return tensor;
}

std::vector<HostTensor>
pplan::test::getRandomArguments(Random &random, func::FuncOp function) {
  std::vector<HostTensor> arguments;
  for (Type type : function.getArgumentTypes())
    arguments.push_back(getRandomTensor(random, cast<RankedTensorType>(type)));
  return arguments;
}

static bool isClose(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  return a == b ||
         std::fabs(a - b) <= 1e-6 * (1 + std::max(std::fabs(a), std::fabs(b)));
}

static std::string print(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os);
  return text;
}

std::string pplan::test::checkSharded(ModuleOp module, Random &random) {
  std::string messages;
  ScopedDiagnosticHandler handler(module.getContext(), [&](Diagnostic &diag) {
    messages += diag.str() + "\n";
    return success();
  });
  if (failed(verify(module)))
    return "the test's module is invalid: " + messages + print(module);
  auto function = *module.getOps<func::FuncOp>().begin();
  std::vector<HostTensor> arguments = getRandomArguments(random, function);
  auto expected = evaluateFunction(function, arguments);

  OwningOpRef<ModuleOp> device(module.clone());
  PassManager manager(module.getContext());
  buildPartitionPipeline(manager);
  if (failed(expected) || failed(manager.run(*device)))
    return messages + "\nglobal view:\n" + print(module) + "\ndevice view:\n" +
           print(*device);
  auto actual =
      runDeviceProgram(*device->getOps<func::FuncOp>().begin(), arguments);
  if (failed(actual))
    return messages + "\nglobal view:\n" + print(module) + "\ndevice view:\n" +
           print(*device);
  for (size_t i = 0; i < expected->size(); ++i)
    for (int64_t j = 0; j < (*expected)[i].size(); ++j)
      if (!isClose((*expected)[i].data[j], (*actual)[i].data[j]))
        return "result " + std::to_string(i) + ", element " +
               std::to_string(j) + " is " +
               std::to_string((*actual)[i].data[j]) + " instead of " +
               std::to_string((*expected)[i].data[j]) + "\nglobal view:\n" +
               print(module) + "\ndevice view:\n" + print(*device);
  return "";
}

int64_t pplan::test::getCases(int64_t standard) {
  const char *text = std::getenv("PPLAN_CASES");
  return text ? std::strtoll(text, nullptr, 10) : standard;
}
