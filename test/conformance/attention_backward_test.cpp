//===- attention_backward_test.cpp - gradients against their formula ------===//
//
// Random descriptors (heads, lengths, strides, masks) against the formulas in
// double precision, with guarded workspace.
//
//===----------------------------------------------------------------------===//
#include "attention_cases.h"

#include <limits>
#include <rapidcheck.h>

using namespace conformance;

namespace {

int64_t at(const int64_t Stride[4], int64_t B, int64_t H, int64_t I,
           int64_t F) {
  return B * Stride[0] + H * Stride[1] + I * Stride[2] + F * Stride[3];
}

/// The three gradients in double precision, laid out as the case says.
struct Gradients {
  std::vector<double> Q, K, V;
};

template <typename T>
Gradients formula(const Case &Test, const pplan_attention_backward_desc &D,
                  const Tensors<T> &X, const std::vector<T> &G) {
  const pplan_attention_desc &F = Test.D;
  Gradients R{std::vector<double>(Test.QSize), std::vector<double>(Test.KSize),
              std::vector<double>(Test.VSize)};
  for (int64_t B = 0; B < F.batch; ++B)
    for (int64_t H = 0; H < F.q_heads; ++H)
      for (int64_t I = 0; I < F.q_len; ++I) {
        int64_t Kv = H / (F.q_heads / F.kv_heads);
        int64_t MaskAt = B * F.mask_stride[0] + H * F.mask_stride[1];
        std::vector<double> P(F.k_len, -INFINITY), DP(F.k_len, 0);
        double Max = -INFINITY, Sum = 0, Dot = 0;
        for (int64_t J = 0; J < F.k_len; ++J) {
          if (!seen(F, X, MaskAt, I, J))
            continue;
          P[J] = 0;
          for (int64_t C = 0; C < F.head_dim; ++C)
            P[J] += F.scale * X.Q[at(F.q_stride, B, H, I, C)] *
                    X.K[at(F.k_stride, B, Kv, J, C)];
          if (F.mask_kind == PPLAN_MASK_ADD)
            P[J] += X.Add[MaskAt + I * F.mask_stride[2] + J * F.mask_stride[3]];
          Max = std::max(Max, P[J]);
        }
        for (double &S : P) {
          S = Max == -INFINITY ? 0 : std::exp(S - Max);
          Sum += S;
        }
        for (int64_t J = 0; J < F.k_len && Sum > 0; ++J) {
          P[J] /= Sum;
          for (int64_t C = 0; C < F.v_dim; ++C) {
            double Gradient = G[at(F.o_stride, B, H, I, C)];
            DP[J] += Gradient * X.V[at(F.v_stride, B, Kv, J, C)];
            R.V[at(D.dv_stride, B, Kv, J, C)] += P[J] * Gradient;
          }
          Dot += P[J] * DP[J];
        }
        for (int64_t J = 0; J < F.k_len && Sum > 0; ++J)
          for (int64_t C = 0; C < F.head_dim; ++C) {
            double S = F.scale * P[J] * (DP[J] - Dot);
            R.Q[at(D.dq_stride, B, H, I, C)] +=
                S * X.K[at(F.k_stride, B, Kv, J, C)];
            R.K[at(D.dk_stride, B, Kv, J, C)] +=
                S * X.Q[at(F.q_stride, B, H, I, C)];
          }
      }
  return R;
}

template <typename T>
double largestError(const std::vector<double> &Expected,
                    const std::vector<T> &Found) {
  double Worst = 0, Scale = 1;
  for (double X : Expected)
    Scale = std::max(Scale, std::fabs(X));
  for (size_t I = 0; I < Expected.size(); ++I) {
    double Error = std::fabs(Expected[I] - Found[I]) / Scale;
    Worst = Error <= Worst ? Worst : Error; // keeps a NaN
  }
  return Worst / std::numeric_limits<T>::epsilon();
}

template <typename T> double floatError(const Case &Test, unsigned Seed) {
  const pplan_attention_desc &F = Test.D;
  pplan_attention_backward_desc D = {};
  D.forward = F;
  std::copy(F.q_stride, F.q_stride + 4, D.dq_stride);
  std::copy(F.k_stride, F.k_stride + 4, D.dk_stride);
  std::copy(F.v_stride, F.v_stride + 4, D.dv_stride);
  std::mt19937 Random(Seed);
  Tensors<T> X;
  X.Q = randomValues<T>(Random, Test.QSize);
  X.K = randomValues<T>(Random, Test.KSize);
  X.V = randomValues<T>(Random, Test.VSize);
  std::vector<T> G = randomValues<T>(Random, Test.OSize);
  if (F.mask_kind == PPLAN_MASK_ADD) {
    X.Add = randomValues<T>(Random, Test.MaskSize);
    for (T &M : X.Add)
      if (Random() % 3 == 0)
        M = -std::numeric_limits<T>::infinity();
  }
  X.Bool.resize(Test.MaskSize + 1);
  for (uint8_t &M : X.Bool)
    M = Random() % 3 != 0;
  const void *Mask = F.mask_kind == PPLAN_MASK_ADD
                         ? static_cast<const void *>(X.Add.data())
                         : X.Bool.data();
  const T Unset = static_cast<T>(NAN);
  std::vector<T> DQ(Test.QSize + 1, Unset), DK(Test.KSize + 1, Unset),
      DV(Test.VSize + 1, Unset);
  uint64_t Bytes = pplan_rt_attention_backward_workspace(&D);
  std::vector<unsigned char> Memory(Bytes + 128, 0xcd);
  auto *Workspace = reinterpret_cast<unsigned char *>(
      (reinterpret_cast<uintptr_t>(Memory.data()) + 63) / 64 * 64);
  Status S = launch({}, [&](pplan_context *Ctx) {
    return pplan_rt_attention_backward(
        pplan_rt_default_stream(Ctx), &D, X.Q.data(), X.K.data(), X.V.data(),
        F.mask_kind ? Mask : nullptr, G.data(), DQ.data(), DK.data(), DV.data(),
        Workspace);
  });
  EXPECT_FALSE(S) << text(S);
  for (auto *P = Workspace + Bytes; P < Memory.data() + Memory.size(); ++P)
    if (*P != 0xcd)
      return HUGE_VAL; // wrote beyond its workspace
  Gradients R = formula(Test, D, X, G);
  return std::max({largestError(R.Q, DQ), largestError(R.K, DK),
                   largestError(R.V, DV)});
}

double error(const Case &Test, unsigned Seed) {
  return Test.D.dtype == PPLAN_F32 ? floatError<float>(Test, Seed)
                                   : floatError<double>(Test, Seed);
}

/// Units in the last place of the largest gradient, or of 1.
constexpr double Tolerance = 200;

} // namespace

TEST(AttentionBackward, TheUsualShapes) {
  for (int32_t Dtype : {PPLAN_F32, PPLAN_F64})
    for (bool Causal : {false, true})
      for (Order KOrder : {Order::HeadsFirst, Order::SequenceFirst,
                           Order::Transposed})
        for (auto [Q, K] : {std::pair<int64_t, int64_t>{128, 128},
                            {1, 77},
                            {65, 65},
                            {20, 700}}) {
          Case T = makeCase(Dtype, 2, 2, 2, Q, K, 32, 32, Order::SequenceFirst,
                            KOrder, Order::SequenceFirst);
          T.D.causal = Causal;
          T.D.query_offset = K - Q;
          EXPECT_LE(error(T, 3), Tolerance) << Q << " queries, " << K << " keys";
        }
}

TEST(AttentionBackward, RandomDescriptors) {
  bool Good = rc::check("gradients are their formulas", [] {
    auto in = [](int64_t Least, int64_t Most) {
      return *rc::gen::inRange<int64_t>(Least, Most + 1);
    };
    auto flag = [] { return *rc::gen::arbitrary<bool>(); };
    auto order = [&] {
      return flag() ? Order::HeadsFirst : Order::SequenceFirst;
    };
    int64_t QLen = in(0, 80);
    int64_t KLen = *rc::gen::element<int64_t>(0, 1, 2, 17, 60, 130);
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

TEST(AttentionBackward, RefusesBadDescriptors) {
  Status S = launch({}, [](pplan_context *Ctx) -> pplan_status * {
    std::vector<float> X(1024);
    auto refused = [&](auto &&Change) {
      pplan_attention_backward_desc D = {};
      D.forward = makeCase(PPLAN_F32, 1, 2, 1, 2, 2, 4, 4, Order::HeadsFirst,
                           Order::HeadsFirst, Order::HeadsFirst)
                      .D;
      std::copy(D.forward.q_stride, D.forward.q_stride + 4, D.dq_stride);
      std::copy(D.forward.k_stride, D.forward.k_stride + 4, D.dk_stride);
      std::copy(D.forward.v_stride, D.forward.v_stride + 4, D.dv_stride);
      Change(D);
      float *P = X.data();
      Status Error(pplan_rt_attention_backward(pplan_rt_default_stream(Ctx), &D,
                                               P, P, P, nullptr, P, P, P, P, P));
      EXPECT_EQ(pplan_rt_status_code(Error.get()), PPLAN_INVALID_ARGUMENT);
    };
    refused([](auto &D) { D.forward.q_len = -1; });
    refused([](auto &D) { D.forward.dtype = PPLAN_F16; });
    refused([](auto &D) { D.dq_stride[3] = 2; });
    refused([](auto &D) { D.dk_stride[3] = 2; });
    refused([](auto &D) { D.dv_stride[3] = 2; });
    refused([](auto &D) { D.forward.mask_kind = PPLAN_MASK_ADD; });
    return nullptr;
  });
  EXPECT_FALSE(S) << text(S);
}
