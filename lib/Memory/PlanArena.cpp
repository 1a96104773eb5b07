//===- PlanArena.cpp - pplan-plan-arena -----------------------------------===//
//
// Finds the lifetime of each allocation of the straight-line program and
// replaces it by a view of the arena. Offsets are chosen in Arena.cpp.
//
//===----------------------------------------------------------------------===//
#include "pplan/Memory/Arena.h"
#include "pplan/Memory/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace pplan {
#define GEN_PASS_DEF_PLANARENAPASS
#include "pplan/Memory/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

/// Scratch inside loops up to this size goes to the stack, in bytes.
static constexpr int64_t kMaxStackBytes = 4096;

/// Positions of the top-level operations of the block.
using Positions = llvm::DenseMap<Operation *, int64_t>;

/// Extends [first, last] by the uses of `value` and of its views.
static void extendLife(Value value, Block *block, const Positions &positions,
                       ArenaBuffer &buffer) {
  for (Operation *user : value.getUsers()) {
    bool isView = false;
    for (Value result : user->getResults())
      if (isa<BaseMemRefType>(result.getType())) {
        isView = true;
        extendLife(result, block, positions, buffer);
      }
    if (isView && user->getNumRegions() == 0)
      continue;
    Operation *top = block->findAncestorOpInBlock(*user);
    int64_t at = positions.lookup(top);
    buffer.first = std::min(buffer.first, at);
    buffer.last = std::max(buffer.last, at);
  }
}

namespace {
struct PlanArenaPass : public ::pplan::impl::PlanArenaPassBase<PlanArenaPass> {
  void runOnOperation() override {
    for (func::FuncOp entry : getOperation().getOps<func::FuncOp>())
      if (entry->hasAttr(rt::kArgumentsAttr) && failed(plan(entry)))
        return signalPassFailure();
  }

  LogicalResult plan(func::FuncOp entry);
  /// Sends scratch inside loops to the stack or before its loop.
  void hoistScratch(Block *block);
  void recordMemory(func::FuncOp entry, int64_t arena);
};
} // namespace

void PlanArenaPass::hoistScratch(Block *block) {
  for (Operation &top : *block)
    top.walk([&](memref::AllocOp alloc) {
      if (alloc->getBlock() == block)
        return;
      OpBuilder builder(alloc);
      if (rt::getDenseBytes(alloc.getType()) > kMaxStackBytes) {
        alloc->moveBefore(&top);
        return;
      }
      Value scratch = memref::AllocaOp::create(builder, alloc.getLoc(),
                                               alloc.getType(),
                                               alloc.getAlignmentAttr());
      alloc.replaceAllUsesWith(scratch);
      alloc.erase();
    });
}

LogicalResult PlanArenaPass::plan(func::FuncOp entry) {
  Block *block = &entry.front();
  hoistScratch(block);
  Positions positions;
  for (auto [i, op] : llvm::enumerate(*block))
    positions[&op] = i;

  ArenaProblem problem;
  SmallVector<memref::AllocOp> allocs;
  for (memref::AllocOp alloc :
       llvm::make_early_inc_range(block->getOps<memref::AllocOp>())) {
    if (!alloc.getType().hasStaticShape() ||
        !alloc.getType().getLayout().isIdentity())
      return alloc.emitOpError("has no static size, so it has no place in the "
                               "arena");
    ArenaBuffer buffer{rt::getDenseBytes(alloc.getType()),
                       std::numeric_limits<int64_t>::max(), -1};
    extendLife(alloc, block, positions, buffer);
    if (buffer.last < 0)
      buffer.first = buffer.last = positions.lookup(alloc);
    allocs.push_back(alloc);
    problem.buffers.push_back(buffer);
  }
  ArenaSolution solution = placeBuffers(problem);
  if (std::string wrong = checkArena(problem, solution); !wrong.empty())
    return entry.emitOpError("arena plan is wrong: ") << wrong;
  numBuffers += allocs.size();
  arenaBytes += solution.bytes;
  lowerBound += problem.getLowerBound();

  OpBuilder builder(entry.getContext());
  auto arenaType = MemRefType::get({solution.bytes}, builder.getI8Type());
  (void)entry.insertArgument(0, arenaType, builder.getDictionaryAttr({}),
                             entry.getLoc());
  Value arena = entry.getArgument(0);
  for (auto [alloc, offset] : llvm::zip_equal(allocs, solution.offsets)) {
    builder.setInsertionPoint(alloc);
    Value at =
        arith::ConstantIndexOp::create(builder, alloc.getLoc(), offset);
    Value view = memref::ViewOp::create(builder, alloc.getLoc(),
                                        alloc.getType(), arena, at,
                                        ValueRange());
    alloc.replaceAllUsesWith(view);
    alloc.erase();
  }
  recordMemory(entry, solution.bytes);
  return success();
}

void PlanArenaPass::recordMemory(func::FuncOp entry, int64_t arena) {
  int64_t inputs = 0, params = 0, states = 0, outputs = 0, constants = 0;
  auto bytes = [](Attribute entry) {
    auto type = cast<DictionaryAttr>(entry).getAs<TypeAttr>("local");
    return rt::getDenseBytes(cast<ShapedType>(type.getValue()));
  };
  for (Attribute argument : entry->getAttrOfType<ArrayAttr>(rt::kArgumentsAttr)) {
    auto kind = cast<DictionaryAttr>(argument).getAs<StringAttr>("kind");
    (kind.getValue() == "param"   ? params
     : kind.getValue() == "state" ? states
                                  : inputs) += bytes(argument);
  }
  for (Attribute result : entry->getAttrOfType<ArrayAttr>(rt::kResultsAttr))
    outputs += bytes(result);
  for (auto global : getOperation().getOps<memref::GlobalOp>())
    constants += rt::getDenseBytes(global.getType());
  Builder builder(entry.getContext());
  NamedAttrList memory;
  for (auto [name, size] :
       {std::pair("arena", arena), std::pair("constants", constants),
        std::pair("inputs", inputs), std::pair("outputs", outputs),
        std::pair("params", params)})
    memory.set(name, builder.getI64IntegerAttr(size));
  if (states)
    memory.set("states", builder.getI64IntegerAttr(states));
  getOperation()->setAttr(rt::kMemoryAttr,
                          memory.getDictionary(entry.getContext()));
}
