//===- report.cpp - times and profiles ------------------------------------===//
//
// What a run prints. Times are of whole iterations; the profile is the mean over
// ranks, communication (which includes waiting for other ranks) apart.
//
//===----------------------------------------------------------------------===//
#include "runner.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sys/resource.h>
#include <tuple>

namespace pplan::rt {

namespace {

struct ProfileLine {
  std::string Loc;
  bool Communication;
  double Calls = 0;   ///< per rank and iteration
  double Seconds = 0; ///< per rank and iteration
};

/// The largest resident memory of this process so far, in bytes. Not that of
/// getrusage where Linux tells more: a process inherits there what its parent
/// had when it started it.
uint64_t getPeakResidentBytes() {
  std::ifstream Status("/proc/self/status");
  for (std::string Word; Status >> Word;)
    if (uint64_t KiB; Word == "VmHWM:" && Status >> KiB)
      return KiB * 1024;
  struct rusage Usage = {};
  getrusage(RUSAGE_SELF, &Usage);
  return static_cast<uint64_t>(Usage.ru_maxrss) * 1024;
}

/// Merges the ranks' rows by location, the longest first.
std::vector<ProfileLine> mergeProfiles(const pplan_program &P, const Options &O,
                                       const RunResult &Result) {
  std::map<std::pair<std::string, bool>, ProfileLine> Lines;
  double Share = 1.0 / (static_cast<double>(P.num_ranks) *
                        static_cast<double>(O.Iterations));
  for (const auto &Rows : Result.Profiles)
    for (const pplan_profile_row &Row : Rows) {
      std::string Loc = Row.loc ? Row.loc : "unknown location";
      bool Communication = Row.communication != 0;
      ProfileLine &Line = Lines[{Loc, Communication}];
      Line.Loc = Loc;
      Line.Communication = Communication;
      Line.Calls += static_cast<double>(Row.calls) * Share;
      Line.Seconds += Row.seconds * Share;
    }
  std::vector<ProfileLine> Sorted;
  for (auto &Entry : Lines)
    Sorted.push_back(Entry.second);
  std::sort(Sorted.begin(), Sorted.end(),
            [](const ProfileLine &A, const ProfileLine &B) {
              if (A.Seconds != B.Seconds)
                return A.Seconds > B.Seconds;
              return std::tie(A.Loc, A.Communication) <
                     std::tie(B.Loc, B.Communication);
            });
  return Sorted;
}

const char *kindName(const ProfileLine &Line) {
  return Line.Communication ? "communication" : "compute";
}

std::string profileText(const std::vector<ProfileLine> &Lines) {
  double Total = 0, Communication = 0;
  for (const ProfileLine &Line : Lines) {
    Total += Line.Seconds;
    Communication += Line.Communication ? Line.Seconds : 0;
  }
  std::string Out = "kind\tcalls\tms\tshare\tlocation\n";
  for (const ProfileLine &Line : Lines)
    Out += format("%s\t%g\t%.4f\t%.1f%%\t%s\n", kindName(Line), Line.Calls,
                  Line.Seconds * 1e3,
                  Total > 0 ? 100 * Line.Seconds / Total : 0.0,
                  Line.Loc.c_str());
  return Out + format("profile: %.4f ms compute and %.4f ms communication per "
                      "iteration (mean over ranks)\n",
                      (Total - Communication) * 1e3, Communication * 1e3);
}

std::string profileJson(const std::vector<ProfileLine> &Lines) {
  std::string Out;
  for (const ProfileLine &Line : Lines)
    Out += format("%s\n    {\"kind\": \"%s\", \"calls\": %g, \"ms\": %.6f, "
                  "\"location\": %s}",
                  Out.empty() ? "" : ",", kindName(Line), Line.Calls,
                  Line.Seconds * 1e3, jsonString(Line.Loc).c_str());
  return "[" + Out + "\n  ]";
}

} // namespace

std::string reportRun(const pplan_program &P, const Options &O,
                      const RunResult &Result) {
  std::vector<double> Sorted = Result.Seconds;
  std::sort(Sorted.begin(), Sorted.end());
  double Min = Sorted.empty() ? 0 : Sorted.front();
  double Median = Sorted.empty() ? 0 : Sorted[Sorted.size() / 2];
  if (Sorted.size() > 1 && Sorted.size() % 2 == 0)
    Median = (Median + Sorted[Sorted.size() / 2 - 1]) / 2;
  std::vector<ProfileLine> Profile;
  if (O.Profile)
    Profile = mergeProfiles(P, O, Result);
  if (!O.Json)
    return (O.Profile ? profileText(Profile) : std::string()) +
           format("time: min %.4f ms, median %.4f ms per iteration (%lld "
                  "iteration%s, %d rank%s)\n",
                  Min * 1e3, Median * 1e3, static_cast<long long>(O.Iterations),
                  O.Iterations == 1 ? "" : "s", P.num_ranks,
                  P.num_ranks == 1 ? "" : "s");
  std::string Received;
  for (uint64_t Bytes : Result.BytesReceived)
    Received += format("%s%.0f", Received.empty() ? "" : ", ",
                       static_cast<double>(Bytes) /
                           static_cast<double>(O.Iterations));
  std::string Out = format(
      "{\n  \"schema\": \"pplan.program-run.v1\",\n  \"name\": %s,\n"
      "  \"num_ranks\": %d,\n  \"iterations\": %lld,\n  \"min_ms\": %.6f,\n"
      "  \"median_ms\": %.6f,\n  \"bytes_received_per_iteration\": [%s],\n"
      "  \"param_bytes_copied\": %llu,\n  \"param_bytes_in_place\": %llu,\n"
      "  \"peak_rss_bytes\": %llu",
      jsonString(P.name).c_str(), P.num_ranks,
      static_cast<long long>(O.Iterations), Min * 1e3, Median * 1e3,
      Received.c_str(),
      static_cast<unsigned long long>(Result.ParamBytesCopied),
      static_cast<unsigned long long>(Result.ParamBytesMapped),
      static_cast<unsigned long long>(getPeakResidentBytes()));
  if (O.Profile)
    Out += ",\n  \"profile\": " + profileJson(Profile);
  return Out + "\n}\n";
}

} // namespace pplan::rt
