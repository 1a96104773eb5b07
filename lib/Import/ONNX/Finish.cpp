//===- Finish.cpp - Clean-up, parameters' places, boundary attributes -----===//
//
// The last step of an import: unused operations and weights go, parameters get
// the place of their bytes, and weights that the file does not store as bytes
// are written into a .safetensors beside it.
//
//===----------------------------------------------------------------------===//
#include "GraphImporter.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

/// Name of an element type in a .safetensors header.
static StringRef getSafetensorsType(Type type) {
  if (type.isF64())
    return "F64";
  if (type.isF32())
    return "F32";
  if (type.isF16())
    return "F16";
  if (type.isBF16())
    return "BF16";
  if (type.isInteger(64))
    return "I64";
  if (type.isInteger(32))
    return "I32";
  if (type.isInteger(1))
    return "BOOL";
  return type.isUnsignedInteger() ? "U8" : "I8";
}

static std::string getSidecarPath(const OnnxImportOptions &options,
                                  StringRef modelPath) {
  SmallString<256> path(options.sidecarPath);
  if (path.empty()) {
    path = modelPath;
    llvm::sys::path::replace_extension(path, ".weights.safetensors");
  }
  (void)llvm::sys::fs::make_absolute(path);
  return std::string(path);
}

/// Writes tensors as a .safetensors file and returns the offset of each.
static FailureOr<SmallVector<int64_t>>
writeSafetensors(StringRef path, ArrayRef<std::string> names,
                 ArrayRef<HostTensor> tensors, Location loc) {
  llvm::json::Object header;
  SmallVector<int64_t> offsets;
  int64_t next = 0;
  for (auto [name, tensor] : llvm::zip(names, tensors)) {
    int64_t size = tensor.getBytes().size();
    header[llvm::json::fixUTF8(name)] = llvm::json::Object{
        {"dtype", getSafetensorsType(tensor.getElementType())},
        {"shape", llvm::json::Array(tensor.getShape())},
        {"data_offsets", llvm::json::Array{next, next + size}}};
    offsets.push_back(next);
    next += size;
  }
  std::string text;
  llvm::raw_string_ostream(text) << llvm::json::Value(std::move(header));
  text.resize(llvm::alignTo(text.size(), 8), ' ');
  std::error_code error;
  llvm::raw_fd_ostream os(path, error);
  if (!error) {
    char length[8];
    llvm::support::endian::write64le(length, text.size());
    os.write(length, 8);
    os << text;
    for (const HostTensor &tensor : tensors)
      os << tensor.getBytes();
    os.close();
    error = os.error();
    os.clear_error();
  }
  if (error)
    return emitError(loc, "cannot write '")
           << path << "': " << error.message()
           << "; it would hold weights that the model does not store as bytes";
  for (int64_t &offset : offsets)
    offset += 8 + text.size();
  return offsets;
}

FailureOr<SmallVector<Attribute>>
GraphImporter::getParameterData(ArrayRef<const Parameter *> used) {
  std::vector<std::string> names;
  std::vector<HostTensor> tensors;
  for (const Parameter *parameter : used) {
    if (parameter->stored)
      continue;
    FailureOr<HostTensor> tensor =
        file.read(*parameter->tensor, parameter->type, file.getLoc());
    if (failed(tensor))
      return failure();
    names.push_back(parameter->name);
    tensors.push_back(std::move(*tensor));
  }
  std::string path = getSidecarPath(options, file.getPath());
  SmallVector<int64_t> offsets;
  if (!tensors.empty()) {
    auto written = writeSafetensors(path, names, tensors, file.getLoc());
    if (failed(written))
      return failure();
    offsets = *written;
  }
  SmallVector<Attribute> data;
  size_t next = 0;
  for (const Parameter *parameter : used) {
    if (parameter->stored) {
      data.push_back(DataAttr::get(context, parameter->stored->path,
                                   parameter->stored->span.offset,
                                   parameter->stored->span.size));
      continue;
    }
    int64_t size = tensors[next].getBytes().size();
    data.push_back(DataAttr::get(context, path, offsets[next++], size));
  }
  return data;
}

void GraphImporter::setBoundaryAttrs(ArrayRef<const Parameter *> used,
                                     ArrayRef<Attribute> data) {
  Block &block = function.getBody().front();
  Operation *terminator = block.getTerminator();
  function.setType(FunctionType::get(context, block.getArgumentTypes(),
                                     terminator->getOperandTypes()));
  auto string = [&](StringRef text) { return StringAttr::get(context, text); };
  unsigned index = 0;
  for (const std::string &name : inputNames)
    function.setArgAttr(index++, kInputAttr, string(name));
  for (auto [parameter, place] : llvm::zip(used, data)) {
    function.setArgAttr(index, kParamAttr, string(parameter->name));
    function.setArgAttr(index++, kDataAttr, place);
  }
  for (auto [result, name] : llvm::enumerate(outputNames))
    function.setResultAttr(result, kOutputAttr, string(name));
}

LogicalResult GraphImporter::finish() {
  Block &block = function.getBody().front();
  evaluator.materialize(block);
  SmallVector<const Parameter *> used;
  llvm::BitVector unused(block.getNumArguments());
  for (auto [index, parameter] : llvm::enumerate(parameters)) {
    unsigned argument = inputNames.size() + index;
    if (block.getArgument(argument).use_empty())
      unused.set(argument);
    else
      used.push_back(&parameter);
  }
  block.eraseArguments(unused);
  FailureOr<SmallVector<Attribute>> data = getParameterData(used);
  if (failed(data))
    return failure();
  setBoundaryAttrs(used, *data);
  return mlir::verify(*module);
}
