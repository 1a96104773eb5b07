//===- safetensors.h - writing tensors with names ---------------*- C++ -*-===//
//
// The format of https://github.com/huggingface/safetensors: the size of a JSON
// header, the header, the data. What is written is decided by the runner.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_SAFETENSORS_H
#define PPLAN_RT_CORE_SAFETENSORS_H

#include "files.h"
#include "tensor.h"

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

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_SAFETENSORS_H
