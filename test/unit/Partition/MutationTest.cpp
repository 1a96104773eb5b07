//===- MutationTest.cpp - Wrong device programs must be rejected ----------===//
//
// One collective or mask of a correct program is dropped, moved to another
// axis, exchanged with another or given another kind. The static verifier must
// say so, without running anything.
//
//===----------------------------------------------------------------------===//
#include "OpCases.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "pplan/Partition/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace pplan;
using namespace pplan::test;

static LogicalResult runPasses(ModuleOp module, bool onlyVerify) {
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [](Diagnostic &) { return success(); });
  PassManager manager(module.getContext());
  if (onlyVerify)
    manager.addNestedPass<func::FuncOp>(createVerifyProgram());
  else
    buildPartitionPipeline(manager);
  return manager.run(module);
}

namespace {
enum class Mutation { Drop, Retarget, Rekind, Swap };

/// Operations whose removal or change must be noticed.
SmallVector<Operation *> getTargets(ModuleOp module) {
  SmallVector<Operation *> targets;
  module.walk([&](Operation *op) {
    if (spmd::isCollective(op) || isa<spmd::MaskPaddingOp>(op))
      targets.push_back(op);
  });
  return targets;
}

bool drop(Operation *op) {
  if (op->getOperand(0).getType() != op->getResult(0).getType())
    return false; // the types would not even fit
  op->getResult(0).replaceAllUsesWith(op->getOperand(0));
  op->erase();
  return true;
}

/// Works along another axis of the same size, so that types still fit.
bool retarget(Operation *op, MeshAttr mesh) {
  auto axes = op->getAttrOfType<ArrayAttr>("axes");
  if (axes.size() != 1)
    return false;
  auto axis = cast<StringAttr>(axes[0]);
  int64_t size = mesh.getAxes()[mesh.getAxisIndex(axis)].getSize();
  for (MeshAxisAttr other : mesh.getAxes()) {
    if (other.getName() == axis.getValue() || other.getSize() != size)
      continue;
    auto name = StringAttr::get(op->getContext(), other.getName());
    op->setAttr("axes", ArrayAttr::get(op->getContext(), name));
    return true;
  }
  return false;
}

bool rekind(Operation *op) {
  auto kind = op->getAttrOfType<ReductionKindAttr>("kind");
  if (!kind)
    return false;
  op->setAttr("kind",
              ReductionKindAttr::get(op->getContext(),
                                     kind.getValue() == ReductionKind::Sum
                                         ? ReductionKind::Max
                                         : ReductionKind::Sum));
  return true;
}

/// Exchanges the axes of two collectives of equal group size.
bool swapAxes(Operation *op, ArrayRef<Operation *> all, MeshAttr mesh) {
  auto getSize = [&](Operation *of) {
    auto axes = spmd::getAxes(of->getAttrOfType<ArrayAttr>("axes"), mesh);
    return DeviceMesh::get(mesh).getProduct(*axes);
  };
  for (Operation *other : all) {
    Attribute mine = op->getAttr("axes"), theirs = other->getAttr("axes");
    if (other == op || mine == theirs || getSize(op) != getSize(other))
      continue;
    op->setAttr("axes", theirs);
    other->setAttr("axes", mine);
    return true;
  }
  return false;
}

bool apply(Mutation mutation, Operation *op, ArrayRef<Operation *> all,
           MeshAttr mesh) {
  switch (mutation) {
  case Mutation::Drop:
    return drop(op);
  case Mutation::Retarget:
    return retarget(op, mesh);
  case Mutation::Rekind:
    return rekind(op);
  case Mutation::Swap:
    return swapAxes(op, all, mesh);
  }
  return false;
}
} // namespace

/// A single operation with random shardings around it.
static void buildRandomOp(ModuleBuilder &m, Random &random) {
  const OpCase &opCase = getOpCases()[pick(random, 0, getOpCases().size() - 1)];
  auto getAny = [&](Value value) {
    auto type = getTensorType(value);
    return getRandomSharding(random, type.getRank(), m.mesh,
                             !type.getElementType().isInteger(1));
  };
  Value result = opCase.build(
      m,
      [&](ArrayRef<int64_t> shape, Type element) {
        Value argument =
            m.addArgument(RankedTensorType::get(shape, element),
                          TensorSharding::getReplicated(shape.size()));
        m.annotate(argument, getAny(argument));
        return argument;
      },
      [&] { return pick(random, 1, 9); });
  SmallVector<Value> values(result.getDefiningOp()->getResults());
  SmallVector<TensorSharding> shardings;
  for (Value value : values) {
    m.annotate(value, getAny(value));
    shardings.push_back(getAny(value));
  }
  m.finish(values, shardings);
}

TEST(Mutations, EveryChangedCollectiveIsRejected) {
  Random random(6);
  int64_t rejected[4] = {};
  for (int64_t i = 0; i < getCases(4000); ++i) {
    std::vector<int64_t> meshes[] = {{2}, {2, 2}, {3, 3}, {2, 2, 2}};
    ModuleBuilder m(&getContext(), meshes[pick(random, 0, 3)]);
    buildRandomOp(m, random);
    ASSERT_TRUE(succeeded(runPasses(*m.module, false)));
    SmallVector<Operation *> targets = getTargets(*m.module);
    if (targets.empty())
      continue;
    Operation *op = targets[pick(random, 0, targets.size() - 1)];
    if (!apply(static_cast<Mutation>(i % 4), op, targets, m.meshAttr))
      continue;
    std::string text;
    llvm::raw_string_ostream os(text);
    m.module->print(os);
    ASSERT_TRUE(failed(runPasses(*m.module, true)))
        << "mutation " << i % 4 << " of case " << i << "\n"
        << text;
    ++rejected[i % 4];
  }
  for (int64_t count : rejected)
    EXPECT_GT(count, 10);
}
