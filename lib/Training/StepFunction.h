//===- StepFunction.h - Editing a function's boundary -----------*- C++ -*-===//
//
// Private to the train phase: names, arguments and results of the one public
// function of a model.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_TRAINING_STEPFUNCTION_H
#define PPLAN_LIB_TRAINING_STEPFUNCTION_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pplan/Dialect/PPlan/PPlan.h"

namespace pplan {

/// The public function of the module, with one block. Fails after a message
/// when there is none or more than one.
mlir::FailureOr<mlir::func::FuncOp> getStepFunction(mlir::ModuleOp module);

/// Name of argument `index` in attribute `attr`, or empty.
llvm::StringRef lookupArgumentName(mlir::func::FuncOp function, unsigned index,
                                llvm::StringRef attr);

/// A result of the function: its value and its attributes.
struct StepResult {
  mlir::Value value;
  mlir::DictionaryAttr attrs;
};
llvm::SmallVector<StepResult> getResults(mlir::func::FuncOp function);
void setResults(mlir::func::FuncOp function,
                llvm::ArrayRef<StepResult> results);

/// Appends an argument with one named attribute.
mlir::BlockArgument addArgument(mlir::func::FuncOp function, mlir::Type type,
                                llvm::StringRef attr, llvm::StringRef name);

/// Marks every operation that it sees created with the phase set last.
class PhaseMarker : public mlir::OpBuilder::Listener {
public:
  void setPhase(Phase value) { phase = value; }
  void notifyOperationInserted(mlir::Operation *op,
                               mlir::OpBuilder::InsertPoint) override {
    op->setAttr(kPhaseAttr, PhaseAttr::get(op->getContext(), phase));
  }

private:
  Phase phase = Phase::Forward;
};

} // namespace pplan

#endif // PPLAN_LIB_TRAINING_STEPFUNCTION_H
