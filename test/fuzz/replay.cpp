//===- replay.cpp - Runs a fuzz target on files, without libFuzzer --------===//
//
// Usage: NAME FILE-OR-FOLDER... ; prints `ok FILE` after each. A crash ends the
// program, and so does an input that takes longer than it may.
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/// Seconds that one input may take; sanitizers make programs slow.
static constexpr unsigned limit = 30;

int main(int argc, char **argv) {
  namespace fs = std::filesystem;
  std::vector<fs::path> files;
  for (int i = 1; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      files.push_back(argv[i]);
      continue;
    }
    for (const fs::directory_entry &entry : fs::directory_iterator(argv[i]))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path &file : files) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
      std::printf("FAILED %s: cannot be read\n", file.c_str());
      return 1;
    }
    std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
    alarm(limit); // ends the program with SIGALRM
    std::fprintf(stderr, "running %s\n", file.c_str());
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(bytes.data()),
                           bytes.size());
    alarm(0);
    std::printf("ok %s\n", file.filename().c_str());
    std::fflush(stdout);
  }
  return files.empty();
}
