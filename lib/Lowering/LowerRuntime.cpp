//===- LowerRuntime.cpp - pplan-lower-runtime -----------------------------===//
//
// Decides how the entry function talks to the runtime: which call each rt
// operation is, how errors leave the function, what the profiler hears. The
// descriptors of matrix products and attention are made in RuntimeDescs.cpp.
//
//===----------------------------------------------------------------------===//
#include "Globals.h"
#include "LayerName.h"
#include "RuntimeDescs.h"
#include "pplan/Lowering/Passes.h"
#include "pplan/Memory/RT.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/TypeSwitch.h"

namespace pplan {
#define GEN_PASS_DEF_LOWERRUNTIMEPASS
#include "pplan/Lowering/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

namespace {
/// Rewrites one entry function.
class EntryLowering {
public:
  EntryLowering(func::FuncOp entry, GlobalBuilder &globals)
      : entry(entry), globals(globals), builder(entry.getContext()),
        pointer(globals.getPointerType()), i32(builder.getI32Type()),
        i64(builder.getI64Type()) {}

  LogicalResult run();

private:
  LogicalResult passAsPointers();
  LogicalResult lowerStep(Operation *op);
  LogicalResult lowerCollective(Operation *op);
  LogicalResult lowerMoving(Operation *op, Value comm, Value loc);
  void lowerAxisCoord(rt::AxisCoordOp op);
  /// Calls a function of the runtime.
  Value call(StringRef name, Type result, ValueRange arguments);
  /// Calls a function that returns a status; on error the entry returns it.
  void callChecked(StringRef name, ValueRange arguments);
  Value constant32(int64_t value);
  Value constant64(int64_t value);
  Value addressOf(FlatSymbolRefAttr symbol);
  /// Address of the first element of a buffer.
  Value getPointer(Value buffer);
  Value getArray32(StringRef prefix, ArrayRef<int32_t> values);
  Value getComm(ArrayRef<int32_t> axes);

  func::FuncOp entry;
  GlobalBuilder &globals;
  OpBuilder builder;
  LLVM::LLVMPointerType pointer;
  Type i32, i64;
  Value context, stream, commSlot;
  Block *failBlock = nullptr;
  Location loc = UnknownLoc::get(entry.getContext());
};
} // namespace

Value EntryLowering::constant32(int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, i32,
                                  builder.getI32IntegerAttr(value));
}

Value EntryLowering::constant64(int64_t value) {
  return LLVM::ConstantOp::create(builder, loc, i64,
                                  builder.getI64IntegerAttr(value));
}

Value EntryLowering::addressOf(FlatSymbolRefAttr symbol) {
  if (!symbol)
    return LLVM::ZeroOp::create(builder, loc, pointer);
  return LLVM::AddressOfOp::create(builder, loc, pointer, symbol);
}

Value EntryLowering::call(StringRef name, Type result, ValueRange arguments) {
  auto function = globals.getFunction(
      name, result ? result : LLVM::LLVMVoidType::get(entry.getContext()),
      llvm::to_vector(arguments.getTypes()));
  auto op = LLVM::CallOp::create(builder, loc, function, arguments);
  return result ? op.getResult() : Value();
}

void EntryLowering::callChecked(StringRef name, ValueRange arguments) {
  Value status = call(name, pointer, arguments);
  Value null = LLVM::ZeroOp::create(builder, loc, pointer);
  Value isOk = LLVM::ICmpOp::create(builder, loc, LLVM::ICmpPredicate::eq,
                                    status, null);
  Block *block = builder.getInsertionBlock();
  Block *rest = block->splitBlock(builder.getInsertionPoint());
  builder.setInsertionPointToEnd(block);
  cf::CondBranchOp::create(builder, loc, isOk, rest, ValueRange(), failBlock,
                           ValueRange(status));
  builder.setInsertionPointToStart(rest);
}

Value EntryLowering::getPointer(Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset)) ||
      ShapedType::isDynamic(offset))
    offset = 0;
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(builder, loc,
                                                              buffer);
  Value address = arith::IndexCastOp::create(builder, loc, i64, base);
  Value result = LLVM::IntToPtrOp::create(builder, loc, pointer, address);
  if (offset == 0)
    return result;
  int64_t bytes = offset * rt::getElementBytes(type.getElementType());
  return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(),
                             result, ArrayRef<LLVM::GEPArg>{bytes});
}

Value EntryLowering::getArray32(StringRef prefix, ArrayRef<int32_t> values) {
  std::vector<Datum> members;
  for (int32_t value : values)
    members.push_back(Datum::i32(value));
  return addressOf(globals.getConstant(prefix, Datum::array(members)));
}

Value EntryLowering::getComm(ArrayRef<int32_t> axes) {
  callChecked("pplan_rt_comm", {context, getArray32("pplan.axes", axes),
                                constant32(axes.size()), commSlot});
  return LLVM::LoadOp::create(builder, loc, pointer, commSlot);
}

void EntryLowering::lowerAxisCoord(rt::AxisCoordOp op) {
  builder.setInsertionPoint(op);
  Value coordinate =
      call("pplan_rt_axis_coord", i64, {context, constant32(op.getAxis())});
  Value index = arith::IndexCastOp::create(
      builder, loc, builder.getIndexType(), coordinate);
  op.replaceAllUsesWith(index);
  op.erase();
}

/// Product of sizes [from, to).
static int64_t getProduct(ArrayRef<int64_t> shape, int64_t from, int64_t to) {
  int64_t product = 1;
  for (int64_t i = from; i < to; ++i)
    product *= shape[i];
  return product;
}

LogicalResult EntryLowering::lowerMoving(Operation *op, Value comm, Value name) {
  auto input = cast<MemRefType>(op->getOperand(0).getType());
  auto result = cast<MemRefType>(op->getOperand(1).getType());
  Value src = getPointer(op->getOperand(0));
  Value dst = getPointer(op->getOperand(1));
  auto dtype = constant32(op->getAttrOfType<IntegerAttr>("dtype").getInt());
  ArrayRef<int64_t> from = input.getShape(), to = result.getShape();
  int64_t rank = input.getRank();
  if (auto gather = dyn_cast<rt::AllGatherOp>(op)) {
    int64_t dim = gather.getDim();
    callChecked("pplan_rt_all_gather",
                {comm, stream, src, dst, constant64(getProduct(from, 0, dim)),
                 constant64(from[dim]), constant64(to[dim]),
                 constant64(getProduct(from, dim + 1, rank)), dtype, name});
    return success();
  }
  if (auto scatter = dyn_cast<rt::ReduceScatterOp>(op)) {
    int64_t dim = scatter.getDim();
    callChecked("pplan_rt_reduce_scatter",
                {comm, stream, src, dst, constant64(getProduct(from, 0, dim)),
                 constant64(from[dim]), constant64(to[dim]),
                 constant64(getProduct(from, dim + 1, rank)), dtype,
                 constant32(static_cast<int>(scatter.getKind())), name});
    return success();
  }
  if (auto exchange = dyn_cast<rt::AllToAllOp>(op)) {
    Datum desc = getAllToAllDesc(exchange, from, to);
    callChecked("pplan_rt_all_to_all",
                {comm, stream, src, dst,
                 addressOf(globals.getConstant("pplan.all_to_all", desc)),
                 name});
    return success();
  }
  auto permute = cast<rt::PermuteOp>(op);
  callChecked("pplan_rt_permute",
              {comm, stream, src, dst, constant64(input.getNumElements()),
               dtype, getArray32("pplan.targets", permute.getTargets()), name});
  return success();
}

LogicalResult EntryLowering::lowerCollective(Operation *op) {
  for (Value operand : op->getOperands())
    if (!cast<MemRefType>(operand.getType()).getLayout().isIdentity())
      return op->emitOpError("communicates the buffer ")
             << operand.getType() << ", which is not dense";
  Value comm = getComm(op->getAttrOfType<DenseI32ArrayAttr>("axes"));
  Value name = addressOf(globals.getString(
      getLayerName(op->getLoc(), op->getName().stripDialect())));
  auto reduce = dyn_cast<rt::AllReduceOp>(op);
  if (!reduce)
    return lowerMoving(op, comm, name);
  Value data = getPointer(reduce.getInit());
  int64_t count = cast<MemRefType>(reduce.getInit().getType()).getNumElements();
  callChecked("pplan_rt_all_reduce",
              {comm, stream, data, data, constant64(count),
               constant32(reduce.getDtype()),
               constant32(static_cast<int>(reduce.getKind())), name});
  return success();
}

LogicalResult EntryLowering::lowerStep(Operation *op) {
  loc = op->getLoc();
  builder.setInsertionPoint(op);
  FlatSymbolRefAttr name = globals.getString(
      getLayerName(loc, op->getName().stripDialect()));
  call("pplan_rt_op_begin", {}, {context, addressOf(name)});
  LogicalResult result = success();
  if (auto contract = dyn_cast<rt::ContractOp>(op)) {
    FailureOr<GemmCall> gemm = getGemmCall(contract, name);
    if (failed(gemm))
      return failure();
    FlatSymbolRefAttr desc = globals.getConstant("pplan.gemm", gemm->desc);
    callChecked("pplan_rt_gemm",
                {stream, addressOf(desc), getPointer(gemm->a),
                 getPointer(gemm->b), getPointer(contract.getInit())});
  } else if (auto attention = dyn_cast<rt::AttentionOp>(op)) {
    FailureOr<Datum> data = getAttentionDesc(attention, name);
    if (failed(data))
      return failure();
    FlatSymbolRefAttr desc = globals.getConstant("pplan.attention", *data);
    Value mask = attention.getMask() ? getPointer(attention.getMask())
                                     : addressOf({});
    callChecked("pplan_rt_attention",
                {stream, addressOf(desc), getPointer(attention.getQuery()),
                 getPointer(attention.getKey()),
                 getPointer(attention.getValue()), mask,
                 getPointer(attention.getInit()),
                 getPointer(attention.getWorkspace())});
  } else if (auto backward = dyn_cast<rt::AttentionBackwardOp>(op)) {
    FailureOr<Datum> data = getAttentionBackwardDesc(backward, name);
    if (failed(data))
      return failure();
    FlatSymbolRefAttr desc =
        globals.getConstant("pplan.attention_backward", *data);
    SmallVector<Value> arguments{stream, addressOf(desc)};
    for (Value buffer : {backward.getQuery(), backward.getKey(),
                         backward.getValue(), backward.getMask(),
                         backward.getGradient(), backward.getQueryGradient(),
                         backward.getKeyGradient(),
                         backward.getValueGradient(), backward.getWorkspace()})
      arguments.push_back(buffer ? getPointer(buffer) : addressOf({}));
    callChecked("pplan_rt_attention_backward", arguments);
  } else if (auto scatter = dyn_cast<rt::ScatterAddOp>(op)) {
    FlatSymbolRefAttr desc = globals.getConstant(
        "pplan.scatter_add", getScatterAddDesc(scatter, name));
    callChecked("pplan_rt_scatter_add",
                {stream, addressOf(desc), getPointer(scatter.getIndices()),
                 getPointer(scatter.getUpdates()),
                 getPointer(scatter.getInit())});
  } else if (!isa<func::CallOp>(op)) {
    result = lowerCollective(op);
  } else {
    builder.setInsertionPointAfter(op);
  }
  call("pplan_rt_op_end", {}, {context, addressOf(name)});
  if (!isa<func::CallOp>(op))
    op->erase();
  return result;
}

/// Buffers without elements become plain pointers: MLIR's strides of, say,
/// memref<2x0xf32> are unknown, and so is how to pass it as one.
LogicalResult EntryLowering::passAsPointers() {
  for (BlockArgument argument : entry.getArguments()) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (!type || !type.hasStaticShape() || type.getNumElements() != 0)
      continue;
    if (!argument.use_empty())
      return argument.getUsers().begin()->emitOpError("uses the buffer ")
             << type << ", which has no elements; the memory phase removes "
                        "such uses";
    argument.setType(pointer);
  }
  return success();
}

LogicalResult EntryLowering::run() {
  size_t numValues =
      1 + entry->getAttrOfType<ArrayAttr>(rt::kArgumentsAttr).size() +
      entry->getAttrOfType<ArrayAttr>(rt::kResultsAttr).size();
  func::ReturnOp ret;
  if (entry.getBody().hasOneBlock())
    ret = dyn_cast<func::ReturnOp>(entry.front().getTerminator());
  if (!ret || ret.getNumOperands() != 0 ||
      entry.getNumArguments() != numValues)
    return entry.emitOpError("is no program of the memory phase: expected one "
                             "block that returns nothing and ")
           << numValues << " arguments, the arena and those of '"
           << rt::kArgumentsAttr << "' and '" << rt::kResultsAttr << "'";
  (void)entry.insertArgument(0, pointer, builder.getDictionaryAttr({}),
                             entry.getLoc());
  context = entry.getArgument(0);
  if (failed(passAsPointers()))
    return failure();
  SmallVector<Type> inputs(entry.front().getArgumentTypes());
  entry.setFunctionType(builder.getFunctionType(inputs, {pointer}));
  SmallVector<Operation *> steps;
  for (Operation &op : llvm::make_early_inc_range(entry.front())) {
    if (auto coordinate = dyn_cast<rt::AxisCoordOp>(op))
      lowerAxisCoord(coordinate);
    else if (isa<func::CallOp>(op) || isa_and_nonnull<rt::RTDialect>(op.getDialect()))
      steps.push_back(&op);
  }
  builder.setInsertionPointToStart(&entry.front());
  loc = entry.getLoc();
  stream = call("pplan_rt_default_stream", pointer, context);
  commSlot = LLVM::AllocaOp::create(builder, loc, pointer, pointer,
                                    constant64(1), /*alignment=*/8);
  builder.setInsertionPoint(ret);
  Value null = LLVM::ZeroOp::create(builder, ret.getLoc(), pointer);
  func::ReturnOp::create(builder, ret.getLoc(), null);
  ret.erase();
  failBlock = new Block();
  entry.getBody().push_back(failBlock);
  failBlock->addArgument(pointer, entry.getLoc());
  builder.setInsertionPointToStart(failBlock);
  func::ReturnOp::create(builder, entry.getLoc(), failBlock->getArgument(0));
  for (Operation *op : steps)
    if (failed(lowerStep(op)))
      return failure();
  // A program without calls that can fail needs no place to fail.
  if (failBlock->hasNoPredecessors())
    failBlock->erase();
  return success();
}

namespace {
struct LowerRuntimePass
    : public ::pplan::impl::LowerRuntimePassBase<LowerRuntimePass> {
  void runOnOperation() override {
    GlobalBuilder globals(getOperation());
    SmallVector<func::FuncOp> functions(
        getOperation().getOps<func::FuncOp>());
    auto internal = LLVM::LinkageAttr::get(&getContext(),
                                           LLVM::Linkage::Internal);
    for (func::FuncOp function : functions) {
      if (!function.isExternal())
        function->setAttr("llvm.linkage", internal);
      if (function->hasAttr(rt::kArgumentsAttr) &&
          failed(EntryLowering(function, globals).run()))
        return signalPassFailure();
    }
  }
};
} // namespace
