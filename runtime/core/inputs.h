//===- inputs.h - the inputs of a run ---------------------------*- C++ -*-===//
//
// Finds, checks and distributes the values of a program's inputs.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_INPUTS_H
#define PPLAN_RT_CORE_INPUTS_H

#include "files.h"
#include "options.h"
#include "tokens.h"

#include <memory>

namespace pplan::rt {

/// The inputs of a run, before they are cut into shards.
class InputSet {
public:
  /// Opens the files and checks each against the program; all that is wrong is
  /// in the one message of PPLAN_BAD_INPUT.
  pplan_status *open(const pplan_program &P, const Options &O);

  /// Fills a rank's local buffer of input `Index` for step `Step`, counted from
  /// 0.
  pplan_status *fill(const pplan_program &P, int32_t Index, int64_t Step,
                     const Sizes &Coords, void *Local) const;
  /// Whether that input is another in each step.
  bool changes(int32_t Index) const { return Tokens.gives(Index); }
  /// Tokens of a step; 0 without a token file.
  int64_t tokensPerStep() const { return Tokens.batchTokens(); }

private:
  struct Source {
    std::unique_ptr<MappedFile> File; ///< null: random
    uint64_t Offset = 0;
  };
  std::vector<Source> Sources;
  TokenSet Tokens;
  uint64_t Seed = 0;
};

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_INPUTS_H
