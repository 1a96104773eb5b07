//===- ShardingRule.cpp - Shardings as data and their projections ---------===//
//
// Arithmetic on shardings: local sizes, factor projection and inference. No
// operation is named here.
//
//===----------------------------------------------------------------------===//
#include "pplan/Dialect/PPlan/ShardingRule.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace pplan;

bool ShardingRule::isReduced(int factor) const {
  return factors[factor].kind == FactorKind::Reduction ||
         llvm::any_of(results, [&](const TensorFactors &dims) {
           return llvm::none_of(dims, [&](const DimFactors &made) {
             return llvm::is_contained(made, factor);
           });
         });
}

double ShardingRule::getNumPoints() const {
  double points = 1;
  for (const Factor &factor : factors)
    points *= static_cast<double>(factor.size);
  return points;
}

int64_t DeviceMesh::getNumDevices() const {
  int64_t devices = 1;
  for (int64_t size : sizes)
    devices *= size;
  return devices;
}

int64_t DeviceMesh::getProduct(ArrayRef<int8_t> axes) const {
  int64_t parts = 1;
  for (int8_t axis : axes)
    parts *= sizes[axis];
  return parts;
}

DeviceMesh DeviceMesh::get(MeshAttr mesh) {
  DeviceMesh shape;
  for (MeshAxisAttr axis : mesh.getAxes())
    shape.sizes.push_back(axis.getSize());
  return shape;
}

//===----------------------------------------------------------------------===//
// TensorSharding
//===----------------------------------------------------------------------===//

TensorSharding TensorSharding::getReplicated(unsigned rank) {
  TensorSharding sharding;
  sharding.dims.resize(rank);
  return sharding;
}

bool TensorSharding::isReplicated() const { return getAxisMask() == 0; }

bool TensorSharding::operator==(const TensorSharding &other) const {
  return dims == other.dims && partial == other.partial &&
         (partial.empty() || partialKind == other.partialKind);
}

bool TensorSharding::operator<(const TensorSharding &other) const {
  auto less = [](const auto &a, const auto &b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  };
  if (dims != other.dims)
    return std::lexicographical_compare(dims.begin(), dims.end(),
                                        other.dims.begin(), other.dims.end(),
                                        less);
  if (partial != other.partial)
    return less(partial, other.partial);
  return !partial.empty() && partialKind < other.partialKind;
}

uint32_t TensorSharding::getAxisMask() const {
  uint32_t mask = 0;
  for (const AxisList &axes : dims)
    for (int8_t axis : axes)
      mask |= 1u << axis;
  for (int8_t axis : partial)
    mask |= 1u << axis;
  return mask;
}

ShardingAttr TensorSharding::toAttr(FlatSymbolRefAttr mesh,
                                    MeshAttr meshAttr) const {
  MLIRContext *context = mesh.getContext();
  auto names = [&](ArrayRef<int8_t> axes) {
    SmallVector<StringAttr> result;
    for (int8_t axis : axes)
      result.push_back(
          StringAttr::get(context, meshAttr.getAxes()[axis].getName()));
    return result;
  };
  SmallVector<DimShardingAttr> dimAttrs;
  for (const AxisList &axes : dims)
    dimAttrs.push_back(DimShardingAttr::get(context, names(axes), false));
  return ShardingAttr::get(context, mesh, dimAttrs, names(partial),
                           partialKind);
}

TensorSharding TensorSharding::get(ShardingAttr attr, MeshAttr meshAttr) {
  TensorSharding sharding;
  auto indices = [&](ArrayRef<StringAttr> names) {
    AxisList axes;
    for (StringAttr name : names) {
      int axis = meshAttr.getAxisIndex(name.getValue());
      if (meshAttr.getAxes()[axis].getSize() > 1)
        axes.push_back(axis);
    }
    return axes;
  };
  for (DimShardingAttr dim : attr.getDims())
    sharding.dims.push_back(indices(dim.getAxes()));
  sharding.partial = indices(attr.getPartialAxes());
  llvm::sort(sharding.partial);
  sharding.partialKind = attr.getPartialKind();
  return sharding;
}

std::string TensorSharding::str(MeshAttr meshAttr) const {
  std::string text;
  llvm::raw_string_ostream os(text);
  auto printAxes = [&](ArrayRef<int8_t> axes) {
    os << '{';
    llvm::interleaveComma(axes, os, [&](int8_t axis) {
      os << '"' << meshAttr.getAxes()[axis].getName() << '"';
    });
    os << '}';
  };
  os << '[';
  llvm::interleaveComma(dims, os, printAxes);
  os << ']';
  if (!partial.empty()) {
    os << ", partial = " << stringifyReductionKind(partialKind) << ' ';
    printAxes(partial);
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Local sizes
//===----------------------------------------------------------------------===//

int64_t pplan::getLocalSize(int64_t n, ArrayRef<int8_t> axes,
                            const DeviceMesh &mesh) {
  for (int8_t axis : axes)
    n = llvm::divideCeil(n, mesh.sizes[axis]);
  return n;
}

bool pplan::isEvenlySplit(int64_t n, ArrayRef<int8_t> axes,
                          const DeviceMesh &mesh) {
  return n % mesh.getProduct(axes) == 0;
}

SmallVector<int64_t> pplan::getLocalShape(ArrayRef<int64_t> shape,
                                          const TensorSharding &sharding,
                                          const DeviceMesh &mesh) {
  SmallVector<int64_t> local;
  for (auto [size, axes] : llvm::zip(shape, sharding.dims))
    local.push_back(getLocalSize(size, axes, mesh));
  return local;
}

ShardRange pplan::getShardRange(int64_t n, ArrayRef<int8_t> axes,
                                const DeviceMesh &mesh,
                                ArrayRef<int64_t> coordinates) {
  ShardRange range{0, n};
  int64_t size = n;
  for (int8_t axis : axes) {
    size = llvm::divideCeil(size, mesh.sizes[axis]);
    range.offset += coordinates[axis] * size;
    range.length = std::clamp<int64_t>(range.length - coordinates[axis] * size,
                                       0, size);
  }
  return range;
}

//===----------------------------------------------------------------------===//
// Projections
//===----------------------------------------------------------------------===//

/// Axes of one dimension from the axes of its factors; false if inexpressible.
static bool projectDim(const ShardingRule &rule, const DimFactors &factors,
                       const FactorAxes &axes, const DeviceMesh &mesh,
                       AxisList &result) {
  bool blocked = false; // a factor before is not split to size 1
  for (auto [place, id] : llvm::enumerate(factors)) {
    int64_t size = rule.factors[id].size;
    int64_t parts = mesh.getProduct(axes[id]);
    if (blocked && parts > 1)
      return false;
    bool followed = llvm::any_of(
        ArrayRef<int>(factors).drop_front(place + 1),
        [&](int next) { return rule.factors[next].size > 1; });
    if (followed && size % parts != 0)
      return false;
    if (size != parts && size > 1)
      blocked = true;
    llvm::append_range(result, axes[id]);
  }
  return true;
}

std::optional<TensorSharding>
pplan::projectFactors(const ShardingRule &rule, const TensorFactors &dims,
                      const FactorAxes &axes, const DeviceMesh &mesh) {
  TensorSharding sharding = TensorSharding::getReplicated(dims.size());
  for (auto [dim, factors] : llvm::enumerate(dims))
    if (!projectDim(rule, factors, axes, mesh, sharding.dims[dim]))
      return std::nullopt;
  return sharding;
}

std::optional<FactorAxes>
pplan::inferFactorAxes(const ShardingRule &rule, const TensorFactors &dims,
                       const TensorSharding &sharding, const DeviceMesh &mesh) {
  FactorAxes result(rule.factors.size());
  for (auto [dim, factors] : llvm::enumerate(dims)) {
    size_t place = 0;
    int64_t remaining = factors.empty() ? 1 : rule.factors[factors[0]].size;
    for (int8_t axis : sharding.dims[dim]) {
      if (factors.empty())
        return std::nullopt;
      while (remaining == 1 && mesh.sizes[axis] > 1 &&
             place + 1 < factors.size())
        remaining = rule.factors[factors[++place]].size;
      result[factors[place]].push_back(axis);
      remaining = llvm::divideCeil(remaining, mesh.sizes[axis]);
    }
  }
  // Whether the axes fall on the factors is what the projection checks.
  std::optional<TensorSharding> back =
      projectFactors(rule, dims, result, mesh);
  if (!back || back->dims != sharding.dims)
    return std::nullopt;
  return result;
}

std::optional<TensorSharding>
pplan::projectResult(const ShardingRule &rule, unsigned resultIndex,
                     const FactorAxes &axes, const DeviceMesh &mesh) {
  const TensorFactors &dims = rule.results[resultIndex];
  std::optional<TensorSharding> sharding =
      projectFactors(rule, dims, axes, mesh);
  if (!sharding)
    return std::nullopt;
  for (auto [id, factor] : llvm::enumerate(rule.factors)) {
    bool isHere =
        llvm::any_of(dims, [id = static_cast<int>(id)](const DimFactors &dim) {
          return llvm::is_contained(dim, id);
        });
    if (isHere || axes[id].empty())
      continue;
    llvm::append_range(sharding->partial, axes[id]);
    sharding->partialKind = factor.combiner;
  }
  llvm::sort(sharding->partial);
  return sharding;
}

std::optional<FactorAxes>
pplan::getCompatibleFactorAxes(Operation *op, const ShardingRule &rule,
                               ArrayRef<TensorSharding> operands,
                               ArrayRef<TensorSharding> results,
                               const DeviceMesh &mesh, std::string *why) {
  auto fail = [&](const Twine &reason) {
    if (why)
      *why = reason.str();
    return std::nullopt;
  };
  FactorAxes axes(rule.factors.size());
  SmallVector<bool> known(rule.factors.size(), false);
  auto meet = [&](const TensorFactors &dims, const TensorSharding &sharding,
                  const Twine &name) -> bool {
    std::optional<FactorAxes> own =
        inferFactorAxes(rule, dims, sharding, mesh);
    if (!own) {
      fail(name + " is split inside a factor of the operation");
      return false;
    }
    for (const DimFactors &factors : dims)
      for (int id : factors) {
        if (known[id] && axes[id] != (*own)[id]) {
          fail(name + " splits a factor unlike the other operands");
          return false;
        }
        known[id] = true;
        axes[id] = (*own)[id];
      }
    return true;
  };
  for (auto [index, sharding] : llvm::enumerate(operands))
    if (!meet(rule.operands[index], sharding, "operand " + Twine(index)))
      return std::nullopt;
  for (auto [index, sharding] : llvm::enumerate(results))
    if (!meet(rule.results[index], sharding, "result " + Twine(index)))
      return std::nullopt;

  uint32_t used = 0;
  for (auto [id, list] : llvm::enumerate(axes)) {
    if (!list.empty() && rule.factors[id].kind == FactorKind::Replicated)
      return fail("a factor that cannot be split is split");
    for (int8_t axis : list) {
      if (used & (1u << axis))
        return fail("one axis splits two factors");
      used |= 1u << axis;
    }
  }

  // Partial operands: all over the same axes, passed on by an operation that is
  // linear in them together.
  AxisList passed;
  llvm::SmallBitVector isPartial(operands.size());
  for (auto [index, sharding] : llvm::enumerate(operands)) {
    if (sharding.partial.empty())
      continue;
    if (sharding.partialKind != ReductionKind::Sum)
      return fail("operand " + Twine(index) +
                  " is partial with another combiner than a sum");
    if (isPartial.any() && passed != sharding.partial)
      return fail("operand " + Twine(index) +
                  " is partial over other axes than another operand");
    isPartial.set(index);
    passed = sharding.partial;
    for (int8_t axis : passed)
      if (used & (1u << axis))
        return fail("an axis of the partial operand splits a factor");
  }
  if (isPartial.any() &&
      !cast<ShardableOpInterface>(op).passesPartialSums(isPartial))
    return fail("operand " + Twine(isPartial.find_first()) +
                " is a partial value, which the operation does not pass on");
  const ReductionKind passedKind = ReductionKind::Sum;
  for (auto [index, sharding] : llvm::enumerate(results)) {
    std::optional<TensorSharding> natural =
        projectResult(rule, index, axes, mesh);
    if (!natural)
      return fail("result " + Twine(index) + " cannot be split that way");
    if (!passed.empty()) {
      if (!natural->partial.empty() && natural->partialKind != passedKind)
        return fail("a partial sum meets another reduction");
      llvm::append_range(natural->partial, passed);
      llvm::sort(natural->partial);
    }
    if (*natural != sharding)
      return fail("result " + Twine(index) +
                  " is not annotated with the partial axes it has");
  }
  return axes;
}

mlir::FailureOr<SmallVector<Value>>
pplan::partitionByCloning(Operation *op, OpBuilder &builder,
                          ValueRange operands, TypeRange resultTypes) {
  OperationState state(op->getLoc(), op->getName());
  state.addOperands(operands);
  state.addTypes(resultTypes);
  for (NamedAttribute attr : op->getAttrs())
    if (attr.getName() != kShardingsAttr)
      state.attributes.append(attr);
  Operation *local = builder.create(state);
  return SmallVector<Value>(local->getResults());
}
