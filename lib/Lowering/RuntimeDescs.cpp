//===- RuntimeDescs.cpp - Descriptors that runtime calls take -------------===//
//
// The members are in the order of the structs in pplan_rt/kernels.h and
// pplan_rt/collectives.h.
//
//===----------------------------------------------------------------------===//
#include "RuntimeDescs.h"
#include "pplan/Memory/GemmShape.h"

using namespace mlir;
using namespace pplan;

static Datum array64(ArrayRef<int64_t> values) {
  std::vector<Datum> members;
  for (int64_t value : values)
    members.push_back(Datum::i64(value));
  return Datum::array(members);
}

FailureOr<GemmCall> pplan::getGemmCall(rt::ContractOp op,
                                       FlatSymbolRefAttr name) {
  auto equation = Equation::parse(op.getEquation());
  auto type = cast<MemRefType>(op.getLhs().getType());
  auto lhs = StridedShape::get(type);
  auto rhs = StridedShape::get(cast<MemRefType>(op.getRhs().getType()));
  auto init = StridedShape::get(cast<MemRefType>(op.getInit().getType()));
  std::optional<GemmShape> shape;
  if (equation && lhs && rhs && init)
    shape = getGemmShape(*equation, *lhs, *rhs, *init);
  int32_t dtype = rt::getDType(type.getElementType());
  if (!shape || dtype < 0)
    return op.emitOpError("does not fit a matrix product of the runtime");
  Datum desc = Datum::structure({
      Datum::i64(shape->m), Datum::i64(shape->n), Datum::i64(shape->k),
      Datum::i64(shape->lda), Datum::i64(shape->ldb), Datum::i64(shape->ldc),
      array64(shape->batch), array64(shape->strideA), array64(shape->strideB),
      array64(shape->strideC), Datum::f64(1.0),
      Datum::f64(op.getAccumulate() ? 1.0 : 0.0), Datum::i32(shape->transA),
      Datum::i32(shape->transB), Datum::i32(dtype), Datum::i32(0),
      Datum::pointer(name)});
  GemmCall call{std::move(desc), op.getLhs(), op.getRhs()};
  if (shape->swapped)
    std::swap(call.a, call.b);
  return call;
}

namespace {
/// Sizes and strides of the tensors of attention by the letters of their
/// layouts.
class AttentionDesc {
public:
  /// Fails after a message.
  LogicalResult add(Operation *op, Value operand, StringRef layout) {
    auto shape = StridedShape::get(cast<MemRefType>(operand.getType()));
    if (!shape)
      return op->emitOpError("has the operand ")
             << operand.getType() << ", whose strides are not static";
    tensors.push_back({*shape, layout});
    return success();
  }

  int64_t getSize(int tensor, char letter) const {
    return tensors[tensor].shape.sizes[tensors[tensor].layout.find(letter)];
  }

  Datum getStrides(int tensor) const {
    const auto &[shape, layout] = tensors[tensor];
    SmallVector<int64_t> result;
    for (char letter : {'b', 'h', 't', 'd'})
      result.push_back(shape.strides[layout.find(letter)]);
    return array64(result);
  }

  /// The `pplan_attention_desc` of the first four tensors.
  template <typename OpTy>
  FailureOr<Datum> getForward(OpTy op, FlatSymbolRefAttr name) const {
    SmallVector<int64_t> maskStrides(4, 0);
    if (op.getMask()) {
      auto mask = StridedShape::get(cast<MemRefType>(op.getMask().getType()));
      if (!mask)
        return op.emitOpError("has the mask ")
               << op.getMask().getType() << ", whose strides are not static";
      for (auto [i, stride] : llvm::enumerate(mask->strides))
        maskStrides[i] = mask->sizes[i] == 1 ? 0 : stride;
    }
    int64_t queries = getSize(0, 't'), keys = getSize(1, 't');
    Type element = cast<MemRefType>(op.getQuery().getType()).getElementType();
    int maskKind = !op.getMask() ? 0 : op.getBoolMask() ? 2 : 1;
    return Datum::structure({
        Datum::i64(getSize(0, 'b')), Datum::i64(getSize(0, 'h')),
        Datum::i64(getSize(1, 'h')), Datum::i64(queries), Datum::i64(keys),
        Datum::i64(getSize(0, 'd')), Datum::i64(getSize(2, 'd')),
        getStrides(0), getStrides(1), getStrides(2), getStrides(3),
        array64(maskStrides), Datum::i64(keys), Datum::i64(keys - queries),
        Datum::f64(op.getScale().convertToDouble()),
        Datum::i32(op.getCausal()), Datum::i32(maskKind),
        Datum::i32(rt::getDType(element)), Datum::i32(0),
        Datum::pointer(name)});
  }

private:
  struct Tensor {
    StridedShape shape;
    StringRef layout;
  };
  SmallVector<Tensor> tensors;
};
} // namespace

FailureOr<Datum> pplan::getAttentionDesc(rt::AttentionOp op,
                                         FlatSymbolRefAttr name) {
  AttentionDesc desc;
  Value tensors[] = {op.getQuery(), op.getKey(), op.getValue(), op.getInit()};
  for (auto [tensor, layout] :
       llvm::zip(tensors, op.getLayouts().getAsValueRange<StringAttr>()))
    if (failed(desc.add(op, tensor, layout)))
      return failure();
  return desc.getForward(op, name);
}

FailureOr<Datum>
pplan::getAttentionBackwardDesc(rt::AttentionBackwardOp op,
                                FlatSymbolRefAttr name) {
  AttentionDesc desc;
  SmallVector<StringRef> layouts(
      op.getLayouts().getAsValueRange<StringAttr>());
  Value tensors[] = {op.getQuery(),         op.getKey(),
                     op.getValue(),         op.getGradient(),
                     op.getQueryGradient(), op.getKeyGradient(),
                     op.getValueGradient()};
  for (auto [index, tensor] : llvm::enumerate(tensors))
    if (failed(desc.add(op, tensor, layouts[index % 4])))
      return failure();
  FailureOr<Datum> forward = desc.getForward(op, name);
  if (failed(forward))
    return failure();
  return Datum::structure({*forward, desc.getStrides(4), desc.getStrides(5),
                           desc.getStrides(6)});
}

Datum pplan::getScatterAddDesc(rt::ScatterAddOp op, FlatSymbolRefAttr name) {
  auto indices = cast<MemRefType>(op.getIndices().getType());
  auto init = cast<MemRefType>(op.getInit().getType());
  int64_t outer = 1, inner = 1, dim = op.getDim();
  for (int64_t size : init.getShape().take_front(dim))
    outer *= size;
  for (int64_t size : init.getShape().drop_front(dim + 1))
    inner *= size;
  return Datum::structure(
      {Datum::i64(outer), Datum::i64(indices.getNumElements()),
       Datum::i64(init.getDimSize(dim)), Datum::i64(inner),
       Datum::i32(rt::getDType(init.getElementType())),
       Datum::i32(rt::getDType(indices.getElementType())),
       Datum::pointer(name)});
}

Datum pplan::getAllToAllDesc(rt::AllToAllOp op, ArrayRef<int64_t> from,
                             ArrayRef<int64_t> to) {
  int64_t split = op.getSplitDim(), concat = op.getConcatDim();
  int64_t first = std::min(split, concat), second = std::max(split, concat);
  auto product = [&](int64_t begin, int64_t end) {
    int64_t result = 1;
    for (int64_t i = begin; i < end; ++i)
      result *= from[i];
    return Datum::i64(result);
  };
  return Datum::structure(
      {product(0, first), Datum::i64(from[split]), Datum::i64(to[split]),
       product(first + 1, second), Datum::i64(to[concat]),
       Datum::i64(from[concat]), product(second + 1, from.size()),
       Datum::i32(split < concat), Datum::i32(op.getDtype())});
}
