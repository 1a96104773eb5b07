//===- IntraOpFormat.h - Intra-operator problems as text --------*- C++ -*-===//
//
// Decides how a problem is read and written: a line-based text for people and
// tests, and the JSON of the ASPLOS/EuroSys 2025 IOPDDL contest. What a
// problem means is in IntraOpProblem.h.
//
// Text: one statement a line, `#` starts a comment, costs may be `inf`.
//
//   problem NAME
//   limit BYTES
//   node NAME [STRATEGY:]COST ...
//   usage NAME START END BYTES ...
//   edge NAME NAME COST ...            (row-major; `|` may separate rows)
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PLANNER_INTRAOPFORMAT_H
#define PPLAN_PLANNER_INTRAOPFORMAT_H

#include "pplan/Planner/IntraOpProblem.h"
#include "llvm/Support/raw_ostream.h"

namespace pplan {

/// Reads the text form. Errors read `FILE:LINE:COLUMN: message`. The result has
/// passed check().
llvm::Expected<IntraOpProblem> parseIntraOpText(llvm::StringRef text,
                                                llvm::StringRef fileName);

/// Writes the text form; what it writes reads back as the same problem. Nodes
/// without a name, or with one that is no single word or that repeats, are
/// written as `nI`.
void printIntraOpText(const IntraOpProblem &problem, llvm::raw_ostream &os);

/// Reads the contest's JSON: {"problem": {"name", "nodes": {"intervals",
/// "costs", "usages"}, "edges": {"nodes", "costs"}, "usage_limit"}}. Costs of
/// 1e18 and above are infinite. Errors name the file and the path to the
/// value, e.g. `$.problem.nodes.costs[3][0]`. The result has passed check().
llvm::Expected<IntraOpProblem> parseIntraOpJson(llvm::StringRef text,
                                                llvm::StringRef fileName);

/// Reads a file in either form (JSON when its first character is `{`), or the
/// standard input for `-`. A gzip file is refused with the command to unpack
/// it.
llvm::Expected<IntraOpProblem> readIntraOpFile(llvm::StringRef path);

} // namespace pplan

#endif // PPLAN_PLANNER_INTRAOPFORMAT_H
