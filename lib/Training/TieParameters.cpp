//===- TieParameters.cpp - Parameters that are one --------------------===//
//
// Compares the numbers that parameters begin with.
//
//===----------------------------------------------------------------------===//
#include "StepFunction.h"
#include "pplan/Training/Passes.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>

using namespace mlir;
using namespace pplan;

namespace pplan {
#define GEN_PASS_DEF_TIEPARAMETERS
#include "pplan/Training/Passes.h.inc"
} // namespace pplan

namespace {
/// A parameter whose numbers are known.
struct Known {
  BlockArgument argument;
  StringRef name;
  std::unique_ptr<llvm::MemoryBuffer> bytes;

  RankedTensorType getType() const { return getTensorType(argument); }
  size_t getElementBytes() const {
    return bytes->getBufferSize() /
           static_cast<size_t>(getType().getNumElements());
  }
};

struct TieParametersPass
    : pplan::impl::TieParametersBase<TieParametersPass> {
  void runOnOperation() override {
    FailureOr<func::FuncOp> function = getStepFunction(getOperation());
    if (failed(function))
      return signalPassFailure();
    tie(*function);
  }

  void tie(func::FuncOp function);
};
} // namespace

/// The parameter's numbers, when it is one that could be tied.
static std::optional<Known> readParameter(func::FuncOp function,
                                          BlockArgument argument) {
  unsigned index = argument.getArgNumber();
  auto data = function.getArgAttrOfType<DataAttr>(index, kDataAttr);
  StringRef name = lookupArgumentName(function, index, kParamAttr);
  RankedTensorType type = getTensorType(argument);
  if (!data || name.empty() || type.getRank() < 2 ||
      type.getNumElements() < 2 || data.getSize() % type.getNumElements() ||
      function.getArgAttr(index, kShardingAttr))
    return std::nullopt;
  auto file = llvm::MemoryBuffer::getFileSlice(data.getPath(), data.getSize(),
                                               data.getOffset());
  // A file that is missing or too short is reported where it is needed.
  if (!file || (*file)->getBufferSize() != data.getSize())
    return std::nullopt;
  Known known{argument, name, std::move(*file)};
  StringRef bytes = known.bytes->getBuffer();
  size_t size = known.getElementBytes();
  // All elements are equal when each equals the next.
  if (std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0)
    return std::nullopt;
  return known;
}

static bool isSame(const Known &a, const Known &b) {
  return a.getType() == b.getType() &&
         a.bytes->getBuffer() == b.bytes->getBuffer();
}

static bool isTranspose(const Known &a, const Known &b) {
  RankedTensorType type = a.getType();
  if (type.getRank() != 2 || b.getType().getRank() != 2 ||
      type.getElementType() != b.getType().getElementType() ||
      type.getDimSize(0) != b.getType().getDimSize(1) ||
      type.getDimSize(1) != b.getType().getDimSize(0))
    return false;
  size_t rows = type.getDimSize(0), columns = type.getDimSize(1);
  size_t size = a.getElementBytes();
  const char *from = a.bytes->getBufferStart();
  const char *to = b.bytes->getBufferStart();
  for (size_t i = 0; i < rows; ++i)
    for (size_t j = 0; j < columns; ++j)
      if (std::memcmp(from + (i * columns + j) * size,
                      to + (j * rows + i) * size, size) != 0)
        return false;
  return true;
}

void TieParametersPass::tie(func::FuncOp function) {
  std::vector<Known> kept;
  llvm::BitVector tied(function.getNumArguments());
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  for (BlockArgument argument : function.getArguments()) {
    std::optional<Known> known = readParameter(function, argument);
    if (!known)
      continue;
    auto twin = llvm::find_if(kept, [&](const Known &other) {
      return isSame(other, *known) || isTranspose(other, *known);
    });
    if (twin == kept.end()) {
      kept.push_back(std::move(*known));
      continue;
    }
    Value value = twin->argument;
    bool same = isSame(*twin, *known);
    if (!same)
      value = TransposeOp::create(builder, argument.getLoc(), argument.getType(),
                                  value, ArrayRef<int64_t>{1, 0});
    argument.replaceAllUsesWith(value);
    tied.set(argument.getArgNumber());
    emitRemark(argument.getLoc())
        << "parameter '" << known->name << "' begins as "
        << (same ? "'" : "the transpose of '") << twin->name
        << "' and is trained as one with it";
  }
  if (tied.any())
    (void)function.eraseArguments(tied);
}
