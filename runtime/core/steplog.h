//===- steplog.h - a line for each step -------------------------*- C++ -*-===//
//
// Writes the scalar outputs and the time of each step as JSON lines.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_STEPLOG_H
#define PPLAN_RT_CORE_STEPLOG_H

#include "options.h"

#include <cstdio>
#include <memory>

namespace pplan::rt {

/// The log of a run, written by one rank.
class StepLog {
public:
  /// Opens `Path` ("-": standard output); PPLAN_IO if that is impossible.
  pplan_status *open(const std::string &Path);
  /// Writes a line, if the log is open. `Step` counts from 1; `Tokens` are those
  /// of a step, 0 when there are none.
  void write(const pplan_program &P, int64_t Step, double Seconds,
             int64_t Tokens, const std::vector<void *> &Outputs);
  /// PPLAN_IO if a line could not be written.
  pplan_status *close();

private:
  std::string Path;
  std::FILE *File = nullptr;
  bool Failed = false;
};

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_STEPLOG_H
