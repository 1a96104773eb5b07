//===- PlanCommand.cpp - pplan plan and pplan explain ---------------------===//
//
// Plans a model; the memory figures come from compiling the plan as far as the
// arena, so that they are what the program allocates.
//
//===----------------------------------------------------------------------===//
#include "Report.h"
#include "Session.h"
#include "llvm/Support/Format.h"
#include <algorithm>

using namespace mlir;
using namespace pplan;
using namespace pplan::driver;

int pplan::driver::runPlan(const Options &options, Session &session) {
  if (int code = session.prepare())
    return code;
  if (int code = session.loadModel())
    return code;
  if (int code = session.train())
    return code;
  Report report;
  if (int code = session.plan(report.plan))
    return code;
  bool toStdout =
      options.output == "-" || (options.output.empty() && !options.json);
  if (toStdout || !options.output.empty())
    if (int code = session.writeModule(toStdout ? "-" : options.output))
      return code;

  if (int code = session.runPhase(CompilerPhase::Partition))
    return code;
  report.addCollectives(session.getModule());
  if (int code = session.runPhase(CompilerPhase::Memory))
    return code;
  report.addMemory(session.getModule());
  if (options.json) {
    llvm::json::OStream json(llvm::outs(), 2);
    json.object([&] { report.printJson(json, "pplan.plan/1"); });
    llvm::outs() << '\n';
  }
  report.print(llvm::errs());
  if (!options.output.empty() && !toStdout)
    llvm::errs() << "wrote " << options.output << "; next: pplan explain "
                 << options.output << ", or pplan compile " << options.output
                 << " --devices " << options.devices << " -o prog\n";
  return kExitDone;
}

static void printExplanation(const PlanSummary &plan) {
  llvm::raw_ostream &os = llvm::outs();
  os << "cluster " << plan.cluster << ", mesh";
  for (const auto &[name, size] : plan.mesh)
    os << ' ' << name << '=' << size;
  os << ", step " << formatSeconds(plan.stepTime) << ", lower bound "
     << formatSeconds(plan.lowerBound) << ", gap "
     << llvm::format("%.2f %%", plan.gap * 100) << '\n';
  if (!plan.estimated.empty()) {
    os << "estimated, not measured: ";
    llvm::interleaveComma(plan.estimated, os);
    os << '\n';
  }
  os << '\n';
  for (const OpChoice &choice : plan.choices) {
    os << choice.location << "  " << choice.op << "\n  chosen  "
       << choice.chosen << '\n';
    if (choice.second.empty())
      os << "  second  none: no other strategy\n";
    else
      os << "  second  " << choice.second << "  +"
         << formatSeconds(std::max(choice.extraSeconds, 0.0)) << " ("
         << llvm::format("%.2f %%",
                         plan.stepTime > 0
                             ? 100 * choice.extraSeconds / plan.stepTime
                             : 0.0)
         << ")\n";
  }
  if (!plan.reshards.empty())
    os << "\nChanges of sharding that communicate, dearest first:\n";
  printReshards(plan, plan.reshards.size(), 0, os);
}

int pplan::driver::runExplain(const Options &options, Session &session) {
  if (int code = session.loadModel())
    return code;
  std::optional<PlanSummary> plan = PlanSummary::get(session.getModule());
  if (!plan) {
    llvm::errs() << "pplan explain: '" << options.model
                 << "' is no plan (it lacks the attribute 'pplan.plan'); make "
                    "one with pplan plan MODEL -o plan.mlir\n";
    return kExitBadInput;
  }
  if (!options.json) {
    printExplanation(*plan);
    return kExitDone;
  }
  Report report;
  report.plan = *plan;
  llvm::json::OStream json(llvm::outs(), 2);
  json.object([&] {
    report.printJson(json, "pplan.explain/1");
    json.attributeArray("choices", [&] {
      for (const OpChoice &choice : plan->choices)
        json.object([&] {
          json.attribute("op", choice.op);
          json.attribute("location", choice.location);
          json.attribute("chosen", choice.chosen);
          json.attribute("second", choice.second);
          json.attribute("extra_s", choice.extraSeconds);
        });
    });
    json.attributeArray("reshards", [&] {
      for (const ReshardChoice &reshard : plan->reshards)
        json.object([&] {
          json.attribute("op", reshard.op);
          json.attribute("location", reshard.location);
          json.attribute("type", reshard.type);
          json.attribute("from", reshard.from);
          json.attribute("to", reshard.to);
          json.attribute("seconds", reshard.seconds);
        });
    });
  });
  llvm::outs() << '\n';
  return kExitDone;
}
