//===- Signature.cpp - What the host sees of a program --------------------===//
//
// Decides which function is compiled and what the descriptor of the program
// will say about its arguments and results.
//
//===----------------------------------------------------------------------===//
#include "Signature.h"
#include "pplan/Dialect/SPMD/SPMD.h"
#include "pplan/Memory/RT.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

/// True for tensors whose elements and bytes the host can count and move.
static bool isHostTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && isCountable(tensor) &&
         rt::getDType(tensor.getElementType()) >= 0;
}

FailureOr<func::FuncOp> memory::findEntry(ModuleOp module) {
  func::FuncOp entry;
  for (func::FuncOp function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || function.isPrivate())
      continue;
    if (entry && entry.getName() == "forward")
      continue;
    if (entry && function.getName() != "forward") {
      auto diag = function.emitOpError("is a second public function; the one "
                                       "to compile is called @forward");
      diag.attachNote(entry.getLoc()) << "the first is here";
      return failure();
    }
    entry = function;
  }
  if (!entry) {
    module.emitError("no function to compile: expected a public func.func, "
                     "such as @forward");
    return failure();
  }
  if (!entry.getBody().hasOneBlock()) {
    entry.emitOpError("has control flow; only straight-line functions can be "
                      "compiled");
    return failure();
  }
  for (auto [i, type] : llvm::enumerate(entry.getArgumentTypes()))
    if (!isHostTensor(type)) {
      entry.emitOpError("argument ")
          << i << " has type " << type
          << "; expected a tensor of static shape with at most 2^48 elements of "
             "a type that the runtime knows";
      return failure();
    }
  for (auto [i, type] : llvm::enumerate(entry.getResultTypes()))
    if (!isHostTensor(type)) {
      entry.emitOpError("result ")
          << i << " has type " << type
          << "; expected a tensor of static shape with at most 2^48 elements of "
             "a type that the runtime knows";
      return failure();
    }
  return entry;
}

/// The sharding in a layout attribute, or null.
static ShardingAttr getLayoutSharding(Attribute layout) {
  auto array = dyn_cast_or_null<ArrayAttr>(layout);
  return array && array.size() == 2 ? dyn_cast<ShardingAttr>(array[0])
                                    : ShardingAttr();
}

FailureOr<MeshAttr> memory::findMesh(func::FuncOp entry) {
  FlatSymbolRefAttr name;
  Location where = entry.getLoc();
  auto use = [&](FlatSymbolRefAttr symbol, Location loc) -> LogicalResult {
    if (!symbol || symbol == name)
      return success();
    if (name) {
      auto diag = emitError(loc) << "uses mesh " << symbol
                                 << ", but the program runs on " << name;
      diag.attachNote(where) << name << " is used here";
      return failure();
    }
    name = symbol;
    where = loc;
    return success();
  };
  auto useLayout = [&](Attribute layout) {
    ShardingAttr sharding = getLayoutSharding(layout);
    return use(sharding ? sharding.getMesh() : FlatSymbolRefAttr(),
               entry.getLoc());
  };
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    if (failed(useLayout(entry.getArgAttr(i, spmd::kLayoutAttr))))
      return failure();
  for (unsigned i = 0; i < entry.getNumResults(); ++i)
    if (failed(useLayout(entry.getResultAttr(i, spmd::kLayoutAttr))))
      return failure();
  for (Operation &op : entry.front())
    if (failed(use(op.getAttrOfType<FlatSymbolRefAttr>("mesh"), op.getLoc())))
      return failure();
  if (!name)
    return MeshAttr::get(entry.getContext(), {});
  MeshOp mesh = lookupMesh(entry, name);
  if (!mesh) {
    entry.emitOpError("uses mesh ")
        << name << ", which the module does not declare";
    return failure();
  }
  return mesh.getShape();
}

/// Mesh axis numbers of each dimension.
static FailureOr<ArrayAttr> getDimAxes(func::FuncOp entry,
                                       ShardingAttr sharding, int64_t rank,
                                       MeshAttr mesh) {
  Builder builder(entry.getContext());
  SmallVector<Attribute> dims(rank, builder.getDenseI32ArrayAttr({}));
  if (!sharding)
    return builder.getArrayAttr(dims);
  if (static_cast<int64_t>(sharding.getDims().size()) != rank)
    return entry.emitOpError("has the layout ")
           << sharding << " on a tensor with " << rank << " dimensions";
  if (!sharding.getPartialAxes().empty())
    return entry.emitOpError("has the partial layout ")
           << sharding << "; the host cannot pass or take partial sums";
  for (auto [i, dim] : llvm::enumerate(sharding.getDims())) {
    SmallVector<int32_t> axes;
    for (StringAttr axis : dim.getAxes()) {
      int index = mesh.getAxisIndex(axis.getValue());
      if (index < 0)
        return entry.emitOpError("has a layout over axis ")
               << axis << ", which the mesh " << mesh << " lacks";
      axes.push_back(index);
    }
    dims[i] = builder.getDenseI32ArrayAttr(axes);
  }
  return builder.getArrayAttr(dims);
}

static FailureOr<Attribute> describeValue(func::FuncOp entry, Type local,
                                          DictionaryAttr attrs, StringRef kind,
                                          Attribute name, StringRef fallback,
                                          DataAttr data, MeshAttr mesh) {
  Builder builder(entry.getContext());
  Attribute layout = attrs ? attrs.get(spmd::kLayoutAttr) : Attribute();
  Type global = local;
  if (getLayoutSharding(layout))
    if (auto type = dyn_cast<TypeAttr>(cast<ArrayAttr>(layout)[1]))
      global = type.getValue();
  auto localTensor = cast<RankedTensorType>(local);
  auto globalTensor = dyn_cast<RankedTensorType>(global);
  if (!globalTensor || globalTensor.getRank() != localTensor.getRank() ||
      globalTensor.getElementType() != localTensor.getElementType())
    return entry.emitOpError("has the global type ")
           << global << " for the local type " << local;
  FailureOr<ArrayAttr> axes = getDimAxes(entry, getLayoutSharding(layout),
                                         localTensor.getRank(), mesh);
  if (failed(axes))
    return failure();
  if (!isa_and_nonnull<StringAttr>(name))
    name = builder.getStringAttr(fallback);
  if (data && data.getSize() != rt::getDenseBytes(globalTensor))
    return entry.emitOpError("parameter ")
           << name << " has " << data.getSize() << " bytes of data, but "
           << globalTensor << " takes " << rt::getDenseBytes(globalTensor);
  NamedAttrList dictionary;
  dictionary.set("kind", builder.getStringAttr(kind));
  dictionary.set("name", name);
  dictionary.set("type", TypeAttr::get(globalTensor));
  dictionary.set("local", TypeAttr::get(localTensor));
  dictionary.set("axes", *axes);
  if (data)
    dictionary.set("data", data);
  if (Attribute range = attrs ? attrs.get(kRangeAttr) : Attribute())
    dictionary.set("range", range);
  return Attribute(dictionary.getDictionary(entry.getContext()));
}

/// For each result the argument that it updates, or -1.
static FailureOr<SmallVector<int64_t>> findUpdated(func::FuncOp entry) {
  SmallVector<int64_t> updated(entry.getNumResults(), -1);
  for (auto [result, argument] : llvm::enumerate(updated)) {
    auto name = entry.getResultAttrOfType<StringAttr>(result, kUpdatesAttr);
    if (!name)
      continue;
    for (unsigned i = 0; i < entry.getNumArguments(); ++i)
      if (entry.getArgAttr(i, kParamAttr) == name ||
          entry.getArgAttr(i, kStepStateAttr) == name)
        argument = i;
    if (argument < 0)
      return entry.emitOpError("result ")
             << result << " updates " << name
             << ", which is neither a parameter nor state";
    if (llvm::count(updated, argument) != 1)
      return entry.emitOpError("result ")
             << result << " is the second that updates " << name;
    if (entry.getResultAttr(result, spmd::kLayoutAttr) !=
        entry.getArgAttr(argument, spmd::kLayoutAttr))
      return entry.emitOpError("result ")
             << result << " updates " << name << " in another layout";
    if (entry.getResultTypes()[result] != entry.getArgumentTypes()[argument])
      return entry.emitOpError("result ")
             << result << " of type " << entry.getResultTypes()[result]
             << " updates " << name << " of type "
             << entry.getArgumentTypes()[argument];
  }
  return updated;
}

/// `value` with one more entry.
static Attribute addEntry(Attribute value, StringRef name, Attribute entry) {
  NamedAttrList list(cast<DictionaryAttr>(value));
  list.set(name, entry);
  return list.getDictionary(value.getContext());
}

/// What a program says of argument `i`; `isUpdated`: a result is its new value.
static FailureOr<Attribute> describeArgument(func::FuncOp entry, unsigned i,
                                             bool isUpdated, MeshAttr mesh) {
  Attribute name = entry.getArgAttr(i, kParamAttr);
  auto data = entry.getArgAttrOfType<DataAttr>(i, kDataAttr);
  Attribute state = entry.getArgAttr(i, kStepStateAttr);
  bool isParam = name && data;
  StringRef kind = isUpdated || state ? "state" : isParam ? "param" : "input";
  if (!name)
    name = state ? state : entry.getArgAttr(i, kInputAttr);
  FailureOr<Attribute> described = describeValue(
      entry, entry.getArgumentTypes()[i], entry.getArgAttrDict(i), kind, name,
      "arg" + std::to_string(i), isParam ? data : DataAttr(), mesh);
  Attribute init = entry.getArgAttr(i, kInitAttr);
  if (failed(described) || kind != "state" || !init)
    return described;
  Type element =
      cast<RankedTensorType>(entry.getArgumentTypes()[i]).getElementType();
  auto typed = dyn_cast<TypedAttr>(init);
  if (!isa<IntegerAttr, FloatAttr>(init) || typed.getType() != element)
    return entry.emitOpError("argument ")
           << i << " begins with " << init << ", which is no number of type "
           << element;
  return addEntry(*described, "init", init);
}

LogicalResult memory::describeSignature(func::FuncOp entry, MeshAttr mesh) {
  Builder builder(entry.getContext());
  FailureOr<SmallVector<int64_t>> updated = findUpdated(entry);
  if (failed(updated))
    return failure();
  SmallVector<Attribute> arguments, results;
  for (unsigned i = 0; i < entry.getNumArguments(); ++i) {
    FailureOr<Attribute> described = describeArgument(
        entry, i, llvm::is_contained(*updated, static_cast<int64_t>(i)), mesh);
    if (failed(described))
      return failure();
    arguments.push_back(*described);
  }
  for (unsigned i = 0; i < entry.getNumResults(); ++i) {
    int64_t argument = (*updated)[i];
    Attribute name = entry.getResultAttr(
        i, argument < 0 ? kOutputAttr : kUpdatesAttr);
    FailureOr<Attribute> described = describeValue(
        entry, entry.getResultTypes()[i], entry.getResultAttrDict(i),
        argument < 0 ? "output" : "update", name,
        "result" + std::to_string(i), DataAttr(), mesh);
    if (failed(described))
      return failure();
    results.push_back(argument < 0 ? *described
                                   : addEntry(*described, "argument",
                                              builder.getI64IntegerAttr(
                                                  argument)));
  }
  entry->setAttr(rt::kArgumentsAttr, builder.getArrayAttr(arguments));
  entry->setAttr(rt::kResultsAttr, builder.getArrayAttr(results));
  entry->setAttr(rt::kMeshAttr, mesh);
  return success();
}
