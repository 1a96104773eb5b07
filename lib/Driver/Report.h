//===- Report.h - What a plan and a program amount to -----------*- C++ -*-===//
//
// Gathers the figures that commands print, and prints them for people and as
// JSON.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_DRIVER_REPORT_H
#define PPLAN_LIB_DRIVER_REPORT_H

#include "pplan/Planner/PlanModule.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace pplan::driver {

/// Collectives of one kind in a device program.
struct CollectiveCount {
  int64_t calls = 0;
  /// Bytes that one rank sends in one step with the bandwidth-optimal
  /// algorithm: all_reduce 2 (k-1)/k n, all_gather, reduce_scatter and
  /// all_to_all (k-1)/k of the whole, permute its operand.
  double bytesSent = 0;
};

struct Report {
  PlanSummary plan;
  std::map<std::string, CollectiveCount> collectives;
  std::map<std::string, int64_t> memory; ///< bytes per device by kind

  /// Counts the collectives of a module after the partition phase.
  void addCollectives(mlir::ModuleOp module);
  /// Takes `pplan.memory` of a module after the memory phase.
  void addMemory(mlir::ModuleOp module);
  int64_t getPeakMemory() const;

  void print(llvm::raw_ostream &os) const;
  /// Attributes of an open object; `schema` names its form and version.
  void printJson(llvm::json::OStream &json, llvm::StringRef schema) const;
};

/// One line for each of the dearest changes of sharding: the operation, the
/// value, what it costs and the next best way to run the operation. At most
/// `limit`, and only those of at least `share` of the step's time.
void printReshards(const PlanSummary &plan, size_t limit, double share,
                   llvm::raw_ostream &os);

/// "12.3 MB", "1.5 ms".
std::string formatBytes(double bytes);
std::string formatSeconds(double seconds);

} // namespace pplan::driver

#endif // PPLAN_LIB_DRIVER_REPORT_H
