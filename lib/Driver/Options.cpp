//===- Options.cpp - The command line of pplan ----------------------------===//
//
// Subcommands and their options, parsed with LLVM's library. `pplan run` hands
// everything after the program to it and is split off first.
//
//===----------------------------------------------------------------------===//
#include "Options.h"
#include "pplan/Driver/Driver.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;
using namespace pplan::driver;

namespace {
/// All options live as long as the parse.
struct Parser {
  cl::OptionCategory category{"pplan options"};
  cl::SubCommand import{
      "import", "Read a model and write its graph as .mlir\n\n  Example: pplan "
                "import gpt2.onnx --dim batch=4 --dim seq=128 -o gpt2.mlir"};
  cl::SubCommand plan{
      "plan", "Choose how to shard a model over a cluster\n\n  Example: pplan "
              "plan gpt2.mlir --cluster cpu-threads --devices 4 -o plan.mlir"};
  cl::SubCommand explain{
      "explain", "Say for each operation what was chosen, what was second best "
                 "and what it would cost\n\n  Example: pplan explain plan.mlir"};
  cl::SubCommand compile{
      "compile", "Compile a model or a plan to a sharded executable\n\n  "
                 "Example: pplan compile gpt2.onnx --dim batch=4 --dim seq=128 "
                 "--devices 4 -o gpt2"};
  cl::SubCommand run{"run", "Run a compiled program\n\n  Example: pplan run "
                            "./gpt2 --input tokens=tokens.npy --output out/"};
  cl::SubCommand solve{
      "solve", "Solve an intra-operator problem given as text or contest "
               "JSON\n\n  Example: pplan solve problem.json --timeout 60"};

  cl::opt<std::string> model{cl::Positional, cl::desc("MODEL"), cl::Required,
                             cl::sub(import), cl::sub(plan), cl::sub(explain),
                             cl::sub(compile), cl::sub(solve),
                             cl::cat(category)};
  cl::list<std::string> dims{
      "dim", cl::desc("Bind a symbolic dimension of the model"),
      cl::value_desc("NAME=N"), cl::sub(import), cl::sub(plan),
      cl::sub(compile), cl::cat(category)};
  cl::opt<std::string> format{
      "format", cl::desc("Format of MODEL: auto, onnx or mlir"),
      cl::init("auto"), cl::sub(import), cl::sub(plan), cl::sub(compile),
      cl::cat(category)};
  cl::opt<std::string> output{"o", cl::desc("Output file ('-': stdout)"),
                              cl::value_desc("FILE"), cl::init(""),
                              cl::sub(import), cl::sub(plan), cl::sub(compile),
                              cl::cat(category)};
  cl::opt<std::string> cluster{
      "cluster", cl::desc("Cluster description: a name or a .yaml file"),
      cl::init("cpu-threads"), cl::sub(plan), cl::sub(compile),
      cl::cat(category)};
  cl::opt<int64_t> devices{"devices", cl::desc("Number of devices"),
                           cl::init(1), cl::sub(plan), cl::sub(compile),
                           cl::cat(category)};
  cl::opt<std::string> parallel{
      "parallel",
      cl::desc("Forced degrees: dp=N (data), tp=N (tensor), zero=0..3 (what of "
               "a training step is split over the data axis)"),
      cl::value_desc("dp=2,tp=4"), cl::sub(plan), cl::sub(compile),
      cl::cat(category)};
  cl::list<std::string> pins{
      "pin",
      cl::desc("Pin the sharding of an input, parameter or output; axes are "
               "data, tensor, rest (with --parallel) or those of the model's mesh"),
      cl::value_desc("NAME=[{\"data\"}, {}]"), cl::sub(plan), cl::sub(compile),
      cl::cat(category)};
  cl::opt<std::string> train{
      "train",
      cl::desc("Make a training step: optimizer (sgd, adam, adamw, lion, "
               "adafactor) and its options, as in --train="
               "adamw,lr=3e-4,weight-decay=0.1,clip-norm=1"),
      cl::value_desc("OPTIMIZER,..."), cl::ValueOptional, cl::sub(plan),
      cl::sub(compile), cl::cat(category)};
  cl::opt<int64_t> microBatches{
      "micro-batches", cl::desc("Micro-batches of a training step"),
      cl::init(1), cl::sub(plan), cl::sub(compile), cl::cat(category)};
  cl::list<std::string> frozen{
      "frozen", cl::desc("Parameter that a training step leaves as it is"),
      cl::value_desc("NAME"), cl::sub(plan), cl::sub(compile),
      cl::cat(category)};
  cl::opt<std::string> logits{
      "logits",
      cl::desc("Output that has the logits, for the loss of a training step"),
      cl::init(""), cl::sub(plan), cl::sub(compile), cl::cat(category)};
  cl::opt<double> timeout{"timeout",
                          cl::desc("Seconds that the search may take"),
                          cl::init(60), cl::sub(plan), cl::sub(compile),
                          cl::sub(solve), cl::cat(category)};
  cl::opt<bool> json{"json", cl::desc("Write JSON to stdout"), cl::sub(plan),
                     cl::sub(explain), cl::sub(compile), cl::sub(solve),
                     cl::cat(category)};
  cl::opt<std::string> target{"target", cl::desc("Back end: cpu"),
                              cl::init("cpu"), cl::sub(compile),
                              cl::cat(category)};
  cl::opt<std::string> cpu{
      "mcpu", cl::desc("CPU to generate code for (default: this one)"),
      cl::init(""), cl::sub(compile), cl::cat(category)};
  cl::opt<std::string> compileTo{
      "compile-to", cl::desc("Stop after a phase and write its .mlir"),
      cl::value_desc("PHASE"), cl::sub(compile), cl::cat(category)};
  cl::opt<std::string> compileFrom{
      "compile-from",
      cl::desc("MODEL is the output of this phase; go on after it"),
      cl::value_desc("PHASE"), cl::sub(compile), cl::cat(category)};
  cl::opt<std::string> dumpPhasesTo{
      "dump-phases-to", cl::desc("Write one numbered .mlir per phase"),
      cl::value_desc("DIR"), cl::sub(compile), cl::cat(category)};
};
} // namespace

static Command getCommand(Parser &parser) {
  if (parser.import)
    return Command::Import;
  if (parser.plan)
    return Command::Plan;
  if (parser.explain)
    return Command::Explain;
  if (parser.compile)
    return Command::Compile;
  if (parser.run)
    return Command::Run;
  if (parser.solve)
    return Command::Solve;
  return Command::None;
}

int pplan::driver::checkTimeout(const Options &options) {
  if (options.timeout > 0 && std::isfinite(options.timeout))
    return kExitDone;
  errs() << "pplan: --timeout is " << options.timeout
         << "; seconds above 0 are needed\n";
  return kExitUsage;
}

bool pplan::driver::parseCommandLine(int argc, char **argv, Command &command,
                                     Options &options) {
  // Everything after `run PROG` belongs to the program.
  if (argc >= 3 && StringRef(argv[1]) == "run" && argv[2][0] != '-') {
    command = Command::Run;
    options.model = argv[2];
    options.programArguments.assign(argv + 3, argv + argc);
    return true;
  }
  Parser parser;
  cl::SetVersionPrinter([](raw_ostream &os) {
    os << "pplan " PPLAN_VERSION " (LLVM " LLVM_VERSION_STRING ")\n";
  });
  cl::HideUnrelatedOptions(parser.category); // LLVM's own, in --help
  std::string message;
  raw_string_ostream errors(message);
  bool parsed = cl::ParseCommandLineOptions(
      argc, argv,
      "pplan: plans how a model is sharded and compiles it to a program\n\n  "
      "Example: pplan compile model.onnx --devices 4 -o model\n",
      &errors);
  if (!parsed) {
    errs() << message;
    return false;
  }
  command = getCommand(parser);
  if (command == Command::None) {
    errs() << "pplan: a command is missing: import, plan, explain, compile, "
              "run or solve; see pplan --help\n";
    return false;
  }
  if (command == Command::Run) {
    errs() << "pplan run: the program is missing, as in: pplan run ./model "
              "--list-io\n";
    return false;
  }
  options.model = parser.model;
  options.dims.assign(parser.dims.begin(), parser.dims.end());
  options.format = parser.format;
  options.output = parser.output;
  options.cluster = parser.cluster;
  options.devices = parser.devices;
  options.parallel = parser.parallel;
  options.pins.assign(parser.pins.begin(), parser.pins.end());
  if (parser.train.getNumOccurrences())
    options.train = parser.train;
  options.microBatches = parser.microBatches;
  options.frozen.assign(parser.frozen.begin(), parser.frozen.end());
  options.logits = parser.logits;
  options.timeout = parser.timeout;
  options.json = parser.json;
  options.target = parser.target;
  options.cpu = parser.cpu;
  options.compileTo = parser.compileTo;
  options.compileFrom = parser.compileFrom;
  options.dumpPhasesTo = parser.dumpPhasesTo;
  return true;
}
