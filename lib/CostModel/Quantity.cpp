//===- Quantity.cpp - Numbers with units ----------------------------------===//
//
// Decides how "80 GiB" or "5 us" becomes a number in base units. Ranges are
// checked by the reader of each key.
//
//===----------------------------------------------------------------------===//
#include "Quantity.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/Twine.h"
#include <cmath>

using namespace pplan;
using llvm::StringRef;

namespace {
struct Unit {
  StringRef name;
  double worth;
};
struct DimensionInfo {
  StringRef description;
  /// Shown in messages.
  StringRef examples;
  llvm::ArrayRef<Unit> units;
};
} // namespace

static constexpr Unit kBytes[] = {{"B", 1},
                                  {"kB", 1e3},
                                  {"KB", 1e3},
                                  {"MB", 1e6},
                                  {"GB", 1e9},
                                  {"TB", 1e12},
                                  {"KiB", 1024.0},
                                  {"MiB", 1048576.0},
                                  {"GiB", 1073741824.0},
                                  {"TiB", 1099511627776.0}};
static constexpr Unit kBandwidth[] = {{"B/s", 1},
                                      {"kB/s", 1e3},
                                      {"KB/s", 1e3},
                                      {"MB/s", 1e6},
                                      {"GB/s", 1e9},
                                      {"TB/s", 1e12},
                                      {"KiB/s", 1024.0},
                                      {"MiB/s", 1048576.0},
                                      {"GiB/s", 1073741824.0},
                                      {"TiB/s", 1099511627776.0},
                                      {"Mbit/s", 1e6 / 8},
                                      {"Gbit/s", 1e9 / 8},
                                      {"Tbit/s", 1e12 / 8}};
static constexpr Unit kRate[] = {
    {"FLOP/s", 1},     {"kFLOP/s", 1e3},  {"MFLOP/s", 1e6}, {"GFLOP/s", 1e9},
    {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}, {"OP/s", 1},      {"GOP/s", 1e9},
    {"TOP/s", 1e12},   {"POP/s", 1e15}};
static constexpr Unit kFlops[] = {{"FLOP", 1},     {"kFLOP", 1e3},
                                  {"MFLOP", 1e6},  {"GFLOP", 1e9},
                                  {"TFLOP", 1e12}, {"PFLOP", 1e15}};
static constexpr Unit kTime[] = {
    {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}};
static constexpr Unit kPower[] = {{"W", 1}, {"kW", 1e3}};

static DimensionInfo getInfo(Dimension dimension) {
  switch (dimension) {
  case Dimension::Count:
    return {"number", "", {}};
  case Dimension::Bytes:
    return {"size in bytes", "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB", kBytes};
  case Dimension::Bandwidth:
    return {"bandwidth",
            "B/s, MB/s, GB/s, TB/s, MiB/s, GiB/s, Mbit/s, Gbit/s, Tbit/s",
            kBandwidth};
  case Dimension::Rate:
    return {"rate of operations", "FLOP/s, GFLOP/s, TFLOP/s, PFLOP/s, TOP/s",
            kRate};
  case Dimension::Flops:
    return {"number of operations", "FLOP, MFLOP, GFLOP, TFLOP, PFLOP", kFlops};
  case Dimension::Time:
    return {"time", "s, ms, us, ns", kTime};
  case Dimension::Power:
    return {"power", "W, kW", kPower};
  case Dimension::Price:
    return {"price per hour", "", {}};
  }
  return {"number", "", {}};
}

StringRef pplan::describeDimension(Dimension dimension) {
  return getInfo(dimension).description;
}

llvm::Expected<double> pplan::parseQuantity(StringRef text,
                                            Dimension dimension) {
  DimensionInfo info = getInfo(dimension);
  text = text.trim();
  // The number ends where no character of a floating-point literal follows. An
  // 'e' belongs to it only when a digit or a sign comes next.
  size_t end = 0;
  while (end < text.size()) {
    char c = text[end];
    bool exponent = (c == 'e' || c == 'E') && end + 1 < text.size() &&
                    (isdigit((unsigned char)text[end + 1]) ||
                     text[end + 1] == '+' || text[end + 1] == '-');
    bool sign = (c == '+' || c == '-') &&
                (end == 0 || text[end - 1] == 'e' || text[end - 1] == 'E');
    if (!isdigit((unsigned char)c) && c != '.' && !exponent && !sign)
      break;
    ++end;
  }
  StringRef number = text.take_front(end), unit = text.drop_front(end).trim();
  double value;
  if (number.empty() || number.getAsDouble(value) || !std::isfinite(value))
    return llvm::createStringError(
        ("expected a " + info.description + ", got '" + text + "'").str());
  if (unit.empty())
    return value;
  for (const Unit &known : info.units)
    if (known.name == unit)
      return value * known.worth;
  if (info.units.empty())
    return llvm::createStringError(("expected a " + info.description +
                                    " without a unit, got '" + text + "'")
                                       .str());
  for (const Unit &known : info.units)
    if (known.name.equals_insensitive(unit))
      return llvm::createStringError(
          ("unknown unit '" + unit + "'; did you mean '" + known.name + "'?")
              .str());
  return llvm::createStringError(("unknown unit '" + unit + "' for a " +
                                  info.description + "; use one of " +
                                  info.examples)
                                     .str());
}

std::string pplan::formatNumber(double value) {
  char text[40];
  snprintf(text, sizeof(text), "%g", value);
  return text;
}
