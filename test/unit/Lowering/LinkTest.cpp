//===- LinkTest.cpp - Stand-alone executables -----------------------------===//
#include "Program.h"
#include "pplan/Lowering/Codegen.h"
#include "pplan/Lowering/Link.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pplan;
using namespace pplan::test;

namespace {
/// A directory that is removed in the end, and the errors that were reported.
struct LinkTest : ::testing::Test {
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("pplan-link", directory));
    handler = std::make_unique<ScopedDiagnosticHandler>(
        context.get(), [this](Diagnostic &diag) {
          messages += diag.str() + '\n';
          for (Diagnostic &note : diag.getNotes())
            messages += note.str() + '\n';
          return success();
        });
  }
  void TearDown() override { llvm::sys::fs::remove_directories(directory); }
  std::string inDirectory(StringRef name) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    return path.str().str();
  }
  LinkOptions options() {
    LinkOptions result;
    result.searchDirs = {PPLAN_TEST_LIB_DIR};
    return result;
  }

  std::unique_ptr<MLIRContext> context = makeContext();
  std::unique_ptr<ScopedDiagnosticHandler> handler;
  llvm::SmallString<128> directory;
  std::string messages;
};
} // namespace

TEST_F(LinkTest, ExecutableListsItsInputs) {
  auto module = lower(*context, forward({random({2, 3})},
                                        "%y = pplan.exp %a0 : tensor<2x3xf32>",
                                        "tensor<2x3xf32>"));
  ASSERT_TRUE(module);
  std::string object = inDirectory("program.o"), program = inDirectory("program");
  ASSERT_TRUE(succeeded(emitObject(*module, object))) << messages;
  ASSERT_TRUE(succeeded(
      linkExecutable(context.get(), object, program, options())))
      << messages;
  std::string listing = inDirectory("listing");
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(listing),
                                          std::nullopt};
  ASSERT_EQ(llvm::sys::ExecuteAndWait(program, {program, "--list-io"},
                                      std::nullopt, redirects),
            0);
  auto text = llvm::MemoryBuffer::getFile(listing);
  ASSERT_TRUE(!!text);
  EXPECT_TRUE((*text)->getBuffer().contains("a0")) << (*text)->getBuffer().str();
  EXPECT_TRUE((*text)->getBuffer().contains("2x3"));
}

/// A linker driver that notes each of its arguments and then does `action`.
static std::string makeDriver(const std::string &path, const std::string &log,
                              const std::string &action) {
  std::error_code error;
  llvm::raw_fd_ostream script(path, error);
  script << "#!/bin/sh\necho \"$*\" >> " << log << "\n" << action << "\n";
  script.close();
  EXPECT_FALSE(error);
  llvm::sys::fs::setPermissions(path, llvm::sys::fs::perms::all_all);
  return path;
}

TEST_F(LinkTest, TakesLLDWhereItIsAndTheOwnLinkerWhereThatFails) {
  std::string log = inDirectory("log");
  LinkOptions withLLD = options();
  // A driver beside lld; it cannot do with it, as gcc before version 9.
  std::string lld = inDirectory("ld.lld");
  makeDriver(lld, log, "exit 1");
  withLLD.drivers = {makeDriver(
      inDirectory("driver"), log,
      "case \"$*\" in *-fuse-ld=lld*) echo no lld >&2; exit 1;; esac")};
  EXPECT_TRUE(succeeded(linkExecutable(context.get(), inDirectory("x.o"),
                                       inDirectory("x"), withLLD)))
      << messages;
  auto text = llvm::MemoryBuffer::getFile(log);
  ASSERT_TRUE(!!text);
  SmallVector<StringRef> calls;
  (*text)->getBuffer().split(calls, '\n', -1, /*KeepEmpty=*/false);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_TRUE(calls[0].contains("-fuse-ld=lld"));
  EXPECT_FALSE(calls[1].contains("-fuse-ld=lld"));
  EXPECT_TRUE(messages.empty()) << messages;
}

TEST_F(LinkTest, SaysWhichDriversItTried) {
  LinkOptions wrong = options();
  wrong.drivers = {"no-such-driver", "nor-this-one"};
  EXPECT_TRUE(failed(linkExecutable(context.get(), inDirectory("x.o"),
                                    inDirectory("x"), wrong)));
  EXPECT_NE(messages.find("no-such-driver, nor-this-one"), std::string::npos)
      << messages;
}

TEST_F(LinkTest, PassesOnTheLinkersMessage) {
  EXPECT_TRUE(failed(linkExecutable(context.get(), inDirectory("missing.o"),
                                    inDirectory("x"), options())));
  EXPECT_NE(messages.find("missing.o"), std::string::npos) << messages;
}

TEST_F(LinkTest, UnknownProcessorIsAnError) {
  auto module =
      lower(*context, "func.func @forward() { return }");
  ASSERT_TRUE(module);
  CodegenOptions codegen;
  // The second exists, but has no 64-bit code.
  for (const char *cpu : {"no-such-cpu", "pentium3"}) {
    codegen.cpu = cpu;
    EXPECT_TRUE(failed(emitObject(*module, inDirectory("x.o"), codegen)));
    EXPECT_NE(messages.find(cpu), std::string::npos) << messages;
  }
}

TEST_F(LinkTest, UnwritableObjectFileIsAnError) {
  auto module = lower(*context, "func.func @forward() { return }");
  ASSERT_TRUE(module);
  EXPECT_TRUE(failed(emitObject(*module, inDirectory("no/such/dir.o"))));
  EXPECT_NE(messages.find("cannot write"), std::string::npos) << messages;
}
