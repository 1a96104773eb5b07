//===- ExpandTraces.h - A device program as traces of all ranks -*- C++ -*-===//
//
// Decides what each device of a mesh communicates when it runs a program.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PARTITION_EXPANDTRACES_H
#define PPLAN_PARTITION_EXPANDTRACES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pplan/Dialect/SPMD/SPMD.h"
#include "pplan/Partition/VerifyTraces.h"

namespace pplan {

/// One trace per device, by device number. The function has been verified.
std::vector<RankTrace> expandTraces(mlir::func::FuncOp function, MeshAttr mesh);

} // namespace pplan

#endif // PPLAN_PARTITION_EXPANDTRACES_H
