//===- tokens.h - batches of a token file -----------------------*- C++ -*-===//
//
// Which tokens a training step reads. A batch depends on the step and the seed
// alone, never on the number of ranks, and each rank reads only its part.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_TOKENS_H
#define PPLAN_RT_CORE_TOKENS_H

#include "files.h"
#include "options.h"

namespace pplan::rt {

/// A file of tokens, cut into windows of the sequence length. Window w has the
/// tokens [w * T, w * T + T) as inputs and those after each as targets, so that
/// consecutive windows share one token. Step s takes the windows s * B to
/// s * B + B - 1 of an order that the seed gives, anew for each pass over the
/// data.
class TokenSet {
public:
  /// Opens the file of --data: an .npy of integers in one dimension, or raw
  /// little-endian numbers of Options::TokenBytes. PPLAN_BAD_INPUT when the
  /// program has no token inputs of one shape [B, T], or the file has fewer
  /// windows than a batch.
  pplan_status *open(const pplan_program &P, const Options &O);
  bool isOpen() const { return Count != 0; }
  /// Whether input `Index` is read from the file.
  bool gives(int32_t Index) const {
    return isOpen() && (Index == IdsInput || Index == TargetsInput);
  }
  /// Fills the local buffer of such an input for step `Step`, counted from 0.
  /// PPLAN_BAD_INPUT for a number that is no token.
  pplan_status *fill(const pplan_program &P, int32_t Index, int64_t Step,
                     const Sizes &Coords, void *Local) const;
  /// Tokens of a step.
  int64_t batchTokens() const { return Batch * Length; }

private:
  int64_t tokenAt(int64_t Position) const;
  int64_t windowOf(int64_t Sample) const;

  MappedFile File;
  std::string Path;
  const char *Data = nullptr;
  int64_t Count = 0, Windows = 0, Batch = 0, Length = 0;
  int32_t Bytes = 2;
  bool IsSigned = false;
  int32_t IdsInput = -1, TargetsInput = -1;
  uint64_t Seed = 0;
};

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_TOKENS_H
