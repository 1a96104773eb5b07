//===- random.h - numbers that depend on a counter --------------*- C++ -*-===//
//
// Random values by position, so that every sharding sees the same.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_RANDOM_H
#define PPLAN_RT_CORE_RANDOM_H

#include <cstdint>

namespace pplan::rt {

/// SplitMix64 (Steele, Lea, Flood 2014), as a hash of a counter.
inline uint64_t mix(uint64_t X) {
  X += 0x9e3779b97f4a7c15u;
  X = (X ^ (X >> 30)) * 0xbf58476d1ce4e5b9u;
  X = (X ^ (X >> 27)) * 0x94d049bb133111ebu;
  return X ^ (X >> 31);
}

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_RANDOM_H
