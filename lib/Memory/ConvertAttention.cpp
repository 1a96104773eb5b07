//===- ConvertAttention.cpp - attention and its gradient ------------------===//
//
// Turns attention and its gradient into calls of the runtime's, which want
// features innermost, in the element types that it computes in.
//
//===----------------------------------------------------------------------===//
#include "Convert.h"
#include "Labelled.h"
#include "pplan/Memory/RT.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::memory;

static int64_t roundUp(int64_t x, int64_t multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

/// The bounds of pplan_rt_attention_workspace and
/// pplan_rt_attention_backward_workspace in their interface, in elements.
static int64_t getWorkspaceSize(AttentionOp, int64_t keys, int64_t valueDim) {
  return 64 * std::min<int64_t>(roundUp(keys, 16), 512) +
         64 * roundUp(valueDim, 16) + 256;
}
static int64_t getWorkspaceSize(AttentionBackwardOp, int64_t keys, int64_t) {
  return 128 * roundUp(keys, 16) + 256;
}

/// True for a layout that the runtime takes: features innermost, or, of keys,
/// positions.
static bool isInnermost(StringRef layout, bool isKey) {
  return layout.back() == 'd' || (isKey && layout.back() == 't');
}

static std::string moveFeaturesLast(StringRef layout) {
  return filterLetters(layout, [](char c) { return c != 'd'; }) + "d";
}

/// `value` with elements of type `compute`.
static Value loadAll(Emitter &e, Value value, Type compute) {
  auto type = cast<RankedTensorType>(value.getType());
  Type element = type.getElementType();
  if (element == compute)
    return value;
  return e.map(type.clone(compute), value,
               [&](Emitter &inner, ValueRange args) {
                 return inner.load(args[0], element);
               });
}

namespace {
/// The operands that attention and its gradient share, as the runtime wants
/// them.
struct Inputs {
  SmallVector<Labelled, 4> tensors; ///< query, key, value (and gradient)
  Value mask;
  bool isBoolMask = false;
  Type compute;

  template <typename OpTy>
  Inputs(Emitter &e, OpTy op, ValueRange operands)
      : compute(getComputeType(
            getTensorType(op.getQuery()).getElementType())) {
    SmallVector<StringRef> layouts(
        op.getLayouts().template getAsValueRange<StringAttr>());
    add(e, operands[0], layouts[0]);
    add(e, operands[1], layouts[1]);
    add(e, operands[2], layouts[2]);
    if (op.getMask())
      addMask(e, operands[3], getTensorType(op.getMask()).getElementType());
    if (isa<AttentionBackwardOp>(op))
      add(e, operands.back(), layouts[3]);
  }

  /// An unwritten tensor like one of them, in the layout that it is taken in.
  Value makeEmpty(Emitter &e, unsigned index) {
    return e.empty(cast<RankedTensorType>(tensors[index].value.getType()));
  }

private:
  void add(Emitter &e, Value value, StringRef layout) {
    Labelled operand{loadAll(e, value, compute), layout.str()};
    if (!isInnermost(layout, /*isKey=*/tensors.size() == 1))
      permuteTo(e, operand, moveFeaturesLast(layout));
    tensors.push_back(operand);
  }

  void addMask(Emitter &e, Value value, Type element) {
    mask = value;
    isBoolMask = element.isInteger(1);
    auto type = cast<RankedTensorType>(value.getType());
    Type stored = type.getElementType();
    if (!isBoolMask && stored != compute)
      mask = e.map(type.clone(compute), value,
                   [&](Emitter &inner, ValueRange args) {
                     return emitConvert(inner, inner.load(args[0], stored),
                                        stored, compute);
                   });
  }
};
} // namespace

/// Brings a result of the runtime to the layout and type of the operation's.
static Value takeResult(Emitter &e, Value value, StringRef have,
                        StringRef layout, Type type) {
  Labelled result{value, have.str()};
  permuteTo(e, result, layout);
  RankedTensorType wanted = getStorageTensor(type);
  if (result.getType() == wanted)
    return result.value;
  return e.map(wanted, result.value, [&](Emitter &inner, ValueRange args) {
    return inner.store(args[0], wanted.getElementType());
  });
}

template <typename OpTy>
static Value makeWorkspace(Emitter &e, OpTy op, const Inputs &inputs) {
  int64_t bytes = getWorkspaceSize(op, inputs.tensors[1].getSize('t'),
                                   inputs.tensors[2].getSize('d')) *
                  rt::getElementBytes(inputs.compute);
  return e.empty(RankedTensorType::get({roundUp(bytes, 64)}, e.b.getI8Type()));
}

static SmallVector<Value> convertForward(Emitter &e, AttentionOp op,
                                         ValueRange operands) {
  RankedTensorType type = getStorageTensor(op.getType());
  if (type.getNumElements() == 0)
    return {e.empty(type)};
  if (op.getDimSize(1, 't') == 0)
    return {e.fill(type, e.constant(type.getElementType(), 0.0))};
  Inputs inputs(e, op, operands);
  auto layout = cast<StringAttr>(op.getLayouts()[3]).getValue();
  std::string used = moveFeaturesLast(layout);
  if (isInnermost(layout, /*isKey=*/false))
    used = layout.str();
  SmallVector<int64_t> shape;
  for (char letter : used)
    shape.push_back(type.getDimSize(layout.find(letter)));
  auto outType = RankedTensorType::get(shape, inputs.compute);
  Value workspace = makeWorkspace(e, op, inputs);
  ArrayRef<Labelled> in = inputs.tensors;
  SmallVector<StringRef> layouts{in[0].letters, in[1].letters, in[2].letters,
                                 used};
  auto call = e.create<rt::AttentionOp>(
      TypeRange{outType, workspace.getType()}, in[0].value, in[1].value,
      in[2].value, inputs.mask, e.empty(outType), workspace, op.getScaleAttr(),
      op.getCausalAttr(), inputs.isBoolMask ? e.b.getUnitAttr() : UnitAttr(),
      e.b.getStrArrayAttr(layouts));
  return {takeResult(e, call.getResult(0), used, layout, op.getType())};
}

static FailureOr<SmallVector<Value>>
convertBackward(Emitter &e, AttentionBackwardOp op, ValueRange operands) {
  SmallVector<Value> results;
  if (getTensorType(op.getQuery()).getNumElements() == 0 ||
      getTensorType(op.getKey()).getNumElements() == 0 ||
      getTensorType(op.getValue()).getNumElements() == 0) {
    if (getTensorType(op.getGradient()).getNumElements() != 0 &&
        getTensorType(op.getValue()).getNumElements() != 0)
      return op.emitOpError("has keys without features; its gradient cannot be "
                            "compiled");
    for (Type type : op.getResultTypes()) {
      RankedTensorType stored = getStorageTensor(type);
      results.push_back(
          stored.getNumElements() == 0
              ? e.empty(stored)
              : e.fill(stored, e.constant(stored.getElementType(), 0.0)));
    }
    return results;
  }
  Inputs inputs(e, op, operands);
  ArrayRef<Labelled> in = inputs.tensors;
  SmallVector<StringRef> layouts;
  for (const Labelled &tensor : in)
    layouts.push_back(tensor.letters);
  Value outs[] = {inputs.makeEmpty(e, 0), inputs.makeEmpty(e, 1),
                  inputs.makeEmpty(e, 2), makeWorkspace(e, op, inputs)};
  auto call = e.create<rt::AttentionBackwardOp>(
      TypeRange(ValueRange(outs)), in[0].value, in[1].value, in[2].value,
      inputs.mask, in[3].value, outs[0], outs[1], outs[2], outs[3],
      op.getScaleAttr(), op.getCausalAttr(),
      inputs.isBoolMask ? e.b.getUnitAttr() : UnitAttr(),
      e.b.getStrArrayAttr(layouts));
  for (unsigned i = 0; i < 3; ++i)
    results.push_back(
        takeResult(e, call.getResult(i), layouts[i],
                   cast<StringAttr>(op.getLayouts()[i]).getValue(),
                   op.getResult(i).getType()));
  return results;
}

FailureOr<SmallVector<Value>>
memory::convertAttention(Emitter &e, Operation *op, ValueRange operands) {
  if (auto attention = dyn_cast<AttentionOp>(op))
    return convertForward(e, attention, operands);
  if (auto backward = dyn_cast<AttentionBackwardOp>(op))
    return convertBackward(e, backward, operands);
  return SmallVector<Value>();
}
