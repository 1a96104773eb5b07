//===- EmitReshard.cpp - Reshard steps as operations ----------------------===//
//
// See EmitReshard.h.
//
//===----------------------------------------------------------------------===//
#include "EmitReshard.h"
#include "pplan/Dialect/SPMD/SPMD.h"
#include "pplan/Partition/Neutral.h"

using namespace mlir;
using namespace pplan;

ArrayAttr pplan::makeStateAttr(const ProgramMesh &mesh,
                               const TensorSharding &sharding,
                               RankedTensorType globalType) {
  return ArrayAttr::get(globalType.getContext(),
                        {mesh.write(sharding), TypeAttr::get(globalType)});
}

/// A tensor all of whose elements are `value`.
static Value makeSplat(OpBuilder &builder, Location loc, RankedTensorType type,
                       TypedAttr value) {
  return ConstantOp::create(builder, loc, type,
                            DenseElementsAttr::get(type, Attribute(value)));
}

/// The value on the first device along the axes, the neutral element on the
/// others.
static Value emitMakePartial(OpBuilder &builder, Location loc,
                             const ProgramMesh &mesh, Value value,
                             const ReshardStep &step) {
  auto type = getTensorType(value);
  auto scalar = RankedTensorType::get({}, builder.getI64Type());
  Value place = spmd::ShardOffsetOp::create(
      builder, loc, scalar, mesh.sizes.getProduct(step.axes),
      mesh.name.getValue(), spmd::getAxisNames(step.axes, mesh.attr));
  Value zero = makeSplat(builder, loc, scalar, builder.getI64IntegerAttr(0));
  Value isFirst = CompareOp::create(builder, loc, Predicate::EQ, place, zero);
  Value condition = BroadcastOp::create(
      builder, loc, RankedTensorType::get(type.getShape(), builder.getI1Type()),
      isFirst, ArrayRef<int64_t>());
  Value neutral =
      makeSplat(builder, loc, type,
                getNeutralElement(step.reduction, type.getElementType()));
  return SelectOp::create(builder, loc, type, condition, value, neutral);
}

static Value emitStep(OpBuilder &builder, Location loc, const ProgramMesh &mesh,
                      Value value, RankedTensorType globalType,
                      const ReshardStep &step) {
  auto type = withShape(
      globalType, getLocalShape(globalType.getShape(), step.after, mesh.sizes));
  ArrayAttr axes = spmd::getAxisNames(step.axes, mesh.attr);
  switch (step.kind) {
  case ReshardKind::Slice:
    return spmd::ShardSliceOp::create(builder, loc, type, value, step.dim,
                                      mesh.name.getValue(), axes);
  case ReshardKind::MakePartial:
    return emitMakePartial(builder, loc, mesh, value, step);
  case ReshardKind::AllGather:
    return spmd::AllGatherOp::create(builder, loc, type, value, step.dim,
                                     mesh.name.getValue(), axes);
  case ReshardKind::AllReduce:
    return spmd::AllReduceOp::create(builder, loc, type, step.reduction, value,
                                     mesh.name.getValue(), axes);
  case ReshardKind::ReduceScatter:
    return spmd::ReduceScatterOp::create(builder, loc, type, step.reduction,
                                         value, step.dim, mesh.name.getValue(),
                                         axes);
  case ReshardKind::AllToAll:
    return spmd::AllToAllOp::create(builder, loc, type, value, step.toDim,
                                    step.dim, mesh.name.getValue(), axes);
  case ReshardKind::Permute:
    return spmd::PermuteOp::create(builder, loc, type, value, step.targets,
                                   mesh.name.getValue(), axes);
  }
  llvm_unreachable("all kinds are handled");
}

Value pplan::emitReshard(OpBuilder &builder, Location loc,
                         const ProgramMesh &mesh, Value value,
                         RankedTensorType globalType, const ReshardPlan &plan) {
  for (const ReshardStep &step : plan.steps) {
    value = emitStep(builder, loc, mesh, value, globalType, step);
    // These two do not say themselves what their result is.
    if (step.kind == ReshardKind::Permute ||
        step.kind == ReshardKind::MakePartial)
      value.getDefiningOp()->setAttr(
          kStateAttr, makeStateAttr(mesh, step.after, globalType));
  }
  return value;
}
