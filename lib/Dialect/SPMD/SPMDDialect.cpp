//===- SPMDDialect.cpp - The device view's dialect ------------------------===//
//
// Registration, axis lookups and verifiers: local sizes must be those that the
// group of a collective gives.
//
//===----------------------------------------------------------------------===//
#include "pplan/Dialect/SPMD/SPMD.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::spmd;

#include "pplan/Dialect/SPMD/SPMDDialect.cpp.inc"

void SPMDDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "pplan/Dialect/SPMD/SPMDOps.cpp.inc"
      >();
}

std::optional<AxisList> spmd::getAxes(ArrayAttr axes, MeshAttr mesh) {
  AxisList result;
  for (StringAttr name : axes.getAsRange<StringAttr>()) {
    int index = mesh.getAxisIndex(name.getValue());
    if (index < 0 || llvm::is_contained(result, index))
      return std::nullopt;
    result.push_back(index);
  }
  return result;
}

ArrayAttr spmd::getAxisNames(ArrayRef<int8_t> axes, MeshAttr mesh) {
  SmallVector<Attribute> names;
  for (int8_t axis : axes)
    names.push_back(
        StringAttr::get(mesh.getContext(), mesh.getAxes()[axis].getName()));
  return ArrayAttr::get(mesh.getContext(), names);
}

bool spmd::isCollective(Operation *op) {
  return isa<AllReduceOp, AllGatherOp, ReduceScatterOp, AllToAllOp, PermuteOp>(
      op);
}

/// The number of devices in the group of `op`, or nothing after a message.
static std::optional<int64_t> getGroupSize(Operation *op,
                                           FlatSymbolRefAttr meshName,
                                           ArrayAttr axes) {
  MeshOp mesh = lookupMesh(op, meshName);
  if (!mesh) {
    op->emitOpError("names the mesh ")
        << meshName << ", which is not declared; declare it with pplan.mesh";
    return std::nullopt;
  }
  std::optional<AxisList> list = getAxes(axes, mesh.getShape());
  if (!list) {
    op->emitOpError("axes ")
        << axes << " are not distinct axes of mesh " << meshName << " = "
        << mesh.getShape();
    return std::nullopt;
  }
  return DeviceMesh::get(mesh.getShape()).getProduct(*list);
}

/// Checks that `op` has the same types but for the sizes in `dims`.
static LogicalResult checkOtherDims(Operation *op, ArrayRef<int64_t> dims) {
  auto from = getTensorType(op->getOperand(0));
  auto to = getTensorType(op->getResult(0));
  bool fits = from.getRank() == to.getRank() &&
              from.getElementType() == to.getElementType();
  for (int64_t dim : dims)
    if (fits && (dim < 0 || dim >= from.getRank()))
      return op->emitOpError("dimension ")
             << dim << " is not one of " << from << " (rank " << from.getRank()
             << ")";
  for (int64_t dim = 0; fits && dim < from.getRank(); ++dim)
    fits = llvm::is_contained(dims, dim) ||
           from.getDimSize(dim) == to.getDimSize(dim);
  if (!fits)
    return op->emitOpError("operand ")
           << from << " and result " << to
           << " differ in more than the dimensions it works on";
  return success();
}

/// Checks that `part` is the size of one part of `whole` over `group`.
static LogicalResult checkScatter(Operation *op, int64_t dim, int64_t whole,
                                  int64_t part, int64_t group) {
  if (part == static_cast<int64_t>(llvm::divideCeil(whole, group)))
    return success();
  return op->emitOpError("dimension ")
         << dim << " of size " << whole << " over " << group
         << " devices has parts of " << llvm::divideCeil(whole, group)
         << ", found " << part;
}

LogicalResult AllReduceOp::verify() {
  return success(getGroupSize(*this, getMeshAttr(), getAxes()).has_value());
}

LogicalResult AllGatherOp::verify() {
  std::optional<int64_t> group =
      getGroupSize(*this, getMeshAttr(), getAxes());
  int64_t dim = getDim();
  if (!group || failed(checkOtherDims(*this, {dim})))
    return failure();
  return checkScatter(*this, dim, getTensorType(getResult()).getDimSize(dim),
                      getTensorType(getInput()).getDimSize(dim), *group);
}

LogicalResult ReduceScatterOp::verify() {
  std::optional<int64_t> group =
      getGroupSize(*this, getMeshAttr(), getAxes());
  int64_t dim = getDim();
  if (!group || failed(checkOtherDims(*this, {dim})))
    return failure();
  return checkScatter(*this, dim, getTensorType(getInput()).getDimSize(dim),
                      getTensorType(getResult()).getDimSize(dim), *group);
}

LogicalResult AllToAllOp::verify() {
  std::optional<int64_t> group =
      getGroupSize(*this, getMeshAttr(), getAxes());
  int64_t split = getSplitDim(), concat = getConcatDim();
  if (!group || failed(checkOtherDims(*this, {split, concat})))
    return failure();
  if (split == concat)
    return emitOpError("split and concat dimension are both ") << split;
  auto from = getTensorType(getInput()), to = getTensorType(getResult());
  if (failed(checkScatter(*this, split, from.getDimSize(split),
                          to.getDimSize(split), *group)))
    return failure();
  return checkScatter(*this, concat, to.getDimSize(concat),
                      from.getDimSize(concat), *group);
}

LogicalResult PermuteOp::verify() {
  std::optional<int64_t> group =
      getGroupSize(*this, getMeshAttr(), getAxes());
  if (!group)
    return failure();
  SmallVector<int64_t> sorted(getTargets());
  llvm::sort(sorted);
  bool isPermutation = static_cast<int64_t>(sorted.size()) == *group;
  for (auto [index, target] : llvm::enumerate(sorted))
    isPermutation &= target == static_cast<int64_t>(index);
  if (!isPermutation)
    return emitOpError("targets [")
           << getTargets() << "] are not a permutation of the group's "
           << *group << " members";
  return success();
}

LogicalResult ShardSliceOp::verify() {
  std::optional<int64_t> group =
      getGroupSize(*this, getMeshAttr(), getAxes());
  int64_t dim = getDim();
  if (!group || failed(checkOtherDims(*this, {dim})))
    return failure();
  return checkScatter(*this, dim, getTensorType(getInput()).getDimSize(dim),
                      getTensorType(getResult()).getDimSize(dim), *group);
}

LogicalResult ShardOffsetOp::verify() {
  auto type = getTensorType(getResult());
  if (type.getRank() != 0 || !type.getElementType().isInteger(64))
    return emitOpError("result should be tensor<i64>, found ") << type;
  if (static_cast<int64_t>(getSize()) < 0)
    return emitOpError("size must not be negative, found ")
           << static_cast<int64_t>(getSize());
  return success(getGroupSize(*this, getMeshAttr(), getAxes()).has_value());
}

LogicalResult MaskPaddingOp::verify() {
  auto type = getTensorType(getResult());
  int64_t dim = getDim();
  if (failed(checkOtherDims(*this, {dim})))
    return failure();
  if (getFill().getType() != type.getElementType())
    return emitOpError("fill ")
           << getFill() << " does not have the element type of " << type;
  if (!getGroupSize(*this, getMeshAttr(), getAxes()))
    return failure();
  MeshAttr mesh = lookupMesh(*this, getMeshAttr()).getShape();
  int64_t local = getLocalSize(getSize(), *spmd::getAxes(getAxes(), mesh),
                               DeviceMesh::get(mesh));
  if (local != type.getDimSize(dim))
    return emitOpError("dimension ")
           << dim << " of global size " << getSize() << " has parts of "
           << local << ", found " << type.getDimSize(dim);
  return success();
}

#define GET_OP_CLASSES
#include "pplan/Dialect/SPMD/SPMDOps.cpp.inc"
