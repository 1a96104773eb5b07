//===- copy.h - copying rows --------------------------------------*- C++ -*-===//
//
// Byte copies that accept nothing to copy, and copies of many rows between two
// pitches.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CPU_COPY_H
#define PPLAN_RT_CPU_COPY_H

#include <cstdint>
#include <cstring>

namespace pplan::rt::cpu {

/// memcpy that allows null pointers with no bytes.
inline void copyBytes(void *Dst, const void *Src, int64_t Bytes) {
  if (Bytes > 0)
    std::memcpy(Dst, Src, static_cast<size_t>(Bytes));
}

/// Sets bytes to zero; allows a null pointer with no bytes.
inline void zeroBytes(void *Dst, int64_t Bytes) {
  if (Bytes > 0)
    std::memset(Dst, 0, static_cast<size_t>(Bytes));
}

/// Copies rows of a size that is known when compiling, without calls.
template <int64_t Bytes>
void copySmallRows(char *Dst, int64_t DstPitch, const char *Src,
                   int64_t SrcPitch, int64_t Rows) {
  for (int64_t I = 0; I < Rows; ++I)
    std::memcpy(Dst + I * DstPitch, Src + I * SrcPitch, Bytes);
}

/// Copies `Rows` rows of `Bytes`; the pitches are bytes from row to row.
inline void copyRows(char *Dst, int64_t DstPitch, const char *Src,
                     int64_t SrcPitch, int64_t Rows, int64_t Bytes) {
  if (Rows <= 0 || Bytes <= 0)
    return;
  if (DstPitch == Bytes && SrcPitch == Bytes) {
    std::memcpy(Dst, Src, static_cast<size_t>(Rows * Bytes));
    return;
  }
  switch (Bytes) {
  case 1:
    return copySmallRows<1>(Dst, DstPitch, Src, SrcPitch, Rows);
  case 2:
    return copySmallRows<2>(Dst, DstPitch, Src, SrcPitch, Rows);
  case 4:
    return copySmallRows<4>(Dst, DstPitch, Src, SrcPitch, Rows);
  case 8:
    return copySmallRows<8>(Dst, DstPitch, Src, SrcPitch, Rows);
  case 16:
    return copySmallRows<16>(Dst, DstPitch, Src, SrcPitch, Rows);
  }
  for (int64_t I = 0; I < Rows; ++I)
    std::memcpy(Dst + I * DstPitch, Src + I * SrcPitch,
                static_cast<size_t>(Bytes));
}

} // namespace pplan::rt::cpu

#endif // PPLAN_RT_CPU_COPY_H
