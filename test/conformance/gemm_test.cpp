//===- gemm_test.cpp - pplan_rt_gemm against three loops ------------------===//
//
// Also shows whether the CBLAS that was found is right on this processor: run it
// with PPLAN_ISA=baseline in the environment, which prefers CBLAS.
//
//===----------------------------------------------------------------------===//
#include "support.h"

#include <cmath>
#include <random>
#include <rapidcheck.h>

using namespace conformance;

namespace {

/// A product with everything that a descriptor can say, in small numbers.
struct Case {
  pplan_gemm_desc D;
  int64_t ASize, BSize, CSize;
};

/// Makes a descriptor with some slack in every leading dimension and stride.
Case makeCase(int64_t M, int64_t N, int64_t K, bool TransA, bool TransB,
              std::vector<int64_t> Batch, int64_t Slack, bool ShareB,
              double Alpha, double Beta, int32_t Dtype) {
  Case T = {};
  pplan_gemm_desc &D = T.D;
  D.m = M, D.n = N, D.k = K;
  D.trans_a = TransA, D.trans_b = TransB;
  D.lda = (TransA ? M : K) + Slack;
  D.ldb = (TransB ? K : N) + 2 * Slack;
  D.ldc = N + Slack;
  D.alpha = Alpha, D.beta = Beta, D.dtype = Dtype, D.loc = "gemm test";
  T.ASize = (TransA ? K : M) * D.lda;
  T.BSize = (TransB ? N : K) * D.ldb;
  T.CSize = M * D.ldc;
  Batch.resize(3, 1);
  for (int I = 2; I >= 0; --I) {
    D.batch[I] = Batch[I];
    D.stride_a[I] = T.ASize;
    D.stride_b[I] = ShareB ? 0 : T.BSize;
    D.stride_c[I] = T.CSize;
    T.ASize *= std::max<int64_t>(Batch[I], 1);
    T.BSize *= ShareB ? 1 : std::max<int64_t>(Batch[I], 1);
    T.CSize *= std::max<int64_t>(Batch[I], 1);
  }
  return T;
}

/// Calls Fn(a, b, c) with the element offsets of each batch's matrices.
template <typename Fn> void forBatches(const pplan_gemm_desc &D, Fn &&Body) {
  for (int64_t I = 0; I < D.batch[0]; ++I)
    for (int64_t J = 0; J < D.batch[1]; ++J)
      for (int64_t K = 0; K < D.batch[2]; ++K) {
        auto at = [&](const int64_t *S) {
          return I * S[0] + J * S[1] + K * S[2];
        };
        Body(at(D.stride_a), at(D.stride_b), at(D.stride_c));
      }
}

/// Runs a product of random floats; returns the largest error, relative to what
/// rounding can explain.
template <typename T> double floatError(const Case &Test, unsigned Seed) {
  const pplan_gemm_desc &D = Test.D;
  std::mt19937 Random(Seed);
  std::uniform_real_distribution<double> Uniform(-1, 1);
  std::vector<T> A(Test.ASize + 1), B(Test.BSize + 1), C(Test.CSize + 1);
  for (auto *X : {&A, &B, &C})
    for (T &Value : *X)
      Value = static_cast<T>(Uniform(Random));
  if (D.beta == 0) // must not be read
    std::fill(C.begin(), C.end(), static_cast<T>(std::nan("")));
  std::vector<T> Before = C;
  Status S = launch({}, [&](pplan_context *Ctx) {
    return pplan_rt_gemm(pplan_rt_default_stream(Ctx), &D, A.data(), B.data(),
                         C.data());
  });
  EXPECT_FALSE(S) << text(S);
  double Worst = 0;
  std::vector<bool> Written(C.size());
  forBatches(D, [&](int64_t A0, int64_t B0, int64_t C0) {
    for (int64_t I = 0; I < D.m; ++I)
      for (int64_t J = 0; J < D.n; ++J) {
        double Sum = 0, Magnitude = 0;
        for (int64_t P = 0; P < D.k; ++P) {
          double X = A[A0 + (D.trans_a ? P * D.lda + I : I * D.lda + P)];
          double Y = B[B0 + (D.trans_b ? J * D.ldb + P : P * D.ldb + J)];
          Sum += X * Y;
          Magnitude += std::fabs(X * Y);
        }
        int64_t At = C0 + I * D.ldc + J;
        double Old = D.beta == 0 ? 0 : D.beta * Before[At];
        Magnitude = std::fabs(D.alpha) * Magnitude + std::fabs(Old) + 1e-6;
        double Error = std::fabs(D.alpha * Sum + Old - C[At]) / Magnitude;
        Worst = Error <= Worst ? Worst : Error; // keeps a NaN
        Written[At] = true;
      }
  });
  for (size_t I = 0; I < C.size(); ++I)
    if (!Written[I] && std::memcmp(&C[I], &Before[I], sizeof(T)) != 0)
      return HUGE_VAL; // touched what is not its own
  return Worst / std::numeric_limits<T>::epsilon();
}

double error(const Case &Test, unsigned Seed) {
  return Test.D.dtype == PPLAN_F32 ? floatError<float>(Test, Seed)
                                   : floatError<double>(Test, Seed);
}

/// Rounding errors grow with the square root of k; this is far above that and far
/// below a wrong element.
constexpr double Tolerance = 40;

} // namespace

TEST(Gemm, EverySmallSizeAndTranspose) {
  for (int32_t Dtype : {PPLAN_F32, PPLAN_F64})
    for (int64_t M : {0, 1, 2, 3, 4, 5, 13, 14, 15, 28, 29})
      for (int64_t N : {0, 1, 7, 8, 9, 16, 17, 31, 32, 33, 65})
        for (int64_t K : {0, 1, 3, 16, 17, 70})
          for (int Trans = 0; Trans < 4; ++Trans)
            ASSERT_LE(error(makeCase(M, N, K, Trans & 1, Trans & 2, {}, M % 3,
                                     false, 1.0, 0.0, Dtype),
                            1),
                      Tolerance)
                << M << "x" << N << "x" << K << " trans " << Trans;
}

TEST(Gemm, SizesAroundTheBlocks) {
  for (int32_t Dtype : {PPLAN_F32, PPLAN_F64})
    for (auto [M, N, K] : {std::tuple<int64_t, int64_t, int64_t>{300, 70, 700},
                           {253, 33, 321},
                           {40, 1100, 90},
                           {30, 2049, 33},
                           {5, 1030, 1300},
                           {1, 3000, 800},
                           {3, 500, 1000}})
      for (int Trans = 0; Trans < 4; ++Trans)
        ASSERT_LE(error(makeCase(M, N, K, Trans & 1, Trans & 2, {}, 5, false, 1.0,
                                 Trans ? 0.0 : 1.0, Dtype),
                        2),
                  Tolerance)
            << M << "x" << N << "x" << K << " trans " << Trans;
}

TEST(Gemm, RandomProducts) {
  bool Good = rc::check("gemm is alpha A B + beta C", [] {
    auto size = [] { return *rc::gen::inRange<int64_t>(0, 90); };
    std::vector<int64_t> Batch = {*rc::gen::inRange<int64_t>(0, 4),
                                  *rc::gen::inRange<int64_t>(1, 4),
                                  *rc::gen::inRange<int64_t>(1, 3)};
    Case Test = makeCase(size(), size(), size(), *rc::gen::arbitrary<bool>(),
                         *rc::gen::arbitrary<bool>(), Batch,
                         *rc::gen::inRange<int64_t>(0, 9),
                         *rc::gen::arbitrary<bool>(),
                         *rc::gen::element(1.0, 0.0, -2.5),
                         *rc::gen::element(0.0, 1.0, 0.5),
                         *rc::gen::element<int32_t>(PPLAN_F32, PPLAN_F64));
    RC_ASSERT(error(Test, *rc::gen::arbitrary<unsigned>()) <= Tolerance);
  });
  EXPECT_TRUE(Good);
}

TEST(Gemm, OtherDtypesAreExactOnSmallIntegers) {
  for (int32_t Dtype : {PPLAN_F16, PPLAN_BF16, PPLAN_I8, PPLAN_U8, PPLAN_I32,
                        PPLAN_I64})
    for (int Trans = 0; Trans < 4; ++Trans) {
      Case Test = makeCase(7, 300, 9, Trans & 1, Trans & 2, {2}, 1, true, 2.0,
                           Trans == 1 ? 1.0 : 0.0, Dtype);
      const pplan_gemm_desc &D = Test.D;
      Buffer A(Dtype, Test.ASize), B(Dtype, Test.BSize), C(Dtype, Test.CSize);
      for (int64_t I = 0; I < Test.ASize; ++I)
        A.set(I, I % 4);
      for (int64_t I = 0; I < Test.BSize; ++I)
        B.set(I, I * 7 % 3);
      for (int64_t I = 0; I < Test.CSize; ++I)
        C.set(I, I % 5);
      Status S = launch({}, [&](pplan_context *Ctx) {
        return pplan_rt_gemm(pplan_rt_default_stream(Ctx), &D, A.data(),
                             B.data(), C.data());
      });
      ASSERT_FALSE(S) << text(S);
      forBatches(D, [&](int64_t A0, int64_t B0, int64_t C0) {
        for (int64_t I = 0; I < D.m; ++I)
          for (int64_t J = 0; J < D.n; ++J) {
            int64_t At = C0 + I * D.ldc + J;
            int64_t Sum = 0;
            for (int64_t P = 0; P < D.k; ++P)
              Sum += A.get(A0 + (D.trans_a ? P * D.lda + I : I * D.lda + P)) *
                     B.get(B0 + (D.trans_b ? J * D.ldb + P : P * D.ldb + J));
            ASSERT_EQ(C.get(At),
                      wrap(Dtype, 2 * Sum + (D.beta != 0 ? At % 5 : 0)))
                << pplan_rt_dtype_name(Dtype);
          }
      });
    }
}

TEST(Gemm, PropagatesNaNAndInfinity) {
  Case Test = makeCase(20, 40, 50, false, false, {}, 0, false, 1.0, 0.0,
                       PPLAN_F32);
  std::vector<float> A(Test.ASize, 0.0f), B(Test.BSize, 0.0f), C(Test.CSize);
  A[3 * 50 + 7] = INFINITY; // times zero
  B[9 * 40 + 11] = NAN;
  Status S = launch({}, [&](pplan_context *Ctx) {
    return pplan_rt_gemm(pplan_rt_default_stream(Ctx), &Test.D, A.data(),
                         B.data(), C.data());
  });
  ASSERT_FALSE(S) << text(S);
  for (int I = 0; I < 20; ++I)
    for (int J = 0; J < 40; ++J)
      EXPECT_EQ(std::isnan(C[I * 40 + J]), I == 3 || J == 11) << I << " " << J;
}

TEST(Gemm, RefusesBadDescriptors) {
  Status S = launch({}, [](pplan_context *Ctx) -> pplan_status * {
    float X[64] = {};
    auto refused = [&](auto &&Change) {
      Case Test =
          makeCase(4, 4, 4, false, false, {}, 0, false, 1.0, 0.0, PPLAN_F32);
      Change(Test.D);
      Status Error(pplan_rt_gemm(pplan_rt_default_stream(Ctx), &Test.D, X,
                                 X + 16, X + 32));
      EXPECT_EQ(pplan_rt_status_code(Error.get()), PPLAN_INVALID_ARGUMENT);
      EXPECT_STREQ(pplan_rt_status_location(Error.get()), "gemm test");
    };
    refused([](pplan_gemm_desc &D) { D.m = -1; });
    refused([](pplan_gemm_desc &D) { D.lda = 3; });
    refused([](pplan_gemm_desc &D) { D.ldb = 3; });
    refused([](pplan_gemm_desc &D) { D.ldc = 3; });
    refused([](pplan_gemm_desc &D) { D.batch[1] = -2; });
    refused([](pplan_gemm_desc &D) { D.dtype = PPLAN_I1; });
    refused([](pplan_gemm_desc &D) { D.dtype = 50; });
    Case Test =
        makeCase(4, 4, 4, false, false, {}, 0, false, 1.0, 0.0, PPLAN_F32);
    Status Error(pplan_rt_gemm(pplan_rt_default_stream(Ctx), &Test.D, X, nullptr,
                               X));
    EXPECT_EQ(pplan_rt_status_code(Error.get()), PPLAN_INVALID_ARGUMENT);
    return nullptr;
  });
  EXPECT_FALSE(S) << text(S);
}
