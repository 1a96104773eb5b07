//===- runner.h - running a compiled program --------------------*- C++ -*-===//
//
// Inputs to ranks, iterations, outputs to files. Uses the ABI only, and so runs
// on any back end. Options are parsed in options.cpp; what is printed is in
// report.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_RUNNER_H
#define PPLAN_RT_CORE_RUNNER_H

#include "options.h"
#include "status.h"

namespace pplan::rt {

/// What a run measured.
struct RunResult {
  std::vector<double> Seconds; ///< per iteration, from all ranks to all ranks
  std::vector<std::vector<pplan_profile_row>> Profiles; ///< by rank
  std::vector<uint64_t> BytesReceived; ///< by rank, in the timed iterations
  uint64_t ParamBytesCopied = 0, ParamBytesMapped = 0;
};

/// Runs `P` as `O` says.
pplan_status *runProgram(const pplan_program &P, const Options &O,
                         RunResult &Result);

/// The time of the iterations, and the profile if there is one, as text or
/// JSON.
std::string reportRun(const pplan_program &P, const Options &O,
                      const RunResult &Result);

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_RUNNER_H
