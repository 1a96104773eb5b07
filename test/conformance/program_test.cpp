//===- program_test.cpp - the main() of stand-alone executables -----------===//
//
// Runs the hand-written program of matmul_program.cpp as its users would: from a
// command line, with .npy files and a weight file. Its path comes from CMake.
//
//===----------------------------------------------------------------------===//
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "gtest/gtest.h"

namespace fs = std::filesystem;

namespace {

struct Output {
  int Code = -1;
  std::string Text; ///< stdout and stderr
};

/// A directory with an input, an executable's weights, and a way to run it.
class Program : public ::testing::Test {
protected:
  void SetUp() override {
    std::string Template = (fs::temp_directory_path() / "pplan-XXXXXX").string();
    ASSERT_NE(mkdtemp(Template.data()), nullptr);
    Dir = Template;
    std::vector<float> W(24), X(18);
    for (int I = 0; I < 24; ++I)
      W[I] = static_cast<float>(I);
    for (int I = 0; I < 18; ++I)
      X[I] = static_cast<float>(I - 3);
    std::ofstream(Dir / "matmul_weights.bin", std::ios::binary)
        .write("12345678", 8)
        .write(reinterpret_cast<char *>(W.data()), 96);
    writeNpy("x.npy", "<f4", "(3, 6)", X.data(), 72);
  }

  void TearDown() override { fs::remove_all(Dir); }

  void writeNpy(const char *Name, const char *Descr, const char *Shape,
                const void *Data, size_t Bytes) {
    std::string Text = std::string("{'descr': '") + Descr +
                       "', 'fortran_order': False, 'shape': " + Shape + ", }";
    Text.resize(117, ' ');
    Text += '\n';
    std::string Header("\x93NUMPY\x01\x00\x76\x00", 10);
    std::ofstream(Dir / Name, std::ios::binary)
        .write(Header.data(), 10)
        .write(Text.data(), 118)
        .write(static_cast<const char *>(Data), Bytes);
  }

  /// Runs the program in the directory with arguments for a shell.
  Output run(const std::string &Arguments, bool WithParams = true) {
    std::string Command = "cd " + Dir.string() + " && " MATMUL_PROGRAM " " +
                          (WithParams ? "--params-root . " : "") + Arguments +
                          " 2>&1";
    Output Out;
    FILE *Pipe = popen(Command.c_str(), "r");
    if (!Pipe)
      return Out;
    char Buffer[4096];
    while (size_t Size = fread(Buffer, 1, sizeof(Buffer), Pipe))
      Out.Text.append(Buffer, Size);
    int Status = pclose(Pipe);
    Out.Code = WIFEXITED(Status) ? WEXITSTATUS(Status) : -1;
    return Out;
  }

  void expect(const std::string &Arguments, int Code,
              std::initializer_list<const char *> Parts,
              bool WithParams = true) {
    Output Out = run(Arguments, WithParams);
    EXPECT_EQ(Out.Code, Code) << Arguments << "\n" << Out.Text;
    for (const char *Part : Parts)
      EXPECT_NE(Out.Text.find(Part), std::string::npos)
          << "no \"" << Part << "\" in:\n"
          << Out.Text;
  }

  fs::path Dir;
};

} // namespace

TEST_F(Program, ComputesAndWritesItsOutput) {
  expect("--input x=x.npy --output out --iterations 3 --warmup 1", 0,
         {"wrote output 'y' (f32 3x4)", "time: min", "3 iterations, 2 ranks"});
  std::ifstream File(Dir / "out/y.npy", std::ios::binary);
  std::vector<char> Bytes((std::istreambuf_iterator<char>(File)), {});
  ASSERT_EQ(Bytes.size(), 128u + 48u);
  EXPECT_NE(std::string(Bytes.data(), 128).find("'shape': (3, 4)"),
            std::string::npos);
  const float Bias[] = {10, 20, 30, 40};
  for (int I = 0; I < 3; ++I)
    for (int J = 0; J < 4; ++J) {
      float Expected = Bias[J], Value;
      for (int K = 0; K < 6; ++K)
        Expected += static_cast<float>((I * 6 + K - 3) * (K * 4 + J));
      std::memcpy(&Value, Bytes.data() + 128 + (I * 4 + J) * 4, 4);
      EXPECT_EQ(Value, Expected) << I << " " << J;
    }
  EXPECT_FALSE(fs::exists(Dir / "out/y.npy.partial"));
}

TEST_F(Program, ListsAndHelps) {
  expect("--help", 0,
         {"2 ranks", "\"tensor\"=2", "example:", "--input x=x.npy",
          "Exit codes"});
  expect("--version", 0, {"matmul", "ABI version 2"});
  expect("--list-io", 0,
         {"input\tx\tf32\t3x6\t[{}, {\"tensor\"}]\t3x3\n",
          "output\ty\tf32\t3x4\t[{}, {}]\t3x4\n"});
  expect("--list-io --json", 0,
         {"\"schema\": \"pplan.program-io.v1\"", "\"local_shape\": [3, 3]",
          "\"sharding\": [[], [\"tensor\"]]"});
  expect("--memory", 0,
         {"arena\t48\n", "params\t64\n", "inputs\t36\n", "outputs\t48\n"});
  expect("--memory --json", 0, {"\"arena_bytes\": 48", "\"num_ranks\": 2"});
}

TEST_F(Program, Profiles) {
  expect("--input x=x.npy --profile --iterations 5", 0,
         {"compute\t1\t", "communication\t1\t", "dense/matmul", "dense/bias",
          "ms compute and"});
  expect("--input x=x.npy --profile --json", 0,
         {"\"kind\": \"communication\"", "\"location\": \"dense/bias\"",
          "\"bytes_received_per_iteration\": [48, 48]", "\"peak_rss_bytes\""});
}

TEST_F(Program, RandomInputsAreTheSameForEverySeed) {
  ASSERT_EQ(run("--random-inputs 7 --output a").Code, 0);
  ASSERT_EQ(run("--random-inputs 7 --output b").Code, 0);
  ASSERT_EQ(run("--random-inputs 8 --output c").Code, 0);
  EXPECT_EQ(std::system(("cd " + Dir.string() + " && cmp -s a/y.npy b/y.npy && "
                                                "! cmp -s a/y.npy c/y.npy")
                            .c_str()),
            0);
}

TEST_F(Program, UsageErrors) {
  expect("--bogus", 2, {"unknown argument '--bogus'", "--help"});
  expect("stray", 2, {"unknown argument 'stray'"});
  expect("--input", 2, {"'--input' needs a value"});
  expect("--input x", 2, {"'x', expected NAME=FILE.npy"});
  expect("--iterations 0", 2, {"'0', expected a number from 1"});
  expect("--iterations=many", 2, {"'many'"});
  expect("--warmup -1", 2, {"'-1'"});
  expect("--random-inputs 99999999999999999999", 2, {"a seed"});
  expect("--param-file a", 2, {"OLD=NEW"});
}

TEST_F(Program, InputErrors) {
  double Doubles[18] = {};
  writeNpy("double.npy", "<f8", "(3, 6)", Doubles, 144);
  writeNpy("shape.npy", "<f4", "(6, 3)", Doubles, 72);
  writeNpy("short.npy", "<f4", "(3, 6)", Doubles, 71);
  expect("", 1, {"input 'x' (f32 3x6) is not given", "--input x=FILE.npy"});
  expect("--input x=none.npy", 1, {"input 'x'", "none.npy", "No such file"});
  expect("--input x=double.npy", 1,
         {"expected f32 3x6", "has f64 3x6", "astype('float32')"});
  expect("--input x=shape.npy", 1, {"expected f32 3x6", "has f32 6x3"});
  expect("--input x=short.npy", 1, {"needs 72 bytes of data, it has 71"});
  expect("--input x=matmul_weights.bin", 1, {"does not begin with"});
  expect("--input z=x.npy --input x=x.npy --input x=x.npy", 1,
         {"no input 'z'", "input 'x' is given twice"});
  expect("--input x=x.npy --output x.npy", 1, {"cannot make directory 'x.npy'"});
}

TEST_F(Program, WeightErrors) {
  expect("--input x=x.npy --params-root /nowhere", 1,
         {"parameter 'w'", "/nowhere/matmul_weights.bin", "--param-file"}, false);
  std::ofstream(Dir / "short.bin") << "too short";
  expect("--input x=x.npy --param-file matmul_weights.bin=short.bin", 1,
         {"parameter 'w' is at bytes 8 to 104", "has 9 bytes"}, false);
  expect("--input x=x.npy --param-file matmul_weights.bin=matmul_weights.bin", 0,
         {"time:"}, false);
}
