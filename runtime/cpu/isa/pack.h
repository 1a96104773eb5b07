//===- pack.h - packing and transposing panels ------------------*- C++ -*-===//
//
// Brings blocks of matrices into the order in which the GEMM micro-kernel reads
// them: panels of a fixed width, one step of k after the other, zero where the
// block ends.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_ISA_PACK_H
#define PPLAN_RT_CPU_ISA_PACK_H

#include "../kernels.h"
#include "isa.h"

namespace pplan::rt::cpu::PPLAN_ISA {

/// Lanes of A and B alternating: the lower halves, or the upper halves.
template <bool Upper, typename V>
static inline __attribute__((always_inline)) V interleave(V A, V B) {
  constexpr int L = sizeof(V) / sizeof(A[0]);
  constexpr int H = Upper ? L / 2 : 0;
  if constexpr (L == 16)
    return __builtin_shufflevector(A, B, H, H + 16, H + 1, H + 17, H + 2, H + 18,
                                   H + 3, H + 19, H + 4, H + 20, H + 5, H + 21,
                                   H + 6, H + 22, H + 7, H + 23);
  else if constexpr (L == 8)
    return __builtin_shufflevector(A, B, H, H + 8, H + 1, H + 9, H + 2, H + 10,
                                   H + 3, H + 11);
  else if constexpr (L == 4)
    return __builtin_shufflevector(A, B, H, H + 4, H + 1, H + 5);
  else
    return __builtin_shufflevector(A, B, H, H + 2);
}

/// Transposes a square of vectors: log2(L) rounds of perfect shuffles.
template <typename T>
static inline __attribute__((always_inline)) void
transpose(typename Vector<T>::Type *X) {
  using V = typename Vector<T>::Type;
  constexpr int L = Vector<T>::Lanes;
  PPLAN_UNROLL
  for (int Round = 1; Round < L; Round *= 2) {
    V Y[L];
    PPLAN_UNROLL
    for (int I = 0; I < L / 2; ++I) {
      Y[2 * I] = interleave<false>(X[I], X[I + L / 2]);
      Y[2 * I + 1] = interleave<true>(X[I], X[I + L / 2]);
    }
    PPLAN_UNROLL
    for (int I = 0; I < L; ++I)
      X[I] = Y[I];
  }
}

/// Sum of the lanes, by halves.
template <typename T>
static inline __attribute__((always_inline)) T
sumOf(typename Vector<T>::Type V) {
  constexpr int L = Vector<T>::Lanes;
  T Lane[L];
  store(Lane, V);
  PPLAN_UNROLL
  for (int H = L / 2; H > 0; H /= 2)
    for (int I = 0; I < H; ++I)
      Lane[I] += Lane[I + H];
  return Lane[0];
}

/// A panel from rows: Out[p * Width + r] = Factor * Src[r * Ld + p] for Rows of
/// Width rows, 0 for the others. Writes up to a vector beyond the panel's end.
template <typename T, int Width, bool Full>
static void packFromRows(const T *Src, int64_t Ld, int64_t Rows, int64_t Depth,
                         T Factor, T *Out) {
  using V = typename Vector<T>::Type;
  constexpr int L = Vector<T>::Lanes;
  constexpr int Groups = (Width + L - 1) / L;
  int64_t P = 0;
  for (; P + L <= Depth; P += L)
    for (int G = 0; G < Groups; ++G) {
      V X[L];
      PPLAN_UNROLL
      for (int R = 0; R < L; ++R)
        X[R] = G * L + R < (Full ? Width : Rows)
                   ? load(Src + (G * L + R) * Ld + P) * splat<T>(Factor)
                   : V{};
      transpose<T>(X);
      int64_t Left = Width - G * L;
      PPLAN_UNROLL
      for (int R = 0; R < L; ++R) {
        T *To = Out + (P + R) * Width + G * L;
        if (Groups == 1 || Left >= L) // known when compiling
          store(To, X[R]); // what is too much is overwritten by the next
        else
          for (int64_t I = 0; I < Left; ++I)
            To[I] = X[R][I];
      }
    }
  for (; P < Depth; ++P)
    for (int R = 0; R < Width; ++R)
      Out[P * Width + R] = Full || R < Rows ? Factor * Src[R * Ld + P] : T(0);
}

/// The same for as many panels as there are rows.
template <typename T, int Width>
static void packRows(const T *Src, int64_t Ld, int64_t Rows, int64_t Depth,
                     T Factor, T *Out) {
  int64_t I = 0;
  for (; I + Width <= Rows; I += Width)
    packFromRows<T, Width, true>(Src + I * Ld, Ld, Width, Depth, Factor,
                                 Out + I * Depth);
  if (I < Rows)
    packFromRows<T, Width, false>(Src + I * Ld, Ld, Rows - I, Depth, Factor,
                                  Out + I * Depth);
}

/// Panels from columns, `Cols` columns in all: in each panel, Out[p * Width + c] =
/// Factor * Src[p * Ld + c], 0 beyond the last column. Goes along the rows of the
/// matrix, several panels at once, because each row is in another page.
template <typename T, int Width>
static void packFromCols(const T *Src, int64_t Ld, int64_t Cols, int64_t Depth,
                         T Factor, T *Out) {
  constexpr int64_t Strip = 8 * Width;
  constexpr int64_t LineSize = 64 / sizeof(T);
  for (int64_t J0 = 0; J0 < Cols; J0 += Strip) {
    int64_t J1 = Cols - J0 < Strip ? Cols : J0 + Strip;
    for (int64_t P = 0; P < Depth; ++P) {
      const T *Row = Src + P * Ld;
      const T *Next = P + 2 < Depth ? Row + 2 * Ld : Row;
      for (int64_t J = J0; J < J1; J += LineSize)
        __builtin_prefetch(Next + J);
      int64_t J = J0;
      for (; J + Width <= J1; J += Width) {
        T *To = Out + J * Depth + P * Width;
        for (int C = 0; C < Width; ++C)
          To[C] = Row[J + C] * Factor;
      }
      if (J < J1) {
        T *To = Out + J * Depth + P * Width;
        for (int C = 0; C < Width; ++C)
          To[C] = J + C < J1 ? Row[J + C] * Factor : T(0);
      }
    }
  }
}

/// Rows [I0, I0 + Rows) and steps [P0, P0 + Depth) of alpha * op(A), in panels of
/// MR rows. The last panel is padded; a vector is written beyond it.
template <typename T, int MR>
static void packA(const GemmArgs<T> &G, int64_t I0, int64_t Rows, int64_t P0,
                  int64_t Depth, T *Out) {
  if (G.TransA)
    return packFromCols<T, MR>(G.A + P0 * G.Lda + I0, G.Lda, Rows, Depth,
                               G.Alpha, Out);
  packRows<T, MR>(G.A + I0 * G.Lda + P0, G.Lda, Rows, Depth, G.Alpha, Out);
}

/// Steps [P0, P0 + Depth) and columns [J0, J0 + Cols) of op(B), in panels of NR
/// columns. The last panel is padded.
template <typename T, int NR>
static void packB(const GemmArgs<T> &G, int64_t P0, int64_t Depth, int64_t J0,
                  int64_t Cols, T *Out) {
  if (!G.TransB)
    return packFromCols<T, NR>(G.B + P0 * G.Ldb + J0, G.Ldb, Cols, Depth, T(1),
                               Out);
  packRows<T, NR>(G.B + J0 * G.Ldb + P0, G.Ldb, Cols, Depth, T(1), Out);
}

} // namespace pplan::rt::cpu::PPLAN_ISA

#endif // PPLAN_RT_CPU_ISA_PACK_H
