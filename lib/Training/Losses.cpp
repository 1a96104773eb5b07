//===- Losses.cpp - Appending and expanding losses ------------------------===//
//
// From logits to a loss, and from the named loss to plain operations.
//
//===----------------------------------------------------------------------===//
#include "StepFunction.h"
#include "pplan/Training/CrossEntropy.h"
#include "pplan/Training/Passes.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;
using namespace pplan;

namespace pplan {
#define GEN_PASS_DEF_APPENDLOSS
#define GEN_PASS_DEF_EXPANDLOSSES
#include "pplan/Training/Passes.h.inc"
} // namespace pplan

static StringRef getOutputName(const StepResult &result) {
  auto name = result.attrs.getAs<StringAttr>(kOutputAttr);
  return name ? name.getValue() : StringRef();
}

/// Sum of the losses over the number of targets that count; 0 if none does.
static Value emitMeanLoss(ArithmeticBuilder &b, Value logits, Value targets) {
  RankedTensorType type = getTensorType(logits);
  Value losses = b.create<CrossEntropyOp>(
      withShape(type, type.getShape().drop_back()), logits, targets);
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1));
  Value wide = b.convert(losses, type.getElementTypeBitWidth() < 32
                                     ? b.getBuilder().getF32Type()
                                     : type.getElementType());
  Value counts = b.compare(Predicate::GE, targets, b.like(targets, 0));
  Value ones = b.select(counts, b.like(wide, 1), b.like(wide, 0));
  Value count = b.reduce(ReductionKind::Sum, ones, dims);
  return b.div(b.reduce(ReductionKind::Sum, wide, dims),
               b.binary<MaxOp>(count, b.like(count, 1)));
}

namespace {
struct AppendLossPass : pplan::impl::AppendLossBase<AppendLossPass> {
  using AppendLossBase::AppendLossBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> function = getStepFunction(getOperation());
    if (failed(function) || failed(append(*function)))
      signalPassFailure();
  }

  /// The result that holds the logits, or -1 after a message.
  int findLogits(func::FuncOp function, ArrayRef<StepResult> results) {
    std::string wanted = logits.empty() ? std::string("logits") : logits.getValue();
    for (auto [index, result] : llvm::enumerate(results))
      if (getOutputName(result) == wanted)
        return index;
    if (logits.empty() && results.size() == 1)
      return 0;
    InFlightDiagnostic error = function.emitOpError("has no output '")
                               << wanted << "' to take the loss of; it has";
    for (const StepResult &result : results)
      error << " '" << getOutputName(result) << "'";
    return -1;
  }

  LogicalResult append(func::FuncOp function) {
    SmallVector<StepResult> results = getResults(function);
    auto isScalar = [](Value value) {
      return getTensorType(value).getRank() == 0 &&
             isa<FloatType>(getTensorType(value).getElementType());
    };
    if (logits.empty() && results.size() == 1 && isScalar(results[0].value))
      return success();
    int index = findLogits(function, results);
    if (index < 0)
      return failure();
    RankedTensorType type = getTensorType(results[index].value);
    if (type.getRank() == 0 || !isa<FloatType>(type.getElementType()))
      return function.emitOpError("output '")
             << getOutputName(results[index])
             << "' should have float logits with classes in the last "
                "dimension, found "
             << type;
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (lookupArgumentName(function, i, kInputAttr) == "targets")
        return function.emitOpError("has an input 'targets' already");
    OpBuilder builder(function.front().getTerminator());
    Value targets = addArgument(
        function,
        RankedTensorType::get(type.getShape().drop_back(),
                              builder.getI64Type()),
        kInputAttr, "targets");
    // Negative targets are ignored.
    function.setArgAttr(function.getNumArguments() - 1, kRangeAttr,
                        builder.getDenseI64ArrayAttr(
                            {std::numeric_limits<int64_t>::min(),
                             type.getShape().back() - 1}));
    ArithmeticBuilder arithmetic(builder, results[index].value.getLoc());
    Value loss = emitMeanLoss(arithmetic, results[index].value, targets);
    DictionaryAttr name = builder.getDictionaryAttr(
        builder.getNamedAttr(kOutputAttr, builder.getStringAttr("loss")));
    setResults(function, {{loss, name}});
    return success();
  }
};

struct ExpandLossesPass : pplan::impl::ExpandLossesBase<ExpandLossesPass> {
  void runOnOperation() override {
    getOperation().walk([](CrossEntropyOp op) {
      PhaseMarker marker;
      OpBuilder builder(op);
      if (auto phase = op->getAttrOfType<PhaseAttr>(kPhaseAttr)) {
        marker.setPhase(phase.getValue());
        builder.setListener(&marker);
      }
      ArithmeticBuilder arithmetic(builder, op.getLoc());
      op.getResult().replaceAllUsesWith(
          emitCrossEntropy(arithmetic, op));
      op.erase();
    });
  }
};
} // namespace
