//===- ContractionTest.cpp - contract and attention, run ------------------===//
#include "Program.h"
#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace pplan::test;
using Index = std::vector<int64_t>;

/// The definition of an Einstein summation.
static Tensor einsum(const std::string &equation, const Tensor &x,
                     const Tensor &y) {
  size_t comma = equation.find(','), arrow = equation.find("->");
  std::string l = equation.substr(0, comma);
  std::string r = equation.substr(comma + 1, arrow - comma - 1);
  std::string o = equation.substr(arrow + 2);
  std::map<char, int64_t> sizes;
  for (size_t i = 0; i < l.size(); ++i)
    sizes[l[i]] = x.shape[i];
  for (size_t i = 0; i < r.size(); ++i)
    sizes[r[i]] = y.shape[i];
  Index all, shape;
  std::string letters;
  for (auto [letter, size] : sizes) {
    letters.push_back(letter);
    all.push_back(size);
  }
  for (char letter : o)
    shape.push_back(sizes[letter]);
  Tensor z{shape, x.dtype, std::vector<double>(Tensor::count(shape), 0)};
  forEachIndex(all, [&](const Index &i) {
    auto pick = [&](const std::string &names) {
      Index index;
      for (char letter : names)
        index.push_back(i[letters.find(letter)]);
      return index;
    };
    z.at(pick(o)) += x.at(pick(l)) * y.at(pick(r));
  });
  return tensor(z.shape, z.values, z.dtype);
}

static void checkContract(const std::string &equation, Index left, Index right,
                          pplan_dtype dtype = PPLAN_F32) {
  bool isInt = dtype == PPLAN_I32 || dtype == PPLAN_I64 || dtype == PPLAN_I8;
  double range = isInt ? 5 : 2;
  Tensor x = random(left, -range, range, dtype);
  Tensor y = random(right, -range, range, dtype, 2);
  Tensor z = einsum(equation, x, y);
  double tolerance = dtype == PPLAN_F16    ? 2e-3
                     : dtype == PPLAN_BF16 ? 1e-2
                     : isInt               ? 0
                                           : 1e-6;
  check({x, y},
        "%y = pplan.contract \"" + equation + "\" %a0, %a1 : " +
            typeText(left, dtype) + ", " + typeText(right, dtype) + " to " +
            typeText(z.shape, dtype),
        z, tolerance);
}

TEST(Contraction, EquationsThatAreOneProduct) {
  checkContract("mk,kn->mn", {4, 8}, {8, 6});
  checkContract("km,kn->mn", {8, 4}, {8, 6});
  checkContract("mk,nk->mn", {4, 8}, {6, 8});
  checkContract("mk,kn->nm", {4, 8}, {8, 6});
  checkContract("btk,kn->btn", {2, 3, 8}, {8, 6});
  checkContract("bhqd,bhkd->bhqk", {2, 3, 4, 5}, {2, 3, 6, 5});
  checkContract("bqhd,bkhd->bhqk", {2, 4, 3, 5}, {2, 6, 3, 5});
  checkContract("bhqk,bkhd->bqhd", {2, 3, 4, 6}, {2, 6, 3, 5});
  checkContract("bthd,hdn->btn", {2, 3, 4, 5}, {4, 5, 7});
  checkContract("btn,nhd->bthd", {2, 3, 7}, {7, 4, 5});
  checkContract("ebk,ekn->ebn", {3, 4, 5}, {3, 5, 6});
}

TEST(Contraction, EquationsThatNeedTransposesOrSums) {
  checkContract("mkb,knb->mnb", {3, 4, 5}, {4, 6, 5});
  checkContract("amb,bna->mn", {2, 3, 4}, {4, 5, 2});
  checkContract("mx,n->mn", {3, 4}, {5});
  checkContract("mkx,kny->mn", {3, 4, 2}, {4, 5, 3});
  checkContract("ambn,b->nam", {2, 3, 4, 5}, {4});
}

TEST(Contraction, VectorsAndScalars) {
  checkContract("k,k->", {7}, {7});
  checkContract("m,n->mn", {3}, {4});
  checkContract("mk,k->m", {3, 4}, {4});
  checkContract("k,kn->n", {4}, {4, 5});
  checkContract(",n->n", {}, {4});
  checkContract("b,b->b", {6}, {6});
  checkContract("ab,ab->ba", {3, 4}, {3, 4});
}

TEST(Contraction, ElementTypes) {
  for (pplan_dtype dtype : {PPLAN_F64, PPLAN_F16, PPLAN_BF16, PPLAN_I32,
                            PPLAN_I64, PPLAN_I8})
    checkContract("mk,kn->mn", {4, 8}, {8, 6}, dtype);
}

TEST(Contraction, EmptyDimensions) {
  checkContract("mk,kn->mn", {4, 0}, {0, 6});
  checkContract("mk,kn->mn", {0, 4}, {4, 6});
}

TEST(Contraction, OperandsThatAreSlices) {
  Tensor x = random({4, 12}), w = random({8, 6}, -2, 2, PPLAN_F32, 2);
  Tensor part{{4, 8}, PPLAN_F32, {}}, strided{{4, 4}, PPLAN_F32, {}};
  forEachIndex({4, 8}, [&](const Index &i) {
    part.values.push_back(x.at({i[0], i[1] + 3}));
  });
  check({x, w},
        "%s = pplan.slice %a0 offsets [0, 3] strides [1, 1] : tensor<4x12xf32> "
        "to tensor<4x8xf32>\n  %y = pplan.contract \"mk,kn->mn\" %s, %a1 : "
        "tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>",
        einsum("mk,kn->mn", part, w));
  // A stride in the row does not fit a matrix product: the operand is packed.
  forEachIndex({4, 4}, [&](const Index &i) {
    strided.values.push_back(x.at({i[0], 1 + 2 * i[1]}));
  });
  Tensor v = random({4, 6}, -2, 2, PPLAN_F32, 3);
  check({x, v},
        "%s = pplan.slice %a0 offsets [0, 1] strides [1, 2] : tensor<4x12xf32> "
        "to tensor<4x4xf32>\n  %y = pplan.contract \"mk,kn->mn\" %s, %a1 : "
        "tensor<4x4xf32>, tensor<4x6xf32> to tensor<4x6xf32>",
        einsum("mk,kn->mn", strided, v));
}

namespace {
struct AttentionCase {
  int64_t b, h, g, t, s, d, e;
  bool causal;
  int mask; ///< 0 none, 1 added, 2 boolean
  const char *layouts[4];
};

/// Index of an element given its coordinates by letter.
Index place(const std::string &layout, int64_t b, int64_t h, int64_t t,
            int64_t d) {
  Index index;
  for (char letter : layout)
    index.push_back(letter == 'b' ? b : letter == 'h' ? h
                    : letter == 't' ? t : d);
  return index;
}

void checkAttention(const AttentionCase &c, pplan_dtype dtype,
                    double tolerance) {
  Tensor q = random(place(c.layouts[0], c.b, c.h, c.t, c.d), -1, 1, dtype, 1);
  Tensor k = random(place(c.layouts[1], c.b, c.g, c.s, c.d), -1, 1, dtype, 2);
  Tensor v = random(place(c.layouts[2], c.b, c.g, c.s, c.e), -1, 1, dtype, 3);
  Tensor mask = random({c.b, 1, c.t, c.s}, -1, 1,
                       c.mask == 2 ? PPLAN_I1 : dtype, 4);
  Tensor o{place(c.layouts[3], c.b, c.h, c.t, c.e), dtype, {}};
  o.values.assign(o.size(), 0);
  double scale = 0.5;
  forEachIndex({c.b, c.h, c.t}, [&](const Index &i) {
    std::vector<double> weights(c.s, -INFINITY);
    double max = -INFINITY, sum = 0;
    int64_t head = i[1] / (c.h / c.g);
    for (int64_t j = 0; j < c.s; ++j) {
      if (c.causal && j > i[2] + c.s - c.t)
        continue;
      double m = c.mask ? mask.at({i[0], 0, i[2], j}) : 0;
      if (c.mask == 2 && m == 0)
        continue;
      double score = 0;
      for (int64_t d = 0; d < c.d; ++d)
        score += q.at(place(c.layouts[0], i[0], i[1], i[2], d)) *
                 k.at(place(c.layouts[1], i[0], head, j, d));
      weights[j] = score * scale + (c.mask == 1 ? m : 0);
      max = std::max(max, weights[j]);
    }
    for (double &weight : weights)
      sum += weight = std::isinf(weight) ? 0 : std::exp(weight - max);
    for (int64_t e = 0; e < c.e; ++e) {
      double value = 0;
      for (int64_t j = 0; j < c.s; ++j)
        value += weights[j] * v.at(place(c.layouts[2], i[0], head, j, e));
      o.at(place(c.layouts[3], i[0], i[1], i[2], e)) = sum ? value / sum : 0;
    }
  });
  std::string layouts;
  for (const char *layout : c.layouts)
    layouts += std::string(layouts.empty() ? "" : ", ") + '"' + layout + '"';
  std::vector<Tensor> inputs{q, k, v};
  if (c.mask)
    inputs.push_back(mask);
  std::string types;
  for (const Tensor &input : inputs)
    types += (types.empty() ? "" : ", ") + typeText(input.shape, input.dtype);
  check(inputs,
        "%y = pplan.attention %a0, %a1, %a2" +
            std::string(c.mask ? " mask %a3" : "") + " scale 0.5" +
            (c.causal ? " causal" : "") + " layouts [" + layouts + "] : " +
            types + " to " + typeText(o.shape, dtype),
        o, tolerance);
}
} // namespace

TEST(Attention, LayoutsMasksAndGroups) {
  const AttentionCase cases[] = {
      {2, 3, 3, 4, 5, 8, 8, false, 0, {"bhtd", "bhtd", "bhtd", "bhtd"}},
      {2, 4, 2, 5, 5, 8, 6, true, 0, {"bthd", "bthd", "bthd", "bthd"}},
      {1, 2, 1, 3, 7, 4, 4, true, 0, {"bhtd", "bhdt", "bhtd", "bthd"}},
      {2, 2, 2, 4, 4, 8, 8, false, 1, {"bthd", "bthd", "bthd", "bthd"}},
      {2, 2, 2, 4, 4, 8, 8, false, 2, {"bthd", "bthd", "bthd", "bthd"}},
      {1, 2, 2, 4, 6, 8, 8, false, 0, {"bhdt", "bhdt", "bhdt", "bhdt"}},
  };
  for (const AttentionCase &c : cases) {
    checkAttention(c, PPLAN_F32, 1e-5);
    checkAttention(c, PPLAN_F64, 1e-12);
    checkAttention(c, PPLAN_F16, 3e-3);
  }
}
