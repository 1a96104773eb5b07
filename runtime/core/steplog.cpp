//===- steplog.cpp - a line for each step ---------------------------------===//
//
// See steplog.h.
//
//===----------------------------------------------------------------------===//
#include "steplog.h"

#include "dtype.h"
#include "status.h"

#include <cerrno>
#include <cmath>
#include <cstring>

namespace pplan::rt {

/// A scalar as JSON; what JSON has no number for as a string.
static std::string scalarText(int32_t Dtype, const void *Data) {
  double Value;
  switch (Dtype) {
  case PPLAN_F32: {
    float Float;
    std::memcpy(&Float, Data, 4);
    Value = Float;
    break;
  }
  case PPLAN_F64:
    std::memcpy(&Value, Data, 8);
    break;
  case PPLAN_I64: {
    int64_t Integer;
    std::memcpy(&Integer, Data, 8);
    return format("%lld", static_cast<long long>(Integer));
  }
  case PPLAN_I32: {
    int32_t Integer;
    std::memcpy(&Integer, Data, 4);
    return format("%d", Integer);
  }
  default:
    return "";
  }
  if (std::isnan(Value))
    return "\"nan\"";
  if (std::isinf(Value))
    return Value > 0 ? "\"inf\"" : "\"-inf\"";
  return format(Dtype == PPLAN_F32 ? "%.9g" : "%.17g", Value);
}

pplan_status *StepLog::open(const std::string &Name) {
  Path = Name;
  File = Path == "-" ? stdout : std::fopen(Path.c_str(), "w");
  if (File)
    return nullptr;
  return makeError(PPLAN_IO, nullptr, -1, "cannot write the log '%s': %s",
                   Path.c_str(), std::strerror(errno));
}

void StepLog::write(const pplan_program &P, int64_t Step, double Seconds,
                    int64_t Tokens, const std::vector<void *> &Outputs) {
  if (!File || Failed)
    return;
  std::string Line = format("{\"step\": %lld", static_cast<long long>(Step));
  for (int32_t I = 0; I < P.num_outputs; ++I) {
    const pplan_tensor &T = P.outputs[I];
    std::string Value = T.rank ? "" : scalarText(T.dtype, Outputs[I]);
    if (!Value.empty())
      Line += ", " + jsonString(T.name) + ": " + Value;
  }
  Line += format(", \"seconds\": %.9f", Seconds);
  if (Tokens && Seconds > 0)
    Line += format(", \"tokens_per_s\": %.6g",
                   static_cast<double>(Tokens) / Seconds);
  Line += "}\n";
  Failed = std::fputs(Line.c_str(), File) < 0 || std::fflush(File) != 0;
}

pplan_status *StepLog::close() {
  if (!File)
    return nullptr;
  int Code = errno;
  if (File != stdout && std::fclose(File) != 0)
    Failed = true;
  File = nullptr;
  if (!Failed)
    return nullptr;
  return makeError(PPLAN_IO, nullptr, -1, "cannot write the log '%s': %s",
                   Path.c_str(), std::strerror(Code));
}

} // namespace pplan::rt
