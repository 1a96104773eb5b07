//===- tokens.cpp - batches of a token file -------------------------------===//
//
// See tokens.h.
//
//===----------------------------------------------------------------------===//
#include "tokens.h"

#include "npy.h"
#include "random.h"
#include "status.h"

#include <cstring>

namespace pplan::rt {

/// A permutation of [0, Size): a Feistel network on the next even number of bits,
/// walked until it is inside (Black and Rogaway, "Ciphers with arbitrary finite
/// domains", 2002). Needs no memory, however large the data is.
static int64_t permute(int64_t Index, int64_t Size, uint64_t Key) {
  int Half = 1;
  while ((int64_t(1) << (2 * Half)) < Size)
    ++Half;
  uint64_t Mask = (uint64_t(1) << Half) - 1;
  auto X = static_cast<uint64_t>(Index);
  do {
    uint64_t Left = X >> Half, Right = X & Mask;
    for (uint64_t Round = 0; Round < 4; ++Round) {
      uint64_t Next = Left ^ (mix(Key + Round * 0x51ed2701 + mix(Right)) & Mask);
      Left = Right;
      Right = Next;
    }
    X = Left << Half | Right;
  } while (X >= static_cast<uint64_t>(Size));
  return static_cast<int64_t>(X);
}

/// Whether an input can hold tokens.
static bool isTokens(const pplan_tensor &T) {
  return T.rank == 2 && (T.dtype == PPLAN_I64 || T.dtype == PPLAN_I32);
}

static pplan_status *bad(const std::string &Message) {
  return pplan_rt_error(PPLAN_BAD_INPUT, Message.c_str(), nullptr);
}

pplan_status *TokenSet::open(const pplan_program &P, const Options &O) {
  for (int32_t I = 0; I < P.num_inputs; ++I) {
    if (!isTokens(P.inputs[I]))
      continue;
    bool IsTargets = std::strcmp(P.inputs[I].name, "targets") == 0;
    int32_t &Input = IsTargets ? TargetsInput : IdsInput;
    bool IsGiven = false;
    for (const auto &Given : O.Inputs)
      IsGiven |= Given.first == P.inputs[I].name;
    if (IsGiven)
      continue;
    if (Input >= 0)
      return bad(format("--data can be read as input '%s' or '%s'; give one of "
                        "them with --input",
                        P.inputs[Input].name, P.inputs[I].name));
    Input = I;
  }
  if (IdsInput < 0 || TargetsInput < 0 ||
      globalSizes(P.inputs[IdsInput]) != globalSizes(P.inputs[TargetsInput]))
    return bad("--data needs a program with an input of tokens and an input "
               "'targets', integers of one shape [batch, length]; see --list-io");
  Sizes Shape = globalSizes(P.inputs[IdsInput]);
  Batch = Shape[0], Length = Shape[1];
  Path = O.DataFile;
  Seed = O.Seed;
  if (pplan_status *Error = File.open(Path))
    return Error;
  Data = File.data();
  Bytes = O.TokenBytes;
  uint64_t Size = File.size();
  if (Size >= 6 && std::memcmp(Data, "\x93NUMPY", 6) == 0) {
    NpyHeader Header;
    if (pplan_status *Error = parseNpy(Data, Size, Path, Header))
      return Error;
    bool IsInteger = Header.Dtype == PPLAN_I64 || Header.Dtype == PPLAN_I32 ||
                     Header.Dtype == PPLAN_U8;
    if (!IsInteger || Header.Shape.size() != 1)
      return bad(format("'%s' has %s %s; --data needs integers in one dimension "
                        "(int64, int32 or uint8), or raw numbers",
                        Path.c_str(), pplan_rt_dtype_name(Header.Dtype),
                        shapeText(Header.Shape).c_str()));
    Data += Header.DataOffset;
    Size -= Header.DataOffset;
    Bytes = static_cast<int32_t>(pplan_rt_dtype_size(Header.Dtype));
    IsSigned = Bytes > 1;
  } else if (Size % Bytes) {
    return bad(format("'%s' has %llu bytes, which is no whole number of tokens of "
                      "%d bytes; see --token-bytes",
                      Path.c_str(), static_cast<unsigned long long>(Size),
                      Bytes));
  }
  auto Tokens = static_cast<int64_t>(Size / Bytes);
  Windows = Length > 0 ? (Tokens - 1) / Length : 0;
  if (Batch == 0 || Windows < Batch)
    return bad(format("'%s' has %lld tokens, too few for a batch of %lld times "
                      "%lld and one more",
                      Path.c_str(), static_cast<long long>(Tokens),
                      static_cast<long long>(Batch),
                      static_cast<long long>(Length)));
  Count = Tokens;
  return nullptr;
}

int64_t TokenSet::tokenAt(int64_t Position) const {
  const char *At = Data + Position * Bytes;
  switch (Bytes) {
  case 1:
    return static_cast<uint8_t>(*At);
  case 2: {
    uint16_t Token;
    std::memcpy(&Token, At, 2);
    return Token;
  }
  case 4: {
    uint32_t Token;
    std::memcpy(&Token, At, 4);
    return IsSigned ? static_cast<int32_t>(Token) : static_cast<int64_t>(Token);
  }
  default: {
    int64_t Token;
    std::memcpy(&Token, At, 8);
    return Token;
  }
  }
}

int64_t TokenSet::windowOf(int64_t Sample) const {
  // What is left of a pass beyond whole batches is not used in it.
  int64_t PassSize = Windows / Batch * Batch;
  int64_t Pass = Sample / PassSize;
  return permute(Sample % PassSize, Windows,
                 mix(Seed ^ mix(static_cast<uint64_t>(Pass))));
}

pplan_status *TokenSet::fill(const pplan_program &P, int32_t Index,
                             int64_t Step, const Sizes &Coords,
                             void *Local) const {
  const pplan_tensor &T = P.inputs[Index];
  Region R = regionOf(P, T, Coords);
  Sizes Shape = localSizes(T);
  std::memset(Local, 0, byteSize(Shape, T.dtype));
  int64_t Shift = Index == TargetsInput ? 1 : 0;
  for (int64_t B = 0; B < R.Valid[0]; ++B) {
    int64_t Window = windowOf(Step * Batch + R.Offset[0] + B);
    for (int64_t I = 0; I < R.Valid[1]; ++I) {
      int64_t Position = Window * Length + R.Offset[1] + I + Shift;
      int64_t Token = tokenAt(Position);
      if (Token < 0 || (T.dtype == PPLAN_I32 && Token > INT32_MAX))
        return bad(format("token %lld of '%s' is %lld, which is no token",
                          static_cast<long long>(Position), Path.c_str(),
                          static_cast<long long>(Token)));
      int64_t At = B * Shape[1] + I;
      if (T.dtype == PPLAN_I32)
        static_cast<int32_t *>(Local)[At] = static_cast<int32_t>(Token);
      else
        static_cast<int64_t *>(Local)[At] = Token;
    }
  }
  return nullptr;
}

} // namespace pplan::rt
