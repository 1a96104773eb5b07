//===- Devices.cpp - Device programs on all devices in lockstep -----------===//
//
// The process grid: each value is one tensor per device, a collective reads
// those of its group. Padding gets garbage wherever an operation makes it.
//
//===----------------------------------------------------------------------===//
#include "Evaluate.h"
#include "pplan/Partition/ReshardPlan.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace pplan;

namespace {
/// Layout of an argument or result.
struct Layout {
  TensorSharding sharding;
  RankedTensorType type;
};

class DeviceRunner {
public:
  DeviceRunner(func::FuncOp function, double tolerance)
      : function(function), tolerance(tolerance) {}

  FailureOr<std::vector<HostTensor>> run(ArrayRef<HostTensor> arguments) {
    if (failed(split(arguments)))
      return failure();
    for (Operation &op : function.getBody().front()) {
      if (isa<func::ReturnOp>(op))
        return join(&op);
      if (failed(step(&op)))
        return failure();
    }
    return function.emitOpError("does not return");
  }

private:
  FailureOr<Layout> getLayout(Attribute attr) {
    auto parts = dyn_cast_or_null<ArrayAttr>(attr);
    if (!parts || parts.size() != 2 || !isa<ShardingAttr>(parts[0]) ||
        !isa<TypeAttr>(parts[1]))
      return function.emitOpError("lacks the layout of an argument or result");
    auto sharding = cast<ShardingAttr>(parts[0]);
    MeshOp found = lookupMesh(function, sharding.getMesh());
    auto type = dyn_cast<RankedTensorType>(cast<TypeAttr>(parts[1]).getValue());
    if (!found || !type)
      return function.emitOpError("has a layout without mesh or tensor type");
    meshAttr = found.getShape();
    mesh = DeviceMesh::get(meshAttr);
    return Layout{TensorSharding::get(sharding, meshAttr), type};
  }

  LogicalResult split(ArrayRef<HostTensor> arguments) {
    if (MeshOp only = lookupMesh(function, FlatSymbolRefAttr())) {
      meshAttr = only.getShape();
      mesh = DeviceMesh::get(meshAttr);
    }
    for (BlockArgument argument : function.getArguments()) {
      unsigned i = argument.getArgNumber();
      FailureOr<Layout> layout =
          getLayout(function.getArgAttr(i, spmd::kLayoutAttr));
      if (failed(layout))
        return failure();
      double fill = getGarbage(layout->type.getElementType());
      DeviceTensors &parts = values[argument];
      for (int64_t device = 0; device < mesh.getNumDevices(); ++device)
        parts.push_back(getShard(arguments[i], layout->sharding, mesh,
                                 getCoordinates(device, mesh), fill));
    }
    return success();
  }

  FailureOr<std::vector<HostTensor>> join(Operation *ret) {
    std::vector<HostTensor> results;
    for (auto [i, operand] : llvm::enumerate(ret->getOperands())) {
      FailureOr<Layout> layout =
          getLayout(function.getResultAttr(i, spmd::kLayoutAttr));
      if (failed(layout))
        return failure();
      auto whole = joinShards(layout->type.getShape(), values[operand],
                              layout->sharding, mesh, tolerance);
      if (!whole)
        return function.emitOpError("result ")
               << i << " differs between devices that hold copies of it";
      results.push_back(std::move(*whole));
    }
    return results;
  }

  /// Devices of the group that `device` is in, in group order.
  SmallVector<int64_t> getGroup(int64_t device, ArrayRef<int8_t> axes) {
    SmallVector<int64_t> coordinates = getCoordinates(device, mesh);
    SmallVector<int64_t> members;
    for (int64_t place = 0; place < mesh.getProduct(axes); ++place) {
      int64_t rest = place;
      for (int8_t axis : llvm::reverse(axes)) {
        coordinates[axis] = rest % mesh.sizes[axis];
        rest /= mesh.sizes[axis];
      }
      int64_t member = 0;
      for (size_t axis = 0; axis < mesh.sizes.size(); ++axis)
        member = member * mesh.sizes[axis] + coordinates[axis];
      members.push_back(member);
    }
    return members;
  }

  LogicalResult step(Operation *op) {
    std::vector<DeviceTensors> made(op->getNumResults());
    for (int64_t device = 0; device < mesh.getNumDevices(); ++device) {
      FailureOr<std::vector<HostTensor>> parts = stepOn(op, device);
      if (failed(parts))
        return failure();
      for (auto [index, part] : llvm::enumerate(*parts)) {
        auto type = getTensorType(op->getResult(index));
        if (part.shape != SmallVector<int64_t>(type.getShape()))
          return op->emitOpError("result does not have the shape it declares");
        made[index].push_back(std::move(part));
      }
    }
    for (auto [result, tensors] : llvm::zip(op->getResults(), made))
      values[result] = std::move(tensors);
    return success();
  }

  AxisList getOpAxes(ArrayAttr axes) {
    auto list = spmd::getAxes(axes, meshAttr);
    return list ? *list : AxisList();
  }

  FailureOr<std::vector<HostTensor>> stepOn(Operation *op, int64_t device) {
    using Single = std::vector<HostTensor>;
    if (auto offset = dyn_cast<spmd::ShardOffsetOp>(op))
      return Single{
          HostTensor({}, getShardRange(offset.getSize(),
                                       getOpAxes(offset.getAxes()), mesh,
                                       getCoordinates(device, mesh))
                             .offset)};
    if (auto mask = dyn_cast<spmd::MaskPaddingOp>(op))
      return Single{maskPadding(mask, device)};
    if (op->getName().getDialectNamespace() == "spmd") {
      FailureOr<HostTensor> result = collective(op, device);
      if (failed(result))
        return failure();
      return Single{std::move(*result)};
    }
    SmallVector<const HostTensor *> operands;
    for (Value operand : op->getOperands())
      operands.push_back(&values[operand][device]);
    return evaluateOp(op, operands);
  }

  HostTensor maskPadding(spmd::MaskPaddingOp op, int64_t device) {
    HostTensor result = values[op.getInput()][device];
    ShardRange range = getShardRange(op.getSize(), getOpAxes(op.getAxes()),
                                     mesh, getCoordinates(device, mesh));
    double fill;
    if (auto number = dyn_cast<FloatAttr>(op.getFill()))
      fill = number.getValueAsDouble();
    else
      fill = cast<IntegerAttr>(op.getFill())
                 .getValue()
                 .roundToDouble(!getTensorType(op.getInput())
                                     .getElementType()
                                     .isUnsignedInteger());
    forEachIndex(result.shape, [&](ArrayRef<int64_t> index) {
      if (index[op.getDim()] >= range.length)
        result.at(index) = fill;
    });
    return result;
  }

  /// Part number `place` of a dimension, garbage beyond its end.
  HostTensor takePart(const HostTensor &whole, RankedTensorType type,
                      int64_t dim, int64_t place) {
    HostTensor part(type.getShape(), getGarbage(type.getElementType()));
    forEachIndex(part.shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> from(index);
      from[dim] += place * part.shape[dim];
      if (from[dim] < whole.shape[dim])
        part.at(index) = whole.at(from);
    });
    return part;
  }

  /// Joins tensors along a dimension and cuts it to `size`.
  HostTensor concat(ArrayRef<HostTensor> parts, int64_t dim, int64_t size) {
    HostTensor whole = HostTensor(parts[0].shape);
    whole.shape[dim] = size;
    whole = HostTensor(whole.shape);
    int64_t step = parts[0].shape[dim];
    forEachIndex(whole.shape, [&](ArrayRef<int64_t> index) {
      SmallVector<int64_t> from(index);
      from[dim] = index[dim] % step;
      whole.at(index) = parts[index[dim] / step].at(from);
    });
    return whole;
  }

  HostTensor reduceAll(ArrayRef<int64_t> group, Value input,
                       ReductionKind kind) {
    HostTensor sum = values[input][group[0]];
    for (int64_t member : group.drop_front())
      for (int64_t i = 0; i < sum.size(); ++i)
        sum.data[i] = combine(kind, sum.data[i], values[input][member].data[i]);
    return sum;
  }

  FailureOr<HostTensor> collective(Operation *op, int64_t device) {
    AxisList axes = getOpAxes(op->getAttrOfType<ArrayAttr>("axes"));
    SmallVector<int64_t> group = getGroup(device, axes);
    int64_t place = llvm::find(group, device) - group.begin();
    Value input = op->getOperand(0);
    auto type = getTensorType(op->getResult(0));
    if (auto reduce = dyn_cast<spmd::AllReduceOp>(op))
      return reduceAll(group, input, reduce.getKind());
    if (auto scatter = dyn_cast<spmd::ReduceScatterOp>(op))
      return takePart(reduceAll(group, input, scatter.getKind()), type,
                      scatter.getDim(), place);
    if (auto slice = dyn_cast<spmd::ShardSliceOp>(op))
      return takePart(values[input][device], type, slice.getDim(), place);
    if (auto permute = dyn_cast<spmd::PermuteOp>(op)) {
      int64_t source = llvm::find(permute.getTargets(), place) -
                       permute.getTargets().begin();
      return HostTensor(values[input][group[source]]);
    }
    if (auto gather = dyn_cast<spmd::AllGatherOp>(op)) {
      std::vector<HostTensor> parts;
      for (int64_t member : group)
        parts.push_back(values[input][member]);
      int64_t dim = gather.getDim();
      return concat(parts, dim, type.getDimSize(dim));
    }
    if (auto exchange = dyn_cast<spmd::AllToAllOp>(op)) {
      int64_t split = exchange.getSplitDim(), dim = exchange.getConcatDim();
      SmallVector<int64_t> shape(getTensorType(input).getShape());
      shape[split] = type.getDimSize(split);
      std::vector<HostTensor> parts;
      for (int64_t member : group)
        parts.push_back(takePart(values[input][member], withShape(type, shape),
                                 split, place));
      return concat(parts, dim, type.getDimSize(dim));
    }
    return op->emitOpError("is unknown to the reference interpreter");
  }

  func::FuncOp function;
  double tolerance;
  MeshAttr meshAttr;
  DeviceMesh mesh;
  llvm::DenseMap<Value, DeviceTensors> values;
};
} // namespace

FailureOr<std::vector<HostTensor>>
pplan::runDeviceProgram(func::FuncOp function, ArrayRef<HostTensor> arguments,
                        double tolerance) {
  if (arguments.size() != function.getNumArguments())
    return function.emitOpError("takes ")
           << function.getNumArguments() << " arguments, given "
           << arguments.size();
  return DeviceRunner(function, tolerance).run(arguments);
}
