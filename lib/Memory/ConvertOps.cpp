//===- ConvertOps.cpp - pplan-convert-ops ---------------------------------===//
//
// Walks the entry function once and rebuilds it from linalg, tensor, arith,
// math and rt operations. What each operation becomes is decided in the
// Convert*.cpp files; how the host sees the program, in Signature.cpp.
//
//===----------------------------------------------------------------------===//
#include "Convert.h"
#include "Signature.h"
#include "pplan/Dialect/SPMD/SPMD.h"
#include "pplan/Memory/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

namespace pplan {
#define GEN_PASS_DEF_CONVERTOPSPASS
#include "pplan/Memory/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

/// A tensor without elements needs no computing, whatever it comes from. Its
/// uses read nothing, so each place that gives one gives a fresh empty tensor:
/// no later pass meets a buffer without elements that anyone needs.
static bool hasNoElements(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.hasStaticShape() && tensor.getNumElements() == 0;
}

/// Operations of other dialects are kept when their types are stored as they
/// are.
static bool canKeep(Operation *op) {
  if (op->getNumRegions() != 0 || isa_and_nonnull<PPlanDialect>(op->getDialect()))
    return false;
  return llvm::all_of(op->getResultTypes(), [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return !tensor || getStorageTensor(tensor) == tensor;
  }) && isa_and_nonnull<arith::ArithDialect, tensor::TensorDialect>(op->getDialect());
}

/// The value that replaces the only result of `op`; null when no family knows
/// it.
static FailureOr<Value> convertSingle(Emitter &e, Operation *op,
                                      ValueRange operands, MeshAttr mesh) {
  bool isKnown = canKeep(op) || isa_and_nonnull<PPlanDialect>(op->getDialect());
  if (isKnown && op->getNumResults() == 1 &&
      hasNoElements(op->getResult(0).getType()))
    return e.empty(getStorageTensor(op->getResult(0).getType()));
  using Family = FailureOr<Value> (*)(Emitter &, Operation *, ValueRange);
  static constexpr Family families[] = {convertElementwise, convertStructural,
                                        convertReduction, convertNormalization,
                                        convertContraction, convertLoss};
  for (Family family : families) {
    FailureOr<Value> value = family(e, op, operands);
    if (failed(value) || *value)
      return value;
  }
  return convertDevice(e, op, operands, mesh);
}

/// The values that replace the results of `op`; fails after a message.
static FailureOr<SmallVector<Value>> convert(Emitter &e, Operation *op,
                                             ValueRange operands,
                                             MeshAttr mesh) {
  FailureOr<SmallVector<Value>> values = convertAttention(e, op, operands);
  if (failed(values) || !values->empty())
    return values;
  if (op->getNumResults() == 1) {
    FailureOr<Value> value = convertSingle(e, op, operands, mesh);
    if (failed(value))
      return failure();
    if (*value)
      return SmallVector<Value>{*value};
  }
  return op->emitOpError("cannot be compiled in the memory phase; expected "
                         "pplan or spmd operations on tensors");
}

static LogicalResult convertBody(func::FuncOp from, func::FuncOp to,
                                 MeshAttr mesh) {
  IRMapping mapping;
  Block *block = to.addEntryBlock();
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  for (auto [source, target] :
       llvm::zip_equal(from.getArguments(), block->getArguments())) {
    Value value = target;
    if (hasNoElements(target.getType()))
      value = Emitter{builder, target.getLoc()}.empty(
          cast<RankedTensorType>(target.getType()));
    mapping.map(source, value);
  }
  for (Operation &op : from.front()) {
    SmallVector<Value> operands;
    for (Value operand : op.getOperands())
      operands.push_back(mapping.lookup(operand));
    if (isa<func::ReturnOp>(op)) {
      func::ReturnOp::create(builder, op.getLoc(), operands);
      continue;
    }
    Emitter emitter{builder, op.getLoc()};
    bool isEmpty =
        op.getNumResults() == 1 && hasNoElements(op.getResult(0).getType());
    if (canKeep(&op) && !isEmpty) {
      builder.clone(op, mapping);
      continue;
    }
    FailureOr<SmallVector<Value>> values =
        convert(emitter, &op, operands, mesh);
    if (failed(values))
      return failure();
    mapping.map(op.getResults(), *values);
  }
  return success();
}

namespace {
struct ConvertOpsPass : public ::pplan::impl::ConvertOpsPassBase<ConvertOpsPass> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> entry = findEntry(getOperation());
    if (failed(entry))
      return signalPassFailure();
    auto microBatches =
        (*entry)->getAttrOfType<IntegerAttr>(kMicroBatchesAttr);
    if (microBatches && microBatches.getInt() != 1) {
      entry->emitOpError("has ") << microBatches.getInt()
                                 << " micro-batches; steps of one micro-batch "
                                    "can be compiled so far";
      return signalPassFailure();
    }
    FailureOr<MeshAttr> mesh = findMesh(*entry);
    if (failed(mesh) || failed(describeSignature(*entry, *mesh)))
      return signalPassFailure();
    OpBuilder builder(*entry);
    SmallVector<Type> inputs, results;
    for (Type type : entry->getArgumentTypes())
      inputs.push_back(getStorageTensor(type));
    for (Type type : entry->getResultTypes())
      results.push_back(getStorageTensor(type));
    auto converted = func::FuncOp::create(
        builder, entry->getLoc(), entry->getName(),
        builder.getFunctionType(inputs, results));
    for (StringRef name : {StringRef(rt::kArgumentsAttr),
                           StringRef(rt::kResultsAttr), StringRef(rt::kMeshAttr)})
      converted->setAttr(name, (*entry)->getAttr(name));
    if (failed(convertBody(*entry, converted, *mesh)))
      return signalPassFailure();
    entry->erase();
    for (MeshOp op : llvm::make_early_inc_range(getOperation().getOps<MeshOp>()))
      op.erase();
  }
};
} // namespace
