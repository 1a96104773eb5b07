//===- Node.h - One ONNX node while it is imported --------------*- C++ -*-===//
//
// What the import function of an operator gets: operands as values, attributes
// with defaults, and ways to say what is wrong. Which function an operator has
// is decided by the tables of OpTable.h.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_IMPORT_ONNX_NODE_H
#define PPLAN_LIB_IMPORT_ONNX_NODE_H

#include "Emitter.h"
#include "ModelFile.h"

namespace pplan::import {

class GraphImporter;

class Node {
public:
  Node(const onnx::NodeProto &proto, int64_t opset, GraphImporter &graph,
       Emitter &e, llvm::ArrayRef<mlir::Value> inputs)
      : proto(proto), opset(opset), graph(graph), e(e), inputs(inputs),
        results(proto.output_size()) {}

  const onnx::NodeProto &proto;
  /// Version of the operator's set that the model imports.
  const int64_t opset;
  GraphImporter &graph;
  Emitter &e;

  //===--------------------------------------------------------------------===//
  // Operands
  //===--------------------------------------------------------------------===//

  int64_t getNumInputs() const { return inputs.size(); }
  /// True when the operand is given (trailing and empty ones are not).
  bool has(size_t index) const {
    return index < inputs.size() && inputs[index];
  }
  /// The operand; reports and returns null when it is missing.
  mlir::Value input(size_t index);
  /// The operand or null, without a report.
  mlir::Value optional(size_t index) const {
    return has(index) ? inputs[index] : mlir::Value();
  }
  llvm::ArrayRef<mlir::Value> getInputs() const { return inputs; }
  /// Type and rank of an operand that is there.
  mlir::RankedTensorType type(size_t index) const {
    return getTensorType(inputs[index]);
  }
  int64_t rank(size_t index) const { return type(index).getRank(); }
  /// Integers that must be known at import; `what` names them in the message.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  getKnownInts(size_t index, llvm::StringRef what);
  /// One integer that must be known at import.
  mlir::FailureOr<int64_t> getKnownInt(size_t index, llvm::StringRef what);

  //===--------------------------------------------------------------------===//
  // Attributes
  //===--------------------------------------------------------------------===//

  const onnx::AttributeProto *getAttr(llvm::StringRef name) const;
  int64_t getInt(llvm::StringRef name, int64_t defaultValue) const;
  double getFloat(llvm::StringRef name, double defaultValue) const;
  std::string getString(llvm::StringRef name,
                        llvm::StringRef defaultValue) const;
  std::optional<llvm::SmallVector<int64_t>> getInts(llvm::StringRef name) const;

  //===--------------------------------------------------------------------===//
  // Dimensions
  //===--------------------------------------------------------------------===//

  /// A dimension of a tensor of `rank`, counted from the end if negative.
  /// Reports and fails outside [-rank, rank).
  mlir::FailureOr<int64_t> getDim(int64_t dim, int64_t rank);
  /// The same for an attribute.
  mlir::FailureOr<int64_t> getAxis(llvm::StringRef name, int64_t defaultValue,
                                   int64_t rank) {
    return getDim(getInt(name, defaultValue), rank);
  }
  /// Sorted distinct dimensions; reports and fails on repeated ones.
  mlir::FailureOr<llvm::SmallVector<int64_t>>
  getDims(llvm::ArrayRef<int64_t> dims, int64_t rank);

  //===--------------------------------------------------------------------===//
  // Results and errors
  //===--------------------------------------------------------------------===//

  /// Sets a result; fails when `value` is null (an error has been reported).
  mlir::LogicalResult set(size_t index, mlir::Value value) {
    if (index < results.size())
      results[index] = value;
    return mlir::success(static_cast<bool>(value));
  }
  /// Sets the first result.
  mlir::LogicalResult yield(mlir::Value value) { return set(0, value); }
  /// True when something uses this result.
  bool isWanted(int index) const {
    return index < proto.output_size() && !proto.output(index).empty();
  }
  llvm::ArrayRef<mlir::Value> getResults() const { return results; }

  /// An error about this node; names it and its operator.
  mlir::InFlightDiagnostic error();
  /// Says that pplan lacks this form of the operator. Collected and reported
  /// together with all other unsupported operators.
  mlir::LogicalResult unsupported(const llvm::Twine &what);

private:
  llvm::ArrayRef<mlir::Value> inputs;
  llvm::SmallVector<mlir::Value> results;
};

} // namespace pplan::import

#endif // PPLAN_LIB_IMPORT_ONNX_NODE_H
