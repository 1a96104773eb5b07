//===- Codegen.cpp - Machine code of a lowered module ---------------------===//
//
// Translates to LLVM IR and runs LLVM's optimiser and code generator for one
// processor.
//
//===----------------------------------------------------------------------===//
#include "pplan/Lowering/Codegen.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/ToolOutputFile.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Instrumentation/ThreadSanitizer.h"

using namespace mlir;
using namespace pplan;

/// The processor and its features; those of the host for "native".
static std::pair<std::string, std::string>
getProcessor(const CodegenOptions &options) {
  std::string cpu = options.cpu, features = options.features;
  if (cpu.empty() || cpu == "native") {
    cpu = llvm::sys::getHostCPUName().str();
    std::string host;
    for (const auto &feature : llvm::sys::getHostCPUFeatures()) {
      if (!host.empty())
        host += ',';
      host += (feature.second ? "+" : "-") + feature.first().str();
    }
    features = features.empty() ? host : host + "," + features;
  }
  return {cpu, features};
}

/// LLVM ends the process when it is asked for a processor that it does not know
/// or that lacks 64-bit code, so that is found out first.
static bool isUsable(const llvm::Target &target, const llvm::Triple &triple,
                     StringRef cpu) {
  std::unique_ptr<llvm::MCSubtargetInfo> generic(
      target.createMCSubtargetInfo(triple, "", ""));
  if (!generic || !generic->isCPUStringValid(cpu))
    return false;
  if (triple.getArch() != llvm::Triple::x86_64)
    return true;
  std::unique_ptr<llvm::MCSubtargetInfo> chosen(
      target.createMCSubtargetInfo(triple, cpu, ""));
  return chosen && chosen->checkFeatures("+64bit");
}

/// The target of this machine, or null and an error.
static const llvm::Target *findTarget(const llvm::Triple &triple,
                                      std::string &error) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  llvm::InitializeNativeTargetAsmParser();
  return llvm::TargetRegistry::lookupTarget(triple, error);
}

bool pplan::isKnownProcessor(StringRef cpu) {
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target = findTarget(triple, error);
  CodegenOptions options;
  options.cpu = cpu.str();
  return target && isUsable(*target, triple, getProcessor(options).first);
}

static FailureOr<std::unique_ptr<llvm::TargetMachine>>
createMachine(ModuleOp module, const CodegenOptions &options) {
  llvm::Triple triple(llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target *target = findTarget(triple, error);
  if (!target)
    return module.emitError("cannot generate code for '")
           << triple.str() << "': " << error;
  auto [cpu, features] = getProcessor(options);
  if (!isUsable(*target, triple, cpu))
    return module.emitError("unknown processor '")
           << cpu << "' for " << triple.str()
           << "; 'native' is the one of this machine";
  llvm::TargetOptions targetOptions;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, cpu, features, targetOptions, llvm::Reloc::PIC_, std::nullopt,
      static_cast<llvm::CodeGenOptLevel>(std::min(options.optLevel, 3u))));
  if (!machine)
    return module.emitError("cannot generate code for '") << triple.str() << "'";
  return machine;
}

/// Target attributes on every function, so that all of them are compiled alike.
static void setFunctionAttributes(llvm::Module &module,
                                  const llvm::TargetMachine &machine,
                                  const CodegenOptions &options) {
  for (llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", machine.getTargetCPU());
    function.addFnAttr("target-features", machine.getTargetFeatureString());
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (options.vectorWidth > 0)
      function.addFnAttr("prefer-vector-width",
                         std::to_string(options.vectorWidth));
    if (options.threadSanitizer)
      function.addFnAttr(llvm::Attribute::SanitizeThread);
    // Inlining would lose what is known about the arguments' aliases.
    if (function.getName().starts_with("kernel_"))
      function.addFnAttr(llvm::Attribute::NoInline);
  }
}

static void optimize(llvm::Module &module, llvm::TargetMachine &machine,
                     const CodegenOptions &options) {
  unsigned level = options.optLevel;
  static const llvm::OptimizationLevel levels[] = {
      llvm::OptimizationLevel::O0, llvm::OptimizationLevel::O1,
      llvm::OptimizationLevel::O2, llvm::OptimizationLevel::O3};
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = level >= 2;
  tuning.LoopUnrolling = tuning.LoopInterleaving = level >= 2;
  llvm::PassBuilder builder(&machine, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  llvm::OptimizationLevel chosen = levels[std::min(level, 3u)];
  llvm::ModulePassManager manager =
      level == 0 ? builder.buildO0DefaultPipeline(chosen)
                 : builder.buildPerModuleDefaultPipeline(chosen);
  if (options.threadSanitizer)
    manager.addPass(
        llvm::createModuleToFunctionPassAdaptor(llvm::ThreadSanitizerPass()));
  manager.run(module, modules);
}

LogicalResult pplan::emitObject(ModuleOp module, StringRef path,
                                const CodegenOptions &options) {
  registerBuiltinDialectTranslation(*module.getContext());
  registerLLVMDialectTranslation(*module.getContext());
  auto machine = createMachine(module, options);
  if (failed(machine))
    return failure();
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> lowered = translateModuleToLLVMIR(
      module, context, module.getName().value_or("pplan"));
  if (!lowered)
    return module.emitError("cannot be translated to LLVM IR; run the phases "
                            "up to 'lower' first");
  lowered->setTargetTriple((*machine)->getTargetTriple());
  lowered->setDataLayout((*machine)->createDataLayout());
  setFunctionAttributes(*lowered, **machine, options);
  optimize(*lowered, **machine, options);

  std::error_code error;
  llvm::ToolOutputFile file(path, error, llvm::sys::fs::OF_None);
  if (error)
    return module.emitError("cannot write '")
           << path << "': " << error.message();
  llvm::legacy::PassManager emitter;
  auto type = options.assembly ? llvm::CodeGenFileType::AssemblyFile
                               : llvm::CodeGenFileType::ObjectFile;
  if ((*machine)->addPassesToEmitFile(emitter, file.os(), nullptr, type))
    return module.emitError("this build of LLVM cannot write object files for ")
           << (*machine)->getTargetTriple().str();
  emitter.run(*lowered);
  file.os().flush();
  if (file.os().has_error()) {
    std::string message = file.os().error().message();
    file.os().clear_error();
    return module.emitError("cannot write '") << path << "': " << message;
  }
  file.keep();
  return success();
}
