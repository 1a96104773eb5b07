//===- StrictYaml.cpp - YAML that tolerates nothing -----------------------===//
//
// Decides how a YAML document is walked and how errors in it read. LLVM's
// stream parser is used instead of YAMLTraits, because ranges and remedies
// need the place of each value. Walking ends at the first error, so nothing
// unread is ever skipped over and depth stays that of the reader.
//
//===----------------------------------------------------------------------===//
#include "StrictYaml.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace pplan;
using llvm::StringRef;
using llvm::Twine;
namespace yaml = llvm::yaml;

std::string pplan::suggestName(StringRef text,
                               llvm::ArrayRef<StringRef> names) {
  StringRef best;
  unsigned bestDistance = std::max<unsigned>(2, text.size() / 3) + 1;
  for (StringRef name : names) {
    unsigned distance =
        text.edit_distance_insensitive(name, true, bestDistance);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = name;
    }
  }
  if (!best.empty())
    return ("; did you mean '" + best + "'?").str();
  return "; known: " + llvm::join(names, ", ");
}

StrictYaml::StrictYaml(StringRef text, StringRef fileName)
    : stream(llvm::MemoryBufferRef(text, fileName), sourceMgr,
             /*ShowColors=*/false) {
  sourceMgr.setDiagHandler(handleDiagnostic, this);
}

void StrictYaml::handleDiagnostic(const llvm::SMDiagnostic &diag, void *self) {
  auto *reader = static_cast<StrictYaml *>(self);
  if (reader->failed() || diag.getKind() != llvm::SourceMgr::DK_Error)
    return;
  llvm::raw_string_ostream os(reader->message);
  // A line that no person wrote is not worth repeating.
  if (diag.getLineContents().size() > 200)
    os << diag.getFilename() << ":" << diag.getLineNo() << ":"
       << diag.getColumnNo() + 1 << ": error: " << diag.getMessage();
  else
    diag.print(/*ProgName=*/nullptr, os, /*ShowColors=*/false);
  os.flush();
  if (reader->message.empty())
    reader->message = "malformed YAML";
}

bool StrictYaml::error(llvm::SMRange range, const Twine &text) {
  handleDiagnostic(
      sourceMgr.GetMessage(range.Start, llvm::SourceMgr::DK_Error, text), this);
  return false;
}

llvm::SMRange StrictYaml::getPlace(yaml::Node &node) const {
  llvm::SMRange range = node.getSourceRange();
  const char *start = range.Start.getPointer();
  bool bracketed = llvm::isa<yaml::MappingNode, yaml::SequenceNode>(node);
  unsigned buffer = sourceMgr.FindBufferContainingLoc(range.Start);
  if (bracketed && buffer &&
      start > sourceMgr.getMemoryBuffer(buffer)->getBufferStart() &&
      (start[-1] == '[' || start[-1] == '{'))
    range.Start = llvm::SMLoc::getFromPointer(start - 1);
  return range;
}

bool StrictYaml::error(yaml::Node &node, const Twine &text) {
  return error(getPlace(node), text);
}

llvm::Error
StrictYaml::readDocument(llvm::function_ref<bool(yaml::Node &)> read) {
  auto document = stream.begin();
  yaml::Node *root = document == stream.end() ? nullptr : document->getRoot();
  if (!root && !failed())
    message = "empty document";
  if (root && !failed() && read(*root) && !failed()) {
    ++document;
    if (!failed() && document != stream.end())
      if (yaml::Node *second = document->getRoot())
        error(*second, "a second document; a file describes one thing");
  }
  if (stream.failed() && !failed())
    message = "malformed YAML";
  if (!failed())
    return llvm::Error::success();
  return llvm::createStringError(StringRef(message).rtrim());
}

/// What kind of node this is, for messages.
static StringRef describeNode(yaml::Node &node) {
  switch (node.getType()) {
  case yaml::Node::NK_Scalar:
  case yaml::Node::NK_BlockScalar:
    return "a scalar";
  case yaml::Node::NK_Mapping:
    return "a mapping";
  case yaml::Node::NK_Sequence:
    return "a sequence";
  case yaml::Node::NK_Null:
    return "nothing";
  case yaml::Node::NK_Alias:
    return "an alias";
  default:
    return "something else";
  }
}

bool StrictYaml::readEntries(
    yaml::Node &node, StringRef what,
    llvm::function_ref<bool(yaml::ScalarNode &, StringRef, yaml::Node &)>
        entry) {
  auto *mapping = llvm::dyn_cast<yaml::MappingNode>(&node);
  if (!mapping)
    return error(node, "'" + what +
                           "' must be a mapping of keys to values, "
                           "got " +
                           describeNode(node));
  llvm::StringSet<> seen;
  for (yaml::KeyValueNode &pair : *mapping) {
    yaml::Node *keyNode = pair.getKey();
    if (failed() || !keyNode)
      return false;
    auto *key = llvm::dyn_cast<yaml::ScalarNode>(keyNode);
    if (!key)
      return error(*keyNode, "a key of '" + what + "' must be a name, got " +
                                 describeNode(*keyNode));
    llvm::SmallString<32> storage;
    StringRef name = key->getValue(storage);
    if (failed())
      return false;
    if (!seen.insert(name).second)
      return error(*keyNode,
                   "key '" + name + "' is given twice in '" + what + "'");
    yaml::Node *value = pair.getValue();
    if (failed() || !value)
      return failed() ? false
                      : error(*keyNode, "key '" + name + "' has no value");
    if (!entry(*key, name, *value) || failed())
      return false;
  }
  return !failed();
}

bool StrictYaml::readMapping(yaml::Node &node, StringRef what,
                             llvm::ArrayRef<YamlKey> keys) {
  llvm::StringSet<> seen;
  bool ok = readEntries(
      node, what,
      [&](yaml::ScalarNode &key, StringRef name, yaml::Node &value) {
        seen.insert(name);
        for (const YamlKey &known : keys)
          if (known.name == name)
            return known.read(value);
        llvm::SmallVector<StringRef> names;
        for (const YamlKey &known : keys)
          names.push_back(known.name);
        return error(key, "unknown key '" + name + "' in '" + what + "'" +
                              suggestName(name, names));
      });
  if (!ok)
    return false;
  for (const YamlKey &known : keys)
    if (known.required && !seen.contains(known.name))
      return error(node, "'" + what + "' lacks the key '" + known.name + "'");
  return true;
}

bool StrictYaml::readSequence(yaml::Node &node, StringRef what,
                              llvm::function_ref<bool(yaml::Node &)> element) {
  auto *sequence = llvm::dyn_cast<yaml::SequenceNode>(&node);
  if (!sequence)
    return error(node, "'" + what + "' must be a sequence, got " +
                           describeNode(node));
  for (yaml::Node &child : *sequence)
    if (failed() || !element(child) || failed())
      return false;
  return !failed();
}

bool StrictYaml::readText(yaml::Node &node, StringRef what,
                          std::string &value) {
  if (auto *block = llvm::dyn_cast<yaml::BlockScalarNode>(&node)) {
    value = block->getValue().trim().str();
    return !failed();
  }
  auto *scalar = llvm::dyn_cast<yaml::ScalarNode>(&node);
  if (!scalar)
    return error(node,
                 "'" + what + "' must be a scalar, got " + describeNode(node));
  llvm::SmallString<64> storage;
  value = scalar->getValue(storage).str();
  return !failed();
}

bool StrictYaml::readQuantity(yaml::Node &node, StringRef what,
                              Dimension dimension, double low, bool open,
                              double high, double &value) {
  std::string text;
  if (!readText(node, what, text))
    return false;
  llvm::Expected<double> parsed = parseQuantity(text, dimension);
  if (!parsed)
    return error(node, "'" + what + "': " + llvm::toString(parsed.takeError()));
  value = *parsed;
  if (!(open ? value > low : value >= low))
    return error(node, "'" + what + "' must be " +
                           (open ? "more than " : "at least ") +
                           formatNumber(low) + ", got '" + text + "'");
  if (!(value <= high))
    return error(node, "'" + what + "' must be at most " + formatNumber(high) +
                           ", got '" + text + "'");
  return true;
}

bool StrictYaml::readInteger(yaml::Node &node, StringRef what, int64_t low,
                             int64_t high, int64_t &value) {
  std::string text;
  if (!readText(node, what, text))
    return false;
  if (StringRef(text).getAsInteger(10, value))
    return error(node,
                 "'" + what + "' must be a whole number, got '" + text + "'");
  if (value < low || value > high)
    return error(node, "'" + what + "' must be from " + Twine(low) + " to " +
                           Twine(high) + ", got " + text);
  return true;
}

bool StrictYaml::readBool(yaml::Node &node, StringRef what, bool &value) {
  std::string text;
  if (!readText(node, what, text))
    return false;
  if (text != "true" && text != "false")
    return error(node,
                 "'" + what + "' must be true or false, got '" + text + "'");
  value = text == "true";
  return true;
}
