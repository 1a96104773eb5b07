//===- core_test.cpp - units of runtime/core ------------------------------===//
//
// .npy headers (also hostile ones), regions of shards for every n and k, and
// parameters in place and copied.
//
//===----------------------------------------------------------------------===//
#include "core/npy.h"
#include "core/params.h"
#include "core/status.h"
#include "core/tensor.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <rapidcheck.h>
#include <unistd.h>

#include "gtest/gtest.h"

using namespace pplan::rt;

namespace {

std::string npyFile(const std::string &Dictionary, int Major = 1,
                    size_t DataBytes = 1000) {
  std::string Out("\x93NUMPY", 6);
  Out += static_cast<char>(Major);
  Out += '\0';
  for (int I = 0; I < (Major == 1 ? 2 : 4); ++I)
    Out += static_cast<char>(Dictionary.size() >> (8 * I) & 0xff);
  return Out + Dictionary + std::string(DataBytes, '\0');
}

std::string problem(const std::string &File, NpyHeader *Header = nullptr) {
  NpyHeader Local;
  StatusPtr S(parseNpy(File.data(), File.size(), "f.npy",
                       Header ? *Header : Local));
  if (S) {
    EXPECT_EQ(pplan_rt_status_code(S.get()), PPLAN_BAD_INPUT);
  }
  return S ? pplan_rt_status_message(S.get()) : "";
}

bool has(const std::string &Text, const char *Part) {
  return Text.find(Part) != std::string::npos;
}

} // namespace

TEST(Npy, HeadersAreReadAsWritten) {
  for (int32_t Dtype = PPLAN_F32; Dtype <= PPLAN_I64; ++Dtype)
    for (const Sizes &Shape :
         {Sizes{}, Sizes{5}, Sizes{0}, Sizes{3, 4}, Sizes{2, 1, 7, 3}}) {
      std::string File = npyHeader(Dtype, Shape);
      EXPECT_EQ(File.size() % 64, 0u);
      EXPECT_EQ(File.back(), '\n');
      size_t Size = File.size();
      File.append(byteSize(Shape, Dtype), '\0');
      NpyHeader Header;
      EXPECT_EQ(problem(File, &Header), "");
      EXPECT_EQ(Header.Dtype, Dtype);
      EXPECT_EQ(Header.Shape, Shape);
      EXPECT_EQ(Header.DataOffset, Size);
    }
}

TEST(Npy, AllVersionsAndSpellings) {
  for (int Major : {1, 2, 3})
    EXPECT_EQ(problem(npyFile("{'descr': '<f4', 'fortran_order': False, "
                              "'shape': (2, 3), }\n",
                              Major)),
              "");
  EXPECT_EQ(problem(npyFile(
                "{\"shape\":(4L,),\"fortran_order\":False,\"descr\":\"<i8\"}")),
            "");
  // Fortran order means nothing for one dimension.
  EXPECT_EQ(problem(npyFile(
                "{'descr': '<f4', 'fortran_order': True, 'shape': (3,), }")),
            "");
}

TEST(Npy, HostileHeaders) {
  auto header = [](const char *Descr, const char *Order, const char *Shape) {
    return npyFile(std::string("{'descr': ") + Descr + ", 'fortran_order': " +
                   Order + ", 'shape': " + Shape + ", }");
  };
  EXPECT_TRUE(has(problem(""), "0 bytes"));
  EXPECT_TRUE(has(problem("PK\x03\x04 not numpy"), "does not begin"));
  EXPECT_TRUE(has(problem(npyFile("{}", 4)), "version 4.0"));
  EXPECT_TRUE(has(problem(std::string("\x93NUMPY\x01\x00\xff\xff{'d", 13)),
                  "ends within the header"));
  EXPECT_TRUE(has(problem(std::string("\x93NUMPY\x02\x00\x00\x00", 10)),
                  "ends within the header"));
  EXPECT_TRUE(has(problem(header("'>f4'", "False", "(1,)")), "big-endian"));
  EXPECT_TRUE(has(problem(header("'<c8'", "False", "(1,)")), "'<c8'"));
  EXPECT_TRUE(has(problem(header("'<f4'", "True", "(2, 2)")), "Fortran order"));
  EXPECT_TRUE(has(problem(header("'<f4'", "False", "(1000, 1000)")),
                  "needs 4000000 bytes"));
  EXPECT_TRUE(has(problem(header("'<f4'", "False", "(99999999999, 99999999999)")),
                  "more bytes than"));
  for (const char *Shape :
       {"(-1,)", "(1", "1,", "(99999999999999999999,)", "(a,)", "(1 2)"})
    EXPECT_TRUE(has(problem(header("'<f4'", "False", Shape)), "dictionary"))
        << Shape;
  EXPECT_TRUE(has(problem(header("[('a', '<f4')]", "False", "(1,)")),
                  "dictionary"));
  EXPECT_TRUE(has(problem(header("'<f4'", "Maybe", "(1,)")), "dictionary"));
  EXPECT_TRUE(has(problem(npyFile("{'descr': '<f4'}")), "dictionary"));
  EXPECT_TRUE(has(problem(npyFile("")), "dictionary"));
}

TEST(Npy, MutatedHeadersNeverCrash) {
  std::string Good = npyHeader(PPLAN_F32, {2, 3}) + std::string(24, '\0');
  bool Passed = rc::check("a mutated header is read or refused", [&] {
    std::string File = Good;
    int Changes = *rc::gen::inRange(1, 5);
    for (int I = 0; I < Changes; ++I)
      File[*rc::gen::inRange<size_t>(0, 128)] = *rc::gen::arbitrary<char>();
    File.resize(*rc::gen::inRange<size_t>(0, File.size() + 1));
    // An exact copy on the heap, so that a sanitizer sees reads beyond it.
    std::vector<char> Copy(File.begin(), File.end());
    NpyHeader Header;
    StatusPtr S(parseNpy(Copy.data(), Copy.size(), "f", Header));
    if (!S)
      RC_ASSERT(Header.DataOffset + byteSize(Header.Shape, Header.Dtype) <=
                Copy.size());
  });
  EXPECT_TRUE(Passed);
}

//===----------------------------------------------------------------------===//
// Regions and parameters
//===----------------------------------------------------------------------===//

namespace {

pplan_status *noEntry(pplan_context *, void *, const void *const *,
                      void *const *, const void *const *, void *const *) {
  return nullptr;
}

/// A program on a mesh of two axes with one parameter [n0, n1].
struct Sample {
  pplan_mesh_axis Axes[2];
  pplan_dim Dims[2];
  std::vector<int32_t> DimAxes[2];
  pplan_param Param = {};
  pplan_program P = {};

  Sample(int64_t A, int64_t B, int64_t N0, std::vector<int32_t> Axes0,
         int64_t N1, std::vector<int32_t> Axes1)
      : Axes{{"a", A}, {"b", B}}, DimAxes{Axes0, Axes1} {
    const int64_t Size[] = {N0, N1};
    for (int D = 0; D < 2; ++D) {
      int64_t Local = Size[D];
      for (int32_t Axis : DimAxes[D])
        Local = (Local + Axes[Axis].size - 1) / Axes[Axis].size;
      Dims[D] = {Size[D], Local, DimAxes[D].data(),
                 static_cast<int32_t>(DimAxes[D].size()), 0};
    }
    Param.tensor = {"w", Dims, 2, PPLAN_F32, INT64_MIN, INT64_MAX};
    Param.byte_size = static_cast<uint64_t>(N0 * N1 * 4);
    P.abi_version = PPLAN_RT_ABI_VERSION;
    P.num_ranks = static_cast<int32_t>(A * B);
    P.name = "sample";
    P.num_axes = 2;
    P.axes = Axes;
    P.num_params = 1;
    P.params = &Param;
    P.entry = noEntry;
  }
  Sample(const Sample &) = delete;
};

} // namespace

TEST(Tensor, ScatterThenGatherIsTheIdentity) {
  for (int64_t N0 = 1; N0 <= 9; ++N0)
    for (int64_t N1 = 1; N1 <= 9; ++N1)
      for (auto [Axes0, Axes1] :
           {std::pair<std::vector<int32_t>, std::vector<int32_t>>{{}, {}},
            {{0}, {1}},
            {{1}, {}},
            {{}, {0}},
            {{0, 1}, {}},
            {{}, {1, 0}}}) {
        Sample S(2, 3, N0, Axes0, N1, Axes1);
        std::vector<float> Data(N0 * N1), Back(N0 * N1, -1);
        std::iota(Data.begin(), Data.end(), 1.0f);
        S.Param.data = Data.data();
        StatusPtr Error(checkProgram(S.P));
        ASSERT_FALSE(Error) << pplan_rt_status_message(Error.get());
        int64_t Written = 0;
        for (int32_t Rank = 0; Rank < 6; ++Rank) {
          Sizes Coords = coordsOf(S.P, Rank);
          Region R = regionOf(S.P, S.Param.tensor, Coords);
          std::vector<float> Local(S.Dims[0].local_size * S.Dims[1].local_size,
                                   NAN);
          scatter(reinterpret_cast<char *>(Local.data()),
                  reinterpret_cast<char *>(Data.data()), S.Param.tensor, R);
          for (float X : Local)
            ASSERT_EQ(X, X) << "padding is zero";
          if (!writesOutput(S.P, S.Param.tensor, Coords))
            continue;
          gather(reinterpret_cast<char *>(Back.data()),
                 reinterpret_cast<char *>(Local.data()), S.Param.tensor, R);
          Written += R.Valid[0] * R.Valid[1];
        }
        EXPECT_EQ(Back, Data);
        EXPECT_EQ(Written, N0 * N1) << "each part is written once";
      }
}

TEST(Tensor, ContradictoryProgramsAreRefused) {
  std::vector<float> Data(1000);
  auto refused = [&](const char *Part, auto &&Change) {
    Sample S(2, 2, 4, {0}, 6, {});
    S.Param.data = Data.data();
    Change(S);
    StatusPtr Error(checkProgram(S.P));
    ASSERT_TRUE(Error) << Part;
    EXPECT_TRUE(has(pplan_rt_status_message(Error.get()), Part))
        << pplan_rt_status_message(Error.get());
  };
  refused("ABI version 7", [](Sample &S) { S.P.abi_version = 7; });
  refused("3 ranks on a mesh of 4", [](Sample &S) { S.P.num_ranks = 3; });
  refused("local size", [](Sample &S) { S.Dims[0].local_size = 3; });
  refused("axis", [](Sample &S) { S.DimAxes[0][0] = 5; });
  refused("bytes of its shape", [](Sample &S) { S.Param.byte_size = 3; });
  refused("path or data", [](Sample &S) { S.Param.path = "both"; });
  refused("no entry", [](Sample &S) { S.P.entry = nullptr; });
  refused("power of two", [](Sample &S) { S.P.param_alignment = 24; });
}

TEST(Params, InPlaceWhereContiguousElseCopied) {
  std::string File =
      (std::filesystem::temp_directory_path() /
       ("pplan-params-" + std::to_string(getpid()) + ".bin"))
          .string();
  std::vector<float> Data(4 * 6);
  std::iota(Data.begin(), Data.end(), 0.0f);
  auto check = [&](uint64_t Offset, std::vector<int32_t> Axes0,
                   std::vector<int32_t> Axes1, uint64_t Alignment,
                   uint64_t InPlace, uint64_t Copied) {
    std::ofstream(File, std::ios::binary)
        .write("0123456789abcdef", static_cast<std::streamsize>(Offset))
        .write(reinterpret_cast<char *>(Data.data()), 96);
    Sample S(2, 2, 4, Axes0, 6, Axes1);
    S.Param.path = File.c_str();
    S.Param.byte_offset = Offset;
    S.P.param_alignment = Alignment;
    ParamFiles Files;
    ParamStore Store(S.P, Files);
    StatusPtr Error(Store.open());
    ASSERT_FALSE(Error) << pplan_rt_status_message(Error.get());
    for (int32_t Rank = 0; Rank < 4; ++Rank) {
      std::vector<const void *> Pointers;
      Error.reset(Store.load(coordsOf(S.P, Rank), Pointers));
      ASSERT_FALSE(Error) << pplan_rt_status_message(Error.get());
      ASSERT_EQ(Pointers.size(), 1u);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(Pointers[0]) %
                    std::max<uint64_t>(Alignment, 4),
                0u);
      std::vector<float> Expected(S.Dims[0].local_size * S.Dims[1].local_size);
      scatter(reinterpret_cast<char *>(Expected.data()),
              reinterpret_cast<char *>(Data.data()), S.Param.tensor,
              regionOf(S.P, S.Param.tensor, coordsOf(S.P, Rank)));
      auto *Values = static_cast<const float *>(Pointers[0]);
      EXPECT_EQ(std::vector<float>(Values, Values + Expected.size()), Expected);
    }
    EXPECT_EQ(Store.mappedBytes(), InPlace);
    EXPECT_EQ(Store.copiedBytes(), Copied);
  };
  check(0, {}, {}, 0, 4 * 96, 0);      // whole, on four ranks
  check(8, {0}, {}, 0, 4 * 48, 0);     // rows are contiguous
  check(8, {}, {1}, 0, 0, 2 * 48);     // columns are not; replicas share
  check(3, {0}, {}, 0, 0, 2 * 48);     // not aligned to an element
  check(8, {}, {}, 64, 0, 96);         // not aligned as the program asks
  check(0, {0, 1}, {}, 0, 4 * 24, 0);  // one row each
  std::filesystem::remove(File);
}
