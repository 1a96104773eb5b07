//===- OutlineKernels.cpp - pplan-outline-kernels -------------------------===//
//
// Decides what a kernel is and which of its arguments may alias. How its loops
// run is decided by pplan-lower-loops.
//
//===----------------------------------------------------------------------===//
#include "LayerName.h"
#include "pplan/Lowering/Passes.h"
#include "pplan/Memory/RT.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringMap.h"

namespace pplan {
#define GEN_PASS_DEF_OUTLINEKERNELSPASS
#include "pplan/Lowering/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

namespace {
struct OutlineKernelsPass
    : public ::pplan::impl::OutlineKernelsPassBase<OutlineKernelsPass> {
  void runOnOperation() override;
  void outline(Operation *op);
  func::FuncOp build(Operation *op, ArrayRef<Value> arguments,
                     ArrayRef<Value> constants);

  llvm::StringMap<func::FuncOp> kernels;
};
} // namespace

/// Turns copies into loops and removes those from a buffer to itself.
static void expandCopies(func::FuncOp entry) {
  SmallVector<memref::CopyOp> copies;
  entry.walk([&](memref::CopyOp copy) { copies.push_back(copy); });
  for (memref::CopyOp copy : copies) {
    OpBuilder builder(copy);
    if (copy.getSource() != copy.getTarget())
      linalg::makeMemRefCopyOp(builder, copy.getLoc(), copy.getSource(),
                               copy.getTarget());
    copy.erase();
  }
}

/// Erases loops without iterations and what only they use, so that no kernel
/// has a buffer without elements.
static void eraseEmptyLoops(func::FuncOp entry) {
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(entry.front()))) {
    auto loop = dyn_cast<linalg::LinalgOp>(op);
    bool isEmpty = loop && op.getNumResults() == 0 &&
                   llvm::is_contained(loop.getStaticLoopRanges(), int64_t{0});
    if (isEmpty || isOpTriviallyDead(&op))
      op.erase();
  }
}

/// Everything outside that `op` uses, in order of first use.
static SetVector<Value> getUses(Operation *op) {
  SetVector<Value> used(op->operand_begin(), op->operand_end());
  if (op->getNumRegions() > 0)
    getUsedValuesDefinedAbove(op->getRegions(), used);
  return used;
}

/// The buffer that a view is a view of. Views of the arena are buffers of their
/// own: live ones do not overlap.
static Value getBuffer(Value value) {
  while (auto view = value.getDefiningOp<ViewLikeOpInterface>()) {
    if (isa<memref::ViewOp>(view))
      break;
    value = view.getViewSource();
  }
  return value;
}

/// True for each argument that shares its buffer with no other one.
static SmallVector<bool> findUnaliased(ArrayRef<Value> arguments) {
  llvm::DenseMap<Value, unsigned> count;
  for (Value argument : arguments)
    if (isa<MemRefType>(argument.getType()))
      ++count[getBuffer(argument)];
  SmallVector<bool> unaliased;
  for (Value argument : arguments)
    unaliased.push_back(isa<MemRefType>(argument.getType()) &&
                        count[getBuffer(argument)] == 1);
  return unaliased;
}

func::FuncOp OutlineKernelsPass::build(Operation *op,
                                       ArrayRef<Value> arguments,
                                       ArrayRef<Value> constants) {
  SmallVector<Type> types;
  for (Value argument : arguments)
    types.push_back(argument.getType());
  OpBuilder builder(op->getContext());
  auto kernel = func::FuncOp::create(op->getLoc(), "kernel",
                                     builder.getFunctionType(types, {}));
  kernel.setPrivate();
  Block *body = kernel.addEntryBlock();
  IRMapping mapping;
  for (auto [from, to] : llvm::zip_equal(arguments, body->getArguments()))
    mapping.map(from, to);
  builder.setInsertionPointToStart(body);
  for (Value constant : constants)
    builder.clone(*constant.getDefiningOp(), mapping);
  builder.clone(*op, mapping);
  func::ReturnOp::create(builder, op->getLoc());
  body->walk([&](memref::AllocaOp scratch) {
    scratch->moveBefore(body, body->begin());
  });
  for (auto [i, unaliased] : llvm::enumerate(findUnaliased(arguments)))
    if (unaliased)
      kernel.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                        builder.getUnitAttr());
  return kernel;
}

void OutlineKernelsPass::outline(Operation *op) {
  SmallVector<Value> arguments, constants;
  for (Value value : getUses(op)) {
    Operation *def = value.getDefiningOp();
    bool isConstant = def && def->hasTrait<OpTrait::ConstantLike>() &&
                      !isa<MemRefType>(value.getType());
    (isConstant ? constants : arguments).push_back(value);
  }
  func::FuncOp kernel = build(op, arguments, constants);
  std::string text;
  llvm::raw_string_ostream stream(text);
  kernel->print(stream, OpPrintingFlags().useLocalScope());
  auto [found, isNew] = kernels.try_emplace(text, kernel);
  if (isNew) {
    kernel.setName("kernel_" + std::to_string(kernels.size() - 1));
    getOperation().push_back(kernel);
    ++numKernels;
  } else {
    kernel->erase();
  }
  OpBuilder builder(op);
  func::CallOp::create(builder, op->getLoc(), found->second, arguments);
  op->erase();
  ++numCalls;
}

void OutlineKernelsPass::runOnOperation() {
  kernels.clear();
  SmallVector<func::FuncOp> entries;
  for (func::FuncOp function : getOperation().getOps<func::FuncOp>())
    if (function->hasAttr(rt::kArgumentsAttr))
      entries.push_back(function);
  for (func::FuncOp entry : entries) {
    expandCopies(entry);
    eraseEmptyLoops(entry);
    for (Operation &op : llvm::make_early_inc_range(entry.front()))
      if (isa<linalg::LinalgOp, scf::ForallOp, scf::ForOp, scf::ParallelOp>(op) &&
          op.getNumResults() == 0)
        outline(&op);
  }
}
