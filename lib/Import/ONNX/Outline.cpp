//===- Outline.cpp - An ONNX file without its weights ---------------------===//
//
// A recursive walk over the messages that may contain a TensorProto. Field
// numbers are those of onnx.proto; all other fields are copied as they are.
//
//===----------------------------------------------------------------------===//
#include "Outline.h"
#include "llvm/Support/Endian.h"
#include <optional>

using namespace pplan::import;

namespace {
enum class Message { Other, Model, Graph, Node, Attribute, Function, Tensor };

/// The message that field `number` of `parent` holds, as far as tensors can be
/// below it.
Message getChild(Message parent, uint64_t number) {
  switch (parent) {
  case Message::Model:
    return number == 7    ? Message::Graph
           : number == 25 ? Message::Function
                          : Message::Other;
  case Message::Graph:
    return number == 1   ? Message::Node
           : number == 5 ? Message::Tensor
                         : Message::Other;
  case Message::Function:
    return number == 7 ? Message::Node : Message::Other;
  case Message::Node:
    return number == 5 ? Message::Attribute : Message::Other;
  case Message::Attribute: // t, tensors; g, graphs
    return number == 5 || number == 10   ? Message::Tensor
           : number == 6 || number == 11 ? Message::Graph
                                         : Message::Other;
  default:
    return Message::Other;
  }
}

constexpr uint64_t rawDataField = 9;
/// As protobuf's own limit, so that nothing passes here and fails there.
constexpr int maxDepth = 100;
enum WireType { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };

class Walker {
public:
  Walker(llvm::StringRef file, std::vector<FileSpan> &spans)
      : file(file), spans(spans) {}

  /// Appends the outline of the message in [at, end) to `out`.
  llvm::Error walk(Message kind, uint64_t at, uint64_t end, int depth,
                   std::string &out) {
    if (depth > maxDepth)
      return fail(at, "messages are nested deeper than 100 levels");
    while (at < end) {
      uint64_t start = at;
      std::optional<uint64_t> tag = readVarint(at, end);
      if (!tag || *tag >> 3 == 0)
        return fail(start, "no field can start here");
      std::optional<uint64_t> length;
      switch (*tag & 7) {
      case Varint:
        if (!readVarint(at, end))
          return fail(start, "a number is cut off");
        break;
      case Fixed64:
        at += 8;
        break;
      case Fixed32:
        at += 4;
        break;
      case Bytes:
        length = readVarint(at, end);
        if (!length || *length > end - at)
          return fail(start, "a field reaches beyond the end of what holds it");
        break;
      default:
        return fail(start, "a field has a wire type that ONNX never uses");
      }
      if (at > end)
        return fail(start, "a field reaches beyond the end of what holds it");
      if (!length) {
        out.append(file.data() + start, at - start);
        continue;
      }
      if (llvm::Error error =
              copyBytes(kind, *tag, start, at, *length, depth, out))
        return error;
      at += *length;
    }
    return llvm::Error::success();
  }

private:
  /// A length-delimited field: copied, outlined, or replaced by its number.
  llvm::Error copyBytes(Message kind, uint64_t tag, uint64_t start,
                        uint64_t content, uint64_t length, int depth,
                        std::string &out) {
    uint64_t number = tag >> 3;
    if (kind == Message::Tensor && number == rawDataField) {
      char index[8];
      llvm::support::endian::write64le(index, spans.size());
      spans.push_back(
          {static_cast<int64_t>(content), static_cast<int64_t>(length)});
      appendField(tag, llvm::StringRef(index, 8), out);
      return llvm::Error::success();
    }
    Message child = getChild(kind, number);
    if (child == Message::Other) {
      out.append(file.data() + start, content + length - start);
      return llvm::Error::success();
    }
    std::string inner;
    if (llvm::Error error =
            walk(child, content, content + length, depth + 1, inner))
      return error;
    appendField(tag, inner, out);
    return llvm::Error::success();
  }

  std::optional<uint64_t> readVarint(uint64_t &at, uint64_t end) const {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && at < end; shift += 7) {
      uint8_t byte = file[at++];
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    return std::nullopt;
  }

  static void appendVarint(uint64_t value, std::string &out) {
    for (; value >= 0x80; value >>= 7)
      out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
  }

  static void appendField(uint64_t tag, llvm::StringRef content,
                          std::string &out) {
    appendVarint(tag, out);
    appendVarint(content.size(), out);
    out.append(content.data(), content.size());
  }

  static llvm::Error fail(uint64_t at, const char *what) {
    return llvm::createStringError("malformed at byte " + std::to_string(at) +
                                   ": " + what);
  }

  llvm::StringRef file;
  std::vector<FileSpan> &spans;
};
} // namespace

std::optional<FileSpan> Outline::getSpan(llvm::StringRef rawData) const {
  if (rawData.size() != 8)
    return std::nullopt;
  uint64_t index = llvm::support::endian::read64le(rawData.data());
  if (index >= spans.size())
    return std::nullopt;
  return spans[index];
}

llvm::Expected<Outline> pplan::import::makeOutline(llvm::StringRef file) {
  Outline outline;
  Walker walker(file, outline.spans);
  if (llvm::Error error =
          walker.walk(Message::Model, 0, file.size(), 0, outline.bytes))
    return std::move(error);
  return outline;
}
