//===- files.h - mapped files -----------------------------------*- C++ -*-===//
//
// Files as memory: read-only mappings of weights and inputs, and files of a
// known size that ranks write together.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_FILES_H
#define PPLAN_RT_CORE_FILES_H

#include "status.h"

#include <string>

namespace pplan::rt {

/// A whole file, mapped for reading.
class MappedFile {
public:
  MappedFile() = default;
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;

  /// Maps `Path`; PPLAN_IO if it cannot be.
  pplan_status *open(const std::string &Path);
  const char *data() const { return Data; }
  uint64_t size() const { return Size; }
  /// Says that [Begin, End) will not be read again soon; its pages leave the
  /// memory of this process.
  void release(uint64_t Begin, uint64_t End) const;

private:
  char *Data = nullptr;
  uint64_t Size = 0;
};

/// A new file of a given size, mapped for writing; visible under its name only
/// after commit().
class OutputFile {
public:
  OutputFile() = default;
  ~OutputFile();
  OutputFile(const OutputFile &) = delete;
  OutputFile &operator=(const OutputFile &) = delete;

  /// Makes the file with all its blocks; PPLAN_IO if that is impossible.
  pplan_status *create(const std::string &Path, uint64_t Size);
  char *data() { return Data; }
  /// Writes everything and gives the file its name.
  pplan_status *commit();

private:
  std::string Path, Temporary;
  char *Data = nullptr;
  uint64_t Size = 0;
};

/// Makes a directory and its parents; PPLAN_IO if that is impossible.
pplan_status *makeDirectory(const std::string &Path);

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_FILES_H
