//===- ExpandTraces.cpp - A device program as traces of all ranks ---------===//
//
// See ExpandTraces.h.
//
//===----------------------------------------------------------------------===//
#include "pplan/Partition/ExpandTraces.h"
#include "ProgramMesh.h"

using namespace mlir;
using namespace pplan;

/// Devices that differ from `device` only along `axes`, in group order.
static std::vector<int64_t> getGroup(int64_t device, ArrayRef<int8_t> axes,
                                     const DeviceMesh &mesh) {
  SmallVector<int64_t> strides(mesh.sizes.size(), 1);
  for (size_t axis = mesh.sizes.size(); axis-- > 1;)
    strides[axis - 1] = strides[axis] * mesh.sizes[axis];
  int64_t origin = device;
  for (int8_t axis : axes)
    origin -= device / strides[axis] % mesh.sizes[axis] * strides[axis];
  std::vector<int64_t> members = {origin};
  for (int8_t axis : axes) {
    std::vector<int64_t> next;
    for (int64_t member : members)
      for (int64_t i = 0; i < mesh.sizes[axis]; ++i)
        next.push_back(member + i * strides[axis]);
    members = std::move(next);
  }
  return members;
}

/// What all members of a group must agree on beside the group and the bytes.
static std::string getSignature(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << op->getName().stripDialect();
  for (StringRef name : {"kind", "dim", "split_dim", "concat_dim", "targets"})
    if (Attribute attr = op->getAttr(name))
      os << ' ' << attr;
  os << ' ' << getTensorType(op->getOperand(0)).getElementType();
  return text;
}

std::vector<RankTrace> pplan::expandTraces(func::FuncOp function,
                                           MeshAttr meshAttr) {
  DeviceMesh mesh = DeviceMesh::get(meshAttr);
  std::vector<RankTrace> traces(mesh.getNumDevices());
  int64_t site = 0;
  function.walk([&](Operation *op) {
    if (!spmd::isCollective(op))
      return;
    auto axes = spmd::getAxes(op->getAttrOfType<ArrayAttr>("axes"), meshAttr);
    auto type = getTensorType(op->getOperand(0));
    TraceEvent event;
    event.name = getSignature(op);
    event.bytes =
        type.getNumElements() * getElementBytes(type.getElementType());
    event.site = site++;
    for (size_t device = 0; axes && device < traces.size(); ++device) {
      event.group = getGroup(device, *axes, mesh);
      traces[device].push_back(event);
    }
  });
  return traces;
}
