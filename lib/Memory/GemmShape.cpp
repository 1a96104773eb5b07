//===- GemmShape.cpp - Contractions as strided batched products -----------===//
//
// Sorts the letters of an equation into batch, m, n and k, merges adjacent
// ones, and looks for an assignment that the runtime's matrix product accepts.
//
//===----------------------------------------------------------------------===//
#include "pplan/Memory/GemmShape.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace pplan;

StridedShape StridedShape::getDense(ArrayRef<int64_t> sizes) {
  StridedShape shape;
  shape.sizes.assign(sizes.begin(), sizes.end());
  shape.strides.assign(sizes.size(), 1);
  for (int i = static_cast<int>(sizes.size()) - 2; i >= 0; --i)
    shape.strides[i] = shape.strides[i + 1] * sizes[i + 1];
  return shape;
}

std::optional<StridedShape> StridedShape::get(MemRefType type) {
  StridedShape shape;
  int64_t offset;
  if (failed(type.getStridesAndOffset(shape.strides, offset)) ||
      !type.hasStaticShape() ||
      llvm::is_contained(shape.strides, ShapedType::kDynamic))
    return std::nullopt;
  shape.sizes.assign(type.getShape().begin(), type.getShape().end());
  return shape;
}

std::optional<Equation> Equation::parse(StringRef text) {
  auto [operands, result] = text.split("->");
  auto [lhs, rhs] = operands.split(',');
  if (!text.contains("->") || !operands.contains(',') || rhs.contains(','))
    return std::nullopt;
  return Equation{lhs, rhs, result};
}

namespace {
/// Letters merged into one loop: its size and its stride in A, B and C (0 in a
/// tensor that lacks it).
struct Group {
  int64_t size = 1;
  std::array<int64_t, 3> stride{0, 0, 0};
};
using Groups = SmallVector<Group, 4>;
enum { InA = 0, InB = 1, InC = 2 };
} // namespace

/// Merges groups that are adjacent in every tensor that has them.
static void mergeGroups(Groups &groups, int sortBy) {
  llvm::sort(groups, [&](const Group &x, const Group &y) {
    return x.stride[sortBy] > y.stride[sortBy];
  });
  Groups merged;
  for (const Group &inner : groups) {
    if (!merged.empty()) {
      Group &outer = merged.back();
      bool adjacent = true;
      for (int t : {InA, InB, InC})
        adjacent &= outer.stride[t] == inner.stride[t] * inner.size;
      if (adjacent) {
        outer.size *= inner.size;
        outer.stride = inner.stride;
        continue;
      }
    }
    merged.push_back(inner);
  }
  groups = merged;
}

/// Chooses leading dimension and transposition of a matrix with `rows` x `cols`
/// and the given strides.
static bool fitMatrix(int64_t rows, int64_t cols, int64_t rowStride,
                      int64_t colStride, int64_t &ld, bool &trans) {
  if ((colStride == 1 || cols == 1) && (rowStride >= cols || rows == 1)) {
    trans = false;
    ld = rows == 1 ? std::max<int64_t>(cols, 1) : rowStride;
    return true;
  }
  if ((rowStride == 1 || rows == 1) && (colStride >= rows || cols == 1)) {
    trans = true;
    ld = cols == 1 ? std::max<int64_t>(rows, 1) : colStride;
    return true;
  }
  return false;
}

/// Tries one choice of m and n; `batch` are all the other parallel groups.
static std::optional<GemmShape> tryProduct(const Group &m, const Group &n,
                                           const Group &k,
                                           ArrayRef<Group> batch, int a,
                                           int b) {
  GemmShape shape;
  shape.m = m.size, shape.n = n.size, shape.k = k.size;
  shape.swapped = a == InB;
  bool transC;
  if (!fitMatrix(m.size, k.size, m.stride[a], k.stride[a], shape.lda,
                 shape.transA) ||
      !fitMatrix(k.size, n.size, k.stride[b], n.stride[b], shape.ldb,
                 shape.transB) ||
      !fitMatrix(m.size, n.size, m.stride[InC], n.stride[InC], shape.ldc,
                 transC) ||
      transC || batch.size() > 3)
    return std::nullopt;
  // Leading batch dimensions stay 1.
  unsigned first = 3 - batch.size();
  for (auto [i, group] : llvm::enumerate(batch)) {
    shape.batch[first + i] = group.size;
    shape.strideA[first + i] = group.stride[a];
    shape.strideB[first + i] = group.stride[b];
    shape.strideC[first + i] = group.stride[InC];
  }
  return shape;
}

/// All choices of one m and one n group; the one with the largest matrices.
static std::optional<GemmShape> chooseProduct(const Groups &ms,
                                              const Groups &ns, const Group &k,
                                              const Groups &batch, int a,
                                              int b) {
  std::optional<GemmShape> best;
  for (size_t i = 0; i < std::max<size_t>(ms.size(), 1); ++i) {
    for (size_t j = 0; j < std::max<size_t>(ns.size(), 1); ++j) {
      Groups rest = batch;
      for (auto [index, group] : llvm::enumerate(ms))
        if (index != i)
          rest.push_back(group);
      for (auto [index, group] : llvm::enumerate(ns))
        if (index != j)
          rest.push_back(group);
      auto shape = tryProduct(ms.empty() ? Group() : ms[i],
                              ns.empty() ? Group() : ns[j], k, rest, a, b);
      if (shape && (!best || shape->m * shape->n > best->m * best->n))
        best = shape;
    }
  }
  return best;
}

std::optional<GemmShape> pplan::getGemmShape(const Equation &equation,
                                             const StridedShape &lhs,
                                             const StridedShape &rhs,
                                             const StridedShape &result) {
  Groups ms, ns, ks, batch;
  std::string letters = (equation.lhs + equation.rhs + equation.result).str();
  llvm::sort(letters);
  letters.erase(std::unique(letters.begin(), letters.end()), letters.end());
  for (char letter : letters) {
    Group group;
    std::array<bool, 3> has{};
    auto look = [&](int t, StringRef names, const StridedShape &shape) {
      size_t at = names.find(letter);
      has[t] = at != StringRef::npos && at < shape.sizes.size();
      if (!has[t])
        return;
      group.size = shape.sizes[at];
      group.stride[t] = shape.strides[at];
    };
    look(InA, equation.lhs, lhs);
    look(InB, equation.rhs, rhs);
    look(InC, equation.result, result);
    if (group.size == 1)
      continue;
    if (has[InA] && has[InB])
      (has[InC] ? batch : ks).push_back(group);
    else if (has[InC] && (has[InA] || has[InB]))
      (has[InA] ? ms : ns).push_back(group);
    else
      return std::nullopt;
  }
  mergeGroups(ms, InC);
  mergeGroups(ns, InC);
  mergeGroups(batch, InC);
  mergeGroups(ks, InA);
  if (ks.size() > 1)
    return std::nullopt;
  Group k = ks.empty() ? Group() : ks.front();
  auto direct = chooseProduct(ms, ns, k, batch, InA, InB);
  auto swapped = chooseProduct(ns, ms, k, batch, InB, InA);
  if (!direct || (swapped && swapped->m * swapped->n > direct->m * direct->n))
    return swapped;
  return direct;
}
