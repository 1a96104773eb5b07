//===- Inputs.cpp - Inputs, weights and outputs of an ONNX graph ----------===//
//
// Decides which names become arguments: graph inputs with their symbolic
// dimensions bound, then stored tensors that stay run-time tensors.
//
//===----------------------------------------------------------------------===//
#include "GraphImporter.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

/// Integers up to this many bytes become constants of the program, larger ones
/// parameters; float parameters up to it take part in folding (tables of
/// rotary frequencies are such).
static constexpr int64_t smallBytes = 1024;
/// Largest sum of all dimensions' product that makes sense for an input.
static constexpr int64_t maxDim = int64_t(1) << 40;

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

using Dimension = onnx::TensorShapeProto::Dimension;

/// The name by which a dimension without a fixed size is bound; empty for one
/// of fixed size.
static std::string getDimName(const onnx::ValueInfoProto &input, int index) {
  const Dimension &dim = input.type().tensor_type().shape().dim(index);
  if (dim.has_dim_value() && dim.dim_value() >= 0)
    return "";
  if (!dim.dim_param().empty())
    return dim.dim_param();
  return input.name() + "." + std::to_string(index);
}

LogicalResult
GraphImporter::checkDimNames(ArrayRef<const onnx::ValueInfoProto *> inputs) {
  llvm::SetVector<StringRef> all;
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto *input : inputs)
    for (int i = 0; i < input->type().tensor_type().shape().dim_size(); ++i)
      names.push_back(getDimName(*input, i));
  for (const std::string &name : names)
    if (!name.empty())
      all.insert(name);

  for (const auto &given : options.dims) {
    if (given.second < 0 || given.second > maxDim)
      return emitError(file.getLoc(), "dimension '")
             << given.first() << "' cannot have the size " << given.second;
    if (all.contains(given.first()))
      continue;
    InFlightDiagnostic diag = emitError(file.getLoc(), "the model has no "
                                                       "dimension '")
                              << given.first() << "'; it has ";
    if (all.empty())
      return diag << "fixed sizes only";
    llvm::interleaveComma(all, diag,
                          [&](StringRef name) { diag << "'" << name << "'"; });
    return diag;
  }
  SmallVector<StringRef> unbound;
  for (StringRef name : all)
    if (!options.dims.contains(name))
      unbound.push_back(name);
  if (unbound.empty())
    return success();
  InFlightDiagnostic diag =
      emitError(file.getLoc(), "the model's inputs have dimensions without a "
                               "size: ");
  llvm::interleaveComma(unbound, diag,
                        [&](StringRef name) { diag << "'" << name << "'"; });
  diag << "; give each one, for example --dim " << unbound.front() << "=4";
  return diag;
}

FailureOr<RankedTensorType>
GraphImporter::getInputType(const onnx::ValueInfoProto &input) {
  auto fail = [&]() -> InFlightDiagnostic {
    return emitError(file.getLoc(input.name()), "input '")
           << input.name() << "' ";
  };
  if (!input.type().has_tensor_type())
    return fail() << "is not a tensor";
  const onnx::TypeProto::Tensor &tensor = input.type().tensor_type();
  Type element = file.getElementType(tensor.elem_type());
  if (!element)
    return fail() << "has type " << ModelFile::getTypeName(tensor.elem_type())
                  << ", which pplan does not have; it has float, double, "
                     "float16, bfloat16, int64, int32, int8, uint8 and bool";
  if (!tensor.has_shape())
    return fail() << "has no shape; pplan needs the rank of every input";
  SmallVector<int64_t> shape;
  for (int i = 0; i < tensor.shape().dim_size(); ++i) {
    std::string name = getDimName(input, i);
    shape.push_back(name.empty() ? tensor.shape().dim(i).dim_value()
                                 : options.dims.lookup(name));
  }
  if (!countElements(shape)) {
    InFlightDiagnostic diag = fail() << "has the impossible shape [";
    llvm::interleaveComma(shape, diag);
    return diag << "]";
  }
  return RankedTensorType::get(shape, element);
}

LogicalResult GraphImporter::importInputs() {
  const onnx::GraphProto &graph = file.getProto().graph();
  llvm::StringSet<> initialized;
  for (const onnx::TensorProto &tensor : graph.initializer())
    initialized.insert(tensor.name());
  SmallVector<const onnx::ValueInfoProto *> inputs;
  for (const onnx::ValueInfoProto &input : graph.input())
    if (!initialized.contains(input.name()))
      inputs.push_back(&input);
  if (failed(checkDimNames(inputs)))
    return failure();
  for (const onnx::ValueInfoProto *input : inputs) {
    FailureOr<RankedTensorType> type = getInputType(*input);
    if (failed(type))
      return failure();
    if (input->name().empty())
      return emitError(file.getLoc(), "an input of the model has no name");
    emitter.loc = file.getLoc(input->name());
    emitter.subject = "input '" + input->name() + "'";
    Value argument = function.getBody().front().addArgument(*type, emitter.loc);
    inputNames.push_back(input->name());
    if (failed(define(input->name(), {argument})))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Stored tensors
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::importInitializers(const onnx::GraphProto &graph) {
  if (graph.sparse_initializer_size() > 0)
    return emitError(file.getLoc(graph.sparse_initializer(0).values().name()),
                     "the model has sparse weights, which pplan cannot read");
  for (const onnx::TensorProto &tensor : graph.initializer()) {
    emitter.loc = file.getLoc(tensor.name());
    emitter.subject = "weight '" + tensor.name() + "'";
    if (tensor.name().empty())
      return emitError(file.getLoc(), "a weight of the model has no name");
    Value value = importTensor(tensor, tensor.name(), /*fromNode=*/false);
    if (!value || failed(define(tensor.name(), {value})))
      return failure();
  }
  return success();
}

Value GraphImporter::importTensor(const onnx::TensorProto &tensor,
                                  StringRef name, bool fromNode) {
  Location at = emitter.loc;
  FailureOr<RankedTensorType> type = file.getType(tensor, at);
  if (failed(type))
    return {};
  FailureOr<std::optional<StoredBytes>> stored = file.locate(tensor, *type, at);
  if (failed(stored))
    return {};
  int64_t bytes =
      type->getNumElements() * getElementBytes(type->getElementType());
  bool isFloat = isa<FloatType>(type->getElementType());
  // Small ones always become constants.
  bool isKnown =
      bytes <= smallBytes || (!isFloat && evaluator.hasRoom(bytes));
  if (!isKnown)
    return addParameter(tensor, name, *type, *stored);
  if (depth > 0 && failed(chargeInlining(bytes)))
    return {};
  FailureOr<HostTensor> content = file.read(tensor, *type, at);
  if (failed(content))
    return {};
  bool isConstant =
      isFloat ? fromNode || type->getRank() == 0 : bytes <= smallBytes;
  if (isConstant)
    return emitter.constant(std::move(*content));
  Value value = addParameter(tensor, name, *type, *stored);
  content->isParameter = isFloat;
  evaluator.set(value, std::move(*content));
  return value;
}

Value GraphImporter::addParameter(const onnx::TensorProto &tensor,
                                  StringRef name, RankedTensorType type,
                                  std::optional<StoredBytes> stored) {
  std::string place;
  if (stored) {
    llvm::raw_string_ostream os(place);
    os << stored->path << '@' << stored->span.offset << ':' << type;
    if (Value shared = sharedParameters.lookup(place))
      return shared;
  }
  std::string unique = name.empty() ? "weight" : name.str();
  for (int i = 1; !parameterNames.insert(unique).second; ++i)
    unique = name.str() + "." + std::to_string(i);
  Parameter parameter{unique, type, std::move(stored), std::nullopt};
  if (!parameter.stored)
    parameter.tensor = tensor;
  parameters.push_back(std::move(parameter));
  Value value = function.getBody().front().addArgument(type, emitter.loc);
  if (!place.empty())
    sharedParameters[place] = value;
  return value;
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::checkOutput(const onnx::ValueInfoProto &output,
                                         Value value) {
  auto type = getTensorType(value);
  auto fail = [&]() -> InFlightDiagnostic {
    return emitError(value.getLoc(), "output '")
           << output.name() << "' is computed as " << type
           << ", but the model declares ";
  };
  if (!output.type().has_tensor_type())
    return success();
  const onnx::TypeProto::Tensor &declared = output.type().tensor_type();
  if (declared.elem_type() != onnx::TensorProto::UNDEFINED &&
      file.getElementType(declared.elem_type()) != type.getElementType())
    return fail() << "elements of type "
                  << ModelFile::getTypeName(declared.elem_type());
  if (!declared.has_shape())
    return success();
  if (declared.shape().dim_size() != type.getRank())
    return fail() << "rank " << declared.shape().dim_size();
  for (int i = 0; i < type.getRank(); ++i) {
    const Dimension &dim = declared.shape().dim(i);
    int64_t size = type.getDimSize(i);
    auto bound = options.dims.find(dim.dim_param());
    if (dim.has_dim_value() && dim.dim_value() >= 0 && dim.dim_value() != size)
      return fail() << "dimension " << i << " to have size " << dim.dim_value();
    if (!dim.dim_param().empty() && bound != options.dims.end() &&
        bound->second != size)
      return fail() << "dimension " << i << " to be '" << dim.dim_param()
                    << "', which is " << bound->second;
  }
  return success();
}

LogicalResult GraphImporter::importOutputs() {
  const onnx::GraphProto &graph = file.getProto().graph();
  SmallVector<Value> values;
  llvm::StringSet<> seen;
  for (const onnx::ValueInfoProto &output : graph.output()) {
    const NamedValue *named = scope->lookup(output.name());
    if (!named || !named->value)
      return emitError(file.getLoc(), "output '")
             << output.name() << "' is not defined by any node";
    if (!seen.insert(output.name()).second)
      return emitError(file.getLoc(), "output '")
             << output.name() << "' is declared twice";
    if (failed(checkOutput(output, named->value)))
      return failure();
    values.push_back(named->value);
    outputNames.push_back(output.name());
  }
  if (values.empty())
    return emitError(file.getLoc(), "the model has no outputs");
  func::ReturnOp::create(emitter.builder, file.getLoc(), values);
  return success();
}
