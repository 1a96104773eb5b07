//===- RTDialect.cpp - The rt dialect -------------------------------------===//
//
// Registers the operations and checks them; says which operands they read and
// write once they work on buffers.
//
//===----------------------------------------------------------------------===//
#include "pplan/Memory/RT.h"
#include "pplan/Dialect/PPlan/PPlanDialect.h.inc"
#include "pplan/Memory/GemmShape.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "pplan/Memory/RTDialect.cpp.inc"

#define GET_OP_CLASSES
#include "pplan/Memory/RTOps.cpp.inc"

using namespace mlir;
using namespace pplan;
using namespace pplan::rt;

void RTDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "pplan/Memory/RTOps.cpp.inc"
      >();
}

int32_t rt::getDType(Type type) {
  if (type.isF32())
    return 0;
  if (type.isF64())
    return 1;
  if (type.isF16())
    return 2;
  if (type.isBF16())
    return 3;
  if (type.isSignlessInteger(1))
    return 4;
  if (type.isSignlessInteger(8) || type.isSignedInteger(8))
    return 5;
  if (type.isUnsignedInteger(8))
    return 6;
  if (type.isSignlessInteger(32))
    return 7;
  if (type.isSignlessInteger(64))
    return 8;
  return -1;
}

int64_t rt::getElementBytes(Type type) {
  if (type.isIndex())
    return 8;
  return std::max<int64_t>(1, (type.getIntOrFloatBitWidth() + 7) / 8);
}

int64_t rt::getDenseBytes(ShapedType type) {
  return type.getNumElements() * getElementBytes(type.getElementType());
}

/// Reads of inputs and writes (and, if asked, reads) of destinations.
static void
addEffects(DestinationStyleOpInterface op, bool readsInit,
           SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
               &effects) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    bool isInit = op.isDpsInit(&operand);
    if (!isInit || readsInit)
      effects.emplace_back(MemoryEffects::Read::get(), &operand,
                           SideEffects::DefaultResource::get());
    if (isInit)
      effects.emplace_back(MemoryEffects::Write::get(), &operand,
                           SideEffects::DefaultResource::get());
  }
}

void ContractOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(*this, getAccumulate(), effects);
}
void AllReduceOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  addEffects(*this, /*readsInit=*/true, effects);
}
#define PPLAN_WRITES_ONLY(Op)                                                  \
  void Op::getEffects(                                                         \
      SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>      \
          &effects) {                                                          \
    addEffects(*this, /*readsInit=*/false, effects);                           \
  }
PPLAN_WRITES_ONLY(AttentionOp)
PPLAN_WRITES_ONLY(AttentionBackwardOp)
PPLAN_WRITES_ONLY(ScatterAddOp)
PPLAN_WRITES_ONLY(AllGatherOp)
PPLAN_WRITES_ONLY(ReduceScatterOp)
PPLAN_WRITES_ONLY(AllToAllOp)
PPLAN_WRITES_ONLY(PermuteOp)
#undef PPLAN_WRITES_ONLY

LogicalResult ContractOp::verify() {
  std::optional<Equation> equation = Equation::parse(getEquation());
  if (!equation)
    return emitOpError("equation '")
           << getEquation() << "' is not of the form \"ab,bc->ac\"";
  auto lhs = cast<ShapedType>(getLhs().getType());
  auto rhs = cast<ShapedType>(getRhs().getType());
  auto init = cast<ShapedType>(getInit().getType());
  auto fits = [](StringRef letters, ShapedType type) {
    return static_cast<int64_t>(letters.size()) == type.getRank();
  };
  if (!fits(equation->lhs, lhs) || !fits(equation->rhs, rhs) ||
      !fits(equation->result, init))
    return emitOpError("equation '")
           << getEquation() << "' does not have one letter per dimension";
  auto lhsMemory = dyn_cast<MemRefType>(lhs);
  auto rhsMemory = dyn_cast<MemRefType>(rhs);
  auto initMemory = dyn_cast<MemRefType>(init);
  if (!lhsMemory || !rhsMemory || !initMemory)
    return success();
  auto a = StridedShape::get(lhsMemory), b = StridedShape::get(rhsMemory),
       c = StridedShape::get(initMemory);
  if (!a || !b || !c || !getGemmShape(*equation, *a, *b, *c))
    return emitOpError("the strides of its buffers do not fit a matrix "
                       "product; pack the operands first");
  return success();
}

/// Layouts and ranks of attention or its gradient; `tensors` are its query, key,
/// value and the tensor that has the fourth layout.
template <typename OpTy>
static LogicalResult verifyAttention(OpTy op, ArrayRef<Value> tensors) {
  if (op.getLayouts().size() != 4)
    return op.emitOpError("needs 4 layouts, found ") << op.getLayouts().size();
  for (auto [index, layout] : llvm::enumerate(
           op.getLayouts().template getAsValueRange<StringAttr>())) {
    std::string sorted = layout.str();
    llvm::sort(sorted);
    if (sorted != "bdht")
      return op.emitOpError("layout '")
             << layout << "' does not have the letters b, h, t and d";
    if (layout.back() != 'd' && !(index == 1 && layout.back() == 't'))
      return op.emitOpError("layout '") << layout << "' does not end in 'd'";
  }
  for (Value value : tensors)
    if (cast<ShapedType>(value.getType()).getRank() != 4)
      return op.emitOpError("operands have four dimensions, found ")
             << value.getType();
  return success();
}

LogicalResult AttentionOp::verify() {
  return verifyAttention(*this,
                         {getQuery(), getKey(), getValue(), getInit()});
}

LogicalResult AttentionBackwardOp::verify() {
  auto shapeOf = [](Value value) {
    return cast<ShapedType>(value.getType()).getShape();
  };
  for (auto [gradient, value] :
       {std::pair(getQueryGradient(), getQuery()),
        std::pair(getKeyGradient(), getKey()),
        std::pair(getValueGradient(), getValue())})
    if (shapeOf(gradient) != shapeOf(value))
      return emitOpError("has a gradient of type ")
             << gradient.getType() << " for " << value.getType();
  return verifyAttention(*this,
                         {getQuery(), getKey(), getValue(), getGradient()});
}

LogicalResult ScatterAddOp::verify() {
  auto indices = cast<ShapedType>(getIndices().getType());
  auto updates = cast<ShapedType>(getUpdates().getType());
  auto init = cast<ShapedType>(getInit().getType());
  int64_t dim = getDim();
  if (dim < 0 || dim >= init.getRank())
    return emitOpError("has no dimension ") << dim << " in " << init;
  SmallVector<int64_t> wanted(init.getShape().take_front(dim));
  llvm::append_range(wanted, indices.getShape());
  llvm::append_range(wanted, init.getShape().drop_front(dim + 1));
  if (updates.getShape() != ArrayRef<int64_t>(wanted))
    return emitOpError("has updates of type ")
           << updates << ", which is not " << init << " with dimension " << dim
           << " replaced by those of " << indices;
  return success();
}
