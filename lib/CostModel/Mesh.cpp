//===- Mesh.cpp - Shapes of device meshes ---------------------------------===//
//
// Decides which meshes a number of devices can form, by enumeration of its
// ordered factorisations. Judging them is left to the planner.
//
//===----------------------------------------------------------------------===//
#include "pplan/CostModel/Mesh.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

using namespace pplan;

int64_t MeshShape::numDevices() const {
  int64_t product = 1;
  for (int64_t size : axes)
    product *= size;
  return product;
}

int64_t MeshShape::numDevices(llvm::ArrayRef<unsigned> subset) const {
  int64_t product = 1;
  for (unsigned axis : subset)
    if (axis < axes.size())
      product *= axes[axis];
  return product;
}

std::string MeshShape::str() const {
  if (axes.empty())
    return "1";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(axes, os, "x");
  return text;
}

/// Divisors of `n` from 2 to `n`, ascending. Trial division up to the root.
static std::vector<int64_t> properDivisors(int64_t n) {
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d <= n / d; ++d) {
    if (n % d)
      continue;
    if (d > 1)
      divisors.push_back(d);
    if (n / d != d && n / d > 1)
      divisors.push_back(n / d);
  }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

static void extendMesh(int64_t rest, unsigned axesLeft,
                       llvm::ArrayRef<int64_t> divisors, MeshShape &prefix,
                       std::vector<MeshShape> &out) {
  if (axesLeft == 1) {
    prefix.axes.push_back(rest);
    out.push_back(prefix);
    prefix.axes.pop_back();
    return;
  }
  for (int64_t d : divisors) {
    if (d >= rest)
      break;
    if (rest % d)
      continue;
    prefix.axes.push_back(d);
    extendMesh(rest / d, axesLeft - 1, divisors, prefix, out);
    prefix.axes.pop_back();
  }
}

std::vector<MeshShape> pplan::enumerateMeshes(int64_t numDevices,
                                              unsigned maxAxes) {
  std::vector<MeshShape> meshes;
  if (numDevices < 1 || maxAxes < 1)
    return meshes;
  if (numDevices == 1)
    return {MeshShape{1}};
  std::vector<int64_t> divisors = properDivisors(numDevices);
  // No number of devices has more than 63 prime factors.
  for (unsigned count = 1; count <= std::min(maxAxes, 63u); ++count) {
    size_t before = meshes.size();
    MeshShape prefix;
    extendMesh(numDevices, count, divisors, prefix, meshes);
    if (meshes.size() == before)
      break;
  }
  return meshes;
}
