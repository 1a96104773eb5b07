//===- GraphImporter.h - From an ONNX graph to a function -------*- C++ -*-===//
//
// Decides how names become values: inputs, weights, scopes of subgraphs and
// model-local functions; keeps what is unsupported for one complete report;
// and cleans up at the end. Operators are in the tables of OpTable.h.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_IMPORT_ONNX_GRAPHIMPORTER_H
#define PPLAN_LIB_IMPORT_ONNX_GRAPHIMPORTER_H

#include "Emitter.h"
#include "ModelFile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pplan/Import/ONNX.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

namespace pplan::import {

/// The value of a name. A poisoned name is the result of an operator that pplan
/// lacks: nodes that use it are skipped.
struct NamedValue {
  mlir::Value value;
  bool poisoned = false;
};

/// Names of a graph; those of the graph around it are visible in a subgraph.
struct Scope {
  const Scope *parent = nullptr;
  llvm::StringMap<NamedValue> names;

  const NamedValue *lookup(llvm::StringRef name) const;
};

class GraphImporter {
public:
  GraphImporter(const ModelFile &file, const OnnxImportOptions &options,
                mlir::MLIRContext *context);

  /// Imports the model; null after an error has been reported.
  mlir::OwningOpRef<mlir::ModuleOp> import();

  const ModelFile &getFile() const { return file; }
  /// A stored tensor as a value: a constant, or a parameter when it is large
  /// or made of floats. Reports and returns null when it cannot be read.
  mlir::Value importTensor(const onnx::TensorProto &tensor,
                           llvm::StringRef name, bool fromNode);
  /// Opset of an operator's domain where the current node stands.
  int64_t getOpset(llvm::StringRef domain) const;
  /// Imports the nodes of a subgraph in the scope of the current node and gives
  /// the values of its outputs.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  importSubgraph(const onnx::GraphProto &graph);
  /// Notes an operator, or a form of one, that pplan lacks.
  void noteUnsupported(const onnx::NodeProto &node, llvm::StringRef what);

private:
  struct Parameter {
    std::string name;
    mlir::RankedTensorType type;
    std::optional<StoredBytes> stored;
    std::optional<onnx::TensorProto> tensor; ///< when it is not stored as bytes
  };
  struct Unsupported {
    int64_t count = 0;
    std::string firstNode;
  };

  // Inputs.cpp
  mlir::LogicalResult importInputs();
  mlir::LogicalResult
  checkDimNames(llvm::ArrayRef<const onnx::ValueInfoProto *> inputs);
  mlir::FailureOr<mlir::RankedTensorType>
  getInputType(const onnx::ValueInfoProto &input);
  mlir::LogicalResult importInitializers(const onnx::GraphProto &graph);
  mlir::Value addParameter(const onnx::TensorProto &tensor,
                           llvm::StringRef name, mlir::RankedTensorType type,
                           std::optional<StoredBytes> stored);
  mlir::LogicalResult checkOutput(const onnx::ValueInfoProto &output,
                                  mlir::Value value);

  // GraphImporter.cpp
  mlir::LogicalResult
  importNodes(const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes);
  mlir::LogicalResult importNode(const onnx::NodeProto &node);
  mlir::LogicalResult importOp(const onnx::NodeProto &node,
                               llvm::ArrayRef<mlir::Value> inputs);
  /// The node's name, or that of its first result, after those of the calls
  /// around it.
  std::string getNodeName(const onnx::NodeProto &node) const;
  mlir::LogicalResult poisonOutputs(const onnx::NodeProto &node);
  mlir::LogicalResult importCall(const onnx::NodeProto &node,
                                 const onnx::FunctionProto &callee,
                                 llvm::ArrayRef<mlir::Value> inputs);
  mlir::LogicalResult bindAttributes(onnx::NodeProto &node,
                                     const onnx::NodeProto &call);
  /// Counts what inlining copies; reports and fails when it is too much.
  mlir::LogicalResult chargeInlining(int64_t bytes);
  mlir::LogicalResult define(llvm::StringRef name, NamedValue value);
  mlir::LogicalResult reportUnsupported();
  mlir::LogicalResult importOutputs();

  // Finish.cpp
  mlir::LogicalResult finish();
  mlir::FailureOr<llvm::SmallVector<mlir::Attribute>>
  getParameterData(llvm::ArrayRef<const Parameter *> used);
  void setBoundaryAttrs(llvm::ArrayRef<const Parameter *> used,
                        llvm::ArrayRef<mlir::Attribute> data);

  const ModelFile &file;
  const OnnxImportOptions &options;
  mlir::MLIRContext *context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::func::FuncOp function;
  ConstantEvaluator evaluator;
  Emitter emitter;

  llvm::StringMap<const onnx::FunctionProto *> functions;
  llvm::MapVector<std::string, Unsupported, llvm::StringMap<unsigned>>
      unsupported; ///< in the order of first use
  Scope *scope = nullptr;
  int64_t depth = 0;            ///< of subgraphs and calls
  int64_t nodeCount = 0;        ///< nodes imported so far
  int64_t inlinedBytes = 0;     ///< copied by inlining so far
  int64_t unsupportedCount = 0; ///< nodes noted as unsupported so far
  /// Nodes that use their results, by name of operator.
  llvm::MapVector<std::string, int64_t, llvm::StringMap<unsigned>> unexamined;
  /// Opsets that a model-local function imports, while it is inlined.
  const onnx::FunctionProto *callee = nullptr;

  /// Names of the calls that are being inlined, each followed by '/'.
  std::string locationPrefix;

  std::vector<std::string> inputNames;
  std::vector<std::string> outputNames;
  std::vector<Parameter> parameters; ///< of the arguments after the inputs
  llvm::StringMap<mlir::Value> sharedParameters; ///< by place of their bytes
  llvm::StringSet<> parameterNames;
};

} // namespace pplan::import

#endif // PPLAN_LIB_IMPORT_ONNX_GRAPHIMPORTER_H
