//===- VerifyPass.cpp - Static verification of device programs ------------===//
//
// Puts the two proofs together: values are what the layouts need
// (DeviceStates), and every device's collectives meet their partners
// (VerifyTraces).
//
//===----------------------------------------------------------------------===//
#include "pplan/Partition/DeviceStates.h"
#include "pplan/Partition/ExpandTraces.h"
#include "pplan/Partition/Passes.h"

namespace pplan {
#define GEN_PASS_DEF_VERIFYPROGRAM
#include "pplan/Partition/Passes.h.inc"
} // namespace pplan

using namespace mlir;
using namespace pplan;

/// Events above which a program is not expanded. All devices run the same
/// straight line of collectives, so a larger mesh has no other orders.
static constexpr int64_t kMaxEvents = 1 << 22;

static LogicalResult verifyCommunication(func::FuncOp function, MeshAttr mesh) {
  int64_t collectives = 0;
  function.walk([&](Operation *op) { collectives += spmd::isCollective(op); });
  if (collectives * mesh.getNumDevices() > kMaxEvents) {
    function.emitRemark("has ")
        << collectives << " collectives on " << mesh.getNumDevices()
        << " devices; their order is not simulated, it is that of one device";
    return success();
  }
  TraceReport report = verifyTraces(expandTraces(function, mesh));
  if (report.ok)
    return success();
  return function.emitOpError("communicates in a way that cannot complete: ")
         << report.message;
}

namespace {
struct VerifyProgramPass : pplan::impl::VerifyProgramBase<VerifyProgramPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    if (function.isExternal())
      return markAllAnalysesPreserved();
    DeviceStates states(function);
    if (failed(states.run()) ||
        failed(verifyCommunication(function, states.getMesh())))
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
