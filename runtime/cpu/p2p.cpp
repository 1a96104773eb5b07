//===- p2p.cpp - send and receive between two ranks -----------------------===//
//
// A send posts where its data is in the channel of the pair and waits until the
// receiver has copied it: no buffer in between, and no memory that was not
// planned. Waiting is in world.cpp.
//
//===----------------------------------------------------------------------===//
#include "../core/dtype.h"
#include "context.h"
#include "copy.h"

using namespace pplan::rt;
using namespace pplan::rt::cpu;

namespace {

/// Waits until a channel is in one of two states.
class ChannelWait : public Waiting {
public:
  ChannelWait(const World &W, const Channel &C, int32_t Peer, int32_t StateA,
              int32_t StateB, const CallInfo &Info)
      : W(W), C(C), Peer(Peer), StateA(StateA), StateB(StateB), Info(Info) {}

  bool done() const override {
    int32_t State = C.State.load(std::memory_order_acquire);
    return State == StateA || State == StateB;
  }
  int32_t missing() const override {
    return W.hasEnded(Peer) && !done() ? Peer : -1;
  }
  std::string text() const override {
    return Info.text() + format(" with rank %d", Peer);
  }
  const char *loc() const override { return Info.Loc; }

private:
  const World &W;
  const Channel &C;
  int32_t Peer, StateA, StateB;
  const CallInfo &Info;
};

pplan_status *checkMessage(const pplan_context *Ctx, const CallInfo &Info,
                           int32_t Peer, const void *Buffer) {
  const char *Name = callName(Info.Kind);
  if (Peer < 0 || Peer >= pplan_rt_num_ranks(Ctx) || Peer == Ctx->Rank)
    return makeError(PPLAN_INVALID_ARGUMENT, Info.Loc, Ctx->Rank,
                     "%s: rank %d cannot have rank %d of %d as its peer", Name,
                     Ctx->Rank, Peer, pplan_rt_num_ranks(Ctx));
  if (!isDtype(Info.Dtype))
    return makeError(PPLAN_INVALID_ARGUMENT, Info.Loc, Ctx->Rank,
                     "%s: unknown dtype %d", Name, Info.Dtype);
  if (Info.Sizes[0] < 0 || Info.Sizes[0] > INT64_MAX / 8 ||
      (Info.Sizes[0] > 0 && !Buffer))
    return makeError(PPLAN_INVALID_ARGUMENT, Info.Loc, Ctx->Rank,
                     "%s: count %lld with buffer %p", Name,
                     static_cast<long long>(Info.Sizes[0]), Buffer);
  return nullptr;
}

CallInfo messageInfo(CallKind Kind, int64_t Count, int32_t Dtype, int32_t Tag,
                     const char *Loc) {
  CallInfo Info;
  Info.Kind = Kind;
  Info.Dtype = Dtype;
  Info.Arg = Tag;
  Info.NumSizes = 1;
  Info.Sizes[0] = Count;
  Info.Loc = Loc;
  return Info;
}

pplan_status *mismatch(int32_t Rank, const char *Loc, int32_t From,
                       const CallInfo &Send, int32_t To, const CallInfo &Recv) {
  return makeError(PPLAN_MISMATCH, Loc, Rank,
                   "rank %d calls %s to rank %d, but rank %d calls %s", From,
                   Send.text().c_str(), To, To, Recv.text().c_str());
}

Channel &cached(std::vector<Channel *> &Cache, World &W, int32_t Peer,
                int32_t From, int32_t To) {
  if (!Cache[Peer])
    Cache[Peer] = &W.channel(From, To);
  return *Cache[Peer];
}

void setState(Channel &C, int32_t State) {
  C.State.store(State, std::memory_order_release);
  C.Word.notifyAll();
}

} // namespace

pplan_status *pplan_rt_send(pplan_context *ctx, pplan_stream *stream,
                            const void *src, int64_t count, int32_t dtype,
                            int32_t peer, int32_t tag, const char *loc) {
  CallInfo Info = messageInfo(CallKind::Send, count, dtype, tag, loc);
  Info.Src = src;
  return guarded(loc, [&]() -> pplan_status * {
    if (pplan_status *Error = checkMessage(ctx, Info, peer, src))
      return Error;
    CommunicationScope Time(ctx->Profile, loc);
    Channel &C = cached(ctx->SendTo, *ctx->World, peer, ctx->Rank, peer);
    // Only this rank makes a channel leave Taken or Refused, so it is Empty.
    C.Send = Info;
    setState(C, Channel::Posted);
    ChannelWait Answer(*ctx->World, C, peer, Channel::Taken, Channel::Refused,
                       Info);
    if (pplan_status *Error = ctx->World->wait(ctx->Rank, C.Word, Answer))
      return Error;
    bool Refused = C.State.load(std::memory_order_acquire) == Channel::Refused;
    CallInfo Recv = C.Recv;
    setState(C, Channel::Empty);
    return Refused ? mismatch(ctx->Rank, loc, ctx->Rank, Info, peer, Recv)
                   : nullptr;
  });
}

pplan_status *pplan_rt_recv(pplan_context *ctx, pplan_stream *stream, void *dst,
                            int64_t count, int32_t dtype, int32_t peer,
                            int32_t tag, const char *loc) {
  CallInfo Info = messageInfo(CallKind::Recv, count, dtype, tag, loc);
  Info.Dst = dst;
  return guarded(loc, [&]() -> pplan_status * {
    if (pplan_status *Error = checkMessage(ctx, Info, peer, dst))
      return Error;
    CommunicationScope Time(ctx->Profile, loc);
    Channel &C = cached(ctx->RecvFrom, *ctx->World, peer, peer, ctx->Rank);
    ChannelWait Message(*ctx->World, C, peer, Channel::Posted, Channel::Posted,
                        Info);
    if (pplan_status *Error = ctx->World->wait(ctx->Rank, C.Word, Message))
      return Error;
    CallInfo Send = C.Send;
    if (Send.Dtype != dtype || Send.Sizes[0] != count || Send.Arg != tag) {
      C.Recv = Info;
      setState(C, Channel::Refused);
      return mismatch(ctx->Rank, loc, peer, Send, ctx->Rank, Info);
    }
    int64_t Bytes = count * static_cast<int64_t>(pplan_rt_dtype_size(dtype));
    copyBytes(dst, Send.Src, Bytes);
    ctx->BytesReceived += Bytes;
    setState(C, Channel::Taken);
    return nullptr;
  });
}
