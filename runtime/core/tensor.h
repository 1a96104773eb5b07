//===- tensor.h - shapes, shards and copies of regions ----------*- C++ -*-===//
//
// What a tensor of the program descriptor means on one rank: where its shard
// lies in the whole tensor, which rank writes which part, and how to copy
// between the two. Files are left to npy.h and params.h.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_TENSOR_H
#define PPLAN_RT_CORE_TENSOR_H

#include "pplan_rt/program.h"

#include <string>
#include <vector>

namespace pplan::rt {

using Sizes = std::vector<int64_t>;

/// A rank's part of a tensor: per dimension, the offset of its first element in
/// the whole tensor and the number of elements that are not padding.
struct Region {
  Sizes Offset;
  Sizes Valid;

  bool operator<(const Region &O) const {
    return Offset != O.Offset ? Offset < O.Offset : Valid < O.Valid;
  }
};

/// Global and local shapes of a tensor.
Sizes globalSizes(const pplan_tensor &T);
Sizes localSizes(const pplan_tensor &T);

/// Bytes of a dense tensor of these sizes.
uint64_t byteSize(const Sizes &S, int32_t Dtype);

/// The part that the rank at mesh coordinates `Coords` has.
Region regionOf(const pplan_program &P, const pplan_tensor &T,
                const Sizes &Coords);

/// Coordinates of a rank in the program's mesh.
Sizes coordsOf(const pplan_program &P, int32_t Rank);

/// Whether the rank at `Coords` is the one of its replicas that writes output
/// `T`: it has coordinate 0 on all axes that no dimension names.
bool writesOutput(const pplan_program &P, const pplan_tensor &T,
                  const Sizes &Coords);

/// Copies a region of `Extent` elements per dimension from `Src`, a dense tensor
/// of `SrcSizes`, from `SrcOffset` on, to `Dst` likewise.
void copyRegion(char *Dst, const Sizes &DstSizes, const Sizes &DstOffset,
                const char *Src, const Sizes &SrcSizes, const Sizes &SrcOffset,
                const Sizes &Extent, size_t ElementSize);

/// Fills a rank's local buffer from the whole tensor; padding becomes zero.
void scatter(char *Local, const char *Global, const pplan_tensor &T,
             const Region &R);
/// Writes a rank's part into the whole tensor.
void gather(char *Global, const char *Local, const pplan_tensor &T,
            const Region &R);

/// The first element of a rank's part that is outside the tensor's range, or
/// "": `[1, 5] is 99999`, counted in the whole tensor.
std::string findOutside(const char *Local, const pplan_tensor &T,
                        const Region &R);

/// "4x128", or "scalar".
std::string shapeText(const Sizes &S);
/// Sharding as in `[{"data"}, {}]`.
std::string shardingText(const pplan_program &P, const pplan_tensor &T);

/// NULL, or an error (PPLAN_INTERNAL) that says why a descriptor contradicts
/// itself: ABI version, ranks against the mesh, axes, local sizes, parameter
/// bytes.
pplan_status *checkProgram(const pplan_program &P);

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_TENSOR_H
