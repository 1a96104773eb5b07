#include "pplan/Partition/Passes.h"
namespace pplan {
#define GEN_PASS_DEF_VERIFYPROGRAM
#include "pplan/Partition/Passes.h.inc"
} // namespace pplan
namespace {
struct VerifyProgramPass : pplan::impl::VerifyProgramBase<VerifyProgramPass> {
  void runOnOperation() override {}
};
} // namespace
