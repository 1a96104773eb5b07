//===- BufferizeProgram.cpp - pplan-bufferize-program ---------------------===//
//
// Makes results into buffers that the caller gives and runs MLIR's one-shot
// bufferisation. Where buffers lie is decided by pplan-plan-arena.
//
//===----------------------------------------------------------------------===//
#include "pplan/Memory/Passes.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Bufferization/Transforms/Transforms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"

namespace pplan {
#define GEN_PASS_DEF_BUFFERIZEPROGRAMPASS
#include "pplan/Memory/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

void pplan::registerMemoryDialects(DialectRegistry &registry) {
  registry.insert<rt::RTDialect, arith::ArithDialect,
                  bufferization::BufferizationDialect, func::FuncDialect,
                  linalg::LinalgDialect, math::MathDialect,
                  memref::MemRefDialect, scf::SCFDialect,
                  tensor::TensorDialect, affine::AffineDialect>();
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(
      registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
  rt::registerBufferizationModels(registry);
}

/// Turns results into additional arguments that the last operations write.
static void passResultsAsArguments(func::FuncOp entry) {
  auto ret = cast<func::ReturnOp>(entry.front().getTerminator());
  OpBuilder builder(ret);
  for (unsigned i = 0; i < entry.getNumArguments(); ++i)
    entry.setArgAttr(i, bufferization::BufferizationDialect::kWritableAttrName,
                     builder.getBoolAttr(false));
  SmallVector<Type> inputs(entry.getArgumentTypes());
  for (Value value : ret.getOperands()) {
    auto tensor = cast<RankedTensorType>(value.getType());
    auto buffer = MemRefType::get(tensor.getShape(), tensor.getElementType());
    inputs.push_back(buffer);
    Value out = entry.front().addArgument(buffer, ret.getLoc());
    auto store = bufferization::MaterializeInDestinationOp::create(
        builder, ret.getLoc(), /*result=*/TypeRange(), value, out,
        /*restrict=*/builder.getUnitAttr(), /*writable=*/builder.getUnitAttr());
    (void)store;
  }
  func::ReturnOp::create(builder, ret.getLoc(), ValueRange());
  ret.erase();
  SmallVector<Attribute> attrs;
  if (ArrayAttr all = entry.getAllArgAttrs())
    attrs.assign(all.begin(), all.end());
  attrs.resize(inputs.size(), builder.getDictionaryAttr({}));
  entry.setFunctionType(builder.getFunctionType(inputs, {}));
  entry.setAllArgAttrs(attrs);
  entry.removeResAttrsAttr();
}

namespace {
struct BufferizeProgramPass
    : public ::pplan::impl::BufferizeProgramPassBase<BufferizeProgramPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registerMemoryDialects(registry);
  }
  void runOnOperation() override {
    ModuleOp module = getOperation();
    IRRewriter rewriter(&getContext());
    for (func::FuncOp entry : module.getOps<func::FuncOp>()) {
      if (!entry->hasAttr(rt::kResultsAttr))
        continue;
      passResultsAsArguments(entry);
      if (failed(bufferization::eliminateEmptyTensors(rewriter, entry)))
        return signalPassFailure();
    }
    bufferization::OneShotBufferizationOptions options;
    options.bufferizeFunctionBoundaries = true;
    options.setFunctionBoundaryTypeConversion(
        bufferization::LayoutMapOption::IdentityLayoutMap);
    options.bufferAlignment = 64;
    bufferization::BufferizationState state;
    if (failed(bufferization::runOneShotModuleBufferize(module, options, state)))
      return signalPassFailure();
    bufferization::removeBufferizationAttributesInModule(module);
    checkNoTensors(module);
  }

  /// Fails on a value that is still a tensor.
  void checkNoTensors(ModuleOp module) {
    module.walk([&](Operation *op) {
      for (Type type : op->getResultTypes())
        if (isa<TensorType>(type)) {
          op->emitOpError("is still on tensors after bufferisation");
          return signalPassFailure();
        }
    });
  }
};
} // namespace
