//===- StrictYaml.h - YAML that tolerates nothing ---------------*- C++ -*-===//
//
// Decides how a YAML document is walked so that nothing unknown, repeated,
// missing or of a wrong type goes by, and how such a thing is reported. Which
// keys there are is left to the reader that uses this.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_COSTMODEL_STRICTYAML_H
#define PPLAN_LIB_COSTMODEL_STRICTYAML_H

#include "Quantity.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLParser.h"
#include <string>

namespace pplan {

/// One key that a mapping may have.
struct YamlKey {
  llvm::StringRef name;
  bool required;
  /// Reads the value; false: an error has been reported. The key's node is
  /// given for messages about the value as a whole.
  llvm::function_ref<bool(llvm::yaml::Node &)> read;
};

/// Walks one document and remembers the first error.
class StrictYaml {
public:
  StrictYaml(llvm::StringRef text, llvm::StringRef fileName);

  /// Reads the document's root with `read`; afterwards there must be nothing
  /// left. The error has the file, line, column, source line and caret.
  llvm::Error readDocument(llvm::function_ref<bool(llvm::yaml::Node &)> read);

  /// Where a node starts: for a mapping or sequence in brackets, the bracket,
  /// which LLVM's parser has already passed.
  llvm::SMRange getPlace(llvm::yaml::Node &node) const;

  /// Reports `message` at `node`; always false.
  bool error(llvm::yaml::Node &node, const llvm::Twine &message);
  bool error(llvm::SMRange range, const llvm::Twine &message);

  /// Reads a mapping with the given keys, called `what` in messages. Unknown
  /// keys suggest the nearest known one.
  bool readMapping(llvm::yaml::Node &node, llvm::StringRef what,
                   llvm::ArrayRef<YamlKey> keys);
  /// Reads a mapping whose keys are decided by `entry`.
  bool readEntries(llvm::yaml::Node &node, llvm::StringRef what,
                   llvm::function_ref<bool(llvm::yaml::ScalarNode &,
                                           llvm::StringRef, llvm::yaml::Node &)>
                       entry);
  /// Reads a sequence, each element with `element`.
  bool readSequence(llvm::yaml::Node &node, llvm::StringRef what,
                    llvm::function_ref<bool(llvm::yaml::Node &)> element);
  /// Reads a scalar's text.
  bool readText(llvm::yaml::Node &node, llvm::StringRef what,
                std::string &value);
  /// Reads a number with a unit of `dimension`, within [low, high]; `open`
  /// excludes `low` itself.
  bool readQuantity(llvm::yaml::Node &node, llvm::StringRef what,
                    Dimension dimension, double low, bool open, double high,
                    double &value);
  /// Reads a whole number within [low, high].
  bool readInteger(llvm::yaml::Node &node, llvm::StringRef what, int64_t low,
                   int64_t high, int64_t &value);
  /// Reads true or false.
  bool readBool(llvm::yaml::Node &node, llvm::StringRef what, bool &value);

private:
  bool failed() const { return !message.empty(); }
  static void handleDiagnostic(const llvm::SMDiagnostic &diag, void *self);

  llvm::SourceMgr sourceMgr;
  llvm::yaml::Stream stream;
  std::string message;
};

/// "; did you mean 'x'?" for the name nearest to `text`, or a list of all.
std::string suggestName(llvm::StringRef text,
                        llvm::ArrayRef<llvm::StringRef> names);

} // namespace pplan

#endif // PPLAN_LIB_COSTMODEL_STRICTYAML_H
