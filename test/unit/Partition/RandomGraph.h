//===- RandomGraph.h - Random graphs under random shardings -----*- C++ -*-===//
//
// Operations draw operands from what is there already, so that values have
// several uses and reshards are shared, folded and optimised.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_TEST_UNIT_PARTITION_RANDOMGRAPH_H
#define PPLAN_TEST_UNIT_PARTITION_RANDOMGRAPH_H

#include "OpCases.h"

namespace pplan::test {

/// A module `@f` of random operations on a random mesh, of up to 8 devices,
/// each value annotated with a random sharding.
class RandomGraph {
public:
  /// Arguments and results may be partial values only with `partialBoundary`:
  /// a compiled program cannot take or give those.
  RandomGraph(Random &random, int64_t numOps, bool partialBoundary);

  mlir::ModuleOp getModule() { return *m.module; }
  mlir::func::FuncOp getFunction() { return m.function; }
  /// Annotates each value that has no sharding, most of them.
  void annotateRest();

private:
  int64_t getSize();
  TensorSharding getAny(mlir::Value value, bool allowPartial = true);
  mlir::Value take(mlir::RankedTensorType type);
  void build(int64_t numOps);

  Random &random;
  bool partialBoundary;
  ModuleBuilder m;
  int64_t commonSize[2];
  std::vector<mlir::Value> values;
};

} // namespace pplan::test

#endif // PPLAN_TEST_UNIT_PARTITION_RANDOMGRAPH_H
