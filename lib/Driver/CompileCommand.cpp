//===- CompileCommand.cpp - pplan compile ---------------------------------===//
//
// Runs the phases from the one that MODEL has passed to the one asked for.
//
//===----------------------------------------------------------------------===//
#include "Report.h"
#include "Session.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "pplan/Lowering/Codegen.h"
#include "pplan/Lowering/Link.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::driver;

/// Emits the object file and links it.
static int link(const Options &options, Session &session, bool isOwnModule) {
  SmallString<128> object;
  if (std::error_code error = llvm::sys::fs::createTemporaryFile(
          "pplan", "o", object)) {
    llvm::errs() << "pplan: cannot make a temporary file: " << error.message()
                 << '\n';
    return kExitBadInput;
  }
  CodegenOptions codegen;
  codegen.cpu = options.cpu;
  LinkOptions linkOptions;
  linkOptions.searchDirs = {session.getInstallPrefix() + "/lib"};
  int code = kExitDone;
  if (failed(emitObject(session.getModule(), object, codegen)))
    code = isOwnModule ? kExitBug : kExitBadInput;
  else if (failed(linkExecutable(session.getModule().getContext(), object,
                                 options.output, linkOptions)))
    code = kExitBadInput;
  llvm::sys::fs::remove(object);
  return code;
}

/// Checks the options that only compile has.
static int checkOptions(const Options &options, CompilerPhase &first, CompilerPhase &last) {
  if (options.target != "cpu") {
    llvm::errs() << "pplan compile: unknown target '" << options.target
                 << "'; this version has cpu\n";
    return kExitUsage;
  }
  if (!isKnownProcessor(options.cpu)) {
    llvm::errs() << "pplan compile: unknown processor '" << options.cpu
                 << "'; 'native' is the one of this machine\n";
    return kExitUsage;
  }
  first = CompilerPhase::Import;
  last = CompilerPhase::Link;
  if (!options.compileFrom.empty()) {
    std::optional<CompilerPhase> from = parsePhase(options.compileFrom);
    if (!from)
      return kExitUsage;
    first = static_cast<CompilerPhase>(static_cast<int>(*from) + 1);
  }
  if (!options.compileTo.empty()) {
    std::optional<CompilerPhase> to = parsePhase(options.compileTo);
    if (!to)
      return kExitUsage;
    last = *to;
  }
  if (first > last) {
    llvm::errs() << "pplan compile: there is nothing to do from phase "
                 << options.compileFrom << " to " << getPhaseName(last) << '\n';
    return kExitUsage;
  }
  if (last == CompilerPhase::Link && options.output.empty()) {
    llvm::errs() << "pplan compile: -o PROG is missing\n";
    return kExitUsage;
  }
  return kExitDone;
}

/// A plan whose mesh was edited after planning runs on that mesh; what was
/// predicted for another is not said of it.
static void noteEdits(ModuleOp module, PlanSummary &plan) {
  decltype(plan.mesh) mesh;
  if (MeshOp op = lookupMesh(module, nullptr))
    for (MeshAxisAttr axis : op.getShape().getAxes())
      mesh.emplace_back(axis.getName().str(), axis.getSize());
  if (mesh == plan.mesh)
    return;
  llvm::errs() << "pplan: warning: the mesh was edited after planning; the "
                  "times below were predicted for the old one\n";
  plan.mesh = mesh;
}

int pplan::driver::runCompile(const Options &options, Session &session) {
  CompilerPhase first, last;
  if (int code = checkOptions(options, first, last))
    return code;
  if (int code = session.prepare())
    return code;
  if (int code = session.loadModel())
    return code;
  Report report;
  // A plan says so itself.
  if (std::optional<PlanSummary> plan = PlanSummary::get(session.getModule())) {
    report.plan = *plan;
    noteEdits(session.getModule(), report.plan);
    if (options.compileFrom.empty()) {
      first = CompilerPhase::Partition;
      int64_t planned = 1;
      if (MeshOp mesh = lookupMesh(session.getModule(), nullptr))
        planned = mesh.getShape().getNumDevices();
      if (options.devices != 1 && options.devices != planned) {
        llvm::errs() << "pplan compile: --devices is " << options.devices
                     << ", but '" << options.model << "' is a plan for "
                     << planned << "; leave --devices out or plan anew\n";
        return kExitUsage;
      }
    }
  }
  if (!options.dumpPhasesTo.empty())
    if (std::error_code error =
            llvm::sys::fs::create_directories(options.dumpPhasesTo)) {
      llvm::errs() << "pplan compile: cannot make the directory '"
                   << options.dumpPhasesTo << "': " << error.message() << '\n';
      return kExitBadInput;
    }
  for (int index = static_cast<int>(first); index <= static_cast<int>(last);
       ++index) {
    CompilerPhase phase = static_cast<CompilerPhase>(index);
    int code = kExitDone;
    if (phase == CompilerPhase::Link) {
      code = link(options, session, /*isOwnModule=*/first <= CompilerPhase::Plan);
    } else if (phase == CompilerPhase::Train) {
      code = session.train();
    } else if (phase == CompilerPhase::Plan) {
      code = session.plan(report.plan);
    } else if (phase != CompilerPhase::Import) {
      code = session.runPhase(phase, /*isOwnModule=*/first <= CompilerPhase::Plan);
    }
    if (code)
      return code;
    if (phase == CompilerPhase::Partition)
      report.addCollectives(session.getModule());
    if (phase == CompilerPhase::Memory)
      report.addMemory(session.getModule());
    if (!options.dumpPhasesTo.empty() && phase != CompilerPhase::Link) {
      SmallString<128> path(options.dumpPhasesTo);
      std::string name;
      llvm::raw_string_ostream(name)
          << llvm::format("%02d-", index) << getPhaseName(phase) << ".mlir";
      llvm::sys::path::append(path, name);
      if (int code = session.writeModule(path))
        return code;
    }
  }
  if (last != CompilerPhase::Link)
    return session.writeModule(options.output.empty() ? "-" : options.output);
  if (options.json) {
    llvm::json::OStream json(llvm::outs(), 2);
    json.object([&] { report.printJson(json, "pplan.compile/1"); });
    llvm::outs() << '\n';
  }
  report.print(llvm::errs());
  llvm::errs() << "wrote " << options.output << "; next: pplan run "
               << options.output << " --list-io\n";
  return kExitDone;
}
