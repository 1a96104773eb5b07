//===- dtype.h - element types and half-precision conversions ---*- C++ -*-===//
//
// What the runtime knows about element types: their storage types and the
// conversions of f16 and bf16 (static, because files compiled for different
// instruction sets use them). Arithmetic belongs to the back ends.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_DTYPE_H
#define PPLAN_RT_CORE_DTYPE_H

#include "pplan_rt/base.h"

#include <cstring>

namespace pplan::rt {

/// Storage of an f16 (IEEE binary16).
struct Half {
  uint16_t Bits;
};
/// Storage of a bf16 (the upper half of a binary32).
struct BFloat {
  uint16_t Bits;
};
/// Storage of an i1: one byte, 0 or 1.
struct Bool {
  uint8_t Byte;
};

static inline float bitsToFloat(uint32_t Bits) {
  float F;
  std::memcpy(&F, &Bits, 4);
  return F;
}
static inline uint32_t floatToBits(float F) {
  uint32_t Bits;
  std::memcpy(&Bits, &F, 4);
  return Bits;
}

static inline float toFloat(BFloat X) {
  return bitsToFloat(static_cast<uint32_t>(X.Bits) << 16);
}

/// Rounds to nearest, ties to even; NaN stays a (quiet) NaN.
static inline BFloat toBFloat(float F) {
  uint32_t B = floatToBits(F);
  if ((B & 0x7fffffffu) > 0x7f800000u)
    return {static_cast<uint16_t>((B >> 16) | 0x40u)};
  return {static_cast<uint16_t>((B + 0x7fffu + ((B >> 16) & 1u)) >> 16)};
}

static inline float toFloat(Half X) {
  uint32_t Sign = static_cast<uint32_t>(X.Bits & 0x8000u) << 16;
  uint32_t Rest = X.Bits & 0x7fffu;
  if (Rest >= 0x7c00u) // infinity and NaN
    return bitsToFloat(Sign | 0x7f800000u | ((Rest & 0x3ffu) << 13));
  if (Rest >= 0x400u) // normal: shift the exponent's bias from 15 to 127
    return bitsToFloat(Sign | ((Rest << 13) + (112u << 23)));
  float Value = static_cast<float>(Rest) * 0x1p-24f; // subnormal: exact
  return Sign ? -Value : Value;
}

/// Rounds to nearest, ties to even; overflows to infinity.
static inline Half toHalf(float F) {
  uint32_t B = floatToBits(F);
  uint16_t Sign = static_cast<uint16_t>((B >> 16) & 0x8000u);
  uint32_t Abs = B & 0x7fffffffu;
  if (Abs > 0x7f800000u)
    return {static_cast<uint16_t>(Sign | 0x7e00u)};
  if (Abs >= 0x477ff000u) // 65520 and above round to infinity
    return {static_cast<uint16_t>(Sign | 0x7c00u)};
  if (Abs < 0x38800000u) { // below 2^-14: let the adder round at 2^-24
    float Sum = bitsToFloat(Abs) + 0.5f;
    return {static_cast<uint16_t>(Sign | (floatToBits(Sum) - 0x3f000000u))};
  }
  uint32_t Rounded = Abs + 0xfffu + ((Abs >> 13) & 1u);
  return {static_cast<uint16_t>(Sign | ((Rounded - (112u << 23)) >> 13))};
}

/// Whether `Dtype` is a number of pplan_dtype.
inline bool isDtype(int32_t Dtype) { return pplan_rt_dtype_size(Dtype) != 0; }

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_DTYPE_H
