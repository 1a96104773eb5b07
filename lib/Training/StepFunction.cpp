//===- StepFunction.cpp - Editing a function's boundary -------------------===//
//
// Keeps a function's type, block and attributes in step.
//
//===----------------------------------------------------------------------===//
#include "StepFunction.h"

using namespace mlir;
using namespace pplan;

FailureOr<func::FuncOp> pplan::getStepFunction(ModuleOp module) {
  func::FuncOp found;
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    if (function.isPrivate() || function.isExternal())
      continue;
    if (found) {
      InFlightDiagnostic error = function.emitOpError(
          "is a second public function; a model to train has one");
      error.attachNote(found.getLoc()) << "the first is '" << found.getName()
                                       << "'";
      return error;
    }
    found = function;
  }
  if (!found)
    return module.emitError("has no public function to train");
  if (!found.getBody().hasOneBlock())
    return found.emitOpError("has control flow, which cannot be trained");
  return found;
}

StringRef pplan::lookupArgumentName(func::FuncOp function, unsigned index,
                                 StringRef attr) {
  auto name = function.getArgAttrOfType<StringAttr>(index, attr);
  return name ? name.getValue() : StringRef();
}

SmallVector<StepResult> pplan::getResults(func::FuncOp function) {
  SmallVector<StepResult> results;
  Operation *terminator = function.front().getTerminator();
  for (auto [index, value] : llvm::enumerate(terminator->getOperands())) {
    DictionaryAttr attrs = function.getResultAttrDict(index);
    results.push_back(
        {value, attrs ? attrs : DictionaryAttr::get(function.getContext())});
  }
  return results;
}

void pplan::setResults(func::FuncOp function, ArrayRef<StepResult> results) {
  SmallVector<Value> values;
  SmallVector<Attribute> attrs;
  for (const StepResult &result : results) {
    values.push_back(result.value);
    attrs.push_back(result.attrs);
  }
  function.front().getTerminator()->setOperands(values);
  function.setFunctionType(FunctionType::get(
      function.getContext(), function.front().getArgumentTypes(),
      TypeRange(ValueRange(values))));
  function.setResAttrsAttr(ArrayAttr::get(function.getContext(), attrs));
}

BlockArgument pplan::addArgument(func::FuncOp function, Type type,
                                 StringRef attr, StringRef name) {
  Builder builder(function.getContext());
  DictionaryAttr attrs = builder.getDictionaryAttr(
      builder.getNamedAttr(attr, builder.getStringAttr(name)));
  unsigned index = function.getNumArguments();
  (void)function.insertArgument(index, type, attrs, function.getLoc());
  return function.getArgument(index);
}
