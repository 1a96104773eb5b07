//===- Pins.cpp - Shardings that the user fixes ---------------------------===//
//
// Puts the shardings of --pin on the model's inputs, parameters and outputs.
// Everything else follows from them in the plan phase.
//
//===----------------------------------------------------------------------===//
#include "Session.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pplan/Dialect/PPlan/PPlan.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::driver;

namespace {
/// Arguments and results of one function by their names in the model.
class Signature {
public:
  explicit Signature(func::FuncOp function) : function(function) {}

  /// Sets the sharding of what has that name: an input, a parameter, an output
  /// or several of them. Returns an exit code.
  int pin(StringRef name, ShardingAttr sharding, MeshAttr mesh) {
    bool found = false;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      for (StringRef attr : {kInputAttr, kParamAttr}) {
        auto known = function.getArgAttrOfType<StringAttr>(i, attr);
        if (!known || known.getValue() != name)
          continue;
        found = true;
        if (!mayPin(name, sharding, mesh, function.getArgumentTypes()[i],
                    function.getArgAttrOfType<ShardingAttr>(i, kShardingAttr)))
          return kExitBadInput;
        function.setArgAttr(i, kShardingAttr, sharding);
      }
    for (unsigned i = 0; i < function.getNumResults(); ++i) {
      auto known = function.getResultAttrOfType<StringAttr>(i, kOutputAttr);
      if (!known || known.getValue() != name)
        continue;
      found = true;
      if (!mayPin(name, sharding, mesh, function.getResultTypes()[i],
                  function.getResultAttrOfType<ShardingAttr>(i, kShardingAttr)))
        return kExitBadInput;
      function.setResultAttr(i, kShardingAttr, sharding);
    }
    if (found)
      return kExitDone;
    llvm::errs() << "pplan: --pin names '" << name
                 << "', which is no input, parameter or output of the model"
                 << listNames() << '\n';
    return kExitBadInput;
  }

private:
  /// The names of inputs and outputs, for messages; at most eight.
  std::string listNames() {
    std::string text = "; inputs and outputs are ";
    int64_t listed = 0;
    auto add = [&](StringAttr name) {
      if (!name || ++listed > 9)
        return;
      text += listed == 1 ? "" : ", ";
      text += listed == 9 ? "..." : ("'" + name.getValue() + "'").str();
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      add(function.getArgAttrOfType<StringAttr>(i, kInputAttr));
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      add(function.getResultAttrOfType<StringAttr>(i, kOutputAttr));
    return listed ? text : "";
  }

  bool mayPin(StringRef name, ShardingAttr sharding, MeshAttr mesh, Type type,
              ShardingAttr before) {
    if (failed(verifySharding(sharding, type, mesh,
                              [&] { return function.emitError(); })))
      return false;
    if (!before || before == sharding)
      return true;
    llvm::errs() << "pplan: '" << name << "' is pinned to " << before
                 << " and to " << sharding << "; keep one of them\n";
    return false;
  }

  func::FuncOp function;
};
} // namespace

int Session::applyPins() {
  if (options.pins.empty())
    return kExitDone;
  func::FuncOp function;
  for (auto candidate : module->getOps<func::FuncOp>())
    function = candidate;
  MeshOp mesh = lookupMesh(*module, nullptr);
  if (!mesh || !function) {
    llvm::errs() << "pplan: --pin names axes of a mesh, but the model declares "
                    "none; add pplan.mesh to the .mlir or use --parallel\n";
    return kExitUsage;
  }
  for (StringRef pin : options.pins) {
    auto [name, spec] = pin.split('=');
    std::string text =
        ("#pplan.sharding<@" + mesh.getSymName() + ", " + spec + ">").str();
    auto sharding =
        dyn_cast_or_null<ShardingAttr>(parseAttribute(text, context.get()));
    if (!sharding) {
      llvm::errs() << "pplan: --pin " << pin
                   << " is not of the form NAME=[{\"axis\"}, {}]\n";
      return kExitUsage;
    }
    if (int code = Signature(function).pin(name, sharding, mesh.getShape()))
      return code;
  }
  return kExitDone;
}
