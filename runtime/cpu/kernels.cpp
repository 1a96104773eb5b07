//===- kernels.cpp - choosing an instruction set --------------------------===//
//
// See kernels.h. PPLAN_ISA=baseline|avx2|avx512 in the environment chooses a
// lesser set than the processor has, for comparisons.
//
//===----------------------------------------------------------------------===//
#include "kernels.h"

#include <cstdlib>
#include <cstring>

namespace pplan::rt::cpu {

namespace baseline {
extern const KernelTable Table;
}
#ifdef __x86_64__
namespace avx2 {
extern const KernelTable Table;
}
namespace avx512 {
extern const KernelTable Table;
}
#endif

static const KernelTable &choose() {
#ifdef __x86_64__
  const char *Wish = std::getenv("PPLAN_ISA");
  int Most = 2;
  if (Wish && std::strcmp(Wish, "avx2") == 0)
    Most = 1;
  else if (Wish && std::strcmp(Wish, "baseline") == 0)
    Most = 0;
  __builtin_cpu_init();
  bool Avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (Most >= 2 && Avx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return avx512::Table;
  if (Most >= 1 && Avx2)
    return avx2::Table;
#endif
  return baseline::Table;
}

const KernelTable &kernels() {
  static const KernelTable &Chosen = choose();
  return Chosen;
}

} // namespace pplan::rt::cpu
