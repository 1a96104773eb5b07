//===- Program.h - Compile MLIR text, run it in this process ----*- C++ -*-===//
//
// The harness of the lowering tests: text goes through the memory and lower
// phases to an object file, which is loaded into the test and run by the
// runtime on as many ranks as the program has.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_TEST_UNIT_LOWERING_PROGRAM_H
#define PPLAN_TEST_UNIT_LOWERING_PROGRAM_H

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/BuiltinOps.h"
#include "pplan/Lowering/Codegen.h"
#include "pplan_rt.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pplan::test {

/// A tensor whose elements are kept as doubles, whatever their type.
struct Tensor {
  std::vector<int64_t> shape;
  pplan_dtype dtype = PPLAN_F32;
  std::vector<double> values;

  static int64_t count(const std::vector<int64_t> &shape);
  int64_t size() const { return count(shape); }
  double &at(std::vector<int64_t> index);
  double at(std::vector<int64_t> index) const;
  std::vector<char> toBytes() const;
  static Tensor fromBytes(std::vector<int64_t> shape, pplan_dtype dtype,
                          const std::vector<char> &bytes);
};

/// Elements uniform in [low, high), rounded to the type; the same each time.
Tensor random(std::vector<int64_t> shape, double low = -2, double high = 2,
              pplan_dtype dtype = PPLAN_F32, unsigned seed = 1);
/// A tensor of these values.
Tensor tensor(std::vector<int64_t> shape, std::vector<double> values,
              pplan_dtype dtype = PPLAN_F32);
/// `tensor<2x3xf32>`.
std::string typeText(const std::vector<int64_t> &shape, pplan_dtype dtype);
/// Calls `visit` with each index of a shape in row-major order.
void forEachIndex(const std::vector<int64_t> &shape,
                  const std::function<void(const std::vector<int64_t> &)> &visit);

/// Parses `text` and runs the phases memory and lower; fails the test and
/// returns null on an error.
mlir::OwningOpRef<mlir::ModuleOp> lower(mlir::MLIRContext &context,
                                        const std::string &text);
/// A context with all dialects.
std::unique_ptr<mlir::MLIRContext> makeContext();

/// A compiled program in this process.
class Program {
public:
  /// Fails the test when `text` cannot be compiled.
  explicit Program(const std::string &text, const CodegenOptions &options = {});
  ~Program();

  bool isValid() const { return program != nullptr; }
  const pplan_program *get() const { return program; }

  /// Runs on one rank. Inputs in the order of the arguments.
  std::vector<Tensor> run(const std::vector<Tensor> &inputs) const;
  /// Runs on all ranks: inputs and outputs of each rank are local tensors.
  std::vector<std::vector<Tensor>>
  runRanks(const std::vector<std::vector<Tensor>> &inputs) const;

private:
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<llvm::orc::LLJIT> jit;
  const pplan_program *program = nullptr;
};

/// Fails the test where a value differs by more than `tolerance` times the
/// largest expected magnitude (at least 1); NaN must meet NaN.
void expectNear(const Tensor &actual, const Tensor &expected,
                double tolerance = 1e-5);

/// `func.func @forward` with arguments %a0, %a1, ... of the inputs' types, the
/// given body, and one result %y.
std::string forward(const std::vector<Tensor> &inputs, const std::string &body,
                    const std::string &resultType);

/// Compiles, runs and compares the one result.
void check(const std::vector<Tensor> &inputs, const std::string &body,
           const Tensor &expected, double tolerance = 1e-5);

} // namespace pplan::test

#endif // PPLAN_TEST_UNIT_LOWERING_PROGRAM_H
