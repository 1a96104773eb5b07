//===- gemm.h - GEMM for one instruction set --------------------*- C++ -*-===//
//
// A row-major GEMM after Goto and van de Geijn, "Anatomy of high-performance
// matrix multiplication", 2008, and the BLIS papers: panels of A and B are packed
// so that the micro-kernel reads both in order, a panel of B stays in the first
// cache and a block of A in the second. Products with few rows read B as it is,
// since packing would cost more than it saves. Checks are left to cpu/gemm.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_ISA_GEMM_H
#define PPLAN_RT_CPU_ISA_GEMM_H

#include "pack.h"

namespace pplan::rt::cpu::PPLAN_ISA {

/// Sizes of the micro-kernel and of the blocks around it.
template <typename T> struct GemmShape {
  static constexpr int L = Vector<T>::Lanes;
  /// Rows of a tile of C: with two vectors per row all registers are used.
  static constexpr int MR = PPLAN_VECTOR_BYTES == 64   ? 14
                            : PPLAN_VECTOR_BYTES == 32 ? 6
                                                       : 4;
  static constexpr int NR = 2 * L; ///< columns of a tile of C
  /// Most depth, rows of A and columns of B of packed blocks. Together they fill
  /// most of a second-level cache of 2 MiB.
  static constexpr int64_t KC = 384 * 4 / sizeof(T);
  static constexpr int64_t MC = 37 * MR;
  static constexpr int64_t NC = 512;
  /// Depth of a block when B is not packed: its rows' pages fit the TLB.
  static constexpr int64_t UnpackedKC = 64;
  static constexpr int64_t ABytes = ((MC * KC + 2 * L) * sizeof(T) + 63) / 64 * 64;
  static constexpr int64_t BBytes = NC * KC * sizeof(T);
  static_assert(ABytes + BBytes <= GemmBufferBytes, "the buffer is too small");
};

/// A tile of C: Rows x (NV vectors) (+)= A panel x B panel over K steps. A is
/// packed with MR elements per step, B has BStep elements from step to step.
template <typename T, int Rows, int NV, bool Add>
void microKernel(int64_t K, const T *A, const T *B, int64_t BStep, T *C,
                 int64_t Ldc) {
  using V = typename Vector<T>::Type;
  constexpr int L = Vector<T>::Lanes;
  V Sums[Rows][NV];
  PPLAN_UNROLL
  for (int R = 0; R < Rows; ++R)
    PPLAN_UNROLL
    for (int I = 0; I < NV; ++I)
      Sums[R][I] = V{};
  // The tile of C arrives while the products are summed up.
  PPLAN_UNROLL
  for (int R = 0; R < Rows; ++R)
    PPLAN_UNROLL
    for (int I = 0; I < NV; ++I)
      __builtin_prefetch(C + R * Ldc + I * L, 1);
  PPLAN_NO_UNROLL
  for (int64_t P = 0; P < K; ++P) {
    V Row[NV];
    PPLAN_UNROLL
    for (int I = 0; I < NV; ++I)
      Row[I] = load(B + I * L);
    PPLAN_UNROLL
    for (int R = 0; R < Rows; ++R) {
      V X = splat<T>(A[R]);
      PPLAN_UNROLL
      for (int I = 0; I < NV; ++I)
        Sums[R][I] += X * Row[I];
    }
    A += GemmShape<T>::MR;
    B += BStep;
  }
  PPLAN_UNROLL
  for (int R = 0; R < Rows; ++R)
    PPLAN_UNROLL
    for (int I = 0; I < NV; ++I) {
      T *Out = C + R * Ldc + I * L;
      if constexpr (Add)
        store(Out, load(Out) + Sums[R][I]);
      else
        store(Out, Sums[R][I]);
    }
}

template <typename T>
using MicroKernelFn = void (*)(int64_t, const T *, const T *, int64_t, T *,
                               int64_t);

/// The micro-kernels of all heights, for full and half width.
template <typename T> struct MicroKernels {
  MicroKernelFn<T> Fn[GemmShape<T>::MR][2][2]; // [rows - 1][vectors - 1][add]

  template <int Rows> constexpr void fill() {
    Fn[Rows - 1][0][0] = microKernel<T, Rows, 1, false>;
    Fn[Rows - 1][0][1] = microKernel<T, Rows, 1, true>;
    Fn[Rows - 1][1][0] = microKernel<T, Rows, 2, false>;
    Fn[Rows - 1][1][1] = microKernel<T, Rows, 2, true>;
    if constexpr (Rows > 1)
      fill<Rows - 1>();
  }
  constexpr MicroKernels() : Fn() { fill<GemmShape<T>::MR>(); }
};
template <typename T> static constexpr MicroKernels<T> Micro;

/// A tile of Rows x Cols (at most MR x NR). B must be readable for whole vectors.
template <typename T>
static inline void tile(int64_t Rows, int64_t Cols, int64_t K, const T *A,
                        const T *B, int64_t BStep, T *C, int64_t Ldc,
                        bool Add) {
  constexpr int L = Vector<T>::Lanes;
  constexpr int NR = GemmShape<T>::NR;
  int NV = Cols > L ? 2 : 1;
  if (Cols == NV * L) {
    Micro<T>.Fn[Rows - 1][NV - 1][Add](K, A, B, BStep, C, Ldc);
    return;
  }
  // A ragged right edge goes through a tile of full vectors.
  alignas(64) T Aside[GemmShape<T>::MR * NR];
  Micro<T>.Fn[Rows - 1][NV - 1][0](K, A, B, BStep, Aside, NR);
  for (int64_t R = 0; R < Rows; ++R)
    for (int64_t J = 0; J < Cols; ++J)
      C[R * Ldc + J] = Add ? C[R * Ldc + J] + Aside[R * NR + J]
                           : Aside[R * NR + J];
}

static inline int64_t least(int64_t A, int64_t B) { return A < B ? A : B; }

/// Size of the blocks when `Size` is cut into equal ones of at most `Most`, in
/// multiples of `Unit`.
static inline int64_t evenBlock(int64_t Size, int64_t Most, int64_t Unit) {
  int64_t Blocks = (Size + Most - 1) / Most;
  int64_t Block = (Size + Blocks - 1) / Blocks;
  return (Block + Unit - 1) / Unit * Unit;
}

/// The usual case: packed blocks of A and B. A block of A is packed once and meets
/// all of B, which is packed again for each block of A.
template <typename T>
static void gemmPacked(const GemmArgs<T> &G, T *ABlock, T *BBlock, bool Add) {
  using S = GemmShape<T>;
  const int64_t MC = evenBlock(G.M, S::MC, S::MR);
  const int64_t NC = evenBlock(G.N, S::NC, S::NR);
  const int64_t KC = evenBlock(G.K, S::KC, S::L);
  for (int64_t I0 = 0; I0 < G.M; I0 += MC) {
    int64_t Rows = least(MC, G.M - I0);
    for (int64_t P0 = 0; P0 < G.K; P0 += KC) {
      int64_t Depth = least(KC, G.K - P0);
      bool AddHere = Add || P0 > 0;
      packA<T, S::MR>(G, I0, Rows, P0, Depth, ABlock);
      for (int64_t J0 = 0; J0 < G.N; J0 += NC) {
        int64_t Cols = least(NC, G.N - J0);
        packB<T, S::NR>(G, P0, Depth, J0, Cols, BBlock);
        for (int64_t J = 0; J < Cols; J += S::NR)
          for (int64_t I = 0; I < Rows; I += S::MR)
            tile(least(S::MR, Rows - I), least(S::NR, Cols - J), Depth,
                 ABlock + I * Depth, BBlock + J * Depth, S::NR,
                 G.C + (I0 + I) * G.Ldc + J0 + J, G.Ldc, AddHere);
      }
    }
  }
}

/// Few rows and B in rows: B is read once, in place. The last columns, where
/// reading whole vectors could leave the matrix, are packed.
template <typename T>
static void gemmFewRows(const GemmArgs<T> &G, T *ABlock, T *BBlock, bool Add) {
  using S = GemmShape<T>;
  int64_t Whole = G.N / S::NR * S::NR;
  for (int64_t P0 = 0; P0 < G.K; P0 += S::UnpackedKC) {
    int64_t Depth = least(S::UnpackedKC, G.K - P0);
    bool AddHere = Add || P0 > 0;
    packA<T, S::MR>(G, 0, G.M, P0, Depth, ABlock);
    for (int64_t J = 0; J < Whole; J += S::NR)
      for (int64_t I = 0; I < G.M; I += S::MR)
        tile<T>(least(S::MR, G.M - I), S::NR, Depth, ABlock + I * Depth,
                G.B + P0 * G.Ldb + J, G.Ldb, G.C + I * G.Ldc + J, G.Ldc,
                AddHere);
    if (Whole == G.N)
      continue;
    packB<T, S::NR>(G, P0, Depth, Whole, G.N - Whole, BBlock);
    for (int64_t I = 0; I < G.M; I += S::MR)
      tile<T>(least(S::MR, G.M - I), G.N - Whole, Depth, ABlock + I * Depth,
              BBlock, S::NR, G.C + I * G.Ldc + Whole, G.Ldc, AddHere);
  }
}

/// Rows of A against rows of B (B transposed): dot products of NA rows with NB.
template <typename T, int NB>
static inline void dots(const GemmArgs<T> &G, int64_t I, int64_t J, bool Add) {
  using V = typename Vector<T>::Type;
  constexpr int L = Vector<T>::Lanes;
  V Sums[NB] = {};
  T Tail[NB] = {};
  const T *A = G.A + I * G.Lda;
  int64_t P = 0;
  for (; P + L <= G.K; P += L) {
    V X = load(A + P);
    PPLAN_UNROLL
    for (int B = 0; B < NB; ++B)
      Sums[B] += X * load(G.B + (J + B) * G.Ldb + P);
  }
  for (; P < G.K; ++P)
    for (int B = 0; B < NB; ++B)
      Tail[B] += A[P] * G.B[(J + B) * G.Ldb + P];
  for (int B = 0; B < NB; ++B) {
    T Value = G.Alpha * (sumOf<T>(Sums[B]) + Tail[B]);
    T *Out = G.C + I * G.Ldc + J + B;
    *Out = Add ? *Out + Value : Value;
  }
}

/// One to four rows and B transposed: packing would dominate.
template <typename T>
static void gemmDots(const GemmArgs<T> &G, bool Add) {
  int64_t J = 0;
  for (; J + 4 <= G.N; J += 4)
    for (int64_t I = 0; I < G.M; ++I)
      dots<T, 4>(G, I, J, Add);
  for (; J < G.N; ++J)
    for (int64_t I = 0; I < G.M; ++I)
      dots<T, 1>(G, I, J, Add);
}

/// See KernelTable::GemmF32. M, N and K are positive.
template <typename T> void gemmOwn(const GemmArgs<T> &G, void *Buffer) {
  using S = GemmShape<T>;
  bool Add = G.Beta != T(0);
  if (Add && G.Beta != T(1))
    for (int64_t I = 0; I < G.M; ++I)
      for (int64_t J = 0; J < G.N; ++J)
        G.C[I * G.Ldc + J] *= G.Beta;
  T *ABlock = static_cast<T *>(Buffer);
  T *BBlock = ABlock + S::ABytes / static_cast<int64_t>(sizeof(T));
  if (G.TransB && !G.TransA && G.M <= 4)
    return gemmDots(G, Add);
  if (!G.TransB && G.M <= 2 * S::MR)
    return gemmFewRows(G, ABlock, BBlock, Add);
  gemmPacked(G, ABlock, BBlock, Add);
}

} // namespace pplan::rt::cpu::PPLAN_ISA

#endif // PPLAN_RT_CPU_ISA_GEMM_H
