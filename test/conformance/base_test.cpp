//===- base_test.cpp - status, ranks, streams, events, arenas -------------===//
//
// The base part of the ABI.
//
//===----------------------------------------------------------------------===//
#include "support.h"

#include <algorithm>
#include <atomic>
#include <set>

using namespace conformance;

TEST(Status, NullIsSuccess) {
  EXPECT_EQ(pplan_rt_status_code(nullptr), PPLAN_OK);
  EXPECT_STREQ(pplan_rt_status_message(nullptr), "");
  EXPECT_EQ(pplan_rt_status_location(nullptr), nullptr);
  EXPECT_EQ(pplan_rt_status_rank(nullptr), -1);
  pplan_rt_status_free(nullptr);
}

TEST(Status, KeepsCopies) {
  std::string Message = "went wrong", Loc = "layer/3";
  Status S(pplan_rt_error(PPLAN_IO, Message.c_str(), Loc.c_str()));
  Message[0] = Loc[0] = '?';
  EXPECT_EQ(pplan_rt_status_code(S.get()), PPLAN_IO);
  EXPECT_STREQ(pplan_rt_status_message(S.get()), "went wrong");
  EXPECT_STREQ(pplan_rt_status_location(S.get()), "layer/3");
  Status Bare(pplan_rt_error(PPLAN_OK, nullptr, nullptr));
  EXPECT_NE(pplan_rt_status_code(Bare.get()), PPLAN_OK);
  EXPECT_EQ(pplan_rt_status_location(Bare.get()), nullptr);
}

TEST(Dtype, SizesAndNames) {
  EXPECT_EQ(pplan_rt_dtype_size(PPLAN_BF16), 2u);
  EXPECT_EQ(pplan_rt_dtype_size(PPLAN_I64), 8u);
  EXPECT_EQ(pplan_rt_dtype_size(-1), 0u);
  EXPECT_EQ(pplan_rt_dtype_size(9), 0u);
  EXPECT_STREQ(pplan_rt_dtype_name(PPLAN_I1), "i1");
  EXPECT_STREQ(pplan_rt_dtype_name(99), "?");
}

TEST(Launch, RanksAreRowMajorOverTheMesh) {
  for (const auto &Mesh : Meshes) {
    int32_t NumRanks = 1;
    for (int64_t Size : Mesh)
      NumRanks *= static_cast<int32_t>(Size);
    std::vector<std::atomic<int>> Runs(NumRanks);
    Status S = launch(Mesh, [&](pplan_context *Ctx) -> pplan_status * {
      int32_t Rank = pplan_rt_rank(Ctx);
      Runs[Rank]++;
      EXPECT_EQ(pplan_rt_num_ranks(Ctx), NumRanks);
      EXPECT_EQ(pplan_rt_num_axes(Ctx), static_cast<int32_t>(Mesh.size()));
      int64_t FromCoords = 0;
      for (size_t A = 0; A < Mesh.size(); ++A) {
        EXPECT_EQ(pplan_rt_axis_size(Ctx, A), Mesh[A]);
        FromCoords = FromCoords * Mesh[A] + pplan_rt_axis_coord(Ctx, A);
      }
      EXPECT_EQ(FromCoords, Rank);
      EXPECT_EQ(pplan_rt_axis_size(Ctx, -1), 0);
      EXPECT_EQ(pplan_rt_axis_coord(Ctx, 99), 0);
      return nullptr;
    });
    EXPECT_FALSE(S) << text(S);
    for (auto &Count : Runs)
      EXPECT_EQ(Count, 1);
  }
}

TEST(Launch, RefusesBadMeshes) {
  auto Nothing = [](pplan_context *) -> pplan_status * { return nullptr; };
  EXPECT_EQ(pplan_rt_status_code(launch({2, 0}, Nothing).get()),
            PPLAN_INVALID_ARGUMENT);
  EXPECT_EQ(pplan_rt_status_code(launch({-3}, Nothing).get()),
            PPLAN_INVALID_ARGUMENT);
  EXPECT_EQ(pplan_rt_status_code(launch({1000, 1000, 1000}, Nothing).get()),
            PPLAN_INVALID_ARGUMENT);
  Status NoBody(pplan_rt_launch(0, nullptr, nullptr, nullptr));
  EXPECT_EQ(pplan_rt_status_code(NoBody.get()), PPLAN_INVALID_ARGUMENT);
}

TEST(Launch, ReturnsTheErrorOfTheRankThatFailed) {
  Status S = launch({3}, [](pplan_context *Ctx) -> pplan_status * {
    if (pplan_rt_rank(Ctx) != 1)
      return nullptr;
    return pplan_rt_error(PPLAN_BAD_INPUT, "no good", "layer/7");
  });
  EXPECT_EQ(pplan_rt_status_code(S.get()), PPLAN_BAD_INPUT);
  EXPECT_EQ(pplan_rt_status_rank(S.get()), 1);
  EXPECT_STREQ(pplan_rt_status_location(S.get()), "layer/7");
}

TEST(Stream, EventsOrderStreams) {
  Status S = launch({2}, [](pplan_context *Ctx) -> pplan_status * {
    pplan_stream *Other;
    pplan_event *Event;
    RETURN_IF_ERROR(pplan_rt_stream_create(Ctx, &Other));
    RETURN_IF_ERROR(pplan_rt_event_create(Ctx, &Event));
    int32_t Reached = 0;
    RETURN_IF_ERROR(pplan_rt_event_query(Event, &Reached));
    EXPECT_EQ(Reached, 1) << "an event counts as reached before a record";
    // A buffer reduced on one stream and gathered on the other.
    int32_t Axis = 0;
    pplan_comm *Comm;
    RETURN_IF_ERROR(pplan_rt_comm(Ctx, &Axis, 1, &Comm));
    pplan_stream *First = pplan_rt_default_stream(Ctx);
    std::vector<int32_t> X(3000, pplan_rt_rank(Ctx) + 1), Y(6000);
    RETURN_IF_ERROR(pplan_rt_all_reduce(Comm, First, X.data(), X.data(), 3000,
                                        PPLAN_I32, PPLAN_SUM, "a"));
    RETURN_IF_ERROR(pplan_rt_event_record(Event, First));
    RETURN_IF_ERROR(pplan_rt_stream_wait_event(Other, Event));
    RETURN_IF_ERROR(pplan_rt_all_gather(Comm, Other, X.data(), Y.data(), 1, 3000,
                                        6000, 1, PPLAN_I32, "b"));
    RETURN_IF_ERROR(pplan_rt_event_record(Event, Other));
    RETURN_IF_ERROR(pplan_rt_stream_synchronize(Other));
    RETURN_IF_ERROR(pplan_rt_event_query(Event, &Reached));
    EXPECT_EQ(Reached, 1);
    EXPECT_EQ(std::count(Y.begin(), Y.end(), 3), 6000);
    pplan_rt_event_destroy(Event);
    pplan_rt_stream_destroy(Other);
    pplan_rt_stream_destroy(nullptr);
    pplan_rt_event_destroy(nullptr);
    Status Null(pplan_rt_event_record(nullptr, First));
    EXPECT_EQ(pplan_rt_status_code(Null.get()), PPLAN_INVALID_ARGUMENT);
    return nullptr;
  });
  EXPECT_FALSE(S) << text(S);
}

TEST(Arena, IsAlignedAndAsLargeAsAsked) {
  Status S = launch({}, [](pplan_context *Ctx) -> pplan_status * {
    for (uint64_t Bytes : {0ull, 1ull, 100ull, 4096ull, 20ull << 20}) {
      pplan_arena *Arena;
      RETURN_IF_ERROR(pplan_rt_arena_create(Ctx, Bytes, &Arena));
      EXPECT_EQ(pplan_rt_arena_bytes(Arena), Bytes);
      auto *Base = static_cast<char *>(pplan_rt_arena_base(Arena));
      EXPECT_NE(Base, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(Base) % 64, 0u);
      for (uint64_t I = 0; I < Bytes; I += 1000)
        Base[I] = 1;
      if (Bytes)
        Base[Bytes - 1] = 1;
      pplan_rt_arena_destroy(Arena);
    }
    pplan_rt_arena_destroy(nullptr);
    pplan_arena *Arena = nullptr;
    Status TooMuch(pplan_rt_arena_create(Ctx, UINT64_MAX - 5, &Arena));
    EXPECT_EQ(pplan_rt_status_code(TooMuch.get()), PPLAN_OUT_OF_MEMORY);
    return nullptr;
  });
  EXPECT_FALSE(S) << text(S);
}

TEST(Profile, CountsSelfTimeAndCommunication) {
  Status S = launch({2}, [](pplan_context *Ctx) -> pplan_status * {
    static const char Outer[] = "outer", Inner[] = "inner";
    int32_t Axis = 0;
    pplan_comm *Comm;
    RETURN_IF_ERROR(pplan_rt_comm(Ctx, &Axis, 1, &Comm));
    auto work = [&]() -> pplan_status * {
      pplan_rt_op_begin(Ctx, Outer);
      pplan_rt_op_begin(Ctx, Inner);
      pplan_rt_op_end(Ctx, Inner);
      RETURN_IF_ERROR(
          pplan_rt_barrier(Comm, pplan_rt_default_stream(Ctx), Outer));
      pplan_rt_op_end(Ctx, Outer);
      return nullptr;
    };
    RETURN_IF_ERROR(work());
    EXPECT_EQ(pplan_rt_profile_rows(Ctx, nullptr, 0), 0) << "off at first";
    pplan_rt_profile(Ctx, 1);
    RETURN_IF_ERROR(work());
    RETURN_IF_ERROR(work());
    pplan_rt_profile(Ctx, 0);
    RETURN_IF_ERROR(work());
    pplan_profile_row Rows[8];
    int64_t Count = pplan_rt_profile_rows(Ctx, Rows, 8);
    EXPECT_EQ(Count, 3);
    std::set<std::pair<std::string, int>> Seen;
    for (int64_t I = 0; I < Count; ++I) {
      Seen.insert({Rows[I].loc, Rows[I].communication});
      EXPECT_EQ(Rows[I].calls, 2u);
      EXPECT_GE(Rows[I].seconds, 0.0);
      EXPECT_LT(Rows[I].seconds, 10.0);
    }
    EXPECT_EQ(Seen, (std::set<std::pair<std::string, int>>{
                        {"outer", 0}, {"inner", 0}, {"outer", 1}}));
    return nullptr;
  });
  EXPECT_FALSE(S) << text(S);
}

TEST(Comm, GroupsAndOrderForEveryListOfAxes) {
  for (const auto &Mesh : Meshes) {
    Status S = launch(Mesh, [&](pplan_context *Ctx) -> pplan_status * {
      int32_t NumAxes = static_cast<int32_t>(Mesh.size());
      for (const auto &Axes : axisLists(NumAxes)) {
        CommInfo C;
        RETURN_IF_ERROR(makeComm(Ctx, Axes, C));
        int64_t Size = 1, Rank = 0;
        for (int32_t Axis : Axes) {
          Size *= Mesh[Axis];
          Rank = Rank * Mesh[Axis] + pplan_rt_axis_coord(Ctx, Axis);
        }
        EXPECT_EQ(C.Size, Size);
        EXPECT_EQ(C.Rank, Rank);
        EXPECT_EQ(pplan_rt_comm_global_rank(C.Comm, C.Rank), pplan_rt_rank(Ctx));
        EXPECT_EQ(pplan_rt_comm_global_rank(C.Comm, -1), -1);
        EXPECT_EQ(pplan_rt_comm_global_rank(C.Comm, C.Size), -1);
        for (int32_t R = 0; R < C.Size; ++R) {
          // Same coordinates but on the communicator's axes.
          std::vector<int64_t> Coords(NumAxes);
          for (int32_t A = 0; A < NumAxes; ++A)
            Coords[A] = pplan_rt_axis_coord(Ctx, A);
          std::vector<int64_t> InGroup = C.coordsOf(R);
          for (size_t I = 0; I < Axes.size(); ++I)
            Coords[Axes[I]] = InGroup[I];
          int64_t Global = 0;
          for (int32_t A = 0; A < NumAxes; ++A)
            Global = Global * Mesh[A] + Coords[A];
          EXPECT_EQ(pplan_rt_comm_global_rank(C.Comm, R), Global);
        }
        pplan_comm *Again;
        RETURN_IF_ERROR(pplan_rt_comm(Ctx, Axes.data(), Axes.size(), &Again));
        EXPECT_EQ(Again, C.Comm);
      }
      return nullptr;
    });
    EXPECT_FALSE(S) << text(S);
  }
}

TEST(Comm, RefusesBadAxes) {
  Status S = launch({2, 2}, [](pplan_context *Ctx) -> pplan_status * {
    for (std::vector<int32_t> Axes :
         {std::vector<int32_t>{2}, {-1}, {0, 0}, {0, 1, 0}}) {
      pplan_comm *Comm;
      Status Error(pplan_rt_comm(Ctx, Axes.data(), Axes.size(), &Comm));
      EXPECT_EQ(pplan_rt_status_code(Error.get()), PPLAN_INVALID_ARGUMENT);
    }
    return nullptr;
  });
  EXPECT_FALSE(S) << text(S);
}
