//===- Deadline.h - When to stop --------------------------------*- C++ -*-===//
//
// Decides how the algorithms know that their time is up.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_PLANNER_DEADLINE_H
#define PPLAN_LIB_PLANNER_DEADLINE_H

#include <chrono>

namespace pplan {

/// A point in time, counted from the construction.
class Deadline {
public:
  explicit Deadline(double seconds) : limit(seconds) {}
  /// Seconds since the construction.
  double elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                         begin)
        .count();
  }
  double left() const { return limit - elapsed(); }
  bool passed() const { return left() <= 0; }

private:
  std::chrono::steady_clock::time_point begin =
      std::chrono::steady_clock::now();
  double limit;
};

} // namespace pplan

#endif // PPLAN_LIB_PLANNER_DEADLINE_H
