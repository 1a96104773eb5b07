//===- status.cpp - status objects ----------------------------------------===//
//
// Decides how an error is stored. Must work when memory has run out, so it uses
// no standard containers and has one static status in reserve.
//
//===----------------------------------------------------------------------===//
#include "status.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

struct pplan_status {
  int32_t Code;
  int32_t Rank;
  char *Message;
  char *Location;
};

namespace {

/// What is returned when not even a status can be allocated. Never changed.
char OutOfMemoryText[] = "out of memory";
pplan_status OutOfMemory = {PPLAN_OUT_OF_MEMORY, -1, OutOfMemoryText, nullptr};

char *copyText(const char *Text) {
  if (!Text)
    return nullptr;
  size_t Size = std::strlen(Text) + 1;
  char *Copy = static_cast<char *>(std::malloc(Size));
  if (Copy)
    std::memcpy(Copy, Text, Size);
  return Copy;
}

std::string formatArgs(const char *Format, va_list Args) {
  va_list Again;
  va_copy(Again, Args);
  int Size = std::vsnprintf(nullptr, 0, Format, Args);
  std::vector<char> Buffer(Size < 0 ? 1 : static_cast<size_t>(Size) + 1);
  std::vsnprintf(Buffer.data(), Buffer.size(), Format, Again);
  va_end(Again);
  return std::string(Buffer.data());
}

} // namespace

pplan_status *pplan_rt_error(int32_t code, const char *message,
                             const char *loc) {
  auto *S = static_cast<pplan_status *>(std::malloc(sizeof(pplan_status)));
  if (!S)
    return &OutOfMemory;
  S->Code = code == PPLAN_OK ? PPLAN_INTERNAL : code;
  S->Rank = -1;
  S->Message = copyText(message ? message : "");
  S->Location = copyText(loc);
  return S;
}

int32_t pplan_rt_status_code(const pplan_status *status) {
  return status ? status->Code : PPLAN_OK;
}

const char *pplan_rt_status_message(const pplan_status *status) {
  return status && status->Message ? status->Message : "";
}

const char *pplan_rt_status_location(const pplan_status *status) {
  return status ? status->Location : nullptr;
}

int32_t pplan_rt_status_rank(const pplan_status *status) {
  return status ? status->Rank : -1;
}

void pplan_rt_status_free(pplan_status *status) {
  if (!status || status == &OutOfMemory)
    return;
  std::free(status->Message);
  std::free(status->Location);
  std::free(status);
}

namespace pplan::rt {

std::string format(const char *Format, ...) {
  va_list Args;
  va_start(Args, Format);
  std::string Text = formatArgs(Format, Args);
  va_end(Args);
  return Text;
}

pplan_status *makeError(pplan_status_code Code, const char *Loc, int32_t Rank,
                        const char *Format, ...) {
  va_list Args;
  va_start(Args, Format);
  pplan_status *S = guarded(Loc, [&] {
    return pplan_rt_error(Code, formatArgs(Format, Args).c_str(), Loc);
  });
  va_end(Args);
  setRank(S, Rank);
  return S;
}

void setRank(pplan_status *Status, int32_t Rank) {
  if (Status && Status != &OutOfMemory && Status->Rank < 0)
    Status->Rank = Rank;
}

} // namespace pplan::rt
