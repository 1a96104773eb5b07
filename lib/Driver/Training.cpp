//===- Training.cpp - The train phase of a session ------------------------===//
//
// Reads --train and turns the model into a training step.
//
//===----------------------------------------------------------------------===//
#include "Session.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "pplan/Import/Passes.h"
#include "pplan/Training/Passes.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::driver;

/// `adamw,lr=1e-3` as the options of pplan-add-optimizer.
static std::string getPassOptions(StringRef text) {
  SmallVector<StringRef> words;
  text.split(words, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  std::string options;
  for (auto [index, word] : llvm::enumerate(words)) {
    bool isKind = index == 0 && !word.contains('=');
    options += (index ? " " : "") + std::string(isKind ? "kind=" : "") +
               word.trim().str();
  }
  return options;
}

int Session::train() {
  if (!options.train)
    return kExitDone;
  for (auto function : module->getOps<func::FuncOp>())
    if (function->hasAttr(kMicroBatchesAttr)) {
      llvm::errs() << "pplan: '" << options.model
                   << "' is a training step already; leave --train out\n";
      return kExitUsage;
    }
  std::unique_ptr<Pass> optimizer = createAddOptimizer();
  auto report = [](const Twine &message) {
    llvm::errs() << "pplan: --train: " << message << '\n';
    return failure();
  };
  if (failed(optimizer->initializeOptions(getPassOptions(*options.train),
                                          report)))
    return kExitUsage;
  TrainingOptions training;
  training.loss.logits = options.logits;
  training.gradient.microBatches = options.microBatches;
  training.gradient.frozen.assign(options.frozen.begin(), options.frozen.end());
  PassManager manager(context.get());
  manager.addNestedPass<func::FuncOp>(createAnnotateRanges());
  buildTrainPipeline(manager, training, std::move(optimizer));
  return succeeded(manager.run(*module)) ? kExitDone : kExitBadInput;
}
