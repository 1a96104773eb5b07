//===- Harness.h - Sharded against unsharded --------------------*- C++ -*-===//
//
// Builds small modules with arbitrary shardings, partitions them, runs both
// views with the reference interpreter and compares.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_TEST_UNIT_PARTITION_HARNESS_H
#define PPLAN_TEST_UNIT_PARTITION_HARNESS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "pplan/Dialect/SPMD/SPMD.h"
#include "pplan/Reference/Interpreter.h"
#include <random>

namespace pplan::test {

using Random = std::mt19937_64;

/// Number in [low, high].
inline int64_t pick(Random &random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

/// A module with a mesh `@mesh` (axes "a", "b", ...) and a function `@f` that
/// is still without terminator.
class ModuleBuilder {
public:
  ModuleBuilder(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> meshSizes);

  mlir::Value addArgument(mlir::RankedTensorType type,
                          const TensorSharding &sharding);
  void annotate(mlir::Value value, const TensorSharding &sharding);
  /// Ends the function; each returned value has a result sharding.
  void finish(llvm::ArrayRef<mlir::Value> values,
              llvm::ArrayRef<TensorSharding> shardings);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  MeshAttr meshAttr;
  DeviceMesh mesh;
  mlir::FlatSymbolRefAttr meshName;
};

/// A context with the dialects loaded, on one thread.
mlir::MLIRContext &getContext();

/// Any sharding: each axis on a dimension, partial, or unused, in any order.
TensorSharding getRandomSharding(Random &random, unsigned rank,
                                 const DeviceMesh &mesh, bool allowPartial);
/// All shardings of a tensor of that rank, partial with one kind.
std::vector<TensorSharding>
getAllShardings(unsigned rank, const DeviceMesh &mesh, ReductionKind kind);

/// Small numbers for each argument: odd eighths, so that none is 0, and integers
/// from 0 to 9.
std::vector<HostTensor> getRandomArguments(Random &random,
                                           mlir::func::FuncOp function);

/// Partitions a copy of the module with the phase's pipeline, runs both on
/// random arguments and compares. Returns a description of what went wrong,
/// empty when nothing did.
std::string checkSharded(mlir::ModuleOp module, Random &random);

/// Number of cases from the environment variable PPLAN_CASES, or `standard`.
int64_t getCases(int64_t standard);

} // namespace pplan::test

#endif // PPLAN_TEST_UNIT_PARTITION_HARNESS_H
