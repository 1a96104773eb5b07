//===- RTBufferization.cpp - Buffers of rt operations ---------------------===//
//
// Tells one-shot bufferisation what the rt operations read and write, and makes
// their buffer forms. Decides where an operand must be packed: collectives need
// dense buffers, the matrix product strides that fit.
//
//===----------------------------------------------------------------------===//
#include "pplan/Memory/GemmShape.h"
#include "pplan/Memory/RT.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace pplan;

static MemRefType getDenseType(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  return MemRefType::get(type.getShape(), type.getElementType());
}

/// A new dense buffer like `buffer`, with its contents if `copy`.
static Value allocateLike(RewriterBase &rewriter, Location loc, Value buffer,
                          bool copy) {
  auto alloc = memref::AllocOp::create(rewriter, loc, getDenseType(buffer),
                                       rewriter.getI64IntegerAttr(64));
  if (copy)
    memref::CopyOp::create(rewriter, loc, buffer, alloc);
  return alloc;
}

static bool isDense(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getLayout().isIdentity();
}

/// Buffers of all operands, in order.
static FailureOr<SmallVector<Value>>
getBuffers(RewriterBase &rewriter, Operation *op,
           const BufferizationOptions &options,
           const BufferizationState &state) {
  SmallVector<Value> buffers;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
    if (failed(buffer))
      return failure();
    buffers.push_back(*buffer);
  }
  return buffers;
}

/// Builds the buffer form of `op` on `buffers` and replaces the op. `finals` are
/// the buffers that the inits really are; those that `buffers` replaces by
/// packed ones are copied back.
static void finish(RewriterBase &rewriter, Operation *op,
                   ArrayRef<Value> buffers, ValueRange finals) {
  OperationState state(op->getLoc(), op->getName(), buffers, TypeRange(),
                       op->getAttrs());
  rewriter.create(state);
  unsigned first = buffers.size() - finals.size();
  for (auto [i, final] : llvm::enumerate(finals))
    if (buffers[first + i] != final)
      memref::CopyOp::create(rewriter, op->getLoc(), buffers[first + i], final);
  replaceOpWithBufferizedValues(rewriter, op, finals);
}

namespace {
/// What is common to all: only the collectives that work in place, and an
/// accumulating product, read their destination.
template <typename Model, typename OpTy>
struct RTModel : DstBufferizableOpInterfaceExternalModel<Model, OpTy> {
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand,
                              const AnalysisState &) const {
    if (!cast<DestinationStyleOpInterface>(op).isDpsInit(&operand))
      return true;
    if (auto contract = dyn_cast<rt::ContractOp>(op))
      return contract.getAccumulate();
    return isa<rt::AllReduceOp>(op);
  }
};

/// Operations that want dense buffers.
template <typename OpTy>
struct DenseModel : RTModel<DenseModel<OpTy>, OpTy> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto buffers = getBuffers(rewriter, op, options, state);
    if (failed(buffers))
      return failure();
    Value init = buffers->back();
    bool readsInit = isa<rt::AllReduceOp>(op);
    for (auto [i, buffer] : llvm::enumerate(*buffers))
      if (!isDense(buffer))
        buffer = allocateLike(rewriter, op->getLoc(), buffer,
                              i + 1 < buffers->size() || readsInit);
    finish(rewriter, op, *buffers, init);
    return success();
  }
};

struct ContractModel : RTModel<ContractModel, rt::ContractOp> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto contract = cast<rt::ContractOp>(op);
    auto buffers = getBuffers(rewriter, op, options, state);
    auto equation = Equation::parse(contract.getEquation());
    if (failed(buffers) || !equation)
      return failure();
    Value init = (*buffers)[2];
    auto fits = [&] {
      std::optional<StridedShape> shapes[3];
      for (int i = 0; i < 3; ++i)
        shapes[i] =
            StridedShape::get(cast<MemRefType>((*buffers)[i].getType()));
      return shapes[0] && shapes[1] && shapes[2] &&
             getGemmShape(*equation, *shapes[0], *shapes[1], *shapes[2]);
    };
    for (int i = 0; i < 3 && !fits(); ++i)
      if (!isDense((*buffers)[i]))
        (*buffers)[i] =
            allocateLike(rewriter, op->getLoc(), (*buffers)[i],
                         i < 2 || contract.getAccumulate());
    if (!fits())
      return op->emitOpError("does not fit a matrix product on dense buffers");
    finish(rewriter, op, *buffers, init);
    return success();
  }
};

/// Attention and its gradient: every tensor with stride 1 innermost.
template <typename OpTy>
struct AttentionModel : RTModel<AttentionModel<OpTy>, OpTy> {
  LogicalResult bufferize(Operation *op, RewriterBase &rewriter,
                          const BufferizationOptions &options,
                          BufferizationState &state) const {
    auto buffers = getBuffers(rewriter, op, options, state);
    if (failed(buffers))
      return failure();
    size_t numInits = cast<OpTy>(op).getNumDpsInits();
    size_t numInputs = buffers->size() - numInits;
    SmallVector<Value> finals(llvm::drop_begin(*buffers, numInputs));
    Value mask = cast<OpTy>(op).getMask();
    for (auto [i, buffer] : llvm::enumerate(*buffers)) {
      auto shape = StridedShape::get(cast<MemRefType>(buffer.getType()));
      bool isMask = mask && i == 3;
      bool fits = shape && (isMask || shape->strides.back() == 1);
      if (!fits)
        buffer =
            allocateLike(rewriter, op->getLoc(), buffer, i < numInputs);
    }
    finish(rewriter, op, *buffers, finals);
    return success();
  }
};
} // namespace

void rt::registerBufferizationModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, rt::RTDialect *) {
    rt::ContractOp::attachInterface<ContractModel>(*context);
    rt::AttentionOp::attachInterface<AttentionModel<rt::AttentionOp>>(
        *context);
    rt::AttentionBackwardOp::attachInterface<
        AttentionModel<rt::AttentionBackwardOp>>(*context);
    rt::ScatterAddOp::attachInterface<DenseModel<rt::ScatterAddOp>>(*context);
    rt::AllReduceOp::attachInterface<DenseModel<rt::AllReduceOp>>(
        *context);
    rt::AllGatherOp::attachInterface<DenseModel<rt::AllGatherOp>>(
        *context);
    rt::ReduceScatterOp::attachInterface<
        DenseModel<rt::ReduceScatterOp>>(*context);
    rt::AllToAllOp::attachInterface<DenseModel<rt::AllToAllOp>>(*context);
    rt::PermuteOp::attachInterface<DenseModel<rt::PermuteOp>>(*context);
  });
}
