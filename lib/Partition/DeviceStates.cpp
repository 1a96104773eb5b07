//===- DeviceStates.cpp - States of boundaries and collectives ------------===//
//
// The walk, layouts, and what collectives do to a state. States of computation
// are in ComputeStates.cpp.
//
//===----------------------------------------------------------------------===//
#include "pplan/Partition/DeviceStates.h"
#include "EmitReshard.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pplan;

using MaybeState = FailureOr<DeviceState>;

std::string pplan::describe(const DeviceState &state, MeshAttr mesh) {
  if (state.kind == DeviceState::Uniform)
    return "a uniform value";
  if (state.kind == DeviceState::Opaque)
    return "a value that depends on the device";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << state.globalType << " split as " << state.sharding.str(mesh);
  return text;
}

AxisList DeviceStates::getAxes(ArrayAttr axes) const {
  AxisList result;
  if (auto list = spmd::getAxes(axes, meshAttr))
    for (int8_t axis : *list)
      if (mesh.sizes[axis] > 1)
        result.push_back(axis);
  return result;
}

LogicalResult DeviceStates::checkLocalType(Operation *op, Type type,
                                           const DeviceState &state) {
  auto tensor = cast<RankedTensorType>(type);
  if (state.kind != DeviceState::Part ||
      (tensor.getElementType() == state.globalType.getElementType() &&
       tensor.getShape() == ArrayRef(getLocalShape(state.globalType.getShape(),
                                                   state.sharding, mesh))))
    return success();
  return op->emitOpError("has a value of type ")
         << type << " where a device's part of " << describe(state, meshAttr)
         << " is due";
}

MaybeState DeviceStates::readState(Attribute attr, Operation *op,
                                   Type localType) {
  auto parts = dyn_cast_or_null<ArrayAttr>(attr);
  auto sharding = parts && parts.size() == 2 ? dyn_cast<ShardingAttr>(parts[0])
                                             : ShardingAttr();
  auto typeAttr = sharding ? dyn_cast<TypeAttr>(parts[1]) : TypeAttr();
  auto type = typeAttr ? dyn_cast<RankedTensorType>(typeAttr.getValue())
                       : RankedTensorType();
  if (!type || !type.hasStaticShape())
    return op->emitOpError("expects [#pplan.sharding, tensor type], found ")
           << attr;
  if (sharding.getMesh() != meshName)
    return op->emitOpError("is laid out on mesh ")
           << sharding.getMesh() << ", the program runs on " << meshName;
  if (failed(verifySharding(sharding, type, meshAttr,
                            [&] { return op->emitOpError(); })))
    return failure();
  DeviceState state;
  state.kind = DeviceState::Part;
  state.globalType = type;
  state.sharding =
      dropTrivialAxes(TensorSharding::get(sharding, meshAttr), mesh);
  state.fills.resize(type.getRank());
  if (failed(checkLocalType(op, localType, state)))
    return failure();
  return state;
}

LogicalResult DeviceStates::visitArguments() {
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    Attribute layout = function.getArgAttr(i, spmd::kLayoutAttr);
    if (!layout)
      return function.emitOpError("argument ")
             << i
             << " has no spmd.layout, which says what part of it a device "
                "is passed";
    MaybeState state = readState(layout, function, argument.getType());
    if (failed(state))
      return failure();
    states[argument] = std::move(*state);
  }
  return success();
}

LogicalResult DeviceStates::visitReturn(func::ReturnOp ret) {
  for (auto [i, operand] : llvm::enumerate(ret.getOperands())) {
    Attribute layout = function.getResultAttr(i, spmd::kLayoutAttr);
    if (!layout)
      return function.emitOpError("result ")
             << i
             << " has no spmd.layout, which says what part of it a device "
                "returns";
    MaybeState declared = readState(layout, function, operand.getType());
    if (failed(declared))
      return failure();
    const DeviceState &state = states[operand];
    bool fits = state.kind == DeviceState::Uniform
                    ? declared->sharding.partial.empty()
                    : state.kind == DeviceState::Part &&
                          state.globalType == declared->globalType &&
                          state.sharding == declared->sharding;
    if (fits)
      continue;
    auto diag = ret.emitOpError("operand ")
                << i << " is " << describe(state, meshAttr)
                << ", but the result's layout declares "
                << describe(*declared, meshAttr);
    if (Operation *op = operand.getDefiningOp())
      diag.attachNote(op->getLoc()) << "it is computed here";
    return failure();
  }
  return success();
}

LogicalResult DeviceStates::run() {
  // Layouts and collectives must name one mesh; the first met is it.
  MeshOp found = lookupMesh(function, FlatSymbolRefAttr());
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto layout =
            function.getArgAttrOfType<ArrayAttr>(i, spmd::kLayoutAttr))
      if (!layout.empty())
        if (auto sharding = dyn_cast<ShardingAttr>(layout[0]))
          if (MeshOp named = lookupMesh(function, sharding.getMesh()))
            found = named;
  if (!found)
    return function.emitOpError("runs on no mesh; declare it with pplan.mesh");
  meshAttr = found.getShape();
  meshName = FlatSymbolRefAttr::get(found.getSymNameAttr());
  mesh = DeviceMesh::get(meshAttr);
  if (failed(checkBoundary(function)) || failed(visitArguments()))
    return failure();
  for (Operation &op : function.getBody().front()) {
    if (auto ret = dyn_cast<func::ReturnOp>(op))
      return visitReturn(ret);
    if (op.getNumResults() == 0 ||
        !llvm::all_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>))
      return op.emitOpError("is no operation of a device program");
    auto named = op.getAttrOfType<FlatSymbolRefAttr>("mesh");
    if (named && named != meshName)
      return op.emitOpError("works on mesh ")
             << named << ", the program runs on " << meshName;
    if (op.getNumResults() > 1) {
      if (!isa<ShardableOpInterface>(op))
        return op.emitOpError("is no operation of a device program");
      if (failed(visitMultiple(&op)))
        return failure();
      continue;
    }
    MaybeState state = visit(&op);
    if (failed(state) ||
        failed(checkLocalType(&op, op.getResultTypes()[0], *state)))
      return failure();
    states[op.getResult(0)] = std::move(*state);
  }
  return success();
}

DeviceState DeviceStates::resolve(Value value) const {
  DeviceState state = states.find(value)->second;
  if (state.kind != DeviceState::Uniform)
    return state;
  // A uniform value that meets nothing else is its own whole.
  auto type = getTensorType(value);
  state.kind = DeviceState::Part;
  state.globalType = type;
  state.sharding = TensorSharding::getReplicated(type.getRank());
  state.fills.assign(type.getRank(), Attribute());
  return state;
}

MaybeState DeviceStates::visit(Operation *op) {
  if (op->getName().getDialectNamespace() == "spmd")
    return visitDevice(op);
  if (isa<ReshardOp>(op) || !isa<ShardableOpInterface>(op))
    return op->emitOpError("is no operation of a device program; run "
                           "pplan-partition before");
  for (Value operand : op->getOperands())
    if (states[operand].kind == DeviceState::Opaque)
      return visitOpaque(op);
  return visitCompute(op);
}

/// Removes `axes` from the minor end of a dimension; false if they are not
/// there or do not form one flat group.
static bool removeAxes(DeviceState &state, int64_t dim, ArrayRef<int8_t> axes,
                       const DeviceMesh &mesh) {
  AxisList &have = state.sharding.dims[dim];
  if (have.size() < axes.size() ||
      ArrayRef<int8_t>(have).take_back(axes.size()) != axes)
    return false;
  have.truncate(have.size() - axes.size());
  return isFlat(getLocalSize(state.globalType.getDimSize(dim), have, mesh),
                axes, mesh);
}

/// Adds `axes` at the minor end of a dimension; false if one is in use or they
/// do not form one flat group.
static bool addAxes(DeviceState &state, int64_t dim, ArrayRef<int8_t> axes,
                    const DeviceMesh &mesh) {
  AxisList &have = state.sharding.dims[dim];
  bool fits = isFlat(getLocalSize(state.globalType.getDimSize(dim), have, mesh),
                     axes, mesh);
  uint32_t used = state.sharding.getAxisMask();
  for (int8_t axis : axes) {
    fits &= !(used & (1u << axis));
    have.push_back(axis);
  }
  return fits;
}

/// Completes the sum over `axes`; false if the value is not such a sum.
static bool completeSum(DeviceState &state, ReductionKind kind,
                        ArrayRef<int8_t> axes) {
  AxisList &partial = state.sharding.partial;
  for (int8_t axis : axes) {
    if (!llvm::is_contained(partial, axis) ||
        state.sharding.partialKind != kind)
      return false;
    llvm::erase(partial, axis);
  }
  if (partial.empty())
    state.sharding.partialKind = ReductionKind::Sum;
  return true;
}

MaybeState DeviceStates::visitPermute(spmd::PermuteOp op,
                                      const DeviceState &input) {
  Attribute claim = op->getAttr(kStateAttr);
  if (!claim)
    return op.emitOpError("needs spmd.state to say what it makes");
  MaybeState state = readState(claim, op, op.getType());
  if (failed(state))
    return failure();
  AxisList axes = getAxes(op.getAxes());
  bool fits = state->globalType == input.globalType &&
              arePermutedBlocks(input.globalType.getShape(), input.sharding,
                                state->sharding, axes, op.getTargets(), mesh);
  if (fits)
    return state;
  return op.emitOpError("targets [")
         << op.getTargets() << "] do not turn " << describe(input, meshAttr)
         << " into " << describe(*state, meshAttr);
}

MaybeState DeviceStates::visitDevice(Operation *op) {
  if (isa<spmd::ShardOffsetOp>(op))
    return DeviceState();
  DeviceState state = resolve(op->getOperand(0));
  if (state.kind == DeviceState::Opaque) {
    auto diag = op->emitOpError(
        "communicates a value that depends on the device in an unknown way");
    if (Operation *source = op->getOperand(0).getDefiningOp())
      diag.attachNote(source->getLoc()) << "it is computed here";
    return failure();
  }
  DeviceState input = state;
  AxisList axes = getAxes(op->getAttrOfType<ArrayAttr>("axes"));
  if (auto permute = dyn_cast<spmd::PermuteOp>(op))
    return visitPermute(permute, input);
  if (auto mask = dyn_cast<spmd::MaskPaddingOp>(op)) {
    int64_t dim = mask.getDim();
    if (static_cast<int64_t>(mask.getSize()) !=
            state.globalType.getDimSize(dim) ||
        state.sharding.dims[dim] != axes)
      return op->emitOpError("masks a dimension of size ")
             << mask.getSize() << " over " << mask.getAxes() << ", but " << dim
             << " is a dimension of " << describe(input, meshAttr);
    state.fills[dim] = mask.getFill();
    return state;
  }
  bool fits =
      TypeSwitch<Operation *, bool>(op)
          .Case([&](spmd::AllReduceOp reduce) {
            return completeSum(state, reduce.getKind(), axes);
          })
          .Case([&](spmd::AllGatherOp gather) {
            return removeAxes(state, gather.getDim(), axes, mesh);
          })
          .Case([&](spmd::ShardSliceOp slice) {
            return addAxes(state, slice.getDim(), axes, mesh);
          })
          .Case([&](spmd::ReduceScatterOp scatter) {
            return completeSum(state, scatter.getKind(), axes) &&
                   addAxes(state, scatter.getDim(), axes, mesh);
          })
          .Case([&](spmd::AllToAllOp exchange) {
            return removeAxes(state, exchange.getConcatDim(), axes, mesh) &&
                   addAxes(state, exchange.getSplitDim(), axes, mesh);
          })
          .Default(false);
  state.fills.assign(state.fills.size(), Attribute());
  if (fits)
    return state;
  auto diag = op->emitOpError("over ")
              << op->getAttr("axes") << " does not fit its operand, which is "
              << describe(input, meshAttr);
  if (Operation *source = op->getOperand(0).getDefiningOp())
    diag.attachNote(source->getLoc()) << "the operand is computed here";
  return failure();
}
