//===- safetensors.cpp - writing tensors with names -----------------------===//
//
// See safetensors.h.
//
//===----------------------------------------------------------------------===//
#include "safetensors.h"

#include "options.h"
#include "status.h"

#include <algorithm>
#include <cstring>

namespace pplan::rt {

/// The format's name of an element type.
static const char *nameOf(int32_t Dtype) {
  static constexpr const char *Names[] = {"F32", "F64", "F16", "BF16", "BOOL",
                                          "I8",  "U8",  "I32", "I64"};
  return Names[Dtype];
}

pplan_status *SafetensorsWriter::create(const std::string &Path,
                                        const pplan_program &Program) {
  P = &Program;
  std::string Header = "{";
  uint64_t At = 0;
  for (int32_t I = 0; I < P->num_states; ++I) {
    const pplan_tensor &T = P->states[I].start.tensor;
    uint64_t End = At + byteSize(globalSizes(T), T.dtype);
    Header += (I ? "," : "") + jsonString(T.name) + ":{\"dtype\":\"" +
              nameOf(T.dtype) + "\",\"shape\":[";
    for (int32_t D = 0; D < T.rank; ++D)
      Header += format("%s%lld", D ? "," : "",
                       static_cast<long long>(T.dims[D].global_size));
    Header += format("],\"data_offsets\":[%llu,%llu]}",
                     static_cast<unsigned long long>(At),
                     static_cast<unsigned long long>(End));
    Offsets.push_back(At);
    At = End;
  }
  Header += "}";
  while (Header.size() % 8) // so that data is aligned
    Header += ' ';
  auto New = std::make_unique<OutputFile>();
  if (pplan_status *Error = New->create(Path, 8 + Header.size() + At))
    return Error;
  uint64_t Size = Header.size();
  for (int B = 0; B < 8; ++B)
    New->data()[B] = static_cast<char>(Size >> (8 * B));
  std::copy(Header.begin(), Header.end(), New->data() + 8);
  for (uint64_t &Offset : Offsets)
    Offset += 8 + Header.size();
  File = std::move(New);
  return nullptr;
}

void SafetensorsWriter::write(int32_t I, const Sizes &Coords,
                              const void *Local) {
  const pplan_tensor &T = P->states[I].start.tensor;
  if (writesOutput(*P, T, Coords))
    gather(File->data() + Offsets[I], static_cast<const char *>(Local), T,
           regionOf(*P, T, Coords));
}

} // namespace pplan::rt
