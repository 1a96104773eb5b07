//===- SolveCommand.cpp - pplan solve -------------------------------------===//
//
// Reads an intra-operator problem, solves it, and prints what is known.
//
//===----------------------------------------------------------------------===//
#include "Session.h"
#include "pplan/Planner/IntraOpFormat.h"
#include "pplan/Planner/Solver.h"
#include "llvm/Support/JSON.h"

using namespace pplan;
using namespace pplan::driver;

static void printJson(const IntraOpProblem &problem,
                      const IntraOpSolution &solution) {
  llvm::json::OStream json(llvm::outs(), 2);
  json.object([&] {
    json.attribute("schema", "pplan.solve/1");
    json.attribute("problem", problem.name);
    json.attribute("status", stringifyStatus(solution.status));
    if (solution.hasChoice()) {
      json.attribute("objective", solution.objective);
      json.attribute("gap", solution.gap());
    }
    if (solution.lowerBound > -kInfiniteCost &&
        solution.lowerBound < kInfiniteCost)
      json.attribute("lower_bound", solution.lowerBound);
    json.attribute("seconds", solution.seconds);
    json.attribute("algorithm", solution.algorithm);
    json.attributeArray("choice", [&] {
      for (unsigned strategy : solution.choice)
        json.value(strategy);
    });
  });
  llvm::outs() << '\n';
}

int pplan::driver::runSolve(const Options &options) {
  if (int code = checkTimeout(options))
    return code;
  auto fail = [](llvm::Error error) {
    llvm::errs() << llvm::toString(std::move(error)) << '\n';
    return kExitBadInput;
  };
  llvm::Expected<IntraOpProblem> problem = readIntraOpFile(options.model);
  if (!problem)
    return fail(problem.takeError());
  SolverOptions solverOptions;
  solverOptions.timeoutSeconds = options.timeout;
  llvm::Expected<IntraOpSolution> solution = solve(*problem, solverOptions);
  if (!solution)
    return fail(solution.takeError());
  if (options.json) {
    printJson(*problem, *solution);
  } else {
    llvm::outs() << "status\t" << stringifyStatus(solution->status)
                 << "\nobjective\t" << solution->objective
                 << "\nlower bound\t" << solution->lowerBound << "\ngap\t"
                 << solution->gap() << "\nseconds\t" << solution->seconds
                 << "\nalgorithm\t" << solution->algorithm << '\n';
  }
  if (solution->hasChoice())
    return kExitDone;
  llvm::errs() << "pplan: no choice for '" << options.model << "': "
               << stringifyStatus(solution->status) << '\n';
  return kExitInfeasible;
}
