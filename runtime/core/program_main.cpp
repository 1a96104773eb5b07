//===- program_main.cpp - what main() of an executable does ---------------===//
//
// From the command line to the exit code; each step is elsewhere in core.
//
//===----------------------------------------------------------------------===//
#include "runner.h"

#include <cstdio>

using namespace pplan::rt;

namespace {

enum ExitCode { Done = 0, InputAtFault = 1, Usage = 2, Bug = 4 };

int exitCodeOf(int32_t Code) {
  switch (Code) {
  case PPLAN_OK:
    return Done;
  case PPLAN_IO:
  case PPLAN_BAD_INPUT:
  case PPLAN_UNSUPPORTED:
  case PPLAN_OUT_OF_MEMORY:
    return InputAtFault;
  default:
    return Bug;
  }
}

/// Prints an error, each line of its message as one, and frees it.
int fail(const Options &O, pplan_status *Status) {
  StatusPtr Owner(Status);
  int Code = exitCodeOf(pplan_rt_status_code(Status));
  const char *Loc = pplan_rt_status_location(Status);
  std::string Where = Loc ? format("%s: ", Loc) : O.Program + ": ";
  std::string Message = pplan_rt_status_message(Status);
  size_t Start = 0;
  while (Start <= Message.size()) {
    size_t End = std::min(Message.find('\n', Start), Message.size());
    bool Continues = Message.compare(Start, 2, "  ") == 0;
    std::fprintf(stderr, "%s%s\n",
                 Continues ? "" : (Where + "error: ").c_str(),
                 Message.substr(Start, End - Start).c_str());
    Start = End + 1;
  }
  if (pplan_rt_status_rank(Status) >= 0)
    std::fprintf(stderr, "note: rank %d was the first to fail\n",
                 pplan_rt_status_rank(Status));
  if (Code == Bug)
    std::fprintf(stderr, "note: this is a bug in pplan; please report it with "
                         "the command line and the model\n");
  return Code;
}

int print(const std::string &Text) {
  std::fputs(Text.c_str(), stdout);
  return std::fflush(stdout) == 0 ? Done : InputAtFault;
}

int run(const pplan_program &P, const Options &O) {
  RunResult Result;
  if (pplan_status *Error = runProgram(P, O, Result))
    return fail(O, Error);
  if (!O.OutputDir.empty())
    for (int32_t I = 0; I < P.num_outputs; ++I)
      std::fprintf(stderr, "wrote output '%s' (%s %s) to %s\n",
                   P.outputs[I].name, pplan_rt_dtype_name(P.outputs[I].dtype),
                   shapeText(globalSizes(P.outputs[I])).c_str(),
                   O.OutputDir.c_str());
  return print(reportRun(P, O, Result));
}

int mainOf(const pplan_program &P, int Argc, const char *const *Argv) {
  Options O;
  std::string Wrong = parseOptions(Argc, Argv, O);
  if (!Wrong.empty()) {
    std::fprintf(stderr, "%s: error: %s; see %s --help\n", O.Program.c_str(),
                 Wrong.c_str(), O.Program.c_str());
    return Usage;
  }
  if (pplan_status *Error = checkProgram(P))
    return fail(O, Error);
  switch (O.What) {
  case Options::Mode::Help:
    return print(helpText(P, O));
  case Options::Mode::Version:
    return print(format("%s, runtime ABI version %d\n", P.name,
                        PPLAN_RT_ABI_VERSION));
  case Options::Mode::ListIO:
    return print(listIO(P, O.Json));
  case Options::Mode::Memory:
    return print(listMemory(P, O.Json));
  case Options::Mode::Run:
    break;
  }
  return run(P, O);
}

} // namespace

int pplan_rt_program_main(const pplan_program *program, int argc,
                          const char *const *argv) {
  int Code = Bug;
  StatusPtr Error(guarded(nullptr, [&]() -> pplan_status * {
    Code = mainOf(*program, argc, argv);
    return nullptr;
  }));
  if (Error)
    std::fprintf(stderr, "error: %s\n", pplan_rt_status_message(Error.get()));
  return Code;
}
