//===- options.cpp - command line of stand-alone executables --------------===//
//
// See options.h.
//
//===----------------------------------------------------------------------===//
#include "options.h"

#include "status.h"

#include <cerrno>
#include <cstdlib>

namespace pplan::rt {

/// Parses all of `Text` as a number of at least `Least`.
static bool parseNumber(const std::string &Text, int64_t Least, int64_t &Out) {
  if (Text.empty())
    return false;
  char *End = nullptr;
  errno = 0;
  long long Value = std::strtoll(Text.c_str(), &End, 10);
  if (errno != 0 || *End != '\0' || Value < Least)
    return false;
  Out = Value;
  return true;
}

/// Splits NAME=VALUE at the first '='.
static bool parsePair(const std::string &Text,
                      std::vector<std::pair<std::string, std::string>> &Out) {
  size_t At = Text.find('=');
  if (At == std::string::npos || At == 0 || At + 1 == Text.size())
    return false;
  Out.emplace_back(Text.substr(0, At), Text.substr(At + 1));
  return true;
}

/// Applies an option that has no value; false if `Name` is none.
static bool applyFlag(const std::string &Name, Options &Out) {
  if (Name == "--help" || Name == "-h")
    Out.What = Options::Mode::Help;
  else if (Name == "--version")
    Out.What = Options::Mode::Version;
  else if (Name == "--list-io")
    Out.What = Options::Mode::ListIO;
  else if (Name == "--memory")
    Out.What = Options::Mode::Memory;
  else if (Name == "--profile")
    Out.Profile = true;
  else if (Name == "--json")
    Out.Json = true;
  else
    return false;
  return true;
}

static bool takesValue(const std::string &Name) {
  for (const char *Known : {"--input", "--output", "--iterations", "--warmup",
                            "--random-inputs", "--params-root", "--param-file",
                            "--steps", "--save", "--load", "--log", "--data",
                            "--token-bytes", "--seed"})
    if (Name == Known)
      return true;
  return false;
}

/// Applies an option with its value; returns "" or what is expected instead.
static std::string applyValue(const std::string &Name, const std::string &Value,
                              Options &Out) {
  int64_t Seed = 0;
  if (Name == "--input")
    return parsePair(Value, Out.Inputs) ? "" : "NAME=FILE.npy";
  if (Name == "--param-file")
    return parsePair(Value, Out.Files.Renamed) ? "" : "OLD=NEW";
  if (Name == "--log" || Name == "--data") {
    (Name == "--log" ? Out.LogFile : Out.DataFile) = Value;
    return Value.empty() ? "a file" : "";
  }
  if (Name == "--token-bytes") {
    Out.TokenBytes = Value == "2" ? 2 : Value == "4" ? 4 : 0;
    return Out.TokenBytes ? "" : "2 or 4";
  }
  if (Name == "--seed") {
    bool IsNumber = parseNumber(Value, 0, Seed);
    Out.Seed = static_cast<uint64_t>(Seed);
    return IsNumber ? "" : "a number from 0";
  }
  if (Name == "--iterations" || Name == "--steps")
    return parseNumber(Value, 1, Out.Iterations) ? "" : "a number from 1";
  if (Name == "--warmup")
    return parseNumber(Value, 0, Out.Warmup) ? "" : "a number from 0";
  if (Name == "--random-inputs") {
    Out.RandomInputs = parseNumber(Value, 0, Seed);
    Out.Seed = static_cast<uint64_t>(Seed);
    return Out.RandomInputs ? "" : "a seed, a number from 0";
  }
  (Name == "--output" ? Out.OutputDir
   : Name == "--save" ? Out.SaveDir
   : Name == "--load" ? Out.LoadDir
                      : Out.Files.Root) = Value;
  return Value.empty() ? "a directory" : "";
}

std::string parseOptions(int Argc, const char *const *Argv, Options &Out) {
  Out.Program = Argc > 0 ? Argv[0] : "program";
  for (int I = 1; I < Argc; ++I) {
    std::string Name = Argv[I], Value;
    if (applyFlag(Name, Out))
      continue;
    // --name=value; the names themselves contain no '='.
    size_t At = Name.find('=');
    bool Joined = At != std::string::npos && Name.compare(0, 2, "--") == 0;
    if (Joined) {
      Value = Name.substr(At + 1);
      Name.resize(At);
    }
    if (!takesValue(Name))
      return format("unknown argument '%s'", Argv[I]);
    if (!Joined) {
      if (++I == Argc)
        return format("option '%s' needs a value", Name.c_str());
      Value = Argv[I];
    }
    std::string Expected = applyValue(Name, Value, Out);
    if (!Expected.empty())
      return format("option '%s' has value '%s', expected %s", Name.c_str(),
                    Value.c_str(), Expected.c_str());
  }
  return "";
}

std::string helpText(const pplan_program &P, const Options &O) {
  std::string Mesh;
  for (int32_t A = 0; A < P.num_axes; ++A)
    Mesh += format("%s\"%s\"=%lld", A ? ", " : "", P.axes[A].name,
                   static_cast<long long>(P.axes[A].size));
  std::string Text = format(
      "%s: %s%s%s, compiled by pplan for %d rank%s%s%s%s\n\n"
      "usage: %s [options]\n\n",
      O.Program.c_str(), P.name, P.model ? " from " : "",
      P.model ? P.model : "", P.num_ranks, P.num_ranks == 1 ? "" : "s",
      Mesh.empty() ? "" : " on the mesh [", Mesh.c_str(),
      Mesh.empty() ? "" : "]", O.Program.c_str());
  Text +=
      "  --input NAME=FILE.npy   read input NAME from a file; once per input\n"
      "  --random-inputs SEED    fill inputs that are not given: floats from -1 "
      "to 1, integers 0 or 1\n"
      "  --output DIR            write each output to DIR/NAME.npy\n"
      "  --iterations N          run N times and report the time (default 1)\n"
      "  --warmup N              run N times before that (default 0)\n";
  if (P.num_states)
    Text += "  --steps N               the same as --iterations\n"
            "  --log FILE              write a line of JSON for each step: "
            "scalar outputs and time\n"
            "  --data FILE             read tokens and targets of each step from "
            "an .npy or raw file\n"
            "  --token-bytes 2|4       size of a token in a raw file (default "
            "2)\n"
            "  --seed N                order of the data (default 0)\n"
            "  --load DIR              begin with what --save wrote to DIR\n"
            "  --save DIR              write parameters and state to DIR after "
            "the last step\n";
  Text +=
      "  --profile               report the time of each op by its location\n"
      "  --list-io               list inputs and outputs with types and shapes\n"
      "  --memory                list the bytes that each rank needs\n"
      "  --json                  list or report as JSON\n"
      "  --params-root DIR       look for weight files in DIR\n"
      "  --param-file OLD=NEW    read weights from NEW instead of OLD\n"
      "  --version               print versions\n"
      "  --help                  print this\n\n"
      "Exit codes: 0 done, 1 the input is at fault, 2 usage, 4 a bug.\n\n"
      "example:\n  " +
      O.Program;
  for (int32_t I = 0; I < P.num_inputs; ++I)
    Text += format(" --input %s=%s.npy", P.inputs[I].name, P.inputs[I].name);
  return Text + " --output out --iterations 10\n";
}

} // namespace pplan::rt
