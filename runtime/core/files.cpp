//===- files.cpp - mapped files -------------------------------------------===//
//
// See files.h.
//
//===----------------------------------------------------------------------===//
#include "files.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace pplan::rt {

static pplan_status *ioError(const char *What, const std::string &Path,
                             int Errno) {
  return makeError(PPLAN_IO, nullptr, -1, "cannot %s '%s': %s", What,
                   Path.c_str(), std::strerror(Errno));
}

namespace {
/// Closes a file descriptor at the end of a scope.
struct Descriptor {
  int Fd;
  ~Descriptor() {
    if (Fd >= 0)
      close(Fd);
  }
};
} // namespace

MappedFile::~MappedFile() {
  if (Data)
    munmap(Data, Size);
}

pplan_status *MappedFile::open(const std::string &Path) {
  Descriptor File{::open(Path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (File.Fd < 0)
    return ioError("open", Path, errno);
  struct stat Info;
  if (fstat(File.Fd, &Info) != 0)
    return ioError("inspect", Path, errno);
  if (!S_ISREG(Info.st_mode))
    return makeError(PPLAN_IO, nullptr, -1, "cannot read '%s': not a file",
                     Path.c_str());
  Size = static_cast<uint64_t>(Info.st_size);
  if (Size == 0)
    return nullptr;
  void *Memory = mmap(nullptr, Size, PROT_READ, MAP_PRIVATE, File.Fd, 0);
  if (Memory == MAP_FAILED) {
    Size = 0;
    return ioError("map", Path, errno);
  }
  Data = static_cast<char *>(Memory);
  return nullptr;
}

void MappedFile::release(uint64_t Begin, uint64_t End) const {
  const uint64_t Page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  Begin = (Begin + Page - 1) / Page * Page;
  End = End / Page * Page;
  if (Data && Begin < End && End <= Size)
    madvise(Data + Begin, End - Begin, MADV_DONTNEED);
}

OutputFile::~OutputFile() {
  if (Data)
    munmap(Data, Size);
  if (!Temporary.empty())
    unlink(Temporary.c_str());
}

pplan_status *OutputFile::create(const std::string &Name, uint64_t Bytes) {
  Path = Name;
  Size = Bytes;
  std::string Partial = Path + ".partial";
  Descriptor File{::open(Partial.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC,
                         0666)};
  if (File.Fd < 0)
    return ioError("create", Partial, errno);
  Temporary = Partial;
  // All blocks now: a full disk must not show as a fault on a mapped page.
  if (int Errno = posix_fallocate(File.Fd, 0, static_cast<off_t>(Size)))
    return ioError("reserve space for", Path, Errno);
  void *Memory = mmap(nullptr, Size, PROT_READ | PROT_WRITE, MAP_SHARED, File.Fd,
                      0);
  if (Memory == MAP_FAILED)
    return ioError("map", Path, errno);
  Data = static_cast<char *>(Memory);
  return nullptr;
}

pplan_status *OutputFile::commit() {
  int Result = munmap(Data, Size);
  Data = nullptr;
  if (Result != 0)
    return ioError("write", Path, errno);
  if (rename(Temporary.c_str(), Path.c_str()) != 0)
    return ioError("rename", Temporary, errno);
  Temporary.clear();
  return nullptr;
}

pplan_status *makeDirectory(const std::string &Path) {
  std::error_code Code;
  std::filesystem::create_directories(Path, Code);
  if (!Code && std::filesystem::is_directory(Path, Code))
    return nullptr;
  return makeError(PPLAN_IO, nullptr, -1, "cannot make directory '%s': %s",
                   Path.c_str(),
                   Code ? Code.message().c_str() : "it is not a directory");
}

} // namespace pplan::rt
