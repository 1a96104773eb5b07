//===- collectives_test.cpp - what each collective computes ---------------===//
//
// Every collective against a reference that is a sentence of its documentation:
// for every dtype, every n and k from 1 to 9, and every ordered list of axes of
// the suite's meshes. Inputs are padded with bytes that would show.
//
//===----------------------------------------------------------------------===//
#include "support.h"

#include <algorithm>
#include <rapidcheck.h>

using namespace conformance;

namespace {

/// A value between 0 and 2 for an element: small enough that no sum or product
/// over nine ranks is rounded in any dtype.
int64_t value(int64_t Rank, int64_t Index) {
  uint64_t X = static_cast<uint64_t>(Rank * 1000003 + Index) * 0x9e3779b97f4a7c15u;
  return static_cast<int64_t>(X >> 40) % 3;
}

/// The expected combination over a group of value(rank, Index).
int64_t reduced(const CommInfo &C, int32_t Dtype, int32_t Op, int64_t Index) {
  int64_t Result = 0;
  for (int32_t R = 0; R < C.Size; ++R) {
    int64_t X =
        wrap(Dtype, value(pplan_rt_comm_global_rank(C.Comm, R), Index));
    Result = R == 0 ? X : combine(Dtype, Op, Result, X);
  }
  return Result;
}

pplan_status *checkAllReduce(pplan_context *Ctx, const CommInfo &C,
                             int32_t Dtype, int32_t Op, int64_t Count,
                             bool InPlace) {
  Buffer Src(Dtype, Count), Dst(Dtype, Count);
  for (int64_t I = 0; I < Count; ++I)
    Src.set(I, value(pplan_rt_rank(Ctx), I));
  Buffer &Out = InPlace ? Src : Dst;
  RETURN_IF_ERROR(pplan_rt_all_reduce(C.Comm, pplan_rt_default_stream(Ctx),
                                      Src.data(), Out.data(), Count, Dtype, Op,
                                      "all_reduce test"));
  int64_t Wrong = 0;
  for (int64_t I = 0; I < Count; ++I)
    Wrong += Out.get(I) != reduced(C, Dtype, Op, I);
  EXPECT_EQ(Wrong, 0) << "dtype " << Dtype << " op " << Op << " count " << Count
                      << " group of " << C.Size;
  return nullptr;
}

pplan_status *checkAllGather(pplan_context *Ctx, const CommInfo &C,
                             int32_t Dtype, int64_t Outer, int64_t Full,
                             int64_t Inner) {
  int64_t Shard = C.shardSize(Full);
  Buffer Src(Dtype, Outer * Shard * Inner), Dst(Dtype, Outer * Full * Inner);
  auto element = [&](int64_t O, int64_t X, int64_t I) {
    return wrap(Dtype, value(C.group() + 77, (O * Full + X) * Inner + I));
  };
  std::vector<int64_t> Mine = C.part(Full, C.Rank);
  for (int64_t O = 0; O < Outer; ++O)
    for (size_t Y = 0; Y < Mine.size(); ++Y)
      for (int64_t I = 0; I < Inner; ++I)
        Src.set((O * Shard + Y) * Inner + I, element(O, Mine[Y], I));
  RETURN_IF_ERROR(pplan_rt_all_gather(C.Comm, pplan_rt_default_stream(Ctx),
                                      Src.data(), Dst.data(), Outer, Shard, Full,
                                      Inner, Dtype, "all_gather test"));
  int64_t Wrong = 0;
  for (int64_t O = 0; O < Outer; ++O)
    for (int64_t X = 0; X < Full; ++X)
      for (int64_t I = 0; I < Inner; ++I)
        Wrong += Dst.get((O * Full + X) * Inner + I) != element(O, X, I);
  EXPECT_EQ(Wrong, 0) << "dtype " << Dtype << " full " << Full << " group of "
                      << C.Size;
  return nullptr;
}

pplan_status *checkReduceScatter(pplan_context *Ctx, const CommInfo &C,
                                 int32_t Dtype, int32_t Op, int64_t Outer,
                                 int64_t Full, int64_t Inner) {
  int64_t Shard = C.shardSize(Full);
  Buffer Src(Dtype, Outer * Full * Inner), Dst(Dtype, Outer * Shard * Inner);
  for (int64_t I = 0; I < Outer * Full * Inner; ++I)
    Src.set(I, value(pplan_rt_rank(Ctx), I));
  RETURN_IF_ERROR(pplan_rt_reduce_scatter(
      C.Comm, pplan_rt_default_stream(Ctx), Src.data(), Dst.data(), Outer, Full,
      Shard, Inner, Dtype, Op, "reduce_scatter test"));
  std::vector<int64_t> Mine = C.part(Full, C.Rank);
  int64_t Wrong = 0;
  for (int64_t O = 0; O < Outer; ++O)
    for (int64_t Y = 0; Y < Shard; ++Y)
      for (int64_t I = 0; I < Inner; ++I) {
        bool Padding = Y >= static_cast<int64_t>(Mine.size());
        int64_t Expected =
            Padding ? 0
                    : reduced(C, Dtype, Op, (O * Full + Mine[Y]) * Inner + I);
        Wrong += Dst.get((O * Shard + Y) * Inner + I) != Expected;
      }
  EXPECT_EQ(Wrong, 0) << "dtype " << Dtype << " op " << Op << " full " << Full
                      << " group of " << C.Size;
  return nullptr;
}

/// Index of an element of [outer, a, middle, b, inner].
struct Five {
  int64_t A, Middle, B, Inner;
  int64_t at(int64_t O, int64_t I, int64_t M, int64_t J, int64_t K) const {
    return (((O * A + I) * Middle + M) * B + J) * Inner + K;
  }
};

/// The whole tensor is [outer, split, middle, concat, inner], or with split and
/// concat exchanged.
pplan_status *checkAllToAll(pplan_context *Ctx, const CommInfo &C, int32_t Dtype,
                            bool SplitFirst, int64_t Split, int64_t Concat,
                            int64_t Outer, int64_t Middle, int64_t Inner) {
  pplan_all_to_all_desc D = {Outer,  Split, C.shardSize(Split),
                             Middle, Concat, C.shardSize(Concat),
                             Inner,  SplitFirst, Dtype};
  auto element = [&](int64_t O, int64_t S, int64_t M, int64_t K, int64_t I) {
    Five Whole = {Split, Middle, Concat, Inner};
    return wrap(Dtype, value(C.group() + 5, Whole.at(O, S, M, K, I)));
  };
  Five In = SplitFirst ? Five{Split, Middle, D.concat_shard, Inner}
                       : Five{D.concat_shard, Middle, Split, Inner};
  Five Out = SplitFirst ? Five{D.split_shard, Middle, Concat, Inner}
                        : Five{Concat, Middle, D.split_shard, Inner};
  auto in = [&](int64_t O, int64_t S, int64_t M, int64_t K, int64_t I) {
    return SplitFirst ? In.at(O, S, M, K, I) : In.at(O, K, M, S, I);
  };
  auto out = [&](int64_t O, int64_t S, int64_t M, int64_t K, int64_t I) {
    return SplitFirst ? Out.at(O, S, M, K, I) : Out.at(O, K, M, S, I);
  };
  Buffer Src(Dtype, Outer * Split * Middle * D.concat_shard * Inner);
  Buffer Dst(Dtype, Outer * D.split_shard * Middle * Concat * Inner);
  std::vector<int64_t> MyConcat = C.part(Concat, C.Rank);
  for (int64_t O = 0; O < Outer; ++O)
    for (int64_t S = 0; S < Split; ++S)
      for (int64_t M = 0; M < Middle; ++M)
        for (size_t K = 0; K < MyConcat.size(); ++K)
          for (int64_t I = 0; I < Inner; ++I)
            Src.set(in(O, S, M, K, I), element(O, S, M, MyConcat[K], I));
  RETURN_IF_ERROR(pplan_rt_all_to_all(C.Comm, pplan_rt_default_stream(Ctx),
                                      Src.data(), Dst.data(), &D,
                                      "all_to_all test"));
  std::vector<int64_t> MySplit = C.part(Split, C.Rank);
  int64_t Wrong = 0;
  for (int64_t O = 0; O < Outer; ++O)
    for (int64_t S = 0; S < D.split_shard; ++S)
      for (int64_t M = 0; M < Middle; ++M)
        for (int64_t K = 0; K < Concat; ++K)
          for (int64_t I = 0; I < Inner; ++I) {
            bool Padding = S >= static_cast<int64_t>(MySplit.size());
            int64_t Expected = Padding ? 0 : element(O, MySplit[S], M, K, I);
            Wrong += Dst.get(out(O, S, M, K, I)) != Expected;
          }
  EXPECT_EQ(Wrong, 0) << "split " << Split << " concat " << Concat
                      << " split_first " << SplitFirst << " group of " << C.Size;
  return nullptr;
}

/// Runs `Check` with the communicator over the only axis, for k = 1 .. 9 ranks.
void forGroups(
    const std::function<pplan_status *(pplan_context *, const CommInfo &)>
        &Check) {
  for (int64_t K = 1; K <= 9; ++K) {
    Status S = launch({K}, [&](pplan_context *Ctx) -> pplan_status * {
      CommInfo C;
      RETURN_IF_ERROR(makeComm(Ctx, {0}, C));
      return Check(Ctx, C);
    });
    EXPECT_FALSE(S) << text(S);
  }
}

/// Runs `Check` with the communicator over every list of axes of every mesh.
void forAxisLists(
    const std::function<pplan_status *(pplan_context *, const CommInfo &)>
        &Check) {
  for (const auto &Mesh : Meshes) {
    Status S = launch(Mesh, [&](pplan_context *Ctx) -> pplan_status * {
      for (const auto &Axes : axisLists(static_cast<int32_t>(Mesh.size()))) {
        CommInfo C;
        RETURN_IF_ERROR(makeComm(Ctx, Axes, C));
        RETURN_IF_ERROR(Check(Ctx, C));
      }
      return nullptr;
    });
    EXPECT_FALSE(S) << text(S);
  }
}

} // namespace

TEST(AllReduce, EveryDtypeOperationAndSize) {
  forGroups([](pplan_context *Ctx, const CommInfo &C) -> pplan_status * {
    for (int32_t Dtype : AllDtypes)
      for (int32_t Op = PPLAN_SUM; Op <= PPLAN_MIN; ++Op)
        for (int64_t Count : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 100, 5000})
          for (bool InPlace : {false, true})
            RETURN_IF_ERROR(
                checkAllReduce(Ctx, C, Dtype, Op, Count, InPlace));
    return nullptr;
  });
}

TEST(AllReduce, EveryListOfAxes) {
  forAxisLists([](pplan_context *Ctx, const CommInfo &C) -> pplan_status * {
    for (int64_t Count : {7, 3001})
      RETURN_IF_ERROR(
          checkAllReduce(Ctx, C, PPLAN_F32, PPLAN_SUM, Count, true));
    return nullptr;
  });
}

TEST(AllReduce, SameBitsOnAllRanksAndRuns) {
  // 1/3 + 1/7 + ... rounds differently in different orders.
  std::vector<std::vector<float>> Results(4 * 2);
  for (int Run = 0; Run < 2; ++Run) {
    Status S = launch({4}, [&](pplan_context *Ctx) -> pplan_status * {
      CommInfo C;
      RETURN_IF_ERROR(makeComm(Ctx, {0}, C));
      std::vector<float> X(4000);
      for (size_t I = 0; I < X.size(); ++I)
        X[I] = 1.0f / static_cast<float>(3 + C.Rank * 4 + I % 11);
      RETURN_IF_ERROR(pplan_rt_all_reduce(
          C.Comm, pplan_rt_default_stream(Ctx), X.data(), X.data(),
          static_cast<int64_t>(X.size()), PPLAN_F32, PPLAN_SUM, nullptr));
      Results[Run * 4 + C.Rank] = X;
      return nullptr;
    });
    ASSERT_FALSE(S) << text(S);
  }
  for (const auto &R : Results)
    EXPECT_EQ(R, Results[0]);
}

TEST(AllReduce, KeepsNaN) {
  Status S = launch({3}, [](pplan_context *Ctx) -> pplan_status * {
    CommInfo C;
    RETURN_IF_ERROR(makeComm(Ctx, {0}, C));
    for (int32_t Op : {PPLAN_SUM, PPLAN_MAX, PPLAN_MIN})
      for (int32_t Bad = 0; Bad < 3; ++Bad) {
        float X = C.Rank == Bad ? __builtin_nanf("") : 1.0f;
        RETURN_IF_ERROR(pplan_rt_all_reduce(C.Comm, pplan_rt_default_stream(Ctx),
                                            &X, &X, 1, PPLAN_F32, Op, nullptr));
        EXPECT_NE(X, X) << "op " << Op << " NaN on rank " << Bad;
      }
    return nullptr;
  });
  EXPECT_FALSE(S) << text(S);
}

TEST(AllGather, EveryDtypeAndSize) {
  forGroups([](pplan_context *Ctx, const CommInfo &C) -> pplan_status * {
    for (int32_t Dtype : AllDtypes)
      for (int64_t Full = 1; Full <= 9; ++Full)
        for (auto [Outer, Inner] : {std::pair<int64_t, int64_t>{1, 1}, {3, 2}})
          RETURN_IF_ERROR(checkAllGather(Ctx, C, Dtype, Outer, Full, Inner));
    RETURN_IF_ERROR(checkAllGather(Ctx, C, PPLAN_F32, 5, 100, 33));
    RETURN_IF_ERROR(checkAllGather(Ctx, C, PPLAN_F32, 0, 4, 3));
    return checkAllGather(Ctx, C, PPLAN_F32, 2, 0, 3);
  });
}

TEST(AllGather, EveryListOfAxes) {
  forAxisLists([](pplan_context *Ctx, const CommInfo &C) -> pplan_status * {
    for (int64_t Full = 1; Full <= 9; ++Full)
      RETURN_IF_ERROR(checkAllGather(Ctx, C, PPLAN_I32, 2, Full, 3));
    return nullptr;
  });
}

TEST(ReduceScatter, EveryDtypeOperationAndSize) {
  forGroups([](pplan_context *Ctx, const CommInfo &C) -> pplan_status * {
    for (int32_t Dtype : AllDtypes)
      for (int64_t Full = 1; Full <= 9; ++Full)
        for (int32_t Op = PPLAN_SUM; Op <= PPLAN_MIN; ++Op)
          RETURN_IF_ERROR(checkReduceScatter(Ctx, C, Dtype, Op, 2, Full, 3));
    return checkReduceScatter(Ctx, C, PPLAN_F32, PPLAN_SUM, 3, 50, 100);
  });
}

TEST(ReduceScatter, EveryListOfAxes) {
  forAxisLists([](pplan_context *Ctx, const CommInfo &C) -> pplan_status * {
    for (int64_t Full = 1; Full <= 9; ++Full)
      RETURN_IF_ERROR(
          checkReduceScatter(Ctx, C, PPLAN_I64, PPLAN_SUM, 2, Full, 3));
    return nullptr;
  });
}

TEST(AllToAll, EverySize) {
  forGroups([](pplan_context *Ctx, const CommInfo &C) -> pplan_status * {
    for (bool SplitFirst : {false, true})
      for (int64_t Split = 1; Split <= 9; ++Split)
        for (int64_t Concat = 1; Concat <= 9; ++Concat)
          RETURN_IF_ERROR(checkAllToAll(Ctx, C, PPLAN_I32, SplitFirst, Split,
                                        Concat, 2, 2, 1));
    return nullptr;
  });
}

TEST(AllToAll, EveryDtype) {
  forGroups([](pplan_context *Ctx, const CommInfo &C) -> pplan_status * {
    for (int32_t Dtype : AllDtypes)
      for (bool SplitFirst : {false, true})
        RETURN_IF_ERROR(
            checkAllToAll(Ctx, C, Dtype, SplitFirst, 8, 7, 2, 3, 2));
    return nullptr;
  });
}

TEST(AllToAll, EveryListOfAxes) {
  forAxisLists([](pplan_context *Ctx, const CommInfo &C) -> pplan_status * {
    for (bool SplitFirst : {false, true})
      for (int64_t Split : {1, 5, 9})
        for (int64_t Concat : {2, 7, 9})
          RETURN_IF_ERROR(checkAllToAll(Ctx, C, PPLAN_F32, SplitFirst, Split,
                                        Concat, 1, 2, 3));
    return nullptr;
  });
}

TEST(AllToAll, RandomSizes) {
  bool Good = rc::check("all_to_all is what it says", [] {
    const int64_t K = *rc::gen::inRange<int64_t>(1, 7);
    const int64_t Split = *rc::gen::inRange<int64_t>(0, 40);
    const int64_t Concat = *rc::gen::inRange<int64_t>(0, 40);
    const int64_t Outer = *rc::gen::inRange<int64_t>(0, 4);
    const int64_t Middle = *rc::gen::inRange<int64_t>(1, 4);
    const int64_t Inner = *rc::gen::inRange<int64_t>(1, 20);
    const bool SplitFirst = *rc::gen::arbitrary<bool>();
    Status S = launch({K}, [&](pplan_context *Ctx) -> pplan_status * {
      CommInfo C;
      RETURN_IF_ERROR(makeComm(Ctx, {0}, C));
      return checkAllToAll(Ctx, C, PPLAN_F32, SplitFirst, Split, Concat, Outer,
                           Middle, Inner);
    });
    RC_ASSERT(!S);
  });
  EXPECT_TRUE(Good);
}
