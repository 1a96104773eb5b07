//===- dtype.cpp - sizes and names of element types -----------------------===//
//
// The table behind pplan_rt_dtype_size and pplan_rt_dtype_name.
//
//===----------------------------------------------------------------------===//
#include "dtype.h"

namespace {
struct Entry {
  const char *Name;
  size_t Size;
};
/// Indexed by pplan_dtype.
constexpr Entry Table[] = {{"f32", 4}, {"f64", 8}, {"f16", 2},
                           {"bf16", 2}, {"i1", 1}, {"i8", 1},
                           {"u8", 1},  {"i32", 4}, {"i64", 8}};
constexpr int32_t TableSize = sizeof(Table) / sizeof(Table[0]);
} // namespace

size_t pplan_rt_dtype_size(int32_t dtype) {
  return dtype >= 0 && dtype < TableSize ? Table[dtype].Size : 0;
}

const char *pplan_rt_dtype_name(int32_t dtype) {
  return dtype >= 0 && dtype < TableSize ? Table[dtype].Name : "?";
}
