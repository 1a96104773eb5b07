//===- Driver.h - The pplan command -----------------------------*- C++ -*-===//
//
// Entry point of the command line tool, whose form is a contract
// (docs/commands.md).
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_DRIVER_DRIVER_H
#define PPLAN_DRIVER_DRIVER_H

namespace pplan {

/// Exit codes of every command.
enum ExitCode {
  kExitDone = 0,
  kExitBadInput = 1,   ///< the input is at fault
  kExitUsage = 2,      ///< the command line is at fault
  kExitInfeasible = 3, ///< no plan exists under the constraints
  kExitBug = 4,        ///< pplan is at fault; a reproducer was written
};

/// Runs `pplan COMMAND ...` and returns its exit code.
int runDriver(int argc, char **argv);

} // namespace pplan

#endif // PPLAN_DRIVER_DRIVER_H
