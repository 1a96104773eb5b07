//===- context.cpp - ranks, streams, events, arenas -----------------------===//
//
// The base part of the ABI for ranks as threads: launching them, and the objects
// each of them owns. Communication is in collectives.cpp and p2p.cpp.
//
//===----------------------------------------------------------------------===//
#include "context.h"

#include <sys/mman.h>
#include <system_error>
#include <thread>

using namespace pplan::rt;
using namespace pplan::rt::cpu;

//===----------------------------------------------------------------------===//
// Launch
//===----------------------------------------------------------------------===//

/// More threads than this are refused as a likely mistake.
static constexpr int64_t MaxRanks = 4096;

static void runRank(World &W, int32_t Rank, pplan_rank_fn Body, void *User) {
  pplan_status *Status = guarded(nullptr, [&] {
    pplan_context Context;
    Context.World = &W;
    Context.Rank = Rank;
    Context.DefaultStream.Context = &Context;
    Context.SendTo.resize(W.numRanks());
    Context.RecvFrom.resize(W.numRanks());
    Context.Coords.resize(W.axisSizes().size());
    int64_t Rest = Rank;
    for (size_t I = Context.Coords.size(); I-- > 0;) {
      Context.Coords[I] = Rest % W.axisSizes()[I];
      Rest /= W.axisSizes()[I];
    }
    return Body(&Context, User);
  });
  W.end(Rank, Status);
}

pplan_status *pplan_rt_launch(int32_t num_axes, const int64_t *axis_sizes,
                              pplan_rank_fn body, void *user) {
  if (num_axes < 0 || (num_axes > 0 && !axis_sizes) || !body)
    return pplan_rt_error(PPLAN_INVALID_ARGUMENT,
                          "launch needs a mesh and a body", nullptr);
  int64_t NumRanks = 1;
  for (int32_t I = 0; I < num_axes; ++I) {
    if (axis_sizes[I] < 1 || axis_sizes[I] > MaxRanks)
      return makeError(PPLAN_INVALID_ARGUMENT, nullptr, -1,
                       "mesh axis %d has size %lld, expected 1 to %lld", I,
                       static_cast<long long>(axis_sizes[I]),
                       static_cast<long long>(MaxRanks));
    NumRanks *= axis_sizes[I];
    if (NumRanks > MaxRanks)
      return makeError(PPLAN_INVALID_ARGUMENT, nullptr, -1,
                       "the mesh has more than %lld ranks",
                       static_cast<long long>(MaxRanks));
  }
  return guarded(nullptr, [&]() -> pplan_status * {
    World W(std::vector<int64_t>(axis_sizes, axis_sizes + num_axes));
    std::vector<std::thread> Threads;
    Threads.reserve(NumRanks - 1);
    int32_t Next = 1;
    try {
      for (; Next < NumRanks; ++Next)
        Threads.emplace_back(runRank, std::ref(W), Next, body, user);
      runRank(W, 0, body, user);
    } catch (const std::system_error &E) {
      // Ranks that have no thread fail, which ends the others.
      for (int32_t Rank = Next; Rank <= NumRanks; ++Rank)
        W.end(Rank % NumRanks,
              makeError(PPLAN_OUT_OF_MEMORY, nullptr, -1,
                        "cannot start the thread of rank %d: %s", Next,
                        E.what()));
    }
    for (std::thread &T : Threads)
      T.join();
    return W.takeError();
  });
}

int32_t pplan_rt_rank(const pplan_context *ctx) { return ctx->Rank; }

int32_t pplan_rt_num_ranks(const pplan_context *ctx) {
  return ctx->World->numRanks();
}

int32_t pplan_rt_num_axes(const pplan_context *ctx) {
  return static_cast<int32_t>(ctx->Coords.size());
}

int64_t pplan_rt_axis_size(const pplan_context *ctx, int32_t axis) {
  return axis >= 0 && axis < pplan_rt_num_axes(ctx)
             ? ctx->World->axisSizes()[axis]
             : 0;
}

int64_t pplan_rt_axis_coord(const pplan_context *ctx, int32_t axis) {
  return axis >= 0 && axis < pplan_rt_num_axes(ctx) ? ctx->Coords[axis] : 0;
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

static pplan_status *nullArgument(const char *Call) {
  return makeError(PPLAN_INVALID_ARGUMENT, nullptr, -1,
                   "%s was given a null pointer", Call);
}

pplan_stream *pplan_rt_default_stream(pplan_context *ctx) {
  return &ctx->DefaultStream;
}

pplan_status *pplan_rt_stream_create(pplan_context *ctx, pplan_stream **out) {
  if (!ctx || !out)
    return nullArgument("stream_create");
  return guarded(nullptr, [&]() -> pplan_status * {
    *out = new pplan_stream{ctx};
    return nullptr;
  });
}

void pplan_rt_stream_destroy(pplan_stream *stream) {
  if (stream && stream != &stream->Context->DefaultStream)
    delete stream;
}

pplan_status *pplan_rt_stream_synchronize(pplan_stream *stream) {
  return stream ? nullptr : nullArgument("stream_synchronize");
}

pplan_status *pplan_rt_event_create(pplan_context *ctx, pplan_event **out) {
  if (!ctx || !out)
    return nullArgument("event_create");
  return guarded(nullptr, [&]() -> pplan_status * {
    *out = new pplan_event{ctx};
    return nullptr;
  });
}

void pplan_rt_event_destroy(pplan_event *event) { delete event; }

/// Work runs when it is given, so that an event has nothing to remember; what
/// can still be wrong is whose objects they are.
static pplan_status *checkPair(pplan_event *Event, pplan_stream *Stream,
                               const char *Call) {
  if (!Event || !Stream)
    return nullArgument(Call);
  if (Event->Context != Stream->Context)
    return makeError(PPLAN_INVALID_ARGUMENT, nullptr, Stream->Context->Rank,
                     "%s: the event belongs to rank %d, the stream to rank %d",
                     Call, Event->Context->Rank, Stream->Context->Rank);
  return nullptr;
}

pplan_status *pplan_rt_event_record(pplan_event *event, pplan_stream *stream) {
  return checkPair(event, stream, "event_record");
}

pplan_status *pplan_rt_stream_wait_event(pplan_stream *stream,
                                         pplan_event *event) {
  return checkPair(event, stream, "stream_wait_event");
}

pplan_status *pplan_rt_event_query(pplan_event *event, int32_t *reached) {
  if (!event || !reached)
    return nullArgument("event_query");
  *reached = 1;
  return nullptr;
}

//===----------------------------------------------------------------------===//
// Arenas
//===----------------------------------------------------------------------===//

pplan_status *pplan_rt_arena_create(pplan_context *ctx, uint64_t bytes,
                                    pplan_arena **out) {
  if (!ctx || !out)
    return nullArgument("arena_create");
  // Large arenas start on a huge page and ask for such pages.
  constexpr uint64_t HugePage = 2u << 20;
  constexpr uint64_t Page = 4096;
  bool Huge = bytes >= 4 * HugePage;
  uint64_t Mapped = (bytes + Page - 1) / Page * Page + (Huge ? HugePage : Page);
  void *Memory = MAP_FAILED;
  if (bytes <= UINT64_MAX / 4)
    Memory = mmap(nullptr, Mapped, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (Memory == MAP_FAILED)
    return makeError(PPLAN_OUT_OF_MEMORY, nullptr, ctx->Rank,
                     "cannot allocate an arena of %llu bytes",
                     static_cast<unsigned long long>(bytes));
  uintptr_t Base = reinterpret_cast<uintptr_t>(Memory);
  if (Huge) {
    Base = (Base + HugePage - 1) / HugePage * HugePage;
    // Only whole huge pages, so that no memory beyond the arena is touched.
    madvise(reinterpret_cast<void *>(Base), bytes / HugePage * HugePage,
            MADV_HUGEPAGE);
  }
  return guarded(nullptr, [&]() -> pplan_status * {
    *out = new pplan_arena{Memory, Mapped, reinterpret_cast<void *>(Base),
                           bytes};
    return nullptr;
  });
}

void *pplan_rt_arena_base(pplan_arena *arena) { return arena->Base; }

uint64_t pplan_rt_arena_bytes(const pplan_arena *arena) { return arena->Bytes; }

void pplan_rt_arena_destroy(pplan_arena *arena) {
  if (!arena)
    return;
  munmap(arena->Mapping, arena->MappingBytes);
  delete arena;
}

//===----------------------------------------------------------------------===//
// Profile
//===----------------------------------------------------------------------===//

void pplan_rt_op_begin(pplan_context *ctx, const char *loc) {
  if (ctx->Profile.enabled())
    ctx->Profile.begin(loc, /*Communication=*/false);
}

void pplan_rt_op_end(pplan_context *ctx, const char *loc) {
  if (ctx->Profile.enabled())
    ctx->Profile.end();
}

void pplan_rt_profile(pplan_context *ctx, int32_t on) {
  ctx->Profile.enable(on != 0);
}

int64_t pplan_rt_profile_rows(const pplan_context *ctx, pplan_profile_row *rows,
                              int64_t capacity) {
  const auto &All = ctx->Profile.rows();
  for (int64_t I = 0; I < capacity && I < static_cast<int64_t>(All.size()); ++I)
    rows[I] = All[I];
  return static_cast<int64_t>(All.size());
}

uint64_t pplan_rt_bytes_received(const pplan_context *ctx) {
  return ctx->BytesReceived;
}
