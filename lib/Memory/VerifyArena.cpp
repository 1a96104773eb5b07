//===- VerifyArena.cpp - pplan-verify-arena -------------------------------===//
//
// Follows the program and records which buffer owns which bytes of the arena.
// Shares nothing with pplan-plan-arena but the form of its output: it looks at
// reads and writes, not at lifetimes.
//
//===----------------------------------------------------------------------===//
#include "pplan/Memory/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include <map>

namespace pplan {
#define GEN_PASS_DEF_VERIFYARENAPASS
#include "pplan/Memory/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

namespace {
/// A buffer in the arena.
struct Place {
  memref::ViewOp view;
  int64_t begin, end;
};

/// Who wrote each byte last: disjoint intervals by their first byte.
class Owners {
public:
  void assign(const Place &place) {
    if (place.begin == place.end)
      return;
    cut(place.begin);
    cut(place.end);
    intervals.erase(intervals.lower_bound(place.begin),
                    intervals.lower_bound(place.end));
    intervals[place.begin] = {place.end, place.view};
  }
  /// The first owner of bytes of `place` that is not `place` itself; the
  /// optional is empty when it owns all of them, null inside it is nobody.
  std::optional<memref::ViewOp> findIntruder(const Place &place) const {
    int64_t at = place.begin;
    while (at < place.end) {
      auto next = intervals.upper_bound(at);
      if (next == intervals.begin())
        return memref::ViewOp();
      const auto &[end, owner] = std::prev(next)->second;
      if (end <= at)
        return memref::ViewOp();
      if (owner != place.view)
        return owner;
      at = end;
    }
    return std::nullopt;
  }

private:
  /// Splits the interval that contains `at` in its inside.
  void cut(int64_t at) {
    auto next = intervals.lower_bound(at);
    if (next == intervals.begin())
      return;
    auto &[end, owner] = std::prev(next)->second;
    if (end <= at)
      return;
    intervals[at] = {end, owner};
    end = at;
  }
  std::map<int64_t, std::pair<int64_t, memref::ViewOp>> intervals;
};

struct VerifyArenaPass : public ::pplan::impl::VerifyArenaPassBase<VerifyArenaPass> {
  void runOnOperation() override {
    for (func::FuncOp entry : getOperation().getOps<func::FuncOp>())
      if (entry->hasAttr(rt::kArgumentsAttr) && failed(verify(entry)))
        return signalPassFailure();
  }
  LogicalResult verify(func::FuncOp entry);
  LogicalResult collectPlaces(func::FuncOp entry);
  LogicalResult checkRead(Operation *op, Value value);
  LogicalResult step(Operation &top);
  /// The place whose buffer `value` is a view of, or null.
  const Place *findPlace(Value value);

  llvm::DenseMap<Value, Place> places;
  Owners owners;
};
} // namespace

const Place *VerifyArenaPass::findPlace(Value value) {
  while (true) {
    auto found = places.find(value);
    if (found != places.end())
      return &found->second;
    auto view = value.getDefiningOp<ViewLikeOpInterface>();
    if (!view)
      return nullptr;
    value = view.getViewSource();
  }
}

LogicalResult VerifyArenaPass::collectPlaces(func::FuncOp entry) {
  places.clear();
  owners = Owners();
  if (entry.getNumArguments() == 0)
    return entry.emitOpError("has no argument for the arena");
  Value arena = entry.getArgument(0);
  auto arenaType = dyn_cast<MemRefType>(arena.getType());
  if (!arenaType || !arenaType.hasStaticShape() || arenaType.getRank() != 1)
    return entry.emitOpError("first argument is no arena: ")
           << arena.getType();
  int64_t size = arenaType.getDimSize(0);
  auto memory = getOperation()->getAttrOfType<DictionaryAttr>(rt::kMemoryAttr);
  auto stated = memory ? memory.getAs<IntegerAttr>("arena") : IntegerAttr();
  if (!stated || stated.getInt() != size)
    return entry.emitOpError("the arena has ")
           << size << " bytes, which 'pplan.memory' does not say";
  for (Operation *user : arena.getUsers()) {
    auto view = dyn_cast<memref::ViewOp>(user);
    if (!view)
      return user->emitOpError("uses the arena, but not as a view of it");
    auto offset = view.getByteShift().getDefiningOp<arith::ConstantIndexOp>();
    if (!offset)
      return view.emitOpError("has no constant offset");
    int64_t begin = offset.value();
    int64_t end = begin + rt::getDenseBytes(view.getType());
    if (begin < 0 || end > size || begin % 64 != 0)
      return view.emitOpError("spans bytes ")
             << begin << " to " << end << " of an arena of " << size
             << " bytes, aligned to 64";
    places[view.getResult()] = {view, begin, end};
  }
  return success();
}

LogicalResult VerifyArenaPass::checkRead(Operation *op, Value value) {
  const Place *place = findPlace(value);
  if (!place)
    return success();
  std::optional<memref::ViewOp> intruder = owners.findIntruder(*place);
  if (!intruder)
    return success();
  auto diag = op->emitOpError("reads bytes ")
              << place->begin << " to " << place->end
              << " of the arena after they were "
              << (*intruder ? "overwritten" : "never written");
  if (*intruder)
    diag.attachNote(intruder->getLoc()) << "by the buffer placed here";
  diag.attachNote(place->view->getLoc()) << "the buffer that is read";
  return diag;
}

LogicalResult VerifyArenaPass::step(Operation &top) {
  SmallVector<std::pair<Operation *, Value>> reads;
  LogicalResult result = success();
  // A linalg operation and its body are one unit: it reads, then writes.
  auto visit = [&](Operation *unit) {
    SmallVector<Value> unitReads, unitWrites;
    unit->walk([&](Operation *op) {
      auto effects = dyn_cast<MemoryEffectOpInterface>(op);
      if (!effects)
        return;
      SmallVector<MemoryEffects::EffectInstance> instances;
      effects.getEffects(instances);
      for (const auto &effect : instances) {
        if (!effect.getValue())
          continue;
        if (isa<MemoryEffects::Read>(effect.getEffect()))
          unitReads.push_back(effect.getValue());
        if (isa<MemoryEffects::Write>(effect.getEffect()))
          unitWrites.push_back(effect.getValue());
      }
    });
    for (Value value : unitReads) {
      if (succeeded(result))
        result = checkRead(unit, value);
      reads.push_back({unit, value});
    }
    for (Value value : unitWrites)
      if (const Place *place = findPlace(value))
        owners.assign(*place);
  };
  top.walk<WalkOrder::PreOrder>([&](Operation *op) {
    bool isUnit = op->getNumRegions() == 0 || isa<linalg::LinalgOp>(op);
    if (!isUnit)
      return WalkResult::advance();
    visit(op);
    return WalkResult::skip();
  });
  // What was read must still be whole: nothing wrote into it meanwhile.
  for (auto [op, value] : reads)
    if (succeeded(result))
      result = checkRead(op, value);
  return result;
}

LogicalResult VerifyArenaPass::verify(func::FuncOp entry) {
  if (failed(collectPlaces(entry)))
    return failure();
  for (Operation &top : entry.front())
    if (failed(step(top)))
      return failure();
  return success();
}
