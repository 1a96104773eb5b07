//===- GraphImporter.cpp - Nodes, scopes, functions, what is missing ------===//
//
// Walks nodes in order and keeps the environment. Inputs and weights are in
// Inputs.cpp, the clean-up in Finish.cpp.
//
//===----------------------------------------------------------------------===//
#include "GraphImporter.h"
#include "OpTable.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

/// Bounds for hostile files: nesting of subgraphs and functions, and nodes
/// after inlining (functions that call functions multiply).
static constexpr int64_t maxDepth = 48, maxNodes = 1'000'000;
/// Bytes that inlining may copy: nodes, their attributes, names, constants.
static constexpr int64_t maxInlinedBytes = int64_t(1) << 30;

const NamedValue *Scope::lookup(StringRef name) const {
  for (const Scope *scope = this; scope; scope = scope->parent) {
    auto found = scope->names.find(name);
    if (found != scope->names.end())
      return &found->second;
  }
  return nullptr;
}

GraphImporter::GraphImporter(const ModelFile &file,
                             const OnnxImportOptions &options,
                             MLIRContext *context)
    : file(file), options(options), context(context),
      emitter(OpBuilder(context), evaluator) {
  for (const onnx::FunctionProto &function : file.getProto().functions())
    functions[(normalizeDomain(function.domain()) + "::" + function.name())
                  .str()] = &function;
}

OwningOpRef<ModuleOp> GraphImporter::import() {
  module = ModuleOp::create(file.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(module->getBody());
  function = func::FuncOp::create(builder, file.getLoc(), "forward",
                                  builder.getFunctionType({}, {}));
  emitter.builder.setInsertionPointToEnd(function.addEntryBlock());
  Scope top;
  scope = &top;
  if (failed(importInputs()) ||
      failed(importInitializers(file.getProto().graph())) ||
      failed(importNodes(file.getProto().graph().node())) ||
      failed(reportUnsupported()) || failed(importOutputs()) ||
      failed(finish()))
    return nullptr;
  return std::move(module);
}

int64_t GraphImporter::getOpset(StringRef domain) const {
  if (callee)
    for (const onnx::OperatorSetIdProto &opset : callee->opset_import())
      if (normalizeDomain(opset.domain()) == normalizeDomain(domain))
        return opset.version();
  return file.getOpset(domain);
}

LogicalResult GraphImporter::define(StringRef name, NamedValue value) {
  if (name.empty())
    return success();
  if (!scope->names.try_emplace(name, value).second)
    return emitter.error() << "the name '" << name
                           << "' is defined twice in one graph";
  return success();
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::importNodes(
    const google::protobuf::RepeatedPtrField<onnx::NodeProto> &nodes) {
  for (const onnx::NodeProto &node : nodes)
    if (failed(importNode(node)))
      return failure();
  return success();
}

LogicalResult GraphImporter::poisonOutputs(const onnx::NodeProto &node) {
  for (const std::string &output : node.output())
    if (failed(define(output, {Value(), /*poisoned=*/true})))
      return failure();
  return success();
}

std::string GraphImporter::getNodeName(const onnx::NodeProto &node) const {
  bool useOutput = node.name().empty() && node.output_size() > 0;
  return locationPrefix + (useOutput ? node.output(0) : node.name());
}

LogicalResult GraphImporter::importNode(const onnx::NodeProto &node) {
  std::string name = getNodeName(node);
  emitter.loc = file.getLoc(name);
  emitter.subject = node.op_type() + " '" + name + "'";
  if (++nodeCount > maxNodes)
    return emitError(emitter.loc, "the model has more than ")
           << maxNodes << " nodes after inlining its functions";

  StringRef domain = normalizeDomain(node.domain());
  auto function = functions.find((domain + "::" + node.op_type()).str());
  bool isCall = function != functions.end();
  if (!isCall && !lookupOp(domain, node.op_type())) {
    noteUnsupported(node, "");
    return poisonOutputs(node);
  }
  SmallVector<Value> inputs;
  for (const std::string &input : node.input()) {
    if (input.empty()) {
      inputs.push_back({});
      continue;
    }
    const NamedValue *named = scope->lookup(input);
    if (!named)
      return emitter.error()
             << "operand '" << input
             << "' is not an input, a weight or the result of an earlier node";
    if (named->poisoned) {
      ++unexamined[node.op_type()];
      return poisonOutputs(node);
    }
    inputs.push_back(named->value);
  }
  if (isCall)
    return importCall(node, *function->second, inputs);
  return importOp(node, inputs);
}

LogicalResult GraphImporter::importOp(const onnx::NodeProto &proto,
                                      ArrayRef<Value> inputs) {
  StringRef domain = normalizeDomain(proto.domain());
  Node node(proto, getOpset(domain), *this, emitter, inputs);
  int64_t before = unsupportedCount;
  LogicalResult imported = lookupOp(domain, proto.op_type())(node);
  if (unsupportedCount != before)
    return poisonOutputs(proto);
  if (failed(imported))
    return failure();
  for (auto [name, value] : llvm::zip(proto.output(), node.getResults())) {
    if (!name.empty() && !value)
      return node.error() << "has no result '" << name
                          << "'; the operator has fewer results";
    if (failed(define(name, {value})))
      return failure();
  }
  return success();
}

FailureOr<SmallVector<Value>>
GraphImporter::importSubgraph(const onnx::GraphProto &graph) {
  Location loc = emitter.loc;
  std::string subject = emitter.subject;
  if (depth >= maxDepth)
    return emitError(loc, "subgraphs and functions are nested deeper than ")
           << maxDepth << " levels";
  Scope inner;
  inner.parent = scope;
  scope = &inner;
  ++depth;
  llvm::scope_exit leave([&] {
    scope = const_cast<Scope *>(inner.parent);
    --depth;
    emitter.loc = loc;
    emitter.subject = subject;
  });
  if (failed(importInitializers(graph)) || failed(importNodes(graph.node())))
    return failure();
  SmallVector<Value> values;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    const NamedValue *named = scope->lookup(output.name());
    if (!named)
      return emitError(loc, "the subgraph's output '")
             << output.name() << "' is not defined";
    if (named->poisoned)
      ++unsupportedCount; // so that the results of the node are poisoned too
    values.push_back(named->value);
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Model-local functions
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::chargeInlining(int64_t bytes) {
  inlinedBytes += bytes;
  if (inlinedBytes <= maxInlinedBytes)
    return success();
  return emitError(emitter.loc, "the model has more than ")
         << maxInlinedBytes
         << " bytes of nodes and constants after inlining its functions";
}

/// Replaces references to a function's attributes by the call's values; those
/// that the call leaves out are dropped.
LogicalResult GraphImporter::bindAttributes(onnx::NodeProto &node,
                                            const onnx::NodeProto &call) {
  auto *attributes = node.mutable_attribute();
  // Each pair of attributes may be compared below.
  if (failed(chargeInlining(int64_t(attributes->size()) *
                            (1 + call.attribute_size()))))
    return failure();
  for (int i = attributes->size() - 1; i >= 0; --i) {
    onnx::AttributeProto *attribute = attributes->Mutable(i);
    if (attribute->has_g())
      for (onnx::NodeProto &inner : *attribute->mutable_g()->mutable_node())
        if (failed(bindAttributes(inner, call)))
          return failure();
    if (attribute->ref_attr_name().empty())
      continue;
    std::string name = attribute->name();
    const onnx::AttributeProto *given = nullptr;
    for (const onnx::AttributeProto &candidate : call.attribute())
      if (candidate.name() == attribute->ref_attr_name())
        given = &candidate;
    if (!given) {
      attributes->DeleteSubrange(i, 1);
      continue;
    }
    if (failed(chargeInlining(given->ByteSizeLong())))
      return failure();
    *attribute = *given;
    attribute->set_name(name);
  }
  return success();
}

LogicalResult GraphImporter::importCall(const onnx::NodeProto &call,
                                        const onnx::FunctionProto &function,
                                        ArrayRef<Value> inputs) {
  Location loc = emitter.loc;
  if (depth >= maxDepth)
    return emitError(loc, "subgraphs and functions are nested deeper than ")
           << maxDepth << " levels; function '" << function.name()
           << "' may call itself";
  if (inputs.size() > static_cast<size_t>(function.input_size()))
    return emitError(loc, "the call of function '")
           << function.name() << "' has " << inputs.size()
           << " operands, but the function has " << function.input_size();
  Scope inner, *outer = scope;
  const onnx::FunctionProto *outerCallee = callee;
  size_t prefixLength = locationPrefix.size();
  locationPrefix += call.name() + "/";
  scope = &inner;
  callee = &function;
  ++depth;
  llvm::scope_exit leave([&] {
    scope = outer;
    callee = outerCallee;
    locationPrefix.resize(prefixLength);
    --depth;
    emitter.loc = loc;
  });
  for (int i = 0; i < function.input_size(); ++i)
    if (failed(define(
            function.input(i),
            {static_cast<size_t>(i) < inputs.size() ? inputs[i] : Value()})))
      return failure();
  for (const onnx::NodeProto &node : function.node()) {
    if (failed(chargeInlining(node.ByteSizeLong() + locationPrefix.size())))
      return failure();
    onnx::NodeProto bound = node;
    if (failed(bindAttributes(bound, call)) || failed(importNode(bound)))
      return failure();
  }
  for (int i = 0; i < call.output_size(); ++i) {
    const NamedValue *value = i < function.output_size()
                                  ? scope->lookup(function.output(i))
                                  : nullptr;
    if (!value)
      return emitError(loc, "function '")
             << function.name() << "' does not define its result " << i;
    scope = outer;
    LogicalResult defined = define(call.output(i), *value);
    scope = &inner;
    if (failed(defined))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// What pplan lacks
//===----------------------------------------------------------------------===//

void GraphImporter::noteUnsupported(const onnx::NodeProto &node,
                                    StringRef what) {
  ++unsupportedCount;
  StringRef domain = normalizeDomain(node.domain());
  std::string key = (domain.empty() ? "ai.onnx" : domain).str() + "." +
                    node.op_type() + " (opset " +
                    std::to_string(getOpset(domain)) + ")";
  if (!what.empty())
    key += " with " + what.str();
  Unsupported &entry = unsupported[key];
  if (entry.count++ == 0)
    entry.firstNode = getNodeName(node);
}

LogicalResult GraphImporter::reportUnsupported() {
  if (unsupported.empty())
    return success();
  InFlightDiagnostic diag =
      emitError(file.getLoc(), "the model uses ")
      << unsupported.size()
      << (unsupported.size() == 1 ? " operator" : " operators")
      << " that pplan cannot import";
  for (auto &[key, entry] : unsupported)
    diag.attachNote(file.getLoc(entry.firstNode))
        << key << ": " << entry.count << (entry.count == 1 ? " node" : " nodes")
        << ", the first is '" << entry.firstNode << "'";
  if (!unexamined.empty()) {
    // These operators can be imported, but not in all their forms.
    auto &note = diag.attachNote(file.getLoc())
                 << "not examined, because they use results of the above: ";
    llvm::interleaveComma(unexamined, note, [&](const auto &entry) {
      note << entry.first << " (" << entry.second << ")";
    });
  }
  return diag;
}

//===----------------------------------------------------------------------===//
// Entry points
//===----------------------------------------------------------------------===//

OwningOpRef<ModuleOp> pplan::importOnnx(llvm::MemoryBufferRef buffer,
                                        const OnnxImportOptions &options,
                                        MLIRContext *context) {
  context->loadDialect<PPlanDialect, func::FuncDialect>();
  std::unique_ptr<ModelFile> file = ModelFile::open(buffer, context);
  if (!file)
    return nullptr;
  return GraphImporter(*file, options, context).import();
}

OwningOpRef<ModuleOp> pplan::importOnnx(StringRef path,
                                        const OnnxImportOptions &options,
                                        MLIRContext *context) {
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    emitError(UnknownLoc::get(context), "cannot read '")
        << path << "': " << buffer.getError().message();
    return nullptr;
  }
  return importOnnx((*buffer)->getMemBufferRef(), options, context);
}
