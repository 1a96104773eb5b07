//===- reduce.h - combining the buffers of several ranks --------*- C++ -*-===//
//
// The arithmetic of all_reduce and reduce_scatter for every dtype and operation.
// Decides order (that of the sources), accumulation type (f32 for f16 and bf16)
// and NaN (a NaN in any source is kept by max and min).
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_ISA_REDUCE_H
#define PPLAN_RT_CPU_ISA_REDUCE_H

#include "../../core/dtype.h"
#include "isa.h"

namespace pplan::rt::cpu::PPLAN_ISA {

/// How a stored T is read into, and written from, an accumulator.
template <typename T> struct Storage {
  using Acc = T;
  static T read(T X) { return X; }
  static T write(T X) { return X; }
};
template <> struct Storage<Half> {
  using Acc = float;
  static float read(Half X) { return toFloat(X); }
  static Half write(float X) { return toHalf(X); }
};
template <> struct Storage<BFloat> {
  using Acc = float;
  static float read(BFloat X) { return toFloat(X); }
  static BFloat write(float X) { return toBFloat(X); }
};
template <> struct Storage<Bool> {
  using Acc = uint8_t;
  static uint8_t read(Bool X) { return X.Byte != 0; }
  static Bool write(uint8_t X) { return {X}; }
};

/// Where overflow wraps: the unsigned type of an integer's width. Other types are
/// themselves.
template <typename T> struct Wrap {
  using Type = T;
};
template <> struct Wrap<int8_t> {
  using Type = uint8_t;
};
template <> struct Wrap<int32_t> {
  using Type = uint32_t;
};
template <> struct Wrap<int64_t> {
  using Type = uint64_t;
};

struct Sum {
  template <typename T> static T apply(T A, T B) {
    using W = typename Wrap<T>::Type;
    return static_cast<T>(static_cast<W>(A) + static_cast<W>(B));
  }
};
struct Prod {
  template <typename T> static T apply(T A, T B) {
    using W = typename Wrap<T>::Type;
    return static_cast<T>(static_cast<W>(A) * static_cast<W>(B));
  }
};
struct Max {
  template <typename T> static T apply(T A, T B) {
    return A > B || A != A ? A : B;
  }
};
struct Min {
  template <typename T> static T apply(T A, T B) {
    return A < B || A != A ? A : B;
  }
};

/// See ReduceFn. Works in blocks that stay in the first-level cache; a block is
/// combined aside and then stored, because Dst may be one of the sources.
template <typename T, typename Op>
void reduce(void *Dst, const void *const *Srcs, int32_t NumSrcs,
            int64_t Count) {
  using Acc = typename Storage<T>::Acc;
  constexpr int64_t BlockSize = 2048 / sizeof(Acc);
  alignas(64) Acc Block[BlockSize];
  for (int64_t Start = 0; Start < Count; Start += BlockSize) {
    int64_t Size = Count - Start < BlockSize ? Count - Start : BlockSize;
    const T *First = static_cast<const T *>(Srcs[0]) + Start;
    for (int64_t I = 0; I < Size; ++I)
      Block[I] = Storage<T>::read(First[I]);
    for (int32_t S = 1; S < NumSrcs; ++S) {
      const T *Src = static_cast<const T *>(Srcs[S]) + Start;
      for (int64_t I = 0; I < Size; ++I)
        Block[I] = Op::template apply<Acc>(Block[I], Storage<T>::read(Src[I]));
    }
    T *Out = static_cast<T *>(Dst) + Start;
    for (int64_t I = 0; I < Size; ++I)
      Out[I] = Storage<T>::write(Block[I]);
  }
}

} // namespace pplan::rt::cpu::PPLAN_ISA

#endif // PPLAN_RT_CPU_ISA_REDUCE_H
