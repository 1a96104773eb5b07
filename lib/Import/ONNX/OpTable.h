//===- OpTable.h - Tables of ONNX operators ---------------------*- C++ -*-===//
//
// One table per family of operators, each in the file of its family. A new
// operator is a new row; nothing else names it.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_IMPORT_ONNX_OPTABLE_H
#define PPLAN_LIB_IMPORT_ONNX_OPTABLE_H

#include "Node.h"

namespace pplan::import {

/// Builds what a node means. Fails after reporting, or after
/// Node::unsupported.
using ImportFn = mlir::LogicalResult (*)(Node &);

struct OpEntry {
  const char *name;
  ImportFn import;
  const char *domain = "";
};

/// Elementwise.cpp: arithmetic, comparison, activations, casts.
llvm::ArrayRef<OpEntry> getElementwiseOps();
/// Shape.cpp: operators that only give elements another place.
llvm::ArrayRef<OpEntry> getShapeOps();
/// Indexing.cpp: slices, gathers, and tensors made from indices.
llvm::ArrayRef<OpEntry> getIndexingOps();
/// Reduce.cpp: reductions, running sums, softmax.
llvm::ArrayRef<OpEntry> getReduceOps();
/// Contract.cpp: matrix products and Einstein sums.
llvm::ArrayRef<OpEntry> getContractOps();
/// NN.cpp: norms, attention, rotary embedding.
llvm::ArrayRef<OpEntry> getNNOps();
/// Constants.cpp: constants, and operators that work on constants only.
llvm::ArrayRef<OpEntry> getConstantOps();

/// The import function of an operator, or null.
ImportFn lookupOp(llvm::StringRef domain, llvm::StringRef name);

} // namespace pplan::import

#endif // PPLAN_LIB_IMPORT_ONNX_OPTABLE_H
