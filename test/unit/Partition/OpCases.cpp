//===- OpCases.cpp - One small instance of each operation -----------------===//
//
// See OpCases.h.
//
//===----------------------------------------------------------------------===//
#include "OpCases.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::test;

using Take = llvm::function_ref<Value(ArrayRef<int64_t>, Type)>;
using Size = llvm::function_ref<int64_t()>;

template <typename OpTy> static OpCase makeUnary(const char *name) {
  return {name, [](ModuleBuilder &m, Take take, Size size) -> Value {
            int64_t a = size(), b = size();
            Value x = take({a, b}, m.builder.getF32Type());
            return OpTy::create(m.builder, m.loc, x.getType(), x);
          }};
}

template <typename OpTy>
static OpCase makeBinary(const char *name, bool isInteger = false) {
  return {name, [=](ModuleBuilder &m, Take take, Size size) -> Value {
            int64_t a = size(), b = size();
            Type element = isInteger ? Type(m.builder.getI32Type())
                                     : Type(m.builder.getF32Type());
            Value x = take({a, b}, element), y = take({a, b}, element);
            return OpTy::create(m.builder, m.loc, x.getType(), x, y);
          }};
}

static OpCase makeContract(const char *equation) {
  return {equation, [=](ModuleBuilder &m, Take take, Size size) -> Value {
            StringRef text(equation);
            std::map<char, int64_t> sizes;
            auto make = [&](StringRef letters) {
              SmallVector<int64_t> shape;
              for (char letter : letters) {
                if (!sizes.count(letter))
                  sizes[letter] = size();
                shape.push_back(sizes[letter]);
              }
              return take(shape, m.builder.getF32Type());
            };
            Value lhs = make(text.split(',').first);
            Value rhs = make(text.split(',').second.split("->").first);
            return ContractOp::create(m.builder, m.loc, text, lhs, rhs);
          }};
}

static OpCase makeReduce(const char *name, ReductionKind kind, bool isInteger,
                         std::vector<int64_t> dims) {
  return {name, [=](ModuleBuilder &m, Take take, Size size) -> Value {
            int64_t a = size(), b = size(), c = size();
            Type element = isInteger ? Type(m.builder.getI32Type())
                                     : Type(m.builder.getF32Type());
            Value x = take({a, b, c}, element);
            return ReduceOp::create(m.builder, m.loc, kind, x, dims);
          }};
}

/// Reshape between two shapes given by factors that are multiplied.
static OpCase makeReshape(const char *name, std::vector<std::vector<int>> from,
                          std::vector<std::vector<int>> to) {
  return {name, [=](ModuleBuilder &m, Take take, Size size) -> Value {
            int64_t factors[] = {size(), size(), size()};
            auto getShape = [&](const std::vector<std::vector<int>> &dims) {
              SmallVector<int64_t> shape;
              for (const std::vector<int> &dim : dims) {
                shape.push_back(1);
                for (int factor : dim)
                  shape.back() *= factors[factor];
              }
              return shape;
            };
            Value x = take(getShape(from), m.builder.getF32Type());
            return ReshapeOp::create(
                m.builder, m.loc, withShape(getTensorType(x), getShape(to)), x);
          }};
}

/// Attention, or its gradient.
static OpCase makeAttention(const char *name, bool causal, bool hasMask,
                            std::vector<StringRef> layouts,
                            bool isBackward = false) {
  return {name, [=](ModuleBuilder &m, Take take, Size size) -> Value {
            int64_t b = size() % 3 + 1, g = size() % 4 + 1, r = size() % 3 + 1,
                    t = size() % 4 + 1, s = t + size() % 2, d = 2, e = 3;
            auto getShape = [&](StringRef layout, int64_t heads,
                                int64_t sequence, int64_t width) {
              SmallVector<int64_t> shape;
              for (char letter : layout)
                shape.push_back(letter == 'b'   ? b
                                : letter == 'h' ? heads
                                : letter == 't' ? sequence
                                                : width);
              return shape;
            };
            Type element = m.builder.getF32Type();
            Value q = take(getShape(layouts[0], g * r, t, d), element);
            Value k = take(getShape(layouts[1], g, s, d), element);
            Value v = take(getShape(layouts[2], g, s, e), element);
            Value mask;
            if (hasMask)
              mask = take({b, 1, t, s}, element);
            auto type = RankedTensorType::get(getShape(layouts[3], g * r, t, e),
                                              element);
            FloatAttr scale = m.builder.getF64FloatAttr(0.5);
            UnitAttr isCausal = causal ? m.builder.getUnitAttr() : UnitAttr();
            ArrayAttr names = m.builder.getStrArrayAttr(layouts);
            if (isBackward)
              return AttentionBackwardOp::create(
                         m.builder, m.loc,
                         TypeRange{q.getType(), k.getType(), v.getType()}, q, k,
                         v, mask, take(type.getShape(), element), scale,
                         isCausal, names)
                  .getResult(0);
            return AttentionOp::create(m.builder, m.loc, type, q, k, v, mask,
                                       scale, isCausal, names);
          }};
}

static Value buildGather(ModuleBuilder &m, Take take, Size size, int64_t dim) {
  SmallVector<int64_t> shape = {size(), size()};
  shape[dim] += 1;
  SmallVector<int64_t> ids = {size(), size() % 3 + 1};
  Value table = take(shape, m.builder.getF32Type());
  Value indices = take(ids, m.builder.getI32Type());
  return GatherOp::create(m.builder, m.loc, table, indices, dim);
}

static void addStructural(std::vector<OpCase> &cases) {
  cases.push_back(
      {"constant splat", [](ModuleBuilder &m, Take, Size size) -> Value {
         auto type =
             RankedTensorType::get({size(), size()}, m.builder.getF32Type());
         return ConstantOp::create(m.builder, m.loc, type,
                                   DenseElementsAttr::get(type, 2.5f));
       }});
  cases.push_back({"constant", [](ModuleBuilder &m, Take, Size size) -> Value {
                     auto type = RankedTensorType::get({size(), size()},
                                                       m.builder.getI32Type());
                     std::vector<int32_t> values;
                     for (int64_t i = 0; i < type.getNumElements(); ++i)
                       values.push_back(i);
                     return ConstantOp::create(
                         m.builder, m.loc, type,
                         DenseElementsAttr::get(type, ArrayRef(values)));
                   }});
  for (int64_t dim : {0, 1})
    cases.push_back({"iota", [=](ModuleBuilder &m, Take, Size size) -> Value {
                       auto type = RankedTensorType::get(
                           {size(), size()}, m.builder.getI32Type());
                       return IotaOp::create(m.builder, m.loc, type, dim);
                     }});
  cases.push_back(
      {"broadcast", [](ModuleBuilder &m, Take take, Size size) -> Value {
         int64_t a = size(), b = size(), c = size();
         Value x = take({b, 1}, m.builder.getF32Type());
         return BroadcastOp::create(m.builder, m.loc,
                                    withShape(getTensorType(x), {a, b, c}), x,
                                    ArrayRef<int64_t>{1, 2});
       }});
  cases.push_back(makeReshape("merge", {{0}, {1}, {2}}, {{0, 1}, {2}}));
  cases.push_back(makeReshape("split", {{0, 1}, {2}}, {{0}, {1}, {2}}));
  cases.push_back(makeReshape("regroup", {{0, 1}, {2}}, {{0}, {1, 2}}));
  cases.push_back(makeReshape("exchange", {{0}, {1}}, {{1}, {0}}));
  cases.push_back(makeReshape("flatten", {{0}, {1}, {2}}, {{0, 1, 2}}));
  cases.push_back(
      {"transpose", [](ModuleBuilder &m, Take take, Size size) -> Value {
         Value x = take({size(), size(), size()}, m.builder.getF32Type());
         return TransposeOp::create(m.builder, m.loc, x,
                                    ArrayRef<int64_t>{2, 0, 1});
       }});
  cases.push_back(
      {"slice", [](ModuleBuilder &m, Take take, Size size) -> Value {
         int64_t a = size(), b = size() + 2;
         Value x = take({a, b}, m.builder.getF32Type());
         return SliceOp::create(
             m.builder, m.loc,
             withShape(getTensorType(x), {a, (b - 1 + 1) / 2}), x,
             ArrayRef<int64_t>{0, 1}, ArrayRef<int64_t>{1, 2});
       }});
  cases.push_back(
      {"concat", [](ModuleBuilder &m, Take take, Size size) -> Value {
         int64_t a = size(), b = size(), c = size();
         Value x = take({a, b}, m.builder.getF32Type());
         Value y = take({a, c}, m.builder.getF32Type());
         return ConcatOp::create(m.builder, m.loc, ValueRange{x, y}, 1);
       }});
  cases.push_back({"pad", [](ModuleBuilder &m, Take take, Size size) -> Value {
                     int64_t a = size(), b = size();
                     Value x = take({a, b}, m.builder.getF32Type());
                     return PadOp::create(
                         m.builder, m.loc,
                         withShape(getTensorType(x), {a, b + 3}), x,
                         ArrayRef<int64_t>{0, 1}, ArrayRef<int64_t>{0, 2},
                         m.builder.getF32FloatAttr(7));
                   }});
  for (int64_t dim : {0, 1})
    cases.push_back({"gather", [=](ModuleBuilder &m, Take take, Size size) {
                       return buildGather(m, take, size, dim);
                     }});
  cases.push_back(
      {"gather_elements", [](ModuleBuilder &m, Take take, Size size) -> Value {
         int64_t a = size(), b = size(), c = size();
         Value x = take({a, b}, m.builder.getF32Type());
         Value ids = take({a, c}, m.builder.getI32Type());
         return GatherElementsOp::create(
             m.builder, m.loc, withShape(getTensorType(x), {a, c}), x, ids, 1);
       }});
}

static void addRows(std::vector<OpCase> &cases) {
  cases.push_back(
      {"arg_reduce", [](ModuleBuilder &m, Take take, Size size) -> Value {
         int64_t a = size(), b = size();
         Value x = take({a, b}, m.builder.getF32Type());
         return ArgReduceOp::create(
             m.builder, m.loc,
             RankedTensorType::get({a}, m.builder.getI64Type()),
             ReductionKind::Max, x, 1);
       }});
  cases.push_back(
      {"cumsum", [](ModuleBuilder &m, Take take, Size size) -> Value {
         Value x = take({size(), size()}, m.builder.getF32Type());
         return CumSumOp::create(m.builder, m.loc, x.getType(), x,
                                 m.builder.getI64IntegerAttr(0),
                                 m.builder.getUnitAttr(), UnitAttr());
       }});
  for (bool log : {false, true})
    cases.push_back(
        {"softmax", [=](ModuleBuilder &m, Take take, Size size) -> Value {
           Value x = take({size(), size()}, m.builder.getF32Type());
           return SoftmaxOp::create(m.builder, m.loc, x.getType(), x,
                                    m.builder.getI64IntegerAttr(1),
                                    log ? m.builder.getUnitAttr() : UnitAttr());
         }});
  cases.push_back(
      {"layer_norm", [](ModuleBuilder &m, Take take, Size size) -> Value {
         int64_t a = size(), b = size();
         Type element = m.builder.getF32Type();
         Value x = take({a, b}, element), scale = take({b}, element),
               bias = take({b}, element);
         return LayerNormOp::create(m.builder, m.loc, x.getType(), x, scale,
                                    bias, m.builder.getI64IntegerAttr(1),
                                    m.builder.getF64FloatAttr(1e-2));
       }});
  cases.push_back(
      {"rms_norm", [](ModuleBuilder &m, Take take, Size size) -> Value {
         int64_t a = size(), b = size();
         Type element = m.builder.getF32Type();
         Value x = take({a, b}, element), scale = take({b}, element);
         return RMSNormOp::create(m.builder, m.loc, x.getType(), x, scale,
                                  m.builder.getI64IntegerAttr(1),
                                  m.builder.getF64FloatAttr(1e-2));
       }});
  cases.push_back(makeAttention("attention", false, false,
                                {"bthd", "bthd", "bthd", "bthd"}));
  cases.push_back(makeAttention("attention causal", true, false,
                                {"bhtd", "bthd", "bhtd", "bthd"}));
  cases.push_back(makeAttention("attention mask", false, true,
                                {"bthd", "bhtd", "bhtd", "bhtd"}));
}

static void addTraining(std::vector<OpCase> &cases) {
  cases.push_back(makeAttention("attention_backward", false, false,
                                {"bthd", "bthd", "bthd", "bthd"}, true));
  cases.push_back(makeAttention("attention_backward causal", true, false,
                                {"bhtd", "bthd", "bhtd", "bthd"}, true));
  cases.push_back(makeAttention("attention_backward mask", false, true,
                                {"bthd", "bhtd", "bhtd", "bhtd"}, true));
  cases.push_back(makeUnary<AccumulateOp>("accumulate"));
  cases.push_back(
      {"cross_entropy", [](ModuleBuilder &m, Take take, Size size) -> Value {
         int64_t a = size(), b = size(), c = size() + 8;
         Value logits = take({a, b, c}, m.builder.getF32Type());
         Value targets = take({a, b}, m.builder.getI64Type());
         auto type = RankedTensorType::get({a, b}, m.builder.getF32Type());
         return CrossEntropyOp::create(m.builder, m.loc, type, logits, targets);
       }});
  for (int64_t dim : {0, 1})
    cases.push_back(
        {"scatter_add", [=](ModuleBuilder &m, Take take, Size size) -> Value {
           int64_t a = size(), b = size(), c = size();
           Value indices = take({a, b}, m.builder.getI32Type());
           SmallVector<int64_t> shape = {a, b};
           shape.insert(dim ? shape.begin() : shape.end(), c);
           Value updates = take(shape, m.builder.getF32Type());
           return ScatterAddOp::create(m.builder, m.loc, indices, updates, dim,
                                       size());
         }});
}

static void addElementwise(std::vector<OpCase> &cases) {
  cases.push_back(makeUnary<AbsOp>("abs"));
  cases.push_back(makeUnary<SignOp>("sign"));
  cases.push_back(makeUnary<NegOp>("neg"));
  cases.push_back(makeUnary<ExpOp>("exp"));
  cases.push_back(makeUnary<LogOp>("log"));
  cases.push_back(makeUnary<SqrtOp>("sqrt"));
  cases.push_back(makeUnary<RsqrtOp>("rsqrt"));
  cases.push_back(makeUnary<SinOp>("sin"));
  cases.push_back(makeUnary<CosOp>("cos"));
  cases.push_back(makeUnary<TanhOp>("tanh"));
  cases.push_back(makeUnary<ErfOp>("erf"));
  cases.push_back(makeUnary<SigmoidOp>("sigmoid"));
  cases.push_back(makeUnary<SiluOp>("silu"));
  cases.push_back(makeUnary<ReluOp>("relu"));
  cases.push_back(makeUnary<FloorOp>("floor"));
  cases.push_back(makeUnary<CeilOp>("ceil"));
  cases.push_back(makeUnary<RoundOp>("round"));
  cases.push_back({"gelu", [](ModuleBuilder &m, Take take, Size size) -> Value {
                     Value x = take({size(), size()}, m.builder.getF32Type());
                     return GeluOp::create(m.builder, m.loc, x.getType(), x,
                                           GeluKind::Tanh);
                   }});
  cases.push_back(
      {"convert", [](ModuleBuilder &m, Take take, Size size) -> Value {
         Value x = take({size(), size()}, m.builder.getF32Type());
         auto type = RankedTensorType::get(getTensorType(x).getShape(),
                                           m.builder.getI32Type());
         return ConvertOp::create(m.builder, m.loc, type, x);
       }});
  cases.push_back(makeBinary<AddOp>("add"));
  cases.push_back(makeBinary<SubOp>("sub"));
  cases.push_back(makeBinary<MulOp>("mul"));
  cases.push_back(makeBinary<DivOp>("div"));
  cases.push_back(makeBinary<DivOp>("integer div", true));
  cases.push_back(makeBinary<RemOp>("rem"));
  cases.push_back(makeBinary<PowOp>("pow"));
  cases.push_back(makeBinary<MaxOp>("max"));
  cases.push_back(makeBinary<MinOp>("min", true));
  cases.push_back(makeBinary<AndOp>("and", true));
  cases.push_back(makeBinary<OrOp>("or", true));
  cases.push_back(makeBinary<XorOp>("xor", true));
  cases.push_back({"not", [](ModuleBuilder &m, Take take, Size size) -> Value {
                     Value x = take({size(), size()}, m.builder.getI1Type());
                     return NotOp::create(m.builder, m.loc, x.getType(), x);
                   }});
  cases.push_back(
      {"compare", [](ModuleBuilder &m, Take take, Size size) -> Value {
         int64_t a = size(), b = size();
         Value x = take({a, b}, m.builder.getF32Type());
         Value y = take({a, b}, m.builder.getF32Type());
         return CompareOp::create(m.builder, m.loc, Predicate::LT, x, y);
       }});
  cases.push_back(
      {"select", [](ModuleBuilder &m, Take take, Size size) -> Value {
         int64_t a = size(), b = size();
         Value c = take({a, b}, m.builder.getI1Type());
         Value x = take({a, b}, m.builder.getF32Type());
         Value y = take({a, b}, m.builder.getF32Type());
         return SelectOp::create(m.builder, m.loc, x.getType(), c, x, y);
       }});
}

const std::vector<OpCase> &pplan::test::getOpCases() {
  static const std::vector<OpCase> *all = [] {
    auto *cases = new std::vector<OpCase>();
    addElementwise(*cases);
    addStructural(*cases);
    addRows(*cases);
    addTraining(*cases);
    for (const char *equation : {"mk,kn->mn", "bmk,bkn->bmn", "bthd,hde->bte",
                                 "k,k->", "abk,ck->cab", "ak,bm->ab"})
      cases->push_back(makeContract(equation));
    cases->push_back(makeReduce("sum", ReductionKind::Sum, false, {1}));
    cases->push_back(
        makeReduce("sum of two", ReductionKind::Sum, true, {0, 2}));
    cases->push_back(makeReduce("prod", ReductionKind::Prod, false, {2}));
    cases->push_back(makeReduce("max", ReductionKind::Max, false, {0}));
    cases->push_back(makeReduce("max i32", ReductionKind::Max, true, {1, 2}));
    cases->push_back(makeReduce("min", ReductionKind::Min, false, {0, 1, 2}));
    return cases;
  }();
  return *all;
}
