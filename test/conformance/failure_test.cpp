//===- failure_test.cpp - wrong use ends with a message, never with a hang ===//
//
// Ranks that disagree, fail, leave early, or wait in a circle. Each test must
// end within seconds, and the message must name ranks and locations.
//
//===----------------------------------------------------------------------===//
#include "support.h"

#include <chrono>

using namespace conformance;

namespace {

/// Runs on ranks of one axis and checks that it takes at most two seconds.
std::vector<Status>
launchQuickly(const std::vector<int64_t> &Mesh,
              const std::function<pplan_status *(pplan_context *)> &Fn,
              Status *Overall = nullptr) {
  int64_t NumRanks = 1;
  for (int64_t Size : Mesh)
    NumRanks *= Size;
  std::vector<Status> Results(NumRanks);
  auto Start = std::chrono::steady_clock::now();
  Status S = launch(Mesh, [&](pplan_context *Ctx) -> pplan_status * {
    pplan_status *Error = Fn(Ctx);
    if (!Error)
      return nullptr;
    // Keep one copy for the test and let the launch see the other.
    Results[pplan_rt_rank(Ctx)] = Status(pplan_rt_error(
        pplan_rt_status_code(Error), pplan_rt_status_message(Error),
        pplan_rt_status_location(Error)));
    return Error;
  });
  double Seconds = std::chrono::duration<double>(
                       std::chrono::steady_clock::now() - Start)
                       .count();
  EXPECT_LT(Seconds, 2.0);
  if (Overall)
    *Overall = std::move(S);
  return Results;
}

int32_t code(const Status &S) { return pplan_rt_status_code(S.get()); }

bool contains(const Status &S, const std::string &Part) {
  return text(S).find(Part) != std::string::npos;
}

pplan_status *onAxis(pplan_context *Ctx,
                     const std::function<pplan_status *(
                         pplan_comm *, pplan_stream *, int32_t Rank)> &Fn) {
  int32_t Axis = 0;
  pplan_comm *Comm;
  RETURN_IF_ERROR(pplan_rt_comm(Ctx, &Axis, 1, &Comm));
  return Fn(Comm, pplan_rt_default_stream(Ctx), pplan_rt_rank(Ctx));
}

} // namespace

/// One call on rank 1 differs from that of the others.
class Mismatch : public ::testing::TestWithParam<int> {};

TEST_P(Mismatch, IsReportedByAllRanksWithBothPlaces) {
  int What = GetParam();
  auto Results = launchQuickly({3}, [&](pplan_context *Ctx) {
    return onAxis(Ctx, [&](pplan_comm *Comm, pplan_stream *Stream,
                           int32_t Rank) -> pplan_status * {
      std::vector<float> X(4096), Y(4096 * 3);
      bool Odd = Rank == 1;
      const char *Loc = Odd ? "layer/odd" : "layer/even";
      int32_t Ring[] = {1, 2, 0}, Back[] = {2, 0, 1};
      switch (What) {
      case 0: // another size
        return pplan_rt_all_reduce(Comm, Stream, X.data(), X.data(),
                                   Odd ? 2000 : 4000, PPLAN_F32, PPLAN_SUM, Loc);
      case 1: // another type
        return pplan_rt_all_reduce(Comm, Stream, X.data(), X.data(), 100,
                                   Odd ? PPLAN_I32 : PPLAN_F32, PPLAN_SUM, Loc);
      case 2: // another operation
        return pplan_rt_all_reduce(Comm, Stream, X.data(), X.data(), 100,
                                   PPLAN_F32, Odd ? PPLAN_MAX : PPLAN_SUM, Loc);
      case 3: // another collective
        if (Odd)
          return pplan_rt_barrier(Comm, Stream, Loc);
        return pplan_rt_all_gather(Comm, Stream, X.data(), Y.data(), 1, 4, 12, 1,
                                   PPLAN_F32, Loc);
      case 4: // another root
        return pplan_rt_broadcast(Comm, Stream, X.data(), Y.data(), 3, PPLAN_F32,
                                  Odd ? 1 : 0, Loc);
      case 5: // another table
        return pplan_rt_permute(Comm, Stream, X.data(), Y.data(), 3, PPLAN_F32,
                                Odd ? Back : Ring, Loc);
      case 6: { // the same number of elements, another dimension split
        pplan_all_to_all_desc D = {1, 3, 1, 1, 3, 1, 1, Odd, PPLAN_F32};
        return pplan_rt_all_to_all(Comm, Stream, X.data(), Y.data(), &D, Loc);
      }
      default: // the same bytes, another outer and inner
        return pplan_rt_reduce_scatter(Comm, Stream, X.data(), Y.data(),
                                       Odd ? 2 : 1, 3, 1, Odd ? 1 : 2, PPLAN_F32,
                                       PPLAN_SUM, Loc);
      }
    });
  });
  for (const Status &S : Results) {
    EXPECT_EQ(code(S), PPLAN_MISMATCH) << text(S);
    EXPECT_TRUE(contains(S, "layer/odd")) << text(S);
    EXPECT_TRUE(contains(S, "layer/even")) << text(S);
    EXPECT_TRUE(contains(S, "rank 1")) << text(S);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Mismatch, ::testing::Range(0, 8));

TEST(Failure, ARankThatFailsEndsTheWaitsOfTheOthers) {
  Status Overall;
  auto Results = launchQuickly(
      {4},
      [](pplan_context *Ctx) {
        return onAxis(Ctx, [](pplan_comm *Comm, pplan_stream *Stream,
                              int32_t Rank) -> pplan_status * {
          if (Rank == 2)
            return pplan_rt_error(PPLAN_BAD_INPUT, "index 7 out of range",
                                  "embedding");
          return pplan_rt_barrier(Comm, Stream, "layer/1");
        });
      },
      &Overall);
  for (int32_t R : {0, 1, 3}) {
    EXPECT_EQ(code(Results[R]), PPLAN_ABORTED) << text(Results[R]);
    EXPECT_TRUE(contains(Results[R], "rank 2")) << text(Results[R]);
    EXPECT_TRUE(contains(Results[R], "index 7")) << text(Results[R]);
  }
  EXPECT_EQ(code(Overall), PPLAN_BAD_INPUT);
  EXPECT_EQ(pplan_rt_status_rank(Overall.get()), 2);
}

TEST(Failure, ARankThatLeavesEarlyIsAnErrorForThoseWhoWait) {
  Status Overall;
  auto Results = launchQuickly(
      {3},
      [](pplan_context *Ctx) {
        return onAxis(Ctx, [](pplan_comm *Comm, pplan_stream *Stream,
                              int32_t Rank) -> pplan_status * {
          RETURN_IF_ERROR(pplan_rt_barrier(Comm, Stream, "first"));
          if (Rank == 0)
            return nullptr;
          return pplan_rt_barrier(Comm, Stream, "second");
        });
      },
      &Overall);
  EXPECT_FALSE(Results[0]);
  EXPECT_EQ(code(Overall), PPLAN_MISMATCH);
  EXPECT_TRUE(contains(Overall, "rank 0 has ended")) << text(Overall);
  EXPECT_TRUE(contains(Overall, "second")) << text(Overall);
}

TEST(Failure, LeavingAfterTheLastCallIsNoError) {
  for (int Trial = 0; Trial < 200; ++Trial) {
    Status Overall;
    launchQuickly(
        {4},
        [](pplan_context *Ctx) {
          return onAxis(Ctx, [](pplan_comm *Comm, pplan_stream *Stream,
                                int32_t Rank) -> pplan_status * {
            std::vector<float> X(3000, 1.0f);
            return pplan_rt_all_reduce(Comm, Stream, X.data(), X.data(), 3000,
                                       PPLAN_F32, PPLAN_SUM, "last");
          });
        },
        &Overall);
    ASSERT_FALSE(Overall) << text(Overall);
  }
}

TEST(Failure, SendToARankThatHasEnded) {
  auto Results =
      launchQuickly({2}, [](pplan_context *Ctx) -> pplan_status * {
        float X = 0;
        if (pplan_rt_rank(Ctx) == 1)
          return nullptr;
        return pplan_rt_send(Ctx, pplan_rt_default_stream(Ctx), &X, 1, PPLAN_F32,
                             1, 0, "pipeline");
      });
  EXPECT_EQ(code(Results[0]), PPLAN_MISMATCH);
  EXPECT_TRUE(contains(Results[0], "pipeline")) << text(Results[0]);
}

TEST(Failure, SendAndReceiveThatDoNotFit) {
  for (int What = 0; What < 3; ++What) {
    auto Results =
        launchQuickly({2}, [&](pplan_context *Ctx) -> pplan_status * {
          float X[8] = {};
          pplan_stream *Stream = pplan_rt_default_stream(Ctx);
          if (pplan_rt_rank(Ctx) == 0)
            return pplan_rt_send(Ctx, Stream, X, 4, PPLAN_F32, 1, 5, "out");
          return pplan_rt_recv(Ctx, Stream, X, What == 0 ? 3 : 4,
                               What == 1 ? PPLAN_I32 : PPLAN_F32, 0,
                               What == 2 ? 6 : 5, "in");
        });
    for (const Status &S : Results) {
      EXPECT_EQ(code(S), PPLAN_MISMATCH);
      EXPECT_TRUE(contains(S, "\"out\"") && contains(S, "\"in\"")) << text(S);
    }
  }
}

TEST(Failure, ACircleOfReceivesIsADeadlock) {
  auto Results = launchQuickly({3}, [](pplan_context *Ctx) -> pplan_status * {
    float X;
    int32_t Rank = pplan_rt_rank(Ctx);
    static constexpr const char *Locs[] = {"wait 0", "wait 1", "wait 2"};
    return pplan_rt_recv(Ctx, pplan_rt_default_stream(Ctx), &X, 1, PPLAN_F32,
                         (Rank + 1) % 3, 0, Locs[Rank]);
  });
  int Deadlocks = 0;
  for (const Status &S : Results) {
    EXPECT_TRUE(code(S) == PPLAN_DEADLOCK || code(S) == PPLAN_ABORTED);
    if (code(S) != PPLAN_DEADLOCK)
      continue;
    ++Deadlocks;
    for (const char *Part : {"wait 0", "wait 1", "wait 2", "rank 2"})
      EXPECT_TRUE(contains(S, Part)) << text(S);
  }
  EXPECT_GE(Deadlocks, 1);
}

TEST(Failure, CollectivesOnDifferentGroupsAreADeadlock) {
  auto Results =
      launchQuickly({2, 2}, [](pplan_context *Ctx) -> pplan_status * {
        // 0 waits for 2 on x, 2 for 3 on y, 3 for 1 on x, 1 for 0 on y.
        int32_t Rank = pplan_rt_rank(Ctx);
        int32_t First = Rank == 1 || Rank == 2;
        for (int32_t Axis : {First, 1 - First}) {
          pplan_comm *Comm;
          RETURN_IF_ERROR(pplan_rt_comm(Ctx, &Axis, 1, &Comm));
          RETURN_IF_ERROR(pplan_rt_barrier(Comm, pplan_rt_default_stream(Ctx),
                                           Axis ? "on y" : "on x"));
        }
        return nullptr;
      });
  int Deadlocks = 0;
  for (const Status &S : Results)
    Deadlocks += code(S) == PPLAN_DEADLOCK;
  EXPECT_GE(Deadlocks, 1);
}

TEST(Failure, BadArgumentsAreRefusedBeforeAnythingIsSent) {
  Status S = launch({2}, [](pplan_context *Ctx) {
    return onAxis(Ctx, [&](pplan_comm *Comm, pplan_stream *Stream,
                           int32_t Rank) -> pplan_status * {
      float X[64] = {}, Y[64] = {};
      int32_t Twice[] = {0, 0}, Outside[] = {0, 2};
      pplan_all_to_all_desc Split = {1, 4, 1, 1, 4, 2, 1, 1, PPLAN_F32};
      int Number = 0;
      auto refused = [&](pplan_status *Error) {
        Status Owner(Error);
        EXPECT_EQ(code(Owner), PPLAN_INVALID_ARGUMENT)
            << "call " << Number << ": " << text(Owner);
        ++Number;
      };
      refused(pplan_rt_all_reduce(Comm, Stream, X, X, -1, PPLAN_F32, 0, "l"));
      refused(pplan_rt_all_reduce(Comm, Stream, X, X, 4, 77, 0, "l"));
      refused(pplan_rt_all_reduce(Comm, Stream, X, X, 4, PPLAN_F32, 9, "l"));
      refused(pplan_rt_all_reduce(Comm, Stream, X, X + 1, 4, PPLAN_F32, 0, "l"));
      refused(pplan_rt_all_reduce(Comm, Stream, nullptr, X, 4, PPLAN_F32, 0,
                                  "l"));
      refused(pplan_rt_all_reduce(nullptr, Stream, X, X, 4, PPLAN_F32, 0, "l"));
      refused(pplan_rt_all_gather(Comm, Stream, X, Y, 1, 2, 5, 1, PPLAN_F32,
                                  "l")); // 5 over 2 ranks needs 3
      refused(pplan_rt_all_gather(Comm, Stream, X, X, 1, 2, 4, 1, PPLAN_F32,
                                  "l")); // overlap
      refused(pplan_rt_all_gather(Comm, Stream, X, Y, INT64_MAX / 2, 2, 4, 9,
                                  PPLAN_F32, "l"));
      refused(pplan_rt_reduce_scatter(Comm, Stream, X, Y, 1, 5, 2, 1, PPLAN_F32,
                                      0, "l"));
      refused(pplan_rt_all_to_all(Comm, Stream, X, Y, &Split, "l"));
      refused(pplan_rt_all_to_all(Comm, Stream, X, Y, nullptr, "l"));
      refused(pplan_rt_permute(Comm, Stream, X, Y, 1, PPLAN_F32, Twice, "l"));
      refused(pplan_rt_permute(Comm, Stream, X, Y, 1, PPLAN_F32, Outside, "l"));
      refused(pplan_rt_broadcast(Comm, Stream, X, Y, 1, PPLAN_F32, 2, "l"));
      refused(pplan_rt_send(Ctx, Stream, X, 1, PPLAN_F32, Rank, 0, "l"));
      refused(pplan_rt_send(Ctx, Stream, X, 1, PPLAN_F32, 2, 0, "l"));
      refused(pplan_rt_recv(Ctx, Stream, X, -1, PPLAN_F32, 1 - Rank, 0, "l"));
      // The communicator still works.
      return pplan_rt_barrier(Comm, Stream, "l");
    });
  });
  EXPECT_FALSE(S) << text(S);
}
