//===- npy.h - NumPy's .npy format ------------------------------*- C++ -*-===//
//
// Headers of .npy files, versions 1 to 3, as NumPy's documentation
// "numpy.lib.format" defines them. Little-endian, C order. bf16, which NumPy
// does not know, is stored as |V2, as the Python package ml_dtypes does. What is
// done with the data is left to the callers.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_RT_CORE_NPY_H
#define PPLAN_RT_CORE_NPY_H

#include "tensor.h"

#include <string>

namespace pplan::rt {

/// What a header says.
struct NpyHeader {
  int32_t Dtype = PPLAN_F32;
  Sizes Shape;
  uint64_t DataOffset = 0; ///< bytes before the first element
};

/// Parses the header of a file of `Size` bytes at `Data`, and checks that the
/// data is complete. PPLAN_BAD_INPUT otherwise, with `Name` in the message.
pplan_status *parseNpy(const char *Data, uint64_t Size, const std::string &Name,
                       NpyHeader &Header);

/// A version 1 (or, if it is long, 2) header; its size is a multiple of 64.
std::string npyHeader(int32_t Dtype, const Sizes &Shape);

} // namespace pplan::rt

#endif // PPLAN_RT_CORE_NPY_H
