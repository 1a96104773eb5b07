//===- Quantity.h - Numbers with units --------------------------*- C++ -*-===//
//
// Decides which units a cluster description may use and what they are worth.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_COSTMODEL_QUANTITY_H
#define PPLAN_LIB_COSTMODEL_QUANTITY_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace pplan {

/// What a number measures; each has its base unit, in which plain numbers are.
enum class Dimension {
  Count,     ///< no unit
  Bytes,     ///< B; kB, MB, GB, TB are powers of 1000, KiB ... of 1024
  Bandwidth, ///< B/s and its multiples, in bytes or (Gbit/s) in bits
  Rate,      ///< FLOP/s with k, M, G, T, P; OP/s for integers
  Flops,     ///< FLOP with k, M, G, T, P
  Time,      ///< s, ms, us, ns
  Power,     ///< W, kW
  Price,     ///< money per hour, in any one currency: no unit
};

/// "80 GiB" -> 85899345920 for Dimension::Bytes. The error is half a sentence:
/// it quotes the text and names the units that would do.
llvm::Expected<double> parseQuantity(llvm::StringRef text, Dimension dimension);

/// What the dimension is called in messages: "size in bytes", "time", ...
llvm::StringRef describeDimension(Dimension dimension);

/// A number as people write it, with six digits.
std::string formatNumber(double value);

} // namespace pplan

#endif // PPLAN_LIB_COSTMODEL_QUANTITY_H
