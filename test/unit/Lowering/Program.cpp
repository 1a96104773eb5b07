//===- Program.cpp - Compile MLIR text, run it in this process ------------===//
//
// Loads object files with LLVM's JIT linker; the runtime's functions are those
// linked into the test.
//
//===----------------------------------------------------------------------===//
#include "Program.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "pplan/Dialect/SPMD/SPMD.h"
#include "pplan/Lowering/Passes.h"
#include "pplan/Memory/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace pplan;
using namespace pplan::test;

int64_t Tensor::count(const std::vector<int64_t> &shape) {
  int64_t n = 1;
  for (int64_t size : shape)
    n *= size;
  return n;
}

static int64_t flatten(const std::vector<int64_t> &shape,
                       const std::vector<int64_t> &index) {
  int64_t flat = 0;
  for (size_t i = 0; i < shape.size(); ++i)
    flat = flat * shape[i] + index[i];
  return flat;
}

double &Tensor::at(std::vector<int64_t> index) {
  return values[flatten(shape, index)];
}
double Tensor::at(std::vector<int64_t> index) const {
  return values[flatten(shape, index)];
}

static const llvm::fltSemantics &getSemantics(pplan_dtype dtype) {
  return dtype == PPLAN_F16 ? llvm::APFloat::IEEEhalf()
                            : llvm::APFloat::BFloat();
}

template <typename T> static void put(char *to, double value) {
  T element = static_cast<T>(value);
  std::memcpy(to, &element, sizeof(T));
}
template <typename T> static double take(const char *from) {
  T element;
  std::memcpy(&element, from, sizeof(T));
  return static_cast<double>(element);
}

std::vector<char> Tensor::toBytes() const {
  size_t width = pplan_rt_dtype_size(dtype);
  std::vector<char> bytes(width * values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    char *to = bytes.data() + i * width;
    switch (dtype) {
    case PPLAN_F32: put<float>(to, values[i]); break;
    case PPLAN_F64: put<double>(to, values[i]); break;
    case PPLAN_I8: put<int8_t>(to, values[i]); break;
    case PPLAN_I1:
    case PPLAN_U8: put<uint8_t>(to, values[i]); break;
    case PPLAN_I32: put<int32_t>(to, values[i]); break;
    case PPLAN_I64: put<int64_t>(to, values[i]); break;
    case PPLAN_F16:
    case PPLAN_BF16: {
      llvm::APFloat value(values[i]);
      bool lost;
      value.convert(getSemantics(dtype), llvm::APFloat::rmNearestTiesToEven,
                    &lost);
      put<uint16_t>(to, value.bitcastToAPInt().getZExtValue());
    }
    }
  }
  return bytes;
}

Tensor Tensor::fromBytes(std::vector<int64_t> shape, pplan_dtype dtype,
                         const std::vector<char> &bytes) {
  Tensor result{shape, dtype, std::vector<double>(count(shape))};
  size_t width = pplan_rt_dtype_size(dtype);
  for (size_t i = 0; i < result.values.size(); ++i) {
    const char *from = bytes.data() + i * width;
    double &value = result.values[i];
    switch (dtype) {
    case PPLAN_F32: value = take<float>(from); break;
    case PPLAN_F64: value = take<double>(from); break;
    case PPLAN_I8: value = take<int8_t>(from); break;
    case PPLAN_I1:
    case PPLAN_U8: value = take<uint8_t>(from); break;
    case PPLAN_I32: value = take<int32_t>(from); break;
    case PPLAN_I64: value = take<int64_t>(from); break;
    case PPLAN_F16:
    case PPLAN_BF16:
      value = llvm::APFloat(getSemantics(dtype),
                            llvm::APInt(16, static_cast<uint16_t>(
                                                take<uint16_t>(from))))
                  .convertToDouble();
    }
  }
  return result;
}

Tensor test::tensor(std::vector<int64_t> shape, std::vector<double> values,
                    pplan_dtype dtype) {
  Tensor exact{shape, dtype, std::move(values)};
  return Tensor::fromBytes(shape, dtype, exact.toBytes());
}

Tensor test::random(std::vector<int64_t> shape, double low, double high,
                    pplan_dtype dtype, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<double> values(Tensor::count(shape));
  for (double &value : values)
    value = distribution(engine);
  if (dtype == PPLAN_I1)
    for (double &value : values)
      value = value > (low + high) / 2;
  return tensor(shape, values, dtype);
}

std::string test::typeText(const std::vector<int64_t> &shape,
                           pplan_dtype dtype) {
  std::string text = "tensor<";
  for (int64_t size : shape)
    text += std::to_string(size) + "x";
  std::string name = dtype == PPLAN_U8 ? "ui8" : pplan_rt_dtype_name(dtype);
  return text + name + ">";
}

void test::forEachIndex(
    const std::vector<int64_t> &shape,
    const std::function<void(const std::vector<int64_t> &)> &visit) {
  std::vector<int64_t> index(shape.size(), 0);
  for (int64_t n = Tensor::count(shape); n > 0; --n) {
    visit(index);
    for (int i = static_cast<int>(shape.size()) - 1; i >= 0; --i) {
      if (++index[i] < shape[i])
        break;
      index[i] = 0;
    }
  }
}

std::unique_ptr<MLIRContext> test::makeContext() {
  DialectRegistry registry;
  registry.insert<PPlanDialect, spmd::SPMDDialect, func::FuncDialect>();
  registerMemoryDialects(registry);
  registerLoweringDialects(registry);
  return std::make_unique<MLIRContext>(registry,
                                       MLIRContext::Threading::DISABLED);
}

OwningOpRef<ModuleOp> test::lower(MLIRContext &context,
                                  const std::string &text) {
  auto module = parseSourceString<ModuleOp>(text, &context);
  if (!module) {
    ADD_FAILURE() << "cannot parse " << text;
    return {};
  }
  PassManager manager(&context);
  buildMemoryPipeline(manager, MemoryPipelineOptions());
  buildLowerPipeline(manager, LowerPipelineOptions());
  if (failed(manager.run(*module))) {
    ADD_FAILURE() << "cannot lower " << text;
    return {};
  }
  return module;
}

/// The runtime's functions that compiled programs call.
static llvm::orc::SymbolMap getRuntimeSymbols(llvm::orc::LLJIT &jit) {
  llvm::orc::SymbolMap symbols;
  auto add = [&](const char *name, auto *function) {
    symbols[jit.mangleAndIntern(name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  };
#define PPLAN_SYMBOL(name) add(#name, &name)
  PPLAN_SYMBOL(pplan_rt_op_begin);
  PPLAN_SYMBOL(pplan_rt_op_end);
  PPLAN_SYMBOL(pplan_rt_default_stream);
  PPLAN_SYMBOL(pplan_rt_axis_coord);
  PPLAN_SYMBOL(pplan_rt_comm);
  PPLAN_SYMBOL(pplan_rt_gemm);
  PPLAN_SYMBOL(pplan_rt_attention);
  PPLAN_SYMBOL(pplan_rt_attention_backward);
  PPLAN_SYMBOL(pplan_rt_scatter_add);
  PPLAN_SYMBOL(pplan_rt_all_reduce);
  PPLAN_SYMBOL(pplan_rt_all_gather);
  PPLAN_SYMBOL(pplan_rt_reduce_scatter);
  PPLAN_SYMBOL(pplan_rt_all_to_all);
  PPLAN_SYMBOL(pplan_rt_permute);
#undef PPLAN_SYMBOL
  return symbols;
}

Program::Program(const std::string &text, const CodegenOptions &options)
    : context(makeContext()) {
  OwningOpRef<ModuleOp> module = lower(*context, text);
  llvm::SmallString<128> path;
  if (!module ||
      llvm::sys::fs::createTemporaryFile("pplan-test", "o", path)) {
    ADD_FAILURE() << "no object file";
    return;
  }
  bool emitted = succeeded(emitObject(*module, path, options));
  auto object = llvm::MemoryBuffer::getFile(path);
  llvm::sys::fs::remove(path);
  if (!emitted || !object) {
    ADD_FAILURE() << "no machine code for " << text;
    return;
  }
  auto created = llvm::orc::LLJITBuilder().create();
  if (!created) {
    ADD_FAILURE() << llvm::toString(created.takeError());
    return;
  }
  jit = std::move(*created);
  auto &dylib = jit->getMainJITDylib();
  auto host = llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(
      jit->getDataLayout().getGlobalPrefix());
  if (!host) {
    ADD_FAILURE() << llvm::toString(host.takeError());
    return;
  }
  dylib.addGenerator(std::move(*host));
  llvm::cantFail(
      dylib.define(llvm::orc::absoluteSymbols(getRuntimeSymbols(*jit))));
  llvm::cantFail(jit->addObjectFile(std::move(*object)));
  auto address = jit->lookup("pplan_rt_program");
  if (!address) {
    ADD_FAILURE() << llvm::toString(address.takeError());
    return;
  }
  program = address->toPtr<const pplan_program *>();
}

Program::~Program() = default;

namespace {
/// What the ranks of one run share.
struct Run {
  const pplan_program *program;
  std::vector<std::vector<std::vector<char>>> inputs, outputs;
};
} // namespace

static int64_t localCount(const pplan_tensor &tensor) {
  int64_t n = 1;
  for (int i = 0; i < tensor.rank; ++i)
    n *= tensor.dims[i].local_size;
  return n;
}

static pplan_status *runRank(pplan_context *context, void *user) {
  auto &run = *static_cast<Run *>(user);
  int rank = pplan_rt_rank(context);
  pplan_arena *arena = nullptr;
  if (pplan_status *status = pplan_rt_arena_create(
          context, run.program->arena_bytes, &arena))
    return status;
  // Whatever is read before it is written shows as NaN.
  std::memset(pplan_rt_arena_base(arena), 0xff, run.program->arena_bytes);
  std::vector<const void *> inputs;
  std::vector<void *> outputs;
  for (auto &input : run.inputs[rank])
    inputs.push_back(input.data());
  for (auto &output : run.outputs[rank])
    outputs.push_back(output.data());
  pplan_status *status =
      run.program->entry(context, pplan_rt_arena_base(arena), nullptr,
                         nullptr, inputs.data(), outputs.data());
  pplan_rt_arena_destroy(arena);
  return status;
}

std::vector<std::vector<Tensor>>
Program::runRanks(const std::vector<std::vector<Tensor>> &inputs) const {
  if (!program)
    return {};
  Run run{program, {}, {}};
  for (const auto &rankInputs : inputs) {
    run.inputs.emplace_back();
    for (const Tensor &input : rankInputs)
      run.inputs.back().push_back(input.toBytes());
    run.outputs.emplace_back();
    for (int i = 0; i < program->num_outputs; ++i)
      run.outputs.back().push_back(std::vector<char>(
          localCount(program->outputs[i]) *
              pplan_rt_dtype_size(program->outputs[i].dtype),
          static_cast<char>(0xff)));
  }
  std::vector<int64_t> sizes;
  for (int i = 0; i < program->num_axes; ++i)
    sizes.push_back(program->axes[i].size);
  pplan_status *status =
      pplan_rt_launch(sizes.size(), sizes.data(), runRank, &run);
  EXPECT_EQ(pplan_rt_status_code(status), PPLAN_OK)
      << pplan_rt_status_message(status);
  pplan_rt_status_free(status);
  std::vector<std::vector<Tensor>> results;
  for (auto &outputs : run.outputs) {
    results.emplace_back();
    for (int i = 0; i < program->num_outputs; ++i) {
      const pplan_tensor &tensor = program->outputs[i];
      std::vector<int64_t> shape;
      for (int d = 0; d < tensor.rank; ++d)
        shape.push_back(tensor.dims[d].local_size);
      results.back().push_back(Tensor::fromBytes(
          shape, static_cast<pplan_dtype>(tensor.dtype), outputs[i]));
    }
  }
  return results;
}

std::vector<Tensor> Program::run(const std::vector<Tensor> &inputs) const {
  auto results = runRanks({inputs});
  return results.empty() ? std::vector<Tensor>() : results.front();
}

void test::expectNear(const Tensor &actual, const Tensor &expected,
                      double tolerance) {
  ASSERT_EQ(actual.shape, expected.shape);
  double scale = 1;
  for (double value : expected.values)
    if (std::isfinite(value))
      scale = std::max(scale, std::abs(value));
  for (size_t i = 0; i < expected.values.size(); ++i) {
    double a = actual.values[i], e = expected.values[i];
    bool same = std::isfinite(e) ? std::abs(a - e) <= tolerance * scale
                                 : (std::isnan(e) ? std::isnan(a) : a == e);
    ASSERT_TRUE(same) << "element " << i << " is " << a << ", expected " << e;
  }
}

std::string test::forward(const std::vector<Tensor> &inputs,
                          const std::string &body,
                          const std::string &resultType) {
  std::string text = "func.func @forward(";
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string n = std::to_string(i);
    text += (i ? ", %a" : "%a") + n + ": " +
            typeText(inputs[i].shape, inputs[i].dtype) +
            " {pplan.input = \"a" + n + "\"}";
  }
  return text + ") -> (" + resultType + " {pplan.output = \"y\"}) {\n" + body +
         "\n  return %y : " + resultType + "\n}\n";
}

void test::check(const std::vector<Tensor> &inputs, const std::string &body,
                 const Tensor &expected, double tolerance) {
  SCOPED_TRACE(body);
  Program program(
      forward(inputs, body, typeText(expected.shape, expected.dtype)));
  if (!program.isValid())
    return;
  auto results = program.run(inputs);
  ASSERT_EQ(results.size(), 1u);
  expectNear(results[0], expected, tolerance);
}
