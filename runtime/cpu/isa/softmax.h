//===- softmax.h - online softmax over a block of scores --------*- C++ -*-===//
//
// Scale, mask, exponential and running maximum and sum of attention, by rows.
// Formulas: Milakov and Gimelshein, "Online normalizer calculation for softmax",
// 2018. The order of blocks is left to attention.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_ISA_SOFTMAX_H
#define PPLAN_RT_CPU_ISA_SOFTMAX_H

#include "pack.h"

namespace pplan::rt::cpu::PPLAN_ISA {

/// Constants of exp: x = n ln 2 + r with |r| <= ln 2 / 2, and exp(r) by its
/// Taylor polynomial, whose remainder is below half a unit in the last place.
template <typename T> struct ExpConstants;
template <> struct ExpConstants<float> {
  static constexpr float Ln2High = 0x1.62e4p-1f; // 15 bits: n * it is exact
  static constexpr float Ln2Low = 0x1.7f7d1cp-20f;
  static constexpr float Log2E = 0x1.715476p+0f;
  static constexpr float Magic = 0x1.8p+23f; // adding it rounds to an integer
  static constexpr float Least = -87.3365f;  // below: less than 2^-126, so 0
  static constexpr int MantissaBits = 23;
  static constexpr int Degree = 7;
};
template <> struct ExpConstants<double> {
  static constexpr double Ln2High = 0x1.62e42fefap-1;
  static constexpr double Ln2Low = 0x1.cf79abc9e3b398p-40;
  static constexpr double Log2E = 0x1.71547652b82fep+0;
  static constexpr double Magic = 0x1.8p+52;
  static constexpr double Least = -708.396;
  static constexpr int MantissaBits = 52;
  static constexpr int Degree = 13;
};

/// exp(x) for x <= 0, within about one unit in the last place; 0 where it would
/// be subnormal, NaN for NaN.
template <typename T>
static inline __attribute__((always_inline)) typename Vector<T>::Type
expNonPositive(typename Vector<T>::Type X) {
  using V = typename Vector<T>::Type;
  using U = typename Vector<T>::Unsigned;
  using K = ExpConstants<T>;
  auto Tiny = X < splat<T>(K::Least);
  V Clamped = Tiny ? V{} : X;
  V Shifted = Clamped * splat<T>(K::Log2E) + splat<T>(K::Magic);
  V N = Shifted - splat<T>(K::Magic);
  V R = Clamped - N * splat<T>(K::Ln2High);
  R = R - N * splat<T>(K::Ln2Low);
  // Horner from 1/Degree! down; factorials are exact in both types.
  T Factorial = 1;
  for (int D = 2; D <= K::Degree; ++D)
    Factorial *= static_cast<T>(D);
  V P = splat<T>(T(1) / Factorial);
  PPLAN_UNROLL
  for (int D = K::Degree; D >= 1; --D) {
    Factorial /= static_cast<T>(D);
    P = P * R + splat<T>(T(1) / Factorial);
  }
  // 2^N: the integer sits in the low bits of Shifted; add it to the exponent.
  U Bits = reinterpret_cast<U>(Shifted) << K::MantissaBits;
  V Result = reinterpret_cast<V>(reinterpret_cast<U>(P) + Bits);
  return Tiny ? V{} : (X != X ? X : Result);
}

/// Largest lane, by halves.
template <typename T>
static inline T maxOf(typename Vector<T>::Type V) {
  constexpr int L = Vector<T>::Lanes;
  T Lane[L];
  store(Lane, V);
  PPLAN_UNROLL
  for (int H = L / 2; H > 0; H /= 2)
    for (int I = 0; I < H; ++I)
      Lane[I] = Lane[I] > Lane[I + H] ? Lane[I] : Lane[I + H];
  return Lane[0];
}

/// Scales and masks one row and sets what is not seen to -inf.
template <typename T>
static inline void prepareRow(const SoftmaxArgs<T> &S, T *Row, int64_t R,
                              int64_t Cols) {
  const T Infinity = static_cast<T>(__builtin_inf());
  for (int64_t C = 0; C < Cols; ++C)
    Row[C] *= S.Scale;
  if (S.AddMask) {
    const T *Mask = S.AddMask + R * S.MaskRow;
    if (S.MaskCol == 1)
      for (int64_t C = 0; C < Cols; ++C)
        Row[C] += Mask[C];
    else
      for (int64_t C = 0; C < Cols; ++C)
        Row[C] += Mask[C * S.MaskCol];
  }
  if (S.BoolMask) {
    const uint8_t *Mask = S.BoolMask + R * S.MaskRow;
    for (int64_t C = 0; C < Cols; ++C)
      Row[C] = Mask[C * S.MaskCol] ? Row[C] : -Infinity;
  }
}

/// See KernelTable::SoftmaxF32.
template <typename T> void softmax(const SoftmaxArgs<T> &S) {
  using V = typename Vector<T>::Type;
  constexpr int L = Vector<T>::Lanes;
  const T Infinity = static_cast<T>(__builtin_inf());
  for (int64_t R = 0; R < S.Rows; ++R) {
    T *Row = S.Scores + R * S.Ld;
    int64_t Cols = S.Limit[R] < S.Cols ? S.Limit[R] : S.Cols;
    Cols = Cols < 0 ? 0 : Cols;
    prepareRow(S, Row, R, Cols);
    T Max = S.Max[R];
    V Maxes = splat<T>(Max);
    int64_t C = 0;
    for (; C + L <= Cols; C += L) {
      V X = load(Row + C);
      Maxes = X > Maxes ? X : Maxes;
    }
    Max = maxOf<T>(Maxes);
    for (; C < Cols; ++C)
      Max = Row[C] > Max ? Row[C] : Max;
    // A row with nothing seen keeps its maximum of -inf; subtracting 0 instead
    // gives exp(-inf) = 0 everywhere.
    T Shift = Max == -Infinity ? T(0) : Max;
    V Shifts = splat<T>(Shift), Sums = V{};
    for (C = 0; C + L <= Cols; C += L) {
      V P = expNonPositive<T>(load(Row + C) - Shifts);
      store(Row + C, P);
      Sums += P;
    }
    if (C < Cols) {
      V Tail = splat<T>(-Infinity);
      for (int64_t J = C; J < Cols; ++J)
        Tail[J - C] = Row[J];
      V P = expNonPositive<T>(Tail - Shifts);
      for (int64_t J = C; J < Cols; ++J)
        Row[J] = P[J - C];
      Sums += P;
    }
    for (C = Cols; C < S.Cols; ++C)
      Row[C] = T(0);
    S.Correction[R] = expNonPositive<T>(splat<T>(S.Max[R] - Shift))[0];
    S.Sum[R] = S.Sum[R] * S.Correction[R] + sumOf<T>(Sums);
    S.Max[R] = Max;
  }
}

/// See KernelTable::ScaleRowsF32.
template <typename T>
void scaleRows(T *X, int64_t Rows, int64_t Cols, int64_t Ld, const T *Factor) {
  for (int64_t R = 0; R < Rows; ++R)
    for (int64_t C = 0; C < Cols; ++C)
      X[R * Ld + C] *= Factor[R];
}

/// See KernelTable::SoftmaxGradientF32.
template <typename T>
void softmaxGradient(const T *P, T *G, int64_t Rows, int64_t Cols, int64_t Ld,
                     T Scale) {
  using V = typename Vector<T>::Type;
  constexpr int L = Vector<T>::Lanes;
  for (int64_t R = 0; R < Rows; ++R) {
    const T *Prob = P + R * Ld;
    T *Grad = G + R * Ld;
    V Sums = V{};
    int64_t C = 0;
    for (; C + L <= Cols; C += L)
      Sums += load(Prob + C) * load(Grad + C);
    T Sum = sumOf<T>(Sums);
    for (; C < Cols; ++C)
      Sum += Prob[C] * Grad[C];
    for (C = 0; C + L <= Cols; C += L)
      store(Grad + C, splat<T>(Scale) * load(Prob + C) *
                          (load(Grad + C) - splat<T>(Sum)));
    for (; C < Cols; ++C)
      Grad[C] = Scale * Prob[C] * (Grad[C] - Sum);
  }
}

} // namespace pplan::rt::cpu::PPLAN_ISA

#endif // PPLAN_RT_CPU_ISA_SOFTMAX_H
