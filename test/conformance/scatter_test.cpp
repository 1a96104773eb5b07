//===- scatter_test.cpp - pplan_rt_scatter_add against its formula --------===//
//
// Random sizes, types and indices, some of them outside the result.
//
//===----------------------------------------------------------------------===//
#include "support.h"

#include <rapidcheck.h>

using namespace conformance;

namespace {

template <typename T, typename Index>
void check(const pplan_scatter_add_desc &D, const std::vector<int64_t> &Where) {
  std::vector<Index> Indices(Where.begin(), Where.end());
  std::vector<T> Src(D.outer * D.count * D.inner + 1);
  for (size_t I = 0; I < Src.size(); ++I)
    Src[I] = static_cast<T>(I % 13);
  std::vector<T> Dst(D.outer * D.size * D.inner + 1, T(7));
  std::vector<T> Expected(Dst.size(), T(0));
  Expected.back() = T(7); // one beyond the end stays
  for (int64_t O = 0; O < D.outer; ++O)
    for (int64_t J = 0; J < D.count; ++J)
      for (int64_t C = 0; C < D.inner; ++C)
        if (Where[J] >= 0 && Where[J] < D.size)
          Expected[(O * D.size + Where[J]) * D.inner + C] +=
              Src[(O * D.count + J) * D.inner + C];
  Indices.push_back(0);
  Status S = launch({}, [&](pplan_context *Ctx) {
    return pplan_rt_scatter_add(pplan_rt_default_stream(Ctx), &D,
                                Indices.data(), Src.data(), Dst.data());
  });
  RC_ASSERT(!S);
  RC_ASSERT(Dst == Expected);
}

} // namespace

TEST(ScatterAdd, RandomDescriptors) {
  bool Good = rc::check("sums are of the rows that are named", [] {
    auto in = [](int64_t Least, int64_t Most) {
      return *rc::gen::inRange<int64_t>(Least, Most + 1);
    };
    pplan_scatter_add_desc D = {};
    D.outer = in(0, 3), D.count = in(0, 20), D.size = in(0, 9),
    D.inner = in(0, 17);
    std::vector<int64_t> Where;
    for (int64_t J = 0; J < D.count; ++J)
      Where.push_back(in(-2, D.size + 1));
    D.dtype = *rc::gen::element<int32_t>(PPLAN_F32, PPLAN_F64, PPLAN_I32,
                                         PPLAN_I64);
    D.index_dtype = *rc::gen::element<int32_t>(PPLAN_I32, PPLAN_I64);
    bool Narrow = D.index_dtype == PPLAN_I32;
    switch (D.dtype) {
    case PPLAN_F32:
      return Narrow ? check<float, int32_t>(D, Where)
                    : check<float, int64_t>(D, Where);
    case PPLAN_F64:
      return Narrow ? check<double, int32_t>(D, Where)
                    : check<double, int64_t>(D, Where);
    case PPLAN_I32:
      return Narrow ? check<int32_t, int32_t>(D, Where)
                    : check<int32_t, int64_t>(D, Where);
    default:
      return Narrow ? check<int64_t, int32_t>(D, Where)
                    : check<int64_t, int64_t>(D, Where);
    }
  });
  EXPECT_TRUE(Good);
}

TEST(ScatterAdd, RefusesBadDescriptors) {
  Status S = launch({}, [](pplan_context *Ctx) -> pplan_status * {
    float X[16] = {};
    int64_t Indices[4] = {};
    auto refused = [&](pplan_scatter_add_desc D, const void *Where) {
      Status Error(pplan_rt_scatter_add(pplan_rt_default_stream(Ctx), &D, Where,
                                        X, X + 8));
      EXPECT_EQ(pplan_rt_status_code(Error.get()), PPLAN_INVALID_ARGUMENT);
    };
    refused({1, -4, 4, 1, PPLAN_F32, PPLAN_I64, nullptr}, Indices);
    refused({1, 4, 4, 1, PPLAN_F16, PPLAN_I64, nullptr}, Indices);
    refused({1, 4, 4, 1, PPLAN_F32, PPLAN_F32, nullptr}, Indices);
    refused({1, 4, 4, 1, PPLAN_F32, PPLAN_I64, nullptr}, nullptr);
    return nullptr;
  });
  EXPECT_FALSE(S) << text(S);
}
