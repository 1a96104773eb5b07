//===- inputs.cpp - the inputs of a run -----------------------------------===//
//
// See inputs.h. Random values depend on the seed, the input's index and the
// element's index in the whole tensor, so that every sharding gets the same.
//
//===----------------------------------------------------------------------===//
#include "inputs.h"

#include "dtype.h"
#include "npy.h"
#include "random.h"
#include "status.h"

#include <algorithm>

namespace pplan::rt {

/// A value for one element: floats in [-1, 1), integers 0 or 1.
static void randomElement(char *Out, int32_t Dtype, uint64_t Bits) {
  float Float = static_cast<float>(Bits >> 40) * 0x1p-23f - 1.0f;
  switch (Dtype) {
  case PPLAN_F32:
    std::memcpy(Out, &Float, 4);
    return;
  case PPLAN_F64: {
    double Double = static_cast<double>(Bits >> 11) * 0x1p-52 - 1.0;
    std::memcpy(Out, &Double, 8);
    return;
  }
  case PPLAN_F16: {
    Half H = toHalf(Float);
    std::memcpy(Out, &H, 2);
    return;
  }
  case PPLAN_BF16: {
    BFloat B = toBFloat(Float);
    std::memcpy(Out, &B, 2);
    return;
  }
  }
  size_t Size = pplan_rt_dtype_size(Dtype);
  std::memset(Out, 0, Size);
  Out[0] = static_cast<char>(Bits >> 63); // little-endian
}

/// Fills the valid part of a local buffer with random values.
static void fillRandom(char *Local, const pplan_tensor &T, const Region &R,
                       uint64_t Seed) {
  size_t Size = pplan_rt_dtype_size(T.dtype);
  Sizes LocalSizes = localSizes(T), Index(T.rank, 0);
  std::memset(Local, 0, byteSize(LocalSizes, T.dtype));
  if (std::find(R.Valid.begin(), R.Valid.end(), 0) != R.Valid.end())
    return;
  while (true) {
    uint64_t Global = 0, At = 0;
    for (int32_t D = 0; D < T.rank; ++D) {
      Global = Global * T.dims[D].global_size + R.Offset[D] + Index[D];
      At = At * LocalSizes[D] + Index[D];
    }
    uint64_t Bits = T.greatest < 1 ? 0 : mix(Seed ^ mix(Global));
    randomElement(Local + At * Size, T.dtype, Bits);
    int32_t D = T.rank;
    while (D-- > 0) {
      if (++Index[D] < R.Valid[D])
        break;
      Index[D] = 0;
    }
    if (D < 0)
      return;
  }
}

/// Says what is wrong with a file for an input; "" if nothing is.
static std::string checkFile(const pplan_tensor &T, const std::string &Path,
                             MappedFile &File, uint64_t &Offset) {
  if (pplan_status *Error = File.open(Path)) {
    StatusPtr Owner(Error);
    return format("input '%s': %s", T.name, pplan_rt_status_message(Error));
  }
  NpyHeader Header;
  if (pplan_status *Error = parseNpy(File.data(), File.size(), Path, Header)) {
    StatusPtr Owner(Error);
    return format("input '%s': %s", T.name, pplan_rt_status_message(Error));
  }
  if (Header.Dtype != T.dtype || Header.Shape != globalSizes(T)) {
    static constexpr const char *NumpyNames[] = {
        "float32", "float64", "float16", "V2", "bool",
        "int8",    "uint8",   "int32",   "int64"};
    std::string Remedy =
        Header.Dtype != T.dtype
            ? format("convert with array.astype('%s')", NumpyNames[T.dtype])
            : std::string("shapes are fixed when the program is compiled; see "
                          "--list-io");
    return format("input '%s': expected %s %s, but '%s' has %s %s; %s", T.name,
                  pplan_rt_dtype_name(T.dtype),
                  shapeText(globalSizes(T)).c_str(), Path.c_str(),
                  pplan_rt_dtype_name(Header.Dtype),
                  shapeText(Header.Shape).c_str(), Remedy.c_str());
  }
  Offset = Header.DataOffset;
  return "";
}

pplan_status *InputSet::open(const pplan_program &P, const Options &O) {
  if (!O.DataFile.empty())
    if (pplan_status *Error = Tokens.open(P, O))
      return Error;
  Seed = O.Seed;
  Sources.resize(P.num_inputs);
  std::string Problems;
  auto note = [&](const std::string &Problem) {
    if (!Problem.empty())
      Problems += (Problems.empty() ? "" : "\n") + Problem;
  };
  for (const auto &[Name, Path] : O.Inputs) {
    int32_t I = 0;
    while (I < P.num_inputs && Name != P.inputs[I].name)
      ++I;
    if (I == P.num_inputs) {
      note(format("the program has no input '%s'; see --list-io", Name.c_str()));
      continue;
    }
    if (Sources[I].File) {
      note(format("input '%s' is given twice", Name.c_str()));
      continue;
    }
    Sources[I].File = std::make_unique<MappedFile>();
    note(checkFile(P.inputs[I], Path, *Sources[I].File, Sources[I].Offset));
  }
  for (int32_t I = 0; I < P.num_inputs; ++I)
    if (!Sources[I].File && !O.RandomInputs && !Tokens.gives(I))
      note(format("input '%s' (%s %s) is not given; add --input %s=FILE.npy, or "
                  "--random-inputs SEED",
                  P.inputs[I].name, pplan_rt_dtype_name(P.inputs[I].dtype),
                  shapeText(globalSizes(P.inputs[I])).c_str(),
                  P.inputs[I].name));
  if (Problems.empty())
    return nullptr;
  return pplan_rt_error(PPLAN_BAD_INPUT, Problems.c_str(), nullptr);
}

/// PPLAN_BAD_INPUT for a value that the program has no meaning for. `Step` counts
/// from 1; 0 when the input is the same in all.
static pplan_status *checkRange(const pplan_tensor &T, const char *Local,
                                const Region &R, int64_t Step) {
  std::string Outside = findOutside(Local, T, R);
  if (Outside.empty())
    return nullptr;
  std::string When =
      Step ? format(" of step %lld", static_cast<long long>(Step)) : "";
  std::string From =
      T.least == INT64_MIN
          ? std::string("at most")
          : format("%lld to", static_cast<long long>(T.least));
  return makeError(PPLAN_BAD_INPUT, nullptr, -1,
                   "input '%s'%s: element %s, but the model takes values of %s "
                   "%lld",
                   T.name, When.c_str(), Outside.c_str(), From.c_str(),
                   static_cast<long long>(T.greatest));
}

pplan_status *InputSet::fill(const pplan_program &P, int32_t Index,
                             int64_t Step, const Sizes &Coords,
                             void *Local) const {
  const pplan_tensor &T = P.inputs[Index];
  Region R = regionOf(P, T, Coords);
  if (Tokens.gives(Index)) {
    if (pplan_status *Error = Tokens.fill(P, Index, Step, Coords, Local))
      return Error;
    return checkRange(T, static_cast<const char *>(Local), R, Step + 1);
  }
  const Source &S = Sources[Index];
  if (S.File)
    scatter(static_cast<char *>(Local), S.File->data() + S.Offset, T, R);
  else
    fillRandom(static_cast<char *>(Local), T, R, mix(Seed) + Index);
  return checkRange(T, static_cast<const char *>(Local), R, /*Step=*/0);
}

} // namespace pplan::rt
