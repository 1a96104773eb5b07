//===- comm.cpp - communicators and the phases of a call ------------------===//
//
// See comm.h and collectives.h of the ABI.
//
//===----------------------------------------------------------------------===//
#include "comm.h"

#include "../core/dtype.h"

#include <algorithm>

using namespace pplan::rt;
using namespace pplan::rt::cpu;

//===----------------------------------------------------------------------===//
// Communicators
//===----------------------------------------------------------------------===//

pplan_status *pplan_rt_comm(pplan_context *ctx, const int32_t *axes,
                            int32_t num_axes, pplan_comm **out) {
  if (!ctx || !out || num_axes < 0 || (num_axes > 0 && !axes))
    return pplan_rt_error(PPLAN_INVALID_ARGUMENT,
                          "comm needs a context, axes and a result", nullptr);
  for (auto &Comm : ctx->Comms)
    if (static_cast<int32_t>(Comm->Axes.size()) == num_axes &&
        std::equal(axes, axes + num_axes, Comm->Axes.begin())) {
      *out = Comm.get();
      return nullptr;
    }
  int32_t NumMeshAxes = pplan_rt_num_axes(ctx);
  for (int32_t I = 0; I < num_axes; ++I) {
    if (axes[I] < 0 || axes[I] >= NumMeshAxes)
      return makeError(PPLAN_INVALID_ARGUMENT, nullptr, ctx->Rank,
                       "communicator over axis %d of a mesh of %d axes",
                       axes[I], NumMeshAxes);
    if (std::find(axes, axes + I, axes[I]) != axes + I)
      return makeError(PPLAN_INVALID_ARGUMENT, nullptr, ctx->Rank,
                       "communicator names axis %d twice", axes[I]);
  }
  return guarded(nullptr, [&]() -> pplan_status * {
    auto Comm = std::make_unique<pplan_comm>();
    Comm->Context = ctx;
    Comm->Axes.assign(axes, axes + num_axes);
    for (int32_t Axis : Comm->Axes)
      Comm->AxisSizes.push_back(ctx->World->axisSizes()[Axis]);
    Comm->Group = &ctx->World->group(ctx->Rank, Comm->Axes);
    const auto &Members = Comm->Group->Members;
    Comm->Rank = static_cast<int32_t>(
        std::find(Members.begin(), Members.end(), ctx->Rank) - Members.begin());
    *out = Comm.get();
    ctx->Comms.push_back(std::move(Comm));
    return nullptr;
  });
}

int32_t pplan_rt_comm_size(const pplan_comm *comm) { return comm->size(); }

int32_t pplan_rt_comm_rank(const pplan_comm *comm) { return comm->Rank; }

int32_t pplan_rt_comm_global_rank(const pplan_comm *comm, int32_t group_rank) {
  return group_rank >= 0 && group_rank < comm->size()
             ? comm->Group->Members[group_rank]
             : -1;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

namespace pplan::rt::cpu {

static int64_t ceilDiv(int64_t A, int64_t B) { return A / B + (A % B != 0); }

Part partOf(const pplan_comm &Comm, int32_t Rank, int64_t Full, int64_t Shard) {
  if (Comm.AxisSizes.size() <= 1) {
    int64_t Offset = std::min(Full, Rank * Shard);
    return {Offset, std::min(Shard, Full - Offset)};
  }
  int64_t Below = Comm.size();
  int64_t Rest = Rank, Offset = 0, Valid = Full, Size = Full;
  for (int64_t AxisSize : Comm.AxisSizes) {
    Below /= AxisSize;
    int64_t Index = Rest / Below;
    Rest %= Below;
    Size = ceilDiv(Size, AxisSize);
    Offset += Index * Size;
    Valid = std::min(std::max<int64_t>(Valid - Index * Size, 0), Size);
  }
  return {std::min(Offset, Full), Valid};
}

pplan_status *checkShard(const pplan_comm &Comm, const CallInfo &Info,
                         const char *Dim, int64_t Full, int64_t Shard) {
  int64_t Size = Comm.size();
  int64_t Least = ceilDiv(Full, Size);
  if (Shard >= Least && (Comm.AxisSizes.size() <= 1 || Shard == Least))
    return nullptr;
  return makeError(
      PPLAN_INVALID_ARGUMENT, Info.Loc, Comm.Context->Rank,
      "%s: %s dimension of %lld elements over %lld ranks has shards of %lld, "
      "expected %lld",
      Info.text().c_str(), Dim, static_cast<long long>(Full),
      static_cast<long long>(Size), static_cast<long long>(Shard),
      static_cast<long long>(Least));
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {

/// Waits until all ranks of a group have arrived at a phase.
class PhaseWait : public Waiting {
public:
  PhaseWait(const pplan_comm &Comm, const CallInfo &Info)
      : Comm(Comm), Info(Info) {}

  bool done() const override {
    return Comm.Group->Complete.load(std::memory_order_acquire) >= Comm.Phase;
  }

  int32_t missing() const override {
    for (int32_t R = 0; R < Comm.size(); ++R) {
      int32_t Member = Comm.Group->Members[R];
      if (Comm.Context->World->hasEnded(Member) && !arrived(R))
        return Member;
    }
    return -1;
  }

  std::string text() const override {
    std::string Ranks;
    for (int32_t R = 0; R < Comm.size(); ++R)
      if (!arrived(R))
        Ranks += format("%s %d", Ranks.empty() ? "" : ",",
                        Comm.Group->Members[R]);
    return Info.text() + ", not yet called by rank" + Ranks;
  }

  const char *loc() const override { return Info.Loc; }

private:
  bool arrived(int32_t R) const {
    return Comm.Group->Slots[R].Arrived.load(std::memory_order_acquire) >=
           Comm.Phase;
  }

  const pplan_comm &Comm;
  const CallInfo &Info;
};

} // namespace

pplan_status *Call::check() const {
  int64_t Product = 1;
  for (int32_t I = 0; I < Info.NumSizes; ++I) {
    int64_t Factor = std::max<int64_t>(Info.Sizes[I], 1);
    if (Info.Sizes[I] < 0 || __builtin_mul_overflow(Product, Factor, &Product) ||
        Product > INT64_MAX / 8)
      return makeError(PPLAN_INVALID_ARGUMENT, Info.Loc, Comm.Context->Rank,
                       "%s: a size is negative or too large",
                       Info.text().c_str());
  }
  if (Info.Kind != CallKind::Barrier && !isDtype(Info.Dtype))
    return makeError(PPLAN_INVALID_ARGUMENT, Info.Loc, Comm.Context->Rank,
                     "%s: unknown dtype %d", callName(Info.Kind), Info.Dtype);
  bool Reduces = Info.Kind == CallKind::AllReduce ||
                 Info.Kind == CallKind::ReduceScatter;
  if (Reduces && (Info.Op < PPLAN_SUM || Info.Op > PPLAN_MIN))
    return makeError(PPLAN_INVALID_ARGUMENT, Info.Loc, Comm.Context->Rank,
                     "%s: unknown reduction %d", callName(Info.Kind), Info.Op);
  return nullptr;
}

pplan_status *Call::phase() {
  ++Comm.Phase;
  Group &G = *Comm.Group;
  uint64_t Size = G.Members.size();
  if (Size == 1)
    return nullptr;
  G.Slots[Comm.Rank].Arrived.store(Comm.Phase, std::memory_order_release);
  if (G.NumArrived.fetch_add(1, std::memory_order_acq_rel) + 1 ==
      Comm.Phase * Size) {
    G.Complete.store(Comm.Phase, std::memory_order_release);
    G.Word.notifyAll();
    return nullptr;
  }
  return Comm.Context->World->wait(Comm.Context->Rank, G.Word,
                                   PhaseWait(Comm, Info));
}

pplan_status *Call::enter() {
  ++Comm.NumCalls;
  Comm.Group->Slots[Comm.Rank].Info[Parity] = Info;
  if (pplan_status *Error = phase())
    return Error;
  for (int32_t R = 0; R < Comm.size(); ++R) {
    const CallInfo &Other = info(R);
    if (Other.matches(Info))
      continue;
    return makeError(PPLAN_MISMATCH, Info.Loc, Comm.Context->Rank,
                     "rank %d calls %s, but rank %d calls %s",
                     Comm.Context->Rank, Info.text().c_str(),
                     Comm.Group->Members[R], Other.text().c_str());
  }
  return nullptr;
}

} // namespace pplan::rt::cpu
