//===- support.h - helpers of the conformance suite -------------*- C++ -*-===//
//
// Launching lambdas on a mesh, tensors of every dtype with small integers as
// values, and the sharding rule once more, written independently of the runtime.
// Uses nothing of a back end but the ABI.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_TEST_CONFORMANCE_SUPPORT_H
#define PPLAN_TEST_CONFORMANCE_SUPPORT_H

#include "pplan_rt.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace conformance {

struct StatusDeleter {
  void operator()(pplan_status *S) const { pplan_rt_status_free(S); }
};
using Status = std::unique_ptr<pplan_status, StatusDeleter>;

inline std::string text(const Status &S) {
  return S ? pplan_rt_status_message(S.get()) : "ok";
}

using Body = std::function<pplan_status *(pplan_context *)>;

/// Runs `Fn` on each rank of a mesh.
inline Status launch(const std::vector<int64_t> &Mesh, const Body &Fn) {
  auto Call = [](pplan_context *Ctx, void *User) {
    return (*static_cast<const Body *>(User))(Ctx);
  };
  return Status(pplan_rt_launch(static_cast<int32_t>(Mesh.size()), Mesh.data(),
                                Call, const_cast<Body *>(&Fn)));
}

/// Returns from the body of a rank with the error, if there is one.
#define RETURN_IF_ERROR(Call)                                                  \
  do {                                                                         \
    if (pplan_status *Error = (Call))                                          \
      return Error;                                                            \
  } while (false)

inline const std::vector<int32_t> AllDtypes = {
    PPLAN_F32, PPLAN_F64, PPLAN_F16, PPLAN_BF16, PPLAN_I1,
    PPLAN_I8,  PPLAN_U8,  PPLAN_I32, PPLAN_I64};

/// A dense buffer of some dtype; elements are set and read as integers, which
/// every dtype here represents exactly in the ranges used. Starts as bytes of
/// 0xff, so that padding that leaks shows (NaN, or -1).
class Buffer {
public:
  Buffer(int32_t Dtype, int64_t Count)
      : Dtype(Dtype), Size(pplan_rt_dtype_size(Dtype)),
        Bytes(static_cast<size_t>(Count) * Size + 1, 0xff) {}

  void *data() { return Bytes.data(); }

  void set(int64_t I, int64_t Value) {
    unsigned char *At = Bytes.data() + static_cast<size_t>(I) * Size;
    switch (Dtype) {
    case PPLAN_F32:
      return put(At, static_cast<float>(Value));
    case PPLAN_F64:
      return put(At, static_cast<double>(Value));
    case PPLAN_F16:
      return put(At, static_cast<_Float16>(Value));
    case PPLAN_BF16: {
      float F = static_cast<float>(Value);
      std::memcpy(At, reinterpret_cast<unsigned char *>(&F) + 2, 2);
      return;
    }
    case PPLAN_I1:
      return put(At, static_cast<uint8_t>(Value != 0));
    case PPLAN_I32:
      return put(At, static_cast<int32_t>(Value));
    case PPLAN_I64:
      return put(At, Value);
    default:
      return put(At, static_cast<uint8_t>(Value));
    }
  }

  /// The element; NaN gives a value that nothing sets.
  int64_t get(int64_t I) const {
    const unsigned char *At = Bytes.data() + static_cast<size_t>(I) * Size;
    switch (Dtype) {
    case PPLAN_F32:
      return whole(take<float>(At));
    case PPLAN_F64:
      return whole(take<double>(At));
    case PPLAN_F16:
      return whole(static_cast<double>(take<_Float16>(At)));
    case PPLAN_BF16: {
      float F = 0;
      std::memcpy(reinterpret_cast<unsigned char *>(&F) + 2, At, 2);
      return whole(F);
    }
    case PPLAN_I8:
      return take<int8_t>(At);
    case PPLAN_I32:
      return take<int32_t>(At);
    case PPLAN_I64:
      return take<int64_t>(At);
    default:
      return take<uint8_t>(At);
    }
  }

private:
  template <typename T> static void put(unsigned char *At, T Value) {
    std::memcpy(At, &Value, sizeof(T));
  }
  template <typename T> static T take(const unsigned char *At) {
    T Value;
    std::memcpy(&Value, At, sizeof(T));
    return Value;
  }
  static int64_t whole(double X) {
    return X == X ? static_cast<int64_t>(X) : INT64_MIN;
  }

  int32_t Dtype;
  size_t Size;
  std::vector<unsigned char> Bytes;
};

/// What a value becomes when it is stored.
inline int64_t wrap(int32_t Dtype, int64_t Value) {
  Buffer B(Dtype, 1);
  B.set(0, Value);
  return B.get(0);
}

/// The combination of two values.
inline int64_t combine(int32_t Dtype, int32_t Op, int64_t A, int64_t B) {
  if (Dtype == PPLAN_I1)
    return Op == PPLAN_SUM || Op == PPLAN_MAX ? (A || B) : (A && B);
  switch (Op) {
  case PPLAN_SUM:
    return wrap(Dtype, A + B);
  case PPLAN_PROD:
    return wrap(Dtype, A * B);
  case PPLAN_MAX:
    return A > B ? A : B;
  default:
    return A < B ? A : B;
  }
}

/// The indices of a dimension that the rank at `Coords` (along axes of `Sizes`)
/// holds, by cutting the list of all indices again and again.
inline std::vector<int64_t> shard(int64_t Full,
                                  const std::vector<int64_t> &Sizes,
                                  const std::vector<int64_t> &Coords) {
  std::vector<int64_t> Mine(Full);
  for (int64_t I = 0; I < Full; ++I)
    Mine[I] = I;
  int64_t Width = Full;
  for (size_t A = 0; A < Sizes.size(); ++A) {
    Width = (Width + Sizes[A] - 1) / Sizes[A];
    size_t Begin = static_cast<size_t>(Coords[A] * Width);
    size_t End = Begin + static_cast<size_t>(Width);
    Begin = std::min(Begin, Mine.size());
    End = std::min(End, Mine.size());
    Mine = std::vector<int64_t>(Mine.begin() + Begin, Mine.begin() + End);
  }
  return Mine;
}

/// A communicator of a rank with what the test knows about it.
struct CommInfo {
  pplan_comm *Comm = nullptr;
  std::vector<int64_t> Sizes; ///< of its axes
  int32_t Size = 1;
  int32_t Rank = 0;

  std::vector<int64_t> coordsOf(int32_t R) const {
    std::vector<int64_t> Coords(Sizes.size());
    for (size_t A = Sizes.size(); A-- > 0;) {
      Coords[A] = R % Sizes[A];
      R /= static_cast<int32_t>(Sizes[A]);
    }
    return Coords;
  }
  /// The indices of group rank `R` of a dimension.
  std::vector<int64_t> part(int64_t Full, int32_t R) const {
    return shard(Full, Sizes, coordsOf(R));
  }
  int64_t shardSize(int64_t Full) const { return (Full + Size - 1) / Size; }
  /// A number that all ranks of the group have in common.
  int32_t group() const { return pplan_rt_comm_global_rank(Comm, 0); }
};

inline pplan_status *makeComm(pplan_context *Ctx,
                              const std::vector<int32_t> &Axes,
                              CommInfo &Info) {
  RETURN_IF_ERROR(pplan_rt_comm(Ctx, Axes.data(),
                                static_cast<int32_t>(Axes.size()), &Info.Comm));
  Info.Size = pplan_rt_comm_size(Info.Comm);
  Info.Rank = pplan_rt_comm_rank(Info.Comm);
  for (int32_t Axis : Axes)
    Info.Sizes.push_back(pplan_rt_axis_size(Ctx, Axis));
  return nullptr;
}

/// All lists of distinct axes of a mesh with `NumAxes`, in every order.
inline std::vector<std::vector<int32_t>> axisLists(int32_t NumAxes) {
  std::vector<std::vector<int32_t>> Lists = {{}};
  for (size_t I = 0; I < Lists.size(); ++I)
    for (int32_t Axis = 0; Axis < NumAxes; ++Axis) {
      std::vector<int32_t> Longer = Lists[I];
      if (std::count(Longer.begin(), Longer.end(), Axis))
        continue;
      Longer.push_back(Axis);
      Lists.push_back(Longer);
    }
  return Lists;
}

/// The meshes that the suite uses.
inline const std::vector<std::vector<int64_t>> Meshes = {
    {}, {1}, {2}, {3}, {2, 2}, {2, 3}, {3, 1, 2}, {2, 4}, {2, 2, 2}};

} // namespace conformance

#endif // PPLAN_TEST_CONFORMANCE_SUPPORT_H
