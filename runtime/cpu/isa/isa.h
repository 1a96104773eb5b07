//===- isa.h - vectors of the instruction set being compiled ----*- C++ -*-===//
//
// Files in cpu/isa are compiled once per instruction set, with PPLAN_ISA naming
// it. They must not use inline functions of the standard library: the linker
// keeps one copy of such a function, maybe one that the processor cannot run.
// Everything here is therefore static or in the instruction set's namespace.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_ISA_ISA_H
#define PPLAN_RT_CPU_ISA_ISA_H

#include <cstdint>

#if defined(__AVX512F__)
#define PPLAN_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define PPLAN_VECTOR_BYTES 32
#else
#define PPLAN_VECTOR_BYTES 16
#endif

/// Before a loop whose trip count is known: makes it straight code, so that
/// arrays of vectors become registers. Or keeps a loop as it is.
#ifdef __clang__
#define PPLAN_UNROLL _Pragma("clang loop unroll(full)")
#define PPLAN_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define PPLAN_UNROLL _Pragma("GCC unroll 64")
#define PPLAN_NO_UNROLL _Pragma("GCC unroll 1")
#endif

namespace pplan::rt::cpu::PPLAN_ISA {

/// A vector register of T, its unsigned counterpart, and the number of lanes.
template <typename T> struct Vector;
template <> struct Vector<float> {
  typedef float Type __attribute__((vector_size(PPLAN_VECTOR_BYTES)));
  typedef float Unaligned
      __attribute__((vector_size(PPLAN_VECTOR_BYTES), aligned(4), may_alias));
  typedef uint32_t Unsigned __attribute__((vector_size(PPLAN_VECTOR_BYTES)));
  static constexpr int Lanes = PPLAN_VECTOR_BYTES / 4;
};
template <> struct Vector<double> {
  typedef double Type __attribute__((vector_size(PPLAN_VECTOR_BYTES)));
  typedef double Unaligned
      __attribute__((vector_size(PPLAN_VECTOR_BYTES), aligned(8), may_alias));
  typedef uint64_t Unsigned __attribute__((vector_size(PPLAN_VECTOR_BYTES)));
  static constexpr int Lanes = PPLAN_VECTOR_BYTES / 8;
};

template <typename T>
static inline __attribute__((always_inline)) typename Vector<T>::Type
load(const T *P) {
  return *reinterpret_cast<const typename Vector<T>::Unaligned *>(P);
}
template <typename T>
static inline __attribute__((always_inline)) void
store(T *P, typename Vector<T>::Type V) {
  *reinterpret_cast<typename Vector<T>::Unaligned *>(P) = V;
}
template <typename T>
static inline __attribute__((always_inline)) typename Vector<T>::Type
splat(T X) {
  return X - typename Vector<T>::Type{}; // x - 0 is x, also for -0
}

} // namespace pplan::rt::cpu::PPLAN_ISA

#endif // PPLAN_RT_CPU_ISA_ISA_H
