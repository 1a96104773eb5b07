//===- attention_test.cpp - pplan_rt_attention against its formula --------===//
//
// Random descriptors (heads, lengths, strides, masks) against a naive softmax in
// double precision, with guarded workspace.
//
//===----------------------------------------------------------------------===//
#include "attention_cases.h"

#include <limits>
#include <rapidcheck.h>

using namespace conformance;

namespace {

/// The largest error against the formula.
template <typename T>
double compare(const pplan_attention_desc &D, const Tensors<T> &X) {
  double Worst = 0;
  for (int64_t B = 0; B < D.batch; ++B)
    for (int64_t H = 0; H < D.q_heads; ++H)
      for (int64_t I = 0; I < D.q_len; ++I) {
        int64_t Kv = H / (D.q_heads / D.kv_heads);
        int64_t MaskAt = B * D.mask_stride[0] + H * D.mask_stride[1];
        std::vector<double> Score(D.k_len, -INFINITY);
        double Max = -INFINITY, Sum = 0;
        for (int64_t J = 0; J < D.k_len; ++J) {
          if (!seen(D, X, MaskAt, I, J))
            continue;
          double Dot = 0;
          for (int64_t F = 0; F < D.head_dim; ++F)
            Dot += static_cast<double>(
                       X.Q[B * D.q_stride[0] + H * D.q_stride[1] +
                           I * D.q_stride[2] + F]) *
                   X.K[B * D.k_stride[0] + Kv * D.k_stride[1] +
                       J * D.k_stride[2] + F * D.k_stride[3]];
          Score[J] = D.scale * Dot;
          if (D.mask_kind == PPLAN_MASK_ADD)
            Score[J] +=
                X.Add[MaskAt + I * D.mask_stride[2] + J * D.mask_stride[3]];
          Max = std::max(Max, Score[J]);
        }
        for (double &S : Score) {
          S = Max == -INFINITY ? 0 : std::exp(S - Max);
          Sum += S;
        }
        for (int64_t F = 0; F < D.v_dim; ++F) {
          double Result = 0;
          for (int64_t J = 0; J < D.k_len && Sum > 0; ++J)
            if (Score[J] > 0)
              Result += Score[J] / Sum *
                        X.V[B * D.v_stride[0] + Kv * D.v_stride[1] +
                            J * D.v_stride[2] + F];
          double Error =
              std::fabs(Result - X.O[B * D.o_stride[0] + H * D.o_stride[1] +
                                     I * D.o_stride[2] + F]);
          Worst = Error <= Worst ? Worst : Error; // keeps a NaN
        }
      }
  return Worst;
}

template <typename T> double floatError(const Case &Test, unsigned Seed) {
  const pplan_attention_desc &D = Test.D;
  std::mt19937 Random(Seed);
  std::uniform_real_distribution<double> Uniform(-2, 2);
  Tensors<T> X;
  auto fill = [&](std::vector<T> &V, int64_t Size) {
    V.resize(Size + 1);
    for (T &Value : V)
      Value = static_cast<T>(Uniform(Random));
  };
  fill(X.Q, Test.QSize);
  fill(X.K, Test.KSize);
  fill(X.V, Test.VSize);
  X.O.assign(Test.OSize + 1, static_cast<T>(NAN));
  if (D.mask_kind == PPLAN_MASK_ADD) {
    fill(X.Add, Test.MaskSize);
    for (T &M : X.Add)
      if (Random() % 3 == 0)
        M = -std::numeric_limits<T>::infinity();
  } else if (D.mask_kind == PPLAN_MASK_BOOL) {
    X.Bool.resize(Test.MaskSize + 1);
    for (uint8_t &M : X.Bool)
      M = Random() % 3 != 0;
  }
  const void *Mask = D.mask_kind == PPLAN_MASK_ADD
                         ? static_cast<const void *>(X.Add.data())
                         : X.Bool.data();
  uint64_t Bytes = pplan_rt_attention_workspace(&D);
  constexpr uint64_t Guard = 64;
  std::vector<unsigned char> Memory(Bytes + Guard + 64, 0xcd);
  auto *Workspace = reinterpret_cast<unsigned char *>(
      (reinterpret_cast<uintptr_t>(Memory.data()) + 63) / 64 * 64);
  Status S = launch({}, [&](pplan_context *Ctx) {
    return pplan_rt_attention(pplan_rt_default_stream(Ctx), &D, X.Q.data(),
                              X.K.data(), X.V.data(),
                              D.mask_kind ? Mask : nullptr, X.O.data(),
                              Workspace);
  });
  EXPECT_FALSE(S) << text(S);
  if (Memory.data() + Memory.size() - (Workspace + Bytes) > 0)
    for (auto *P = Workspace + Bytes; P < Memory.data() + Memory.size(); ++P)
      if (*P != 0xcd)
        return HUGE_VAL; // wrote beyond its workspace
  return compare(D, X) / std::numeric_limits<T>::epsilon();
}

double error(const Case &Test, unsigned Seed) {
  return Test.D.dtype == PPLAN_F32 ? floatError<float>(Test, Seed)
                                   : floatError<double>(Test, Seed);
}

/// Results are averages of values up to 2 in magnitude.
constexpr double Tolerance = 60;

} // namespace

TEST(Attention, TheUsualShapes) {
  for (int32_t Dtype : {PPLAN_F32, PPLAN_F64})
    for (bool Causal : {false, true})
      for (Order KOrder : {Order::HeadsFirst, Order::SequenceFirst,
                           Order::Transposed})
        for (auto [Q, K] : {std::pair<int64_t, int64_t>{128, 128},
                            {1, 77},
                            {65, 65},
                            {20, 1300},
                            {130, 513}}) {
          Case T = makeCase(Dtype, 2, 2, 2, Q, K, 64, 64, Order::SequenceFirst,
                            KOrder, Order::SequenceFirst);
          T.D.causal = Causal;
          T.D.query_offset = K - Q;
          EXPECT_LE(error(T, 3), Tolerance) << Q << " queries, " << K << " keys";
        }
}

TEST(Attention, RandomDescriptors) {
  bool Good = rc::check("attention is its formula", [] {
    auto in = [](int64_t Least, int64_t Most) {
      return *rc::gen::inRange<int64_t>(Least, Most + 1);
    };
    auto flag = [] { return *rc::gen::arbitrary<bool>(); };
    auto order = [&] {
      return flag() ? Order::HeadsFirst : Order::SequenceFirst;
    };
    int64_t QLen = in(0, 80);
    int64_t KLen = *rc::gen::element<int64_t>(0, 1, 2, 17, 60, 511, 513, 1100);
    Case T = makeCase(flag() ? PPLAN_F32 : PPLAN_F64, in(0, 2), in(1, 3),
                      in(1, 3), QLen, KLen, in(0, 20), in(0, 20), order(),
                      flag() ? Order::Transposed : order(), order());
    T.D.causal = flag();
    T.D.query_offset = in(-20, 80);
    if (flag())
      T.D.key_limit = in(-3, KLen + 5);
    int32_t Kind = *rc::gen::element<int32_t>(PPLAN_MASK_NONE, PPLAN_MASK_ADD,
                                              PPLAN_MASK_BOOL);
    if (Kind != PPLAN_MASK_NONE)
      addMask(T, Kind, flag(), flag());
    RC_ASSERT(error(T, *rc::gen::arbitrary<unsigned>()) <= Tolerance);
  });
  EXPECT_TRUE(Good);
}

TEST(Attention, RowsThatSeeNothingAreZero) {
  Case T = makeCase(PPLAN_F32, 1, 1, 1, 4, 6, 8, 8, Order::HeadsFirst,
                    Order::HeadsFirst, Order::HeadsFirst);
  T.D.causal = 1;
  T.D.query_offset = -2; // queries 0 and 1 see no key
  std::vector<float> Q(32, 1), K(48, 1), V(48, NAN), O(32, 5);
  std::fill(V.begin(), V.begin() + 16, 3.0f); // keys 0 and 1
  std::vector<double> Workspace(pplan_rt_attention_workspace(&T.D) / 8 + 1);
  Status S = launch({}, [&](pplan_context *Ctx) {
    return pplan_rt_attention(pplan_rt_default_stream(Ctx), &T.D, Q.data(),
                              K.data(), V.data(), nullptr, O.data(),
                              Workspace.data());
  });
  ASSERT_FALSE(S) << text(S);
  EXPECT_EQ(O, [] {
    std::vector<float> Expected(32, 3);
    std::fill(Expected.begin(), Expected.begin() + 16, 0.0f);
    return Expected;
  }());
}

TEST(Attention, NaNInAQueryStaysInItsRow) {
  Case T = makeCase(PPLAN_F32, 1, 1, 1, 3, 40, 4, 4, Order::HeadsFirst,
                    Order::HeadsFirst, Order::HeadsFirst);
  std::vector<float> Q(12, 1), K(160, 1), V(160, 1), O(12);
  Q[4] = NAN;
  std::vector<double> Workspace(pplan_rt_attention_workspace(&T.D) / 8 + 1);
  Status S = launch({}, [&](pplan_context *Ctx) {
    return pplan_rt_attention(pplan_rt_default_stream(Ctx), &T.D, Q.data(),
                              K.data(), V.data(), nullptr, O.data(),
                              Workspace.data());
  });
  ASSERT_FALSE(S) << text(S);
  for (int I = 0; I < 12; ++I)
    EXPECT_EQ(std::isnan(O[I]), I / 4 == 1) << I;
}

TEST(Attention, WorkspaceIsIndependentOfBatchAndQueries) {
  auto bytes = [](int64_t Batch, int64_t QLen, int64_t KLen) {
    Case T = makeCase(PPLAN_F32, Batch, 2, 1, QLen, KLen, 64, 64,
                      Order::HeadsFirst, Order::HeadsFirst, Order::HeadsFirst);
    return pplan_rt_attention_workspace(&T.D);
  };
  EXPECT_EQ(bytes(1, 1, 4096), bytes(8, 4096, 4096));
  EXPECT_EQ(bytes(1, 1, 4096), bytes(1, 1, 1 << 20));
  EXPECT_LT(bytes(1, 1, 4096), 200u << 10);
}

TEST(Attention, RefusesBadDescriptors) {
  Status S = launch({}, [](pplan_context *Ctx) -> pplan_status * {
    float X[256] = {};
    auto refused = [&](auto &&Change) {
      Case T = makeCase(PPLAN_F32, 1, 2, 1, 2, 2, 4, 4, Order::HeadsFirst,
                        Order::HeadsFirst, Order::HeadsFirst);
      Change(T.D);
      Status Error(pplan_rt_attention(pplan_rt_default_stream(Ctx), &T.D, X, X, X,
                                      nullptr, X, X));
      EXPECT_EQ(pplan_rt_status_code(Error.get()), PPLAN_INVALID_ARGUMENT);
    };
    refused([](pplan_attention_desc &D) { D.q_len = -1; });
    refused([](pplan_attention_desc &D) { D.q_heads = 3; });
    refused([](pplan_attention_desc &D) { D.kv_heads = 0; });
    refused([](pplan_attention_desc &D) { D.dtype = PPLAN_F16; });
    refused([](pplan_attention_desc &D) { D.q_stride[3] = 2; });
    refused([](pplan_attention_desc &D) { D.k_stride[3] = 2; });
    refused([](pplan_attention_desc &D) { D.mask_kind = 3; });
    refused([](pplan_attention_desc &D) { D.mask_kind = PPLAN_MASK_ADD; });
    return nullptr;
  });
  EXPECT_FALSE(S) << text(S);
}
