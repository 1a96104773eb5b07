//===- Repair.h - From a choice to a better one -----------------*- C++ -*-===//
//
// Decides how a choice that exceeds the limit is changed until it does not,
// and how one that keeps it is improved, by changing one variable at a time.
// Nothing is proven here.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_LIB_PLANNER_REPAIR_H
#define PPLAN_LIB_PLANNER_REPAIR_H

#include "Deadline.h"
#include "WorkModel.h"

namespace pplan {

/// Makes `choice` finite and keep the limit, then improves it until no change
/// of one variable does. False: it stays forbidden or above the limit.
bool repairChoice(const WorkModel &model, std::vector<unsigned> &choice,
                  const Deadline &deadline);

} // namespace pplan

#endif // PPLAN_LIB_PLANNER_REPAIR_H
