//===- ReshardPlan.cpp - Search for the cheapest reshard ------------------===//
//
// Dijkstra over the shardings that lie between source and target. A move adds
// axes only where the target wants them next, so that the space stays small:
//
//   move            bytes a device receives (k devices, local sizes)
//   slice, mask     0
//   all_gather      result - operand
//   all_reduce      2 (k - 1) / k * operand
//   reduce_scatter  (k - 1) * result
//   all_to_all      (k - 1) / k * operand
//   permute         operand
//
// Gathering everything and slicing is always among the moves, and is what
// remains when the search exceeds its budget.
//
//===----------------------------------------------------------------------===//
#include "pplan/Partition/ReshardPlan.h"
#include "llvm/Support/MathExtras.h"
#include <queue>

using namespace pplan;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Shardings that the search may settle before it gives up.
static constexpr int kSearchBudget = 3000;
/// Members of the largest group that a permutation is considered for.
static constexpr int64_t kMaxPermuteGroup = 4096;

TensorSharding pplan::dropTrivialAxes(const TensorSharding &sharding,
                                      const DeviceMesh &mesh) {
  TensorSharding result = sharding;
  auto drop = [&](AxisList &axes) {
    llvm::erase_if(axes, [&](int8_t axis) { return mesh.sizes[axis] == 1; });
  };
  for (AxisList &axes : result.dims)
    drop(axes);
  drop(result.partial);
  llvm::sort(result.partial);
  if (result.partial.empty())
    result.partialKind = ReductionKind::Sum;
  return result;
}

bool pplan::isFlat(int64_t n, ArrayRef<int8_t> axes, const DeviceMesh &mesh) {
  if (axes.size() < 2)
    return true;
  int64_t first = llvm::divideCeil(n, mesh.sizes[axes[0]]);
  return first % mesh.getProduct(axes.drop_front()) == 0;
}

/// Number of the part that a device holds of a dimension split over `axes`.
static int64_t getPart(ArrayRef<int8_t> axes, ArrayRef<int64_t> coordinates,
                       const DeviceMesh &mesh) {
  int64_t part = 0;
  for (int8_t axis : axes)
    part = part * mesh.sizes[axis] + coordinates[axis];
  return part;
}

/// The dimensions that a permutation over `axes` touches; none if it cannot
/// turn one sharding into the other.
static std::optional<SmallVector<int>>
getPermutedDims(ArrayRef<int64_t> shape, const TensorSharding &from,
                const TensorSharding &to, ArrayRef<int8_t> axes,
                const DeviceMesh &mesh) {
  if (from.partial != to.partial || from.dims.size() != to.dims.size() ||
      (!from.partial.empty() && from.partialKind != to.partialKind))
    return std::nullopt;
  auto isInGroup = [&](int8_t axis) { return llvm::is_contained(axes, axis); };
  if (llvm::any_of(from.partial, isInGroup))
    return std::nullopt;
  SmallVector<int> changed;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    const AxisList &a = from.dims[dim], &b = to.dims[dim];
    // A dimension that stays as it is may still depend on the group.
    if (a == b && llvm::none_of(a, isInGroup))
      continue;
    if (a != b &&
        (!isFlat(shape[dim], a, mesh) || !isFlat(shape[dim], b, mesh) ||
         mesh.getProduct(a) != mesh.getProduct(b) ||
         !llvm::all_of(a, isInGroup) || !llvm::all_of(b, isInGroup)))
      return std::nullopt;
    changed.push_back(dim);
  }
  return changed;
}

/// Numbers of the parts that a group member holds of the given dimensions.
static std::vector<int64_t> getBlock(int64_t member, ArrayRef<int> dims,
                                     const TensorSharding &sharding,
                                     ArrayRef<int8_t> axes,
                                     const DeviceMesh &mesh) {
  SmallVector<int64_t> coordinates(mesh.sizes.size(), 0);
  for (int8_t axis : llvm::reverse(axes)) {
    coordinates[axis] = member % mesh.sizes[axis];
    member /= mesh.sizes[axis];
  }
  std::vector<int64_t> block;
  for (int dim : dims)
    block.push_back(getPart(sharding.dims[dim], coordinates, mesh));
  return block;
}

std::optional<SmallVector<int64_t>>
pplan::getPermutation(ArrayRef<int64_t> shape, const TensorSharding &from,
                      const TensorSharding &to, ArrayRef<int8_t> axes,
                      const DeviceMesh &mesh) {
  int64_t group = mesh.getProduct(axes);
  auto dims = getPermutedDims(shape, from, to, axes, mesh);
  if (!dims || group > kMaxPermuteGroup)
    return std::nullopt;
  // Members that hold what they need keep it; the rest are paired in order.
  std::map<std::vector<int64_t>, std::vector<int64_t>> holders;
  std::vector<int64_t> needy;
  SmallVector<int64_t> targets(group, -1);
  for (int64_t member = 0; member < group; ++member) {
    std::vector<int64_t> has = getBlock(member, *dims, from, axes, mesh);
    if (has == getBlock(member, *dims, to, axes, mesh)) {
      targets[member] = member;
      continue;
    }
    holders[has].push_back(member);
    needy.push_back(member);
  }
  for (int64_t member : needy) {
    auto sources = holders.find(getBlock(member, *dims, to, axes, mesh));
    if (sources == holders.end() || sources->second.empty())
      return std::nullopt;
    targets[sources->second.back()] = member;
    sources->second.pop_back();
  }
  return targets;
}

bool pplan::arePermutedBlocks(ArrayRef<int64_t> shape,
                              const TensorSharding &from,
                              const TensorSharding &to, ArrayRef<int8_t> axes,
                              ArrayRef<int64_t> targets,
                              const DeviceMesh &mesh) {
  auto dims = getPermutedDims(shape, from, to, axes, mesh);
  if (!dims || static_cast<int64_t>(targets.size()) != mesh.getProduct(axes))
    return false;
  for (auto [member, target] : llvm::enumerate(targets))
    if (getBlock(member, *dims, from, axes, mesh) !=
        getBlock(target, *dims, to, axes, mesh))
      return false;
  return true;
}

namespace {
/// The moves from one sharding toward a target.
class MoveGenerator {
public:
  MoveGenerator(ArrayRef<int64_t> shape, int64_t elementBytes,
                const TensorSharding &target, const DeviceMesh &mesh)
      : shape(shape), elementBytes(elementBytes), target(target), mesh(mesh) {}

  std::vector<ReshardStep> getMoves(const TensorSharding &state) {
    moves.clear();
    addPartialMoves(state);
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      addSlices(state, dim);
      addGathers(state, dim);
      addOrders(state, dim);
    }
    addPermute(state, target);
    return std::move(moves);
  }

  /// Gather and reduce everything, then slice.
  ReshardPlan getFallback(const TensorSharding &from) {
    ReshardPlan plan;
    TensorSharding state = from;
    auto take = [&](ReshardStep step) {
      state = step.after;
      plan.bytes += step.bytes;
      plan.steps.push_back(std::move(step));
    };
    if (!state.partial.empty())
      take(makeAllReduce(state, state.partial));
    for (size_t dim = 0; dim < shape.size(); ++dim)
      while (!state.dims[dim].empty())
        take(makeGather(state, dim, 1));
    for (size_t dim = 0; dim < shape.size(); ++dim)
      for (size_t i = 0; i < target.dims[dim].size(); ++i)
        take(makeSlice(state, dim, 1));
    if (!target.partial.empty())
      take(makePartial(state, target.partial));
    return plan;
  }

private:
  double getBytes(const TensorSharding &sharding) const {
    double bytes = elementBytes;
    for (int64_t size : getLocalShape(shape, sharding, mesh))
      bytes *= static_cast<double>(size);
    return bytes;
  }
  /// Number of axes of the target at `dim` when the state's are its prefix, as
  /// far as they are left to add; none if the state has gone another way.
  ArrayRef<int8_t> getWanted(const TensorSharding &state, size_t dim) const {
    ArrayRef<int8_t> have = state.dims[dim], want = target.dims[dim];
    if (have.size() > want.size() || want.take_front(have.size()) != have)
      return {};
    return want.drop_front(have.size());
  }
  int64_t getParentSize(const TensorSharding &state, size_t dim,
                        size_t removed) const {
    return getLocalSize(
        shape[dim], ArrayRef<int8_t>(state.dims[dim]).drop_back(removed), mesh);
  }

  ReshardStep makeStep(ReshardKind kind, ArrayRef<int8_t> axes, int dim,
                       const TensorSharding &state) {
    ReshardStep step;
    step.kind = kind;
    step.axes.assign(axes.begin(), axes.end());
    step.dim = dim;
    step.after = state;
    return step;
  }
  ReshardStep makeAllReduce(const TensorSharding &state,
                            ArrayRef<int8_t> axes) {
    ReshardStep step = makeStep(ReshardKind::AllReduce, axes, -1, state);
    step.reduction = state.partialKind;
    llvm::erase_if(step.after.partial,
                   [&](int8_t axis) { return llvm::is_contained(axes, axis); });
    if (step.after.partial.empty())
      step.after.partialKind = ReductionKind::Sum;
    double k = mesh.getProduct(axes);
    step.bytes = 2 * (k - 1) / k * getBytes(state);
    return step;
  }
  ReshardStep makeGather(const TensorSharding &state, size_t dim,
                         size_t count) {
    ArrayRef<int8_t> axes = ArrayRef<int8_t>(state.dims[dim]).take_back(count);
    ReshardStep step = makeStep(ReshardKind::AllGather, axes, dim, state);
    step.after.dims[dim].truncate(state.dims[dim].size() - count);
    step.bytes = getBytes(step.after) - getBytes(state);
    return step;
  }
  ReshardStep makeSlice(const TensorSharding &state, size_t dim, size_t count) {
    ArrayRef<int8_t> axes = getWanted(state, dim).take_front(count);
    ReshardStep step = makeStep(ReshardKind::Slice, axes, dim, state);
    llvm::append_range(step.after.dims[dim], axes);
    return step;
  }
  ReshardStep makePartial(const TensorSharding &state, ArrayRef<int8_t> axes) {
    ReshardStep step = makeStep(ReshardKind::MakePartial, axes, -1, state);
    llvm::append_range(step.after.partial, axes);
    llvm::sort(step.after.partial);
    step.reduction = step.after.partialKind = target.partialKind;
    return step;
  }

  bool isKept(const TensorSharding &state) const {
    return !target.partial.empty() && state.partialKind == target.partialKind;
  }

  void addPartialMoves(const TensorSharding &state) {
    AxisList surplus, missing;
    for (int8_t axis : state.partial)
      if (!isKept(state) || !llvm::is_contained(target.partial, axis))
        surplus.push_back(axis);
    if (!surplus.empty())
      moves.push_back(makeAllReduce(state, surplus));
    if (surplus.size() > 1)
      for (int8_t axis : surplus)
        moves.push_back(makeAllReduce(state, {axis}));
    uint32_t used = state.getAxisMask();
    for (int8_t axis : target.partial)
      if (!(used & (1u << axis)))
        missing.push_back(axis);
    if (!missing.empty() && (state.partial.empty() || isKept(state)))
      moves.push_back(makePartial(state, missing));
  }

  void addSlices(const TensorSharding &state, size_t dim) {
    ArrayRef<int8_t> wanted = getWanted(state, dim);
    uint32_t used = state.getAxisMask();
    int64_t size = getParentSize(state, dim, 0);
    for (size_t count = 1; count <= wanted.size(); ++count) {
      ArrayRef<int8_t> axes = wanted.take_front(count);
      if (!isFlat(size, axes, mesh))
        continue;
      bool isFree = true, isPartial = true;
      for (int8_t axis : axes) {
        isFree &= !(used & (1u << axis));
        isPartial &= llvm::is_contained(state.partial, axis);
      }
      if (isFree)
        moves.push_back(makeSlice(state, dim, count));
      if (!isPartial)
        continue;
      ReshardStep step = makeAllReduce(state, axes);
      step.kind = ReshardKind::ReduceScatter;
      step.dim = dim;
      llvm::append_range(step.after.dims[dim], axes);
      step.bytes = (mesh.getProduct(axes) - 1) * getBytes(step.after);
      moves.push_back(std::move(step));
    }
  }

  void addGathers(const TensorSharding &state, size_t dim) {
    for (size_t count = 1; count <= state.dims[dim].size(); ++count) {
      ReshardStep gather = makeGather(state, dim, count);
      if (!isFlat(getParentSize(state, dim, count), gather.axes, mesh))
        continue;
      double k = mesh.getProduct(gather.axes);
      for (size_t to = 0; to < shape.size(); ++to) {
        ArrayRef<int8_t> wanted = getWanted(state, to);
        if (to == dim || wanted.take_front(count) != ArrayRef(gather.axes) ||
            !isFlat(getParentSize(state, to, 0), gather.axes, mesh))
          continue;
        ReshardStep step = gather;
        step.kind = ReshardKind::AllToAll;
        step.toDim = to;
        llvm::append_range(step.after.dims[to], gather.axes);
        step.bytes = (k - 1) / k * getBytes(state);
        moves.push_back(std::move(step));
      }
      moves.push_back(std::move(gather));
    }
  }

  /// Other orders of a dimension's axes, and the target's axes if they are
  /// other axes of equal product.
  void addOrders(const TensorSharding &state, size_t dim) {
    const AxisList &have = state.dims[dim];
    if (have.empty())
      return;
    TensorSharding next = state;
    if (have.size() <= 3) {
      AxisList order = have;
      llvm::sort(order);
      do {
        next.dims[dim] = order;
        addPermute(state, next);
      } while (std::next_permutation(order.begin(), order.end()));
    } else {
      for (size_t i = 0; i + 1 < have.size(); ++i) {
        next.dims[dim] = have;
        std::swap(next.dims[dim][i], next.dims[dim][i + 1]);
        addPermute(state, next);
      }
    }
    uint32_t others = state.getAxisMask();
    for (int8_t axis : have)
      others &= ~(1u << axis);
    for (int8_t axis : target.dims[dim])
      if (others & (1u << axis))
        return;
    next.dims[dim] = target.dims[dim];
    addPermute(state, next);
  }

  void addPermute(const TensorSharding &from, const TensorSharding &to) {
    if (from.dims == to.dims)
      return;
    AxisList axes;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (from.dims[dim] == to.dims[dim])
        continue;
      if (mesh.getProduct(from.dims[dim]) != mesh.getProduct(to.dims[dim]))
        return;
      llvm::append_range(axes, from.dims[dim]);
      llvm::append_range(axes, to.dims[dim]);
    }
    llvm::sort(axes);
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    auto targets = getPermutation(shape, from, to, axes, mesh);
    if (!targets)
      return;
    ReshardStep step = makeStep(ReshardKind::Permute, axes, -1, to);
    step.targets = *targets;
    step.bytes = getBytes(from);
    moves.push_back(std::move(step));
  }

  ArrayRef<int64_t> shape;
  int64_t elementBytes;
  const TensorSharding &target;
  const DeviceMesh &mesh;
  std::vector<ReshardStep> moves;
};

/// Bytes first, then steps.
struct PathCost {
  double bytes = 0;
  int steps = 0;
  bool operator<(const PathCost &other) const {
    return bytes != other.bytes ? bytes < other.bytes : steps < other.steps;
  }
};

/// Best way known to a sharding.
struct Visit {
  PathCost cost;
  bool settled = false;
  TensorSharding before;
  ReshardStep step;
};
} // namespace

static ReshardPlan unwind(const std::map<TensorSharding, Visit> &visits,
                          const TensorSharding &from, TensorSharding at) {
  ReshardPlan plan;
  while (at != from) {
    const Visit &visit = visits.at(at);
    plan.steps.push_back(visit.step);
    plan.bytes += visit.step.bytes;
    at = visit.before;
  }
  std::reverse(plan.steps.begin(), plan.steps.end());
  return plan;
}

ReshardPlan pplan::planReshard(ArrayRef<int64_t> shape, int64_t elementBytes,
                               const TensorSharding &from,
                               const TensorSharding &to,
                               const DeviceMesh &mesh) {
  TensorSharding source = dropTrivialAxes(from, mesh);
  TensorSharding target = dropTrivialAxes(to, mesh);
  MoveGenerator generator(shape, elementBytes, target, mesh);
  std::map<TensorSharding, Visit> visits;
  using Entry = std::pair<PathCost, TensorSharding>;
  auto isLater = [](const Entry &a, const Entry &b) {
    if (a.first < b.first || b.first < a.first)
      return b.first < a.first;
    return b.second < a.second;
  };
  std::priority_queue<Entry, std::vector<Entry>, decltype(isLater)> queue(
      isLater);
  visits[source] = {};
  queue.push({{}, source});
  for (int budget = kSearchBudget; !queue.empty() && budget > 0; --budget) {
    auto [cost, state] = queue.top();
    queue.pop();
    Visit &visit = visits[state];
    if (visit.settled)
      continue;
    visit.settled = true;
    if (state == target)
      return unwind(visits, source, state);
    for (ReshardStep &step : generator.getMoves(state)) {
      PathCost next{cost.bytes + step.bytes, cost.steps + 1};
      TensorSharding after = step.after;
      auto [known, isNew] = visits.try_emplace(after);
      if (!isNew && (known->second.settled || !(next < known->second.cost)))
        continue;
      known->second = {next, false, state, std::move(step)};
      queue.push({next, after});
    }
  }
  return generator.getFallback(source);
}

bool ReshardPlanner::Key::operator<(const Key &other) const {
  if (shape != other.shape)
    return shape < other.shape;
  if (from != other.from)
    return from < other.from;
  return to < other.to;
}

const ReshardPlan &ReshardPlanner::get(ArrayRef<int64_t> shape,
                                       int64_t elementBytes,
                                       const TensorSharding &from,
                                       const TensorSharding &to) {
  Key key{{shape.begin(), shape.end()}, from, to};
  key.shape.push_back(elementBytes);
  auto [known, isNew] = plans.try_emplace(key);
  if (isNew)
    known->second = planReshard(shape, elementBytes, from, to, mesh);
  return known->second;
}
