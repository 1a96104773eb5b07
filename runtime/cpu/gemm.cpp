//===- gemm.cpp - matrix products -----------------------------------------===//
//
// Checks, batches, and the choice between pplan's own kernel (isa/gemm.h), CBLAS
// and, for types that neither knows, plain loops.
//
//===----------------------------------------------------------------------===//
#include "gemm.h"

#include "../core/dtype.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <type_traits>

#ifdef PPLAN_RT_HAVE_CBLAS
#include <cblas.h>
#endif

using namespace pplan::rt;
using namespace pplan::rt::cpu;

namespace pplan::rt::cpu {

void *gemmBuffer(pplan_context *Ctx) {
  if (!Ctx->GemmBuffer)
    Ctx->GemmBuffer.reset(std::aligned_alloc(4096, GemmBufferBytes));
  return Ctx->GemmBuffer.get();
}

//===----------------------------------------------------------------------===//
// Plain loops
//===----------------------------------------------------------------------===//

namespace {

/// How elements of type T are accumulated and written.
template <typename T> struct Plain {
  using Acc = T;
  static Acc read(T X) { return X; }
  static T write(Acc X) { return X; }
};
template <> struct Plain<Half> {
  using Acc = float;
  static float read(Half X) { return toFloat(X); }
  static Half write(float X) { return toHalf(X); }
};
template <> struct Plain<BFloat> {
  using Acc = float;
  static float read(BFloat X) { return toFloat(X); }
  static BFloat write(float X) { return toBFloat(X); }
};
/// Integers are accumulated unsigned, where overflow wraps.
template <typename T, typename U> struct PlainInt {
  using Acc = U;
  static U read(T X) { return static_cast<U>(X); }
  static T write(U X) { return static_cast<T>(X); }
};
template <> struct Plain<int8_t> : PlainInt<int8_t, uint32_t> {};
template <> struct Plain<uint8_t> : PlainInt<uint8_t, uint32_t> {};
template <> struct Plain<int32_t> : PlainInt<int32_t, uint32_t> {};
template <> struct Plain<int64_t> : PlainInt<int64_t, uint64_t> {};

template <typename Acc> Acc scalar(double X) {
  if constexpr (std::is_integral_v<Acc>)
    return static_cast<Acc>(static_cast<int64_t>(X));
  else
    return static_cast<Acc>(X);
}

/// Rows of C at a time, with a strip of the row accumulated aside.
template <typename T>
void plainGemm(const pplan_gemm_desc &D, const T *A, const T *B, T *C) {
  using Acc = typename Plain<T>::Acc;
  constexpr int64_t Strip = 256;
  Acc Sums[Strip];
  const Acc Alpha = scalar<Acc>(D.alpha), Beta = scalar<Acc>(D.beta);
  for (int64_t I = 0; I < D.m; ++I)
    for (int64_t J0 = 0; J0 < D.n; J0 += Strip) {
      int64_t Width = std::min(Strip, D.n - J0);
      std::fill(Sums, Sums + Width, Acc(0));
      for (int64_t P = 0; P < D.k; ++P) {
        Acc X = Plain<T>::read(D.trans_a ? A[P * D.lda + I] : A[I * D.lda + P]);
        const T *Row = D.trans_b ? B + J0 * D.ldb + P : B + P * D.ldb + J0;
        int64_t Step = D.trans_b ? D.ldb : 1;
        for (int64_t J = 0; J < Width; ++J)
          Sums[J] += X * Plain<T>::read(Row[J * Step]);
      }
      T *Out = C + I * D.ldc + J0;
      for (int64_t J = 0; J < Width; ++J) {
        Acc Value = Alpha * Sums[J];
        if (D.beta != 0)
          Value += Beta * Plain<T>::read(Out[J]);
        Out[J] = Plain<T>::write(Value);
      }
    }
}

/// C = Beta * C, without reading C if Beta is 0.
template <typename T> void scaleC(const GemmArgs<T> &G) {
  for (int64_t I = 0; I < G.M; ++I)
    for (int64_t J = 0; J < G.N; ++J)
      G.C[I * G.Ldc + J] = G.Beta == T(0) ? T(0) : G.Beta * G.C[I * G.Ldc + J];
}

template <typename T> pplan_gemm_desc describe(const GemmArgs<T> &G) {
  pplan_gemm_desc D = {};
  D.m = G.M, D.n = G.N, D.k = G.K;
  D.lda = G.Lda, D.ldb = G.Ldb, D.ldc = G.Ldc;
  D.alpha = G.Alpha, D.beta = G.Beta;
  D.trans_a = G.TransA, D.trans_b = G.TransB;
  return D;
}

#ifdef PPLAN_RT_HAVE_CBLAS
CBLAS_TRANSPOSE transpose(bool T) { return T ? CblasTrans : CblasNoTrans; }

void cblas(const GemmArgs<float> &G) {
  cblas_sgemm(CblasRowMajor, transpose(G.TransA), transpose(G.TransB), G.M, G.N,
              G.K, G.Alpha, G.A, G.Lda, G.B, G.Ldb, G.Beta, G.C, G.Ldc);
}
void cblas(const GemmArgs<double> &G) {
  cblas_dgemm(CblasRowMajor, transpose(G.TransA), transpose(G.TransB), G.M, G.N,
              G.K, G.Alpha, G.A, G.Lda, G.B, G.Ldb, G.Beta, G.C, G.Ldc);
}

/// CBLAS has 32-bit sizes, and no rows that overlap.
template <typename T> bool cblasAccepts(const GemmArgs<T> &G) {
  constexpr int64_t Most = std::numeric_limits<int32_t>::max();
  return std::max({G.M, G.N, G.K, G.Lda, G.Ldb, G.Ldc}) <= Most &&
         G.Lda >= (G.TransA ? G.M : G.K) && G.Ldb >= (G.TransB ? G.K : G.N) &&
         G.Ldc >= G.N;
}
#endif

template <typename T, typename Fn>
void gemmWith(const GemmArgs<T> &G, Fn Own, void *Buffer) {
  if (G.M == 0 || G.N == 0)
    return;
  if (G.K == 0 || G.Alpha == T(0))
    return scaleC(G);
#ifdef PPLAN_RT_HAVE_CBLAS
  bool UseOwn = Buffer && kernels().PreferOwnGemm;
  if (!UseOwn && cblasAccepts(G))
    return cblas(G);
#endif
  if (Buffer)
    return Own(G, Buffer);
  plainGemm(describe(G), G.A, G.B, G.C);
}

} // namespace

void gemm(const GemmArgs<float> &Args, void *Buffer) {
  gemmWith(Args, kernels().GemmF32, Buffer);
}
void gemm(const GemmArgs<double> &Args, void *Buffer) {
  gemmWith(Args, kernels().GemmF64, Buffer);
}

} // namespace pplan::rt::cpu

//===----------------------------------------------------------------------===//
// The ABI call
//===----------------------------------------------------------------------===//

namespace {

pplan_status *checkGemm(const pplan_gemm_desc &D, const void *A, const void *B,
                        const void *C) {
  auto bad = [&](const char *What) {
    return makeError(PPLAN_INVALID_ARGUMENT, D.loc, -1,
                     "gemm [%lld x %lld x %lld]: %s",
                     static_cast<long long>(D.m), static_cast<long long>(D.n),
                     static_cast<long long>(D.k), What);
  };
  if (D.m < 0 || D.n < 0 || D.k < 0)
    return bad("a size is negative");
  if (!isDtype(D.dtype) || D.dtype == PPLAN_I1)
    return bad("the dtype is not supported");
  bool Empty = D.m == 0 || D.n == 0;
  for (int I = 0; I < 3; ++I) {
    if (D.batch[I] < 0)
      return bad("a batch size is negative");
    Empty |= D.batch[I] == 0;
  }
  if (Empty)
    return nullptr;
  if (D.lda < (D.trans_a ? D.m : D.k) || D.ldb < (D.trans_b ? D.k : D.n) ||
      D.ldc < D.n)
    return bad("a leading dimension is less than the row length");
  if (!C || (D.k > 0 && (!A || !B)))
    return bad("a matrix is null");
  return nullptr;
}

template <typename T, typename Fn>
void forBatches(const pplan_gemm_desc &D, const void *A, const void *B, void *C,
                Fn &&Body) {
  for (int64_t I = 0; I < D.batch[0]; ++I)
    for (int64_t J = 0; J < D.batch[1]; ++J)
      for (int64_t K = 0; K < D.batch[2]; ++K) {
        auto at = [&](const int64_t *Stride) {
          return I * Stride[0] + J * Stride[1] + K * Stride[2];
        };
        Body(static_cast<const T *>(A) + at(D.stride_a),
             static_cast<const T *>(B) + at(D.stride_b),
             static_cast<T *>(C) + at(D.stride_c));
      }
}

template <typename T>
void floatGemm(pplan_context *Ctx, const pplan_gemm_desc &D, const void *A,
               const void *B, void *C) {
  void *Buffer = gemmBuffer(Ctx);
  forBatches<T>(D, A, B, C, [&](const T *X, const T *Y, T *Z) {
    gemm(GemmArgs<T>{D.m, D.n, D.k, X, D.lda, D.trans_a != 0, Y, D.ldb,
                     D.trans_b != 0, Z, D.ldc, static_cast<T>(D.alpha),
                     static_cast<T>(D.beta)},
         Buffer);
  });
}

template <typename T>
void otherGemm(const pplan_gemm_desc &D, const void *A, const void *B,
               void *C) {
  forBatches<T>(D, A, B, C, [&](const T *X, const T *Y, T *Z) {
    plainGemm<T>(D, X, Y, Z);
  });
}

} // namespace

pplan_status *pplan_rt_gemm(pplan_stream *stream, const pplan_gemm_desc *desc,
                            const void *a, const void *b, void *c) {
  if (!stream || !desc)
    return pplan_rt_error(PPLAN_INVALID_ARGUMENT,
                          "gemm: no stream or descriptor", nullptr);
  if (pplan_status *Error = checkGemm(*desc, a, b, c))
    return Error;
  switch (desc->dtype) {
  case PPLAN_F32:
    floatGemm<float>(stream->Context, *desc, a, b, c);
    break;
  case PPLAN_F64:
    floatGemm<double>(stream->Context, *desc, a, b, c);
    break;
  case PPLAN_F16:
    otherGemm<Half>(*desc, a, b, c);
    break;
  case PPLAN_BF16:
    otherGemm<BFloat>(*desc, a, b, c);
    break;
  case PPLAN_I8:
    otherGemm<int8_t>(*desc, a, b, c);
    break;
  case PPLAN_U8:
    otherGemm<uint8_t>(*desc, a, b, c);
    break;
  case PPLAN_I32:
    otherGemm<int32_t>(*desc, a, b, c);
    break;
  default:
    otherGemm<int64_t>(*desc, a, b, c);
    break;
  }
  return nullptr;
}

uint64_t pplan_rt_reserve_bytes(void) {
  constexpr uint64_t ThreadStack = 256 << 10; // touched part
  return GemmBufferBytes + ThreadStack;
}
