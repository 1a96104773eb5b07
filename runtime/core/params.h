//===- params.h - loading each rank's parameters ----------------*- C++ -*-===//
//
// Maps the weight files and gives each rank its shard: in place where it is
// contiguous in the file and aligned, else as a copy, which ranks with the same
// shard share. Decides nothing about the layout, which the descriptor gives.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_PARAMS_H
#define PPLAN_RT_CORE_PARAMS_H

#include "files.h"
#include "safetensors.h"
#include "tensor.h"

#include <map>
#include <mutex>

namespace pplan::rt {

/// Where weight files are now.
struct ParamFiles {
  std::string Root; ///< --params-root, or empty
  std::vector<std::pair<std::string, std::string>> Renamed; ///< --param-file

  /// The file to open for a path of the descriptor: a renamed one (by the whole
  /// path or the last component), one below Root (a relative path, or the last
  /// component of an absolute one), or the path itself, relative to the
  /// directory of the executable.
  std::string resolve(const std::string &Path) const;
};

/// How a rank's shard lies in the file.
struct ShardPlace {
  bool Contiguous;     ///< one run of bytes, without padding
  uint64_t ByteOffset; ///< of that run in the tensor
};
ShardPlace placeOf(const pplan_tensor &T, const Region &R);

/// The parameters of all ranks of this process, and how states begin. Ranks may load at once.
class ParamStore {
public:
  ParamStore(const pplan_program &P, const ParamFiles &Files)
      : P(P), Files(Files) {}
  ~ParamStore();

  /// Opens all files and checks that each holds its parameters. PPLAN_IO or
  /// PPLAN_BAD_INPUT with the parameter's name otherwise.
  pplan_status *open();

  /// Lets every state begin as it is in `Dir`/checkpoint.safetensors.
  /// PPLAN_BAD_INPUT when that is not one of this program's states, whatever
  /// plan wrote it.
  pplan_status *resume(const std::string &Dir);

  /// Steps that were done before a run that resumes; 0 for one that does not.
  int64_t stepsDone() const;

  /// Fills the local buffer of state `I` of the rank at `Coords` as it begins.
  void begin(int32_t I, const Sizes &Coords, void *Local) const;

  /// Pointers to the shards of the rank at `Coords`; they live as long as this.
  pplan_status *load(const Sizes &Coords, std::vector<const void *> &Pointers);

  /// Bytes that were copied, and that are used in place, by all ranks.
  uint64_t copiedBytes() const { return Copied; }
  uint64_t mappedBytes() const { return Mapped; }

private:
  struct Copy {
    std::once_flag Once;
    void *Memory = nullptr;
  };

  /// Opens the file of a parameter and checks its size.
  pplan_status *openFile(const pplan_param &Param);
  const char *global(const pplan_param &Param) const;
  void fill(Copy &C, int32_t Param, const Region &R);

  const pplan_program &P;
  const ParamFiles &Files;
  std::map<std::string, MappedFile> Maps; ///< by the descriptor's path
  SafetensorsFile Checkpoint;             ///< open after resume()
  std::mutex Mutex;                       ///< guards the rest
  std::map<std::pair<int32_t, Region>, Copy> Copies;
  uint64_t Copied = 0, Mapped = 0;
};

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_PARAMS_H
