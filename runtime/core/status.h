//===- status.h - making statuses inside the runtime ------------*- C++ -*-===//
//
// Helpers around the ABI's status: formatted messages, an owning pointer, and
// the wall that keeps exceptions inside. Leaves codes and wording to callers.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_STATUS_H
#define PPLAN_RT_CORE_STATUS_H

#include "pplan_rt/base.h"

#include <exception>
#include <memory>
#include <new>
#include <string>

namespace pplan::rt {

/// Frees a status at the end of a scope.
struct StatusDeleter {
  void operator()(pplan_status *S) const { pplan_rt_status_free(S); }
};
using StatusPtr = std::unique_ptr<pplan_status, StatusDeleter>;

/// Makes an error with a message in the manner of printf. `Rank` is the rank to
/// blame or -1.
pplan_status *makeError(pplan_status_code Code, const char *Loc, int32_t Rank,
                        const char *Format, ...)
    __attribute__((format(printf, 4, 5)));

/// Notes the rank to blame in an error that has none yet. NULL is allowed.
void setRank(pplan_status *Status, int32_t Rank);

/// A printf into a string.
std::string format(const char *Format, ...)
    __attribute__((format(printf, 1, 2)));

/// Runs `Body`, which returns a status, and turns what it throws into one, so
/// that no exception crosses the ABI.
template <typename Fn>
pplan_status *guarded(const char *Loc, Fn &&Body) noexcept {
  try {
    return Body();
  } catch (const std::bad_alloc &) {
    return pplan_rt_error(PPLAN_OUT_OF_MEMORY, "out of memory", Loc);
  } catch (const std::exception &E) {
    return pplan_rt_error(PPLAN_INTERNAL, E.what(), Loc);
  } catch (...) {
    return pplan_rt_error(PPLAN_INTERNAL, "unknown exception", Loc);
  }
}

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_STATUS_H
