//===- tensor.cpp - shapes, shards and copies of regions ------------------===//
//
// See tensor.h; the sharding rule is that of pplan_rt/collectives.h.
//
//===----------------------------------------------------------------------===//
#include "tensor.h"

#include "dtype.h"
#include "status.h"

#include <algorithm>
#include <cstring>

namespace pplan::rt {

static int64_t ceilDiv(int64_t A, int64_t B) { return A / B + (A % B != 0); }

Sizes globalSizes(const pplan_tensor &T) {
  Sizes S;
  for (int32_t D = 0; D < T.rank; ++D)
    S.push_back(T.dims[D].global_size);
  return S;
}

Sizes localSizes(const pplan_tensor &T) {
  Sizes S;
  for (int32_t D = 0; D < T.rank; ++D)
    S.push_back(T.dims[D].local_size);
  return S;
}

uint64_t byteSize(const Sizes &S, int32_t Dtype) {
  uint64_t Bytes = pplan_rt_dtype_size(Dtype);
  for (int64_t Size : S)
    Bytes *= static_cast<uint64_t>(Size);
  return Bytes;
}

Region regionOf(const pplan_program &P, const pplan_tensor &T,
                const Sizes &Coords) {
  Region R;
  for (int32_t D = 0; D < T.rank; ++D) {
    const pplan_dim &Dim = T.dims[D];
    int64_t Offset = 0, Valid = Dim.global_size, Size = Dim.global_size;
    for (int32_t A = 0; A < Dim.num_axes; ++A) {
      Size = ceilDiv(Size, P.axes[Dim.axes[A]].size);
      int64_t Start = Coords[Dim.axes[A]] * Size;
      Offset += Start;
      Valid = std::min(std::max<int64_t>(Valid - Start, 0), Size);
    }
    R.Offset.push_back(std::min(Offset, Dim.global_size));
    R.Valid.push_back(Valid);
  }
  return R;
}

Sizes coordsOf(const pplan_program &P, int32_t Rank) {
  Sizes Coords(P.num_axes);
  for (int32_t A = P.num_axes; A-- > 0;) {
    Coords[A] = Rank % P.axes[A].size;
    Rank /= static_cast<int32_t>(P.axes[A].size);
  }
  return Coords;
}

bool writesOutput(const pplan_program &P, const pplan_tensor &T,
                  const Sizes &Coords) {
  for (int32_t A = 0; A < P.num_axes; ++A) {
    bool Named = false;
    for (int32_t D = 0; D < T.rank; ++D)
      for (int32_t I = 0; I < T.dims[D].num_axes; ++I)
        Named |= T.dims[D].axes[I] == A;
    if (!Named && Coords[A] != 0)
      return false;
  }
  return true;
}

void copyRegion(char *Dst, const Sizes &DstSizes, const Sizes &DstOffset,
                const char *Src, const Sizes &SrcSizes, const Sizes &SrcOffset,
                const Sizes &Extent, size_t ElementSize) {
  size_t Rank = Extent.size();
  if (std::find(Extent.begin(), Extent.end(), 0) != Extent.end())
    return;
  // Byte strides, and where the region starts.
  std::vector<int64_t> DstStride(Rank), SrcStride(Rank);
  int64_t DstPitch = static_cast<int64_t>(ElementSize), SrcPitch = DstPitch;
  for (size_t D = Rank; D-- > 0;) {
    DstStride[D] = DstPitch;
    SrcStride[D] = SrcPitch;
    Dst += DstOffset[D] * DstPitch;
    Src += SrcOffset[D] * SrcPitch;
    DstPitch *= DstSizes[D];
    SrcPitch *= SrcSizes[D];
  }
  // Trailing dimensions that are whole on both sides make one run.
  size_t Outer = Rank;
  int64_t Run = static_cast<int64_t>(ElementSize);
  while (Outer > 0) {
    --Outer;
    Run *= Extent[Outer];
    if (Extent[Outer] != DstSizes[Outer] || Extent[Outer] != SrcSizes[Outer])
      break;
  }
  Sizes Index(Outer, 0);
  while (true) {
    std::memcpy(Dst, Src, static_cast<size_t>(Run));
    size_t D = Outer;
    while (D-- > 0) {
      Dst += DstStride[D];
      Src += SrcStride[D];
      if (++Index[D] < Extent[D])
        break;
      Dst -= DstStride[D] * Extent[D];
      Src -= SrcStride[D] * Extent[D];
      Index[D] = 0;
    }
    if (D == static_cast<size_t>(-1))
      return;
  }
}

void scatter(char *Local, const char *Global, const pplan_tensor &T,
             const Region &R) {
  Sizes Zero(T.rank, 0), LocalSizes = localSizes(T);
  if (R.Valid != LocalSizes)
    std::memset(Local, 0, byteSize(LocalSizes, T.dtype));
  copyRegion(Local, LocalSizes, Zero, Global, globalSizes(T), R.Offset, R.Valid,
             pplan_rt_dtype_size(T.dtype));
}

void gather(char *Global, const char *Local, const pplan_tensor &T,
            const Region &R) {
  Sizes Zero(T.rank, 0);
  copyRegion(Global, globalSizes(T), R.Offset, Local, localSizes(T), Zero,
             R.Valid, pplan_rt_dtype_size(T.dtype));
}

/// An integer element; only of the types that have a range.
static int64_t integerAt(const char *At, int32_t Dtype) {
  switch (Dtype) {
  case PPLAN_I64: {
    int64_t Value;
    std::memcpy(&Value, At, 8);
    return Value;
  }
  case PPLAN_I32: {
    int32_t Value;
    std::memcpy(&Value, At, 4);
    return Value;
  }
  case PPLAN_I8:
    return static_cast<int8_t>(*At);
  default:
    return static_cast<uint8_t>(*At);
  }
}

std::string findOutside(const char *Local, const pplan_tensor &T,
                        const Region &R) {
  bool IsInteger = T.dtype == PPLAN_I64 || T.dtype == PPLAN_I32 ||
                   T.dtype == PPLAN_I8 || T.dtype == PPLAN_U8;
  if (!IsInteger || (T.least == INT64_MIN && T.greatest == INT64_MAX) ||
      std::find(R.Valid.begin(), R.Valid.end(), 0) != R.Valid.end())
    return "";
  size_t Size = pplan_rt_dtype_size(T.dtype);
  Sizes Shape = localSizes(T), Index(T.rank, 0);
  while (true) {
    uint64_t At = 0;
    for (int32_t D = 0; D < T.rank; ++D)
      At = At * Shape[D] + Index[D];
    int64_t Value = integerAt(Local + At * Size, T.dtype);
    if (Value < T.least || Value > T.greatest) {
      std::string Place = "[";
      for (int32_t D = 0; D < T.rank; ++D)
        Place += format("%s%lld", D ? ", " : "",
                        static_cast<long long>(R.Offset[D] + Index[D]));
      return Place + format("] is %lld", static_cast<long long>(Value));
    }
    int32_t D = T.rank;
    while (D-- > 0) {
      if (++Index[D] < R.Valid[D])
        break;
      Index[D] = 0;
    }
    if (D < 0)
      return "";
  }
}

std::string shapeText(const Sizes &S) {
  if (S.empty())
    return "scalar";
  std::string Text;
  for (size_t I = 0; I < S.size(); ++I)
    Text += format("%s%lld", I ? "x" : "", static_cast<long long>(S[I]));
  return Text;
}

std::string shardingText(const pplan_program &P, const pplan_tensor &T) {
  std::string Text = "[";
  for (int32_t D = 0; D < T.rank; ++D) {
    Text += D ? ", {" : "{";
    for (int32_t A = 0; A < T.dims[D].num_axes; ++A)
      Text += format("%s\"%s\"", A ? ", " : "", P.axes[T.dims[D].axes[A]].name);
    Text += "}";
  }
  return Text + "]";
}

//===----------------------------------------------------------------------===//
// checkProgram
//===----------------------------------------------------------------------===//

static pplan_status *checkTensor(const pplan_program &P,
                                 const pplan_tensor &T) {
  auto bad = [&](const char *What) {
    return makeError(PPLAN_INTERNAL, nullptr, -1,
                     "program '%s', tensor '%s': %s", P.name,
                     T.name ? T.name : "", What);
  };
  if (!T.name || !isDtype(T.dtype) || T.rank < 0 || (T.rank > 0 && !T.dims))
    return bad("no name, dtype or dimensions");
  std::vector<bool> Used(P.num_axes);
  uint64_t Bytes = pplan_rt_dtype_size(T.dtype);
  for (int32_t D = 0; D < T.rank; ++D) {
    const pplan_dim &Dim = T.dims[D];
    if (Dim.global_size < 0 ||
        __builtin_mul_overflow(Bytes, std::max<int64_t>(Dim.global_size, 1),
                               &Bytes))
      return bad("a size is negative or too large");
    int64_t Local = Dim.global_size;
    for (int32_t A = 0; A < Dim.num_axes; ++A) {
      int32_t Axis = Dim.axes[A];
      if (Axis < 0 || Axis >= P.num_axes || Used[Axis])
        return bad("a mesh axis does not exist or is used twice");
      Used[Axis] = true;
      Local = ceilDiv(Local, P.axes[Axis].size);
    }
    if (Local != Dim.local_size)
      return bad("a local size is not that of the sharding");
  }
  return nullptr;
}

pplan_status *checkProgram(const pplan_program &P) {
  auto bad = [&](const std::string &What) {
    return makeError(PPLAN_INTERNAL, nullptr, -1, "program '%s': %s",
                     P.name ? P.name : "", What.c_str());
  };
  if (P.abi_version != PPLAN_RT_ABI_VERSION)
    return bad(format("compiled for ABI version %d, the runtime has %d",
                      P.abi_version, PPLAN_RT_ABI_VERSION));
  if (!P.entry || !P.name)
    return bad("no entry or name");
  int64_t NumRanks = 1;
  for (int32_t A = 0; A < P.num_axes; ++A) {
    if (P.axes[A].size < 1 || P.axes[A].size > P.num_ranks)
      return bad("a mesh axis is empty or larger than the mesh");
    NumRanks *= P.axes[A].size;
  }
  if (NumRanks != P.num_ranks)
    return bad(format("%d ranks on a mesh of %lld", P.num_ranks,
                      static_cast<long long>(NumRanks)));
  if (P.param_alignment & (P.param_alignment - 1))
    return bad("the alignment of parameters is no power of two");
  for (int32_t I = 0; I < P.num_inputs; ++I)
    if (pplan_status *Error = checkTensor(P, P.inputs[I]))
      return Error;
  for (int32_t I = 0; I < P.num_outputs; ++I)
    if (pplan_status *Error = checkTensor(P, P.outputs[I]))
      return Error;
  auto checkParam = [&](const pplan_param &Param, bool NeedsData) {
    if (pplan_status *Error = checkTensor(P, Param.tensor))
      return Error;
    bool HasData = Param.path || Param.data;
    if ((Param.path && Param.data) || (NeedsData && !HasData))
      return bad(format("parameter '%s' needs either a path or data",
                        Param.tensor.name));
    if (HasData && byteSize(globalSizes(Param.tensor), Param.tensor.dtype) !=
                       Param.byte_size)
      return bad(format("parameter '%s' has not the bytes of its shape",
                        Param.tensor.name));
    return static_cast<pplan_status *>(nullptr);
  };
  for (int32_t I = 0; I < P.num_params; ++I)
    if (pplan_status *Error = checkParam(P.params[I], /*NeedsData=*/true))
      return Error;
  for (int32_t I = 0; I < P.num_states; ++I)
    if (pplan_status *Error =
            checkParam(P.states[I].start, /*NeedsData=*/false))
      return Error;
  return nullptr;
}

} // namespace pplan::rt
