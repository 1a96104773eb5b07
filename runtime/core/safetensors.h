//===- safetensors.h - files of tensors with names --------------*- C++ -*-===//
//
// The format of https://github.com/huggingface/safetensors: the size of a JSON
// header, the header, the data. What is written and read is decided by the
// runner.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_SAFETENSORS_H
#define PPLAN_RT_CORE_SAFETENSORS_H

#include "files.h"
#include "tensor.h"

#include <map>
#include <memory>

namespace pplan::rt {

/// A file of whole tensors that ranks write their parts of at once.
class SafetensorsWriter {
public:
  /// Makes the file for the states of `P`; PPLAN_IO if that is impossible.
  pplan_status *create(const std::string &Path, const pplan_program &P);
  bool isOpen() const { return File != nullptr; }
  /// Writes the part of state `I` of the rank at `Coords`, unless a replica
  /// does.
  void write(int32_t I, const Sizes &Coords, const void *Local);
  /// Gives the file its name; nothing is seen of it before.
  pplan_status *commit() { return File->commit(); }

private:
  const pplan_program *P = nullptr;
  std::unique_ptr<OutputFile> File;
  std::vector<uint64_t> Offsets; ///< of each state in the file
};

/// A file of whole tensors, mapped.
class SafetensorsFile {
public:
  struct Entry {
    int32_t Dtype = -1; ///< -1: one that the runtime does not know
    Sizes Shape;
    uint64_t Begin = 0, End = 0; ///< in the file
  };

  /// Opens the file and checks its header and that it is complete.
  pplan_status *open(const std::string &Path);
  bool isOpen() const { return File.data() != nullptr; }
  const std::map<std::string, Entry> &entries() const { return Entries; }
  /// The bytes of a tensor of that name; it must be there.
  const char *data(const std::string &Name) const {
    return File.data() + Entries.at(Name).Begin;
  }

private:
  MappedFile File;
  std::map<std::string, Entry> Entries;
};

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_SAFETENSORS_H
