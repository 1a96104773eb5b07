//===- OpCases.h - One small instance of each operation ---------*- C++ -*-===//
//
// What the property tests build operations with.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_TEST_UNIT_PARTITION_OPCASES_H
#define PPLAN_TEST_UNIT_PARTITION_OPCASES_H

#include "Harness.h"
#include <functional>

namespace pplan::test {

/// Appends one operation and returns its first result. `take` gives an operand of
/// a type, `size` a random dimension size.
struct OpCase {
  const char *name;
  std::function<mlir::Value(
      ModuleBuilder &m,
      llvm::function_ref<mlir::Value(llvm::ArrayRef<int64_t>, mlir::Type)> take,
      llvm::function_ref<int64_t()> size)>
      build;
};

/// Cases for every operation of the pplan dialect.
const std::vector<OpCase> &getOpCases();

} // namespace pplan::test

#endif // PPLAN_TEST_UNIT_PARTITION_OPCASES_H
