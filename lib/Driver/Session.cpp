//===- Session.cpp - One run of the compiler ------------------------------===//
//
// Loads models, finds clusters, runs phases.
//
//===----------------------------------------------------------------------===//
#include "Session.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "pplan/Driver/Registration.h"
#include "pplan/Import/ONNX.h"
#include "pplan/Import/Passes.h"
#include "pplan/Lowering/Passes.h"
#include "pplan/Memory/Passes.h"
#include "pplan/Partition/Passes.h"
#include "pplan/Planner/Passes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/ToolOutputFile.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::driver;

static constexpr llvm::StringLiteral kPhaseNames[kNumPhases] = {
    "import", "train", "plan", "partition", "memory", "lower", "link"};

StringRef pplan::driver::getPhaseName(CompilerPhase phase) {
  return kPhaseNames[static_cast<int>(phase)];
}

std::optional<CompilerPhase> pplan::driver::parsePhase(StringRef name) {
  for (int i = 0; i < kNumPhases; ++i)
    if (kPhaseNames[i] == name)
      return static_cast<CompilerPhase>(i);
  llvm::errs() << "pplan: unknown phase '" << name << "'; the phases are ";
  llvm::interleaveComma(kPhaseNames, llvm::errs());
  llvm::errs() << '\n';
  return std::nullopt;
}

Session::Session(const Options &options, std::string executable)
    : options(options) {
  SmallString<256> path(executable);
  llvm::sys::path::remove_filename(path); // the name
  llvm::sys::path::remove_filename(path); // bin
  prefix = path.str().str();
  DialectRegistry registry;
  registerAllDialects(registry);
  context = std::make_unique<MLIRContext>(registry,
                                          MLIRContext::Threading::DISABLED);
  context->loadAllAvailableDialects();
  context->printOpOnDiagnostic(false); // that would be the whole module
  handler = std::make_unique<SourceMgrDiagnosticHandler>(sources, context.get(),
                                                         llvm::errs());
}

bool Session::isOnnx() {
  if (options.format != "auto")
    return options.format == "onnx";
  return llvm::sys::path::extension(options.model) == ".onnx";
}

/// Splits `NAME=N` entries; reports the first that is none.
static bool parseDims(const std::vector<std::string> &entries,
                      llvm::StringMap<int64_t> &dims) {
  for (StringRef entry : entries) {
    auto [name, text] = entry.split('=');
    int64_t size;
    if (name.empty() || text.getAsInteger(10, size) || size < 1) {
      llvm::errs() << "pplan: --dim " << entry
                   << " is not of the form NAME=N with N at least 1\n";
      return false;
    }
    if (!dims.try_emplace(name, size).second) {
      llvm::errs() << "pplan: --dim " << name << " is given twice\n";
      return false;
    }
  }
  return true;
}

int Session::loadModel() {
  if (options.format != "auto" && options.format != "onnx" &&
      options.format != "mlir") {
    llvm::errs() << "pplan: unknown format '" << options.format
                 << "'; the formats are auto, onnx and mlir\n";
    return kExitUsage;
  }
  if (options.model == "-" ? false : !llvm::sys::fs::exists(options.model)) {
    llvm::errs() << "pplan: cannot open '" << options.model
                 << "': no such file\n";
    return kExitBadInput;
  }
  llvm::StringMap<int64_t> dims;
  if (!parseDims(options.dims, dims))
    return kExitUsage;
  if (isOnnx()) {
    OnnxImportOptions importOptions;
    importOptions.dims = std::move(dims);
    if (!options.output.empty() && options.output != "-")
      importOptions.sidecarPath = options.output + ".weights.safetensors";
    module = importOnnx(options.model, importOptions, context.get());
    if (!module)
      return kExitBadInput;
    PassManager manager(context.get());
    buildImportPipeline(manager);
    return succeeded(manager.run(*module)) ? kExitDone : kExitBug;
  }
  if (!dims.empty()) {
    llvm::errs() << "pplan: --dim binds dimensions of an ONNX model; the "
                    "shapes of '"
                 << options.model << "' are static\n";
    return kExitUsage;
  }
  std::string message;
  auto file = openInputFile(options.model, &message);
  if (!file) {
    llvm::errs() << "pplan: " << message << '\n';
    return kExitBadInput;
  }
  if (file->getBuffer().contains('\0')) {
    llvm::errs() << "pplan: '" << options.model
                 << "' is no .mlir text; give the format of a binary model "
                    "with --format\n";
    return kExitBadInput;
  }
  sources.AddNewSourceBuffer(std::move(file), SMLoc());
  module = parseSourceFile<ModuleOp>(sources, context.get());
  if (module && module->getOps<FunctionOpInterface>().empty()) {
    llvm::errs() << "pplan: '" << options.model << "' has no function\n";
    return kExitBadInput;
  }
  return module ? kExitDone : kExitBadInput;
}

/// Checks that a file can be made at `path`, before hours go into its contents.
static int checkOutput(StringRef path) {
  if (path.empty() || path == "-")
    return kExitDone;
  StringRef directory = llvm::sys::path::parent_path(path);
  if (directory.empty())
    directory = ".";
  std::string why;
  using llvm::sys::fs::AccessMode;
  if (llvm::sys::fs::exists(path) && !llvm::sys::fs::is_directory(path) &&
      !llvm::sys::fs::access(path, AccessMode::Write))
    return kExitDone; // also a device
  if (!llvm::sys::fs::is_directory(directory))
    why = ("there is no directory '" + directory + "'").str();
  else if (llvm::sys::fs::is_directory(path))
    why = "it is a directory";
  else if (llvm::sys::fs::access(directory, AccessMode::Write))
    why = ("'" + directory + "' is not writable").str();
  if (why.empty())
    return kExitDone;
  llvm::errs() << "pplan: cannot write '" << path << "': " << why << '\n';
  return kExitBadInput;
}

int Session::prepare() {
  auto degrees = ParallelDegrees::parse(options.parallel);
  if (!degrees) {
    llvm::errs() << "pplan: " << llvm::toString(degrees.takeError()) << '\n';
    return kExitUsage;
  }
  if (options.devices < 1) {
    llvm::errs() << "pplan: --devices is " << options.devices
                 << "; at least 1 is needed\n";
    return kExitUsage;
  }
  if (int code = checkTimeout(options))
    return code;
  std::vector<std::string> dirs = {prefix + "/share/clusters",
                                   prefix + "/share/pplan/clusters",
                                   PPLAN_SOURCE_CLUSTERS};
  llvm::Expected<ClusterDescription> loaded =
      loadCluster(options.cluster, dirs);
  if (!loaded) {
    llvm::errs() << llvm::toString(loaded.takeError()) << '\n';
    return kExitBadInput;
  }
  planOptions.cluster = std::move(*loaded);
  planOptions.devices = options.devices;
  planOptions.parallel = *degrees;
  planOptions.solver.timeoutSeconds = options.timeout;
  return checkOutput(options.output);
}

/// Reports arguments and results that a program could not take or give.
static LogicalResult checkBoundary(ModuleOp module) {
  for (auto function : module.getOps<func::FuncOp>()) {
    auto check = [&](StringRef kind, unsigned index, Attribute attr) {
      auto sharding = dyn_cast_or_null<ShardingAttr>(attr);
      if (!sharding || sharding.getPartialAxes().empty())
        return true;
      function.emitOpError()
          << kind << " " << index << " has the sharding " << sharding
          << "; the host cannot pass or take partial values";
      return false;
    };
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (!check("argument", i, function.getArgAttr(i, kShardingAttr)))
        return failure();
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (!check("result", i, function.getResultAttr(i, kShardingAttr)))
        return failure();
  }
  return success();
}

int Session::plan(PlanSummary &summary) {
  const ClusterDescription &cluster = planOptions.cluster;
  if (options.devices > cluster.numDevices()) {
    llvm::errs() << "pplan: --devices is " << options.devices
                 << ", but cluster '" << cluster.name << "' has "
                 << cluster.numDevices()
                 << " devices; use fewer, or describe a larger cluster\n";
    return kExitBadInput;
  }
  if (int code = declareForcedMesh())
    return code;
  if (int code = applyPins())
    return code;
  PassManager manager(context.get());
  manager.addNestedPass<func::FuncOp>(createAnnotateRanges());
  buildPlanPreparation(manager);
  if (failed(manager.run(*module)))
    return kExitBadInput;
  if (failed(checkGraph(*module)) || failed(checkBoundary(*module)))
    return kExitBadInput;
  return planWithinMemory(summary);
}

int Session::declareForcedMesh() {
  if (!planOptions.parallel.isForced() || lookupMesh(*module, nullptr))
    return kExitDone;
  return succeeded(declareMesh(*module, planOptions)) ? kExitDone
                                                      : kExitBadInput;
}

/// What of the command a failure of a phase is blamed on. A crash that the pass
/// manager recovers from reports nothing by itself.
static int blame(bool isOwnModule, unsigned numErrors) {
  return isOwnModule || numErrors == 0 ? kExitBug : kExitBadInput;
}

int Session::runPhase(CompilerPhase phase, bool isOwnModule) {
  PassManager manager(context.get());
  switch (phase) {
  case CompilerPhase::Partition:
    buildPartitionPipeline(manager);
    break;
  case CompilerPhase::Memory:
    buildMemoryPipeline(manager, MemoryPipelineOptions());
    break;
  default:
    buildLowerPipeline(manager, LowerPipelineOptions());
    break;
  }
  SmallString<128> reproducer;
  llvm::sys::path::system_temp_directory(true, reproducer);
  llvm::sys::path::append(reproducer, "pplan-reproducer-" +
                                          Twine(llvm::sys::Process::getProcessId()) +
                                          ".mlir");
  manager.enableCrashReproducerGeneration(reproducer);
  unsigned numErrors = 0;
  {
    ScopedDiagnosticHandler counter(context.get(), [&](Diagnostic &diag) {
      if (diag.getSeverity() == DiagnosticSeverity::Error &&
          !StringRef(diag.str()).starts_with("Failures have been detected"))
        ++numErrors;
      return failure(); // the next handler prints it
    });
    if (succeeded(manager.run(*module)))
      return kExitDone;
  }
  int code = blame(isOwnModule, numErrors);
  llvm::errs() << "pplan: the " << getPhaseName(phase);
  if (code == kExitBug)
    llvm::errs() << " phase failed, which is a bug in pplan; ";
  else
    llvm::errs() << " phase refuses '" << options.model
                 << "'; if that is as pplan wrote it, this is a bug in pplan, "
                    "and ";
  llvm::errs() << reproducer << " reproduces it\n";
  return code;
}

int Session::writeModule(StringRef path) {
  std::string message;
  auto file = openOutputFile(path, &message);
  if (!file) {
    llvm::errs() << "pplan: " << message << '\n';
    return kExitBadInput;
  }
  OpPrintingFlags flags;
  flags.enableDebugInfo();
  module->print(file->os(), flags);
  file->os() << '\n';
  file->keep();
  return kExitDone;
}
