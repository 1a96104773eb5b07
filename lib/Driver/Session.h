//===- Session.h - One run of the compiler ----------------------*- C++ -*-===//
//
// Holds the context and the module and runs phases on it, one at a time.
// Which phases run is decided by the commands.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_DRIVER_SESSION_H
#define PPLAN_LIB_DRIVER_SESSION_H

#include "Options.h"
#include "pplan/Driver/Driver.h"
#include "pplan/Planner/PlanModule.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/SourceMgr.h"
#include <memory>

namespace pplan::driver {

/// The phases in order. Train, pipeline and schedule are the identity for an
/// inference model of one stage and are not listed.
enum class CompilerPhase { Import, Train, Plan, Partition, Memory, Lower, Link };
inline constexpr int kNumPhases = 7;
llvm::StringRef getPhaseName(CompilerPhase phase);
std::optional<CompilerPhase> parsePhase(llvm::StringRef name);

class Session {
public:
  /// `executable` is the path of the running pplan, from which clusters and
  /// runtime libraries are found.
  Session(const Options &options, std::string executable);

  /// Each returns kExitDone or the exit code after a message.
  /// Checks what is asked for before anything is read that takes long: degrees,
  /// devices, cluster, timeout, output.
  int prepare();
  int loadModel();
  int applyPins();
  /// Makes a training step of the model, if one is asked for.
  int train();
  int plan(PlanSummary &summary);
  /// Runs the pass pipeline of partition, memory or lower. When it refuses a
  /// module that was read after planning (`isOwnModule` is false), the text is at
  /// fault, not pplan.
  int runPhase(CompilerPhase phase, bool isOwnModule = true);
  int writeModule(llvm::StringRef path);

  mlir::ModuleOp getModule() { return *module; }
  void replaceModule(mlir::OwningOpRef<mlir::ModuleOp> next) {
    module = std::move(next);
  }
  const std::string &getInstallPrefix() const { return prefix; }

private:
  bool isOnnx();
  int declareForcedMesh();
  int planWithinMemory(PlanSummary &summary);

  const Options &options;
  PlanOptions planOptions;
  std::string prefix; ///< directory above bin/
  llvm::SourceMgr sources;
  std::unique_ptr<mlir::MLIRContext> context;
  std::unique_ptr<mlir::SourceMgrDiagnosticHandler> handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// The commands; each returns an exit code.
int runImport(const Options &options, Session &session);
int runPlan(const Options &options, Session &session);
int runExplain(const Options &options, Session &session);
int runCompile(const Options &options, Session &session);
int runProgram(const Options &options);
int runSolve(const Options &options);

} // namespace pplan::driver

#endif // PPLAN_LIB_DRIVER_SESSION_H
