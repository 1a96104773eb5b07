//===- moves_test.cpp - permute, broadcast, barrier, send and receive -----===//
//
// The calls that move whole buffers.
//
//===----------------------------------------------------------------------===//
#include "support.h"

#include <algorithm>
#include <atomic>
#include <random>

using namespace conformance;

TEST(Permute, TablesWithAndWithoutGaps) {
  for (int64_t K = 1; K <= 9; ++K) {
    Status S = launch({K}, [&](pplan_context *Ctx) -> pplan_status * {
      CommInfo C;
      RETURN_IF_ERROR(makeComm(Ctx, {0}, C));
      std::mt19937 Random(static_cast<unsigned>(K)); // the same on all ranks
      for (int Trial = 0; Trial < 20; ++Trial) {
        std::vector<int32_t> Targets(K);
        for (int32_t R = 0; R < K; ++R)
          Targets[R] = R;
        std::shuffle(Targets.begin(), Targets.end(), Random);
        for (int32_t &Target : Targets)
          if (Random() % 4 == 0)
            Target = -1;
        for (int32_t Dtype : AllDtypes) {
          Buffer Src(Dtype, 5), Dst(Dtype, 5);
          for (int64_t I = 0; I < 5; ++I)
            Src.set(I, C.Rank + I);
          RETURN_IF_ERROR(pplan_rt_permute(
              C.Comm, pplan_rt_default_stream(Ctx), Src.data(), Dst.data(), 5,
              Dtype, Targets.data(), "permute test"));
          auto From = std::find(Targets.begin(), Targets.end(), C.Rank);
          for (int64_t I = 0; I < 5; ++I)
            EXPECT_EQ(Dst.get(I), From == Targets.end()
                                      ? 0
                                      : wrap(Dtype, From - Targets.begin() + I));
        }
      }
      return nullptr;
    });
    EXPECT_FALSE(S) << text(S);
  }
}

TEST(Broadcast, EveryRootOfEveryGroup) {
  for (const auto &Mesh : Meshes) {
    Status S = launch(Mesh, [&](pplan_context *Ctx) -> pplan_status * {
      for (const auto &Axes : axisLists(static_cast<int32_t>(Mesh.size()))) {
        CommInfo C;
        RETURN_IF_ERROR(makeComm(Ctx, Axes, C));
        for (int32_t Root = 0; Root < C.Size; ++Root)
          for (bool InPlace : {false, true}) {
            int64_t Src[3] = {C.group(), Root, 42}, Dst[3] = {-1, -1, -1};
            bool IsRoot = C.Rank == Root;
            int64_t *Out = IsRoot && InPlace ? Src : Dst;
            RETURN_IF_ERROR(pplan_rt_broadcast(
                C.Comm, pplan_rt_default_stream(Ctx), IsRoot ? Src : nullptr,
                Out, 3, PPLAN_I64, Root, "broadcast test"));
            EXPECT_EQ(Out[0], C.group());
            EXPECT_EQ(Out[1], Root);
            EXPECT_EQ(Out[2], 42);
          }
      }
      return nullptr;
    });
    EXPECT_FALSE(S) << text(S);
  }
}

TEST(Barrier, NobodyLeavesBeforeAllHaveCome) {
  std::atomic<int> Come{0};
  Status S = launch({5}, [&](pplan_context *Ctx) -> pplan_status * {
    CommInfo C;
    RETURN_IF_ERROR(makeComm(Ctx, {0}, C));
    for (int Round = 1; Round <= 200; ++Round) {
      Come++;
      RETURN_IF_ERROR(
          pplan_rt_barrier(C.Comm, pplan_rt_default_stream(Ctx), nullptr));
      EXPECT_GE(Come.load(), 5 * Round);
    }
    return nullptr;
  });
  EXPECT_FALSE(S) << text(S);
}

TEST(SendRecv, InOrderAroundARing) {
  for (int32_t K : {2, 3, 5, 8}) {
    Status S = launch({K}, [&](pplan_context *Ctx) -> pplan_status * {
      pplan_stream *Stream = pplan_rt_default_stream(Ctx);
      int32_t Rank = pplan_rt_rank(Ctx);
      int32_t Next = (Rank + 1) % K, Previous = (Rank + K - 1) % K;
      std::vector<int32_t> Out(2000), In(2000);
      for (int32_t Message = 0; Message < 50; ++Message) {
        std::fill(Out.begin(), Out.end(), Rank * 100 + Message);
        auto send = [&] {
          return pplan_rt_send(Ctx, Stream, Out.data(), 2000, PPLAN_I32, Next,
                               Message, "ring send");
        };
        auto recv = [&] {
          return pplan_rt_recv(Ctx, Stream, In.data(), 2000, PPLAN_I32, Previous,
                               Message, "ring recv");
        };
        // A send waits for its receive, so one rank begins by receiving.
        if (Rank == 0) {
          RETURN_IF_ERROR(recv());
          RETURN_IF_ERROR(send());
        } else {
          RETURN_IF_ERROR(send());
          RETURN_IF_ERROR(recv());
        }
        EXPECT_EQ(std::count(In.begin(), In.end(), Previous * 100 + Message),
                  2000);
      }
      return nullptr;
    });
    EXPECT_FALSE(S) << text(S);
  }
}

TEST(SendRecv, BothWaysBetweenAllPairsAndNothing) {
  Status S = launch({4}, [&](pplan_context *Ctx) -> pplan_status * {
    pplan_stream *Stream = pplan_rt_default_stream(Ctx);
    int32_t Rank = pplan_rt_rank(Ctx);
    for (int32_t A = 0; A < 4; ++A)
      for (int32_t B = 0; B < 4; ++B) {
        if (A == B)
          continue;
        double X = A * 10 + B;
        if (Rank == A) {
          RETURN_IF_ERROR(
              pplan_rt_send(Ctx, Stream, &X, 1, PPLAN_F64, B, 7, nullptr));
          RETURN_IF_ERROR(
              pplan_rt_send(Ctx, Stream, nullptr, 0, PPLAN_F64, B, 8, nullptr));
        }
        if (Rank == B) {
          double Y = -1;
          RETURN_IF_ERROR(
              pplan_rt_recv(Ctx, Stream, &Y, 1, PPLAN_F64, A, 7, nullptr));
          EXPECT_EQ(X, Y);
          RETURN_IF_ERROR(
              pplan_rt_recv(Ctx, Stream, nullptr, 0, PPLAN_F64, A, 8, nullptr));
        }
      }
    return nullptr;
  });
  EXPECT_FALSE(S) << text(S);
}

TEST(Bytes, CountsWhatComesFromOthers) {
  Status S = launch({4}, [&](pplan_context *Ctx) -> pplan_status * {
    CommInfo C;
    RETURN_IF_ERROR(makeComm(Ctx, {0}, C));
    pplan_stream *Stream = pplan_rt_default_stream(Ctx);
    std::vector<float> X(4096), Y(4 * 4096);
    uint64_t Before = pplan_rt_bytes_received(Ctx);
    RETURN_IF_ERROR(pplan_rt_all_gather(C.Comm, Stream, X.data(), Y.data(), 1,
                                        4096, 4 * 4096, 1, PPLAN_F32, nullptr));
    EXPECT_EQ(pplan_rt_bytes_received(Ctx) - Before, 3u * 4096 * 4);
    Before = pplan_rt_bytes_received(Ctx);
    RETURN_IF_ERROR(pplan_rt_all_reduce(C.Comm, Stream, X.data(), X.data(), 4096,
                                        PPLAN_F32, PPLAN_SUM, nullptr));
    // A quarter from each of three, then three quarters: 2 (k - 1) / k.
    EXPECT_EQ(pplan_rt_bytes_received(Ctx) - Before, 2u * 3 * 4096);
    return nullptr;
  });
  EXPECT_FALSE(S) << text(S);
}
