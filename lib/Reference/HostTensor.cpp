//===- HostTensor.cpp - A tensor in host memory, in double ----------------===//
//
// See HostTensor.h.
//
//===----------------------------------------------------------------------===//
#include "pplan/Reference/HostTensor.h"

using namespace pplan;
using llvm::ArrayRef;
using llvm::SmallVector;

static int64_t getNumElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

HostTensor::HostTensor(ArrayRef<int64_t> shape, double fill)
    : shape(shape), data(getNumElements(shape), fill) {}

int64_t HostTensor::getOffset(ArrayRef<int64_t> index) const {
  int64_t offset = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    offset = offset * shape[dim] + index[dim];
  return offset;
}

void pplan::forEachIndex(ArrayRef<int64_t> shape,
                         llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  if (getNumElements(shape) == 0)
    return;
  SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    visit(index);
    size_t dim = shape.size();
    while (dim > 0 && ++index[dim - 1] == shape[dim - 1])
      index[--dim] = 0;
    if (dim == 0)
      return;
  }
}
