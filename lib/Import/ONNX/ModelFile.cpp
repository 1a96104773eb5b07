//===- ModelFile.cpp - An opened ONNX file --------------------------------===//
//
// Parsing, versions, names and element types. Where tensors are stored is in
// TensorStorage.cpp.
//
//===----------------------------------------------------------------------===//
#include "ModelFile.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

using namespace mlir;
using namespace pplan::import;

static constexpr int64_t minIrVersion = 3, maxIrVersion = 13;
static constexpr int64_t minOpset = 13, maxOpset = 23;

static std::string makeAbsolute(StringRef path) {
  SmallString<256> absolute(path);
  if (!llvm::sys::fs::make_absolute(absolute))
    llvm::sys::path::remove_dots(absolute, /*remove_dot_dot=*/false);
  return std::string(absolute);
}

ModelFile::ModelFile(llvm::MemoryBufferRef buffer, MLIRContext *context)
    : buffer(buffer), path(makeAbsolute(buffer.getBufferIdentifier())),
      context(context),
      loc(FileLineColLoc::get(context, buffer.getBufferIdentifier(), 0, 0)) {}

std::unique_ptr<ModelFile> ModelFile::open(llvm::MemoryBufferRef buffer,
                                           MLIRContext *context) {
  std::unique_ptr<ModelFile> file(new ModelFile(buffer, context));
  llvm::Expected<Outline> outline = makeOutline(buffer.getBuffer());
  if (!outline) {
    emitError(file->loc, "not an ONNX model: ")
        << llvm::toString(outline.takeError()) << " (the file has "
        << buffer.getBufferSize() << " bytes)";
    return nullptr;
  }
  file->outline = std::move(*outline);
  const std::string &bytes = file->outline.bytes;
  if (bytes.size() > INT32_MAX) {
    emitError(file->loc, "the model's structure without raw tensor data takes ")
        << bytes.size()
        << " bytes, which is more than protobuf can read (2147483647); store "
           "the weights as raw or external data";
    return nullptr;
  }
  google::protobuf::LogSilencer silencer;
  if (!file->proto.ParseFromArray(bytes.data(), bytes.size())) {
    emitError(file->loc, "not an ONNX model: protobuf cannot parse it");
    return nullptr;
  }
  if (failed(file->checkVersions()))
    return nullptr;
  return file;
}

LogicalResult ModelFile::checkVersions() {
  if (!proto.has_ir_version() || !proto.has_graph())
    return emitError(loc, "not an ONNX model: it has no ")
           << (proto.has_graph() ? "IR version" : "graph");
  if (proto.ir_version() < minIrVersion || proto.ir_version() > maxIrVersion)
    return emitError(loc, "the model has ONNX IR version ")
           << proto.ir_version() << "; pplan reads " << minIrVersion << " to "
           << maxIrVersion;
  for (const onnx::OperatorSetIdProto &opset : proto.opset_import())
    opsets[normalizeDomain(opset.domain())] = opset.version();
  int64_t version = getOpset("");
  if (version == 0 && !proto.graph().node().empty() && opsets.empty())
    return emitError(loc, "the model does not say which opset it uses; pplan "
                          "reads ")
           << minOpset << " to " << maxOpset;
  if (opsets.contains("") && (version < minOpset || version > maxOpset))
    return emitError(loc, "the model uses opset ")
           << version << " of ai.onnx; pplan reads " << minOpset << " to "
           << maxOpset
           << " (onnx.version_converter.convert_version changes the opset)";
  return success();
}

Location ModelFile::getLoc(StringRef name) const {
  if (name.empty())
    return loc;
  return NameLoc::get(StringAttr::get(context, name), loc);
}

int64_t ModelFile::getOpset(StringRef domain) const {
  return opsets.lookup(normalizeDomain(domain));
}

Type ModelFile::getElementType(int32_t dataType) const {
  Builder builder(context);
  switch (dataType) {
  case onnx::TensorProto::FLOAT:
    return builder.getF32Type();
  case onnx::TensorProto::DOUBLE:
    return builder.getF64Type();
  case onnx::TensorProto::FLOAT16:
    return builder.getF16Type();
  case onnx::TensorProto::BFLOAT16:
    return builder.getBF16Type();
  case onnx::TensorProto::INT64:
    return builder.getI64Type();
  case onnx::TensorProto::INT32:
    return builder.getI32Type();
  case onnx::TensorProto::INT8:
    return builder.getI8Type();
  case onnx::TensorProto::UINT8:
    return builder.getIntegerType(8, /*isSigned=*/false);
  case onnx::TensorProto::BOOL:
    return builder.getI1Type();
  default:
    return nullptr;
  }
}

std::string ModelFile::getTypeName(int32_t dataType) {
  // Names of the types of ONNX 1.18; protobuf's descriptor knows fewer.
  static constexpr const char *names[] = {
      "undefined",      "float",        "uint8",          "int8",
      "uint16",         "int16",        "int32",          "int64",
      "string",         "bool",         "float16",        "double",
      "uint32",         "uint64",       "complex64",      "complex128",
      "bfloat16",       "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
      "float8e5m2fnuz", "uint4",        "int4",           "float4e2m1"};
  if (dataType >= 0 && dataType < static_cast<int32_t>(std::size(names)))
    return names[dataType];
  return "number " + std::to_string(dataType);
}

FailureOr<RankedTensorType> ModelFile::getType(const onnx::TensorProto &tensor,
                                               Location at) const {
  auto fail = [&]() -> InFlightDiagnostic {
    return emitError(at, "tensor '") << tensor.name() << "' ";
  };
  Type element = getElementType(tensor.data_type());
  if (!element)
    return fail() << "has type " << getTypeName(tensor.data_type())
                  << ", which pplan does not have; it has float, double, "
                     "float16, bfloat16, int64, int32, int8, uint8 and bool";
  SmallVector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
  if (!countElements(shape)) {
    InFlightDiagnostic diag = fail() << "has the impossible shape [";
    llvm::interleaveComma(shape, diag);
    return diag << "]";
  }
  return RankedTensorType::get(shape, element);
}
