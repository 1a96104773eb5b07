//===- Report.cpp - What a plan and a program amount to -------------------===//
//
// Counting and printing; decides nothing about the plan.
//
//===----------------------------------------------------------------------===//
#include "Report.h"
#include "pplan/Dialect/SPMD/SPMD.h"
#include "pplan/Planner/Strategies.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::driver;

std::string pplan::driver::formatBytes(double bytes) {
  static constexpr const char *units[] = {"B", "kB", "MB", "GB", "TB"};
  int unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit)
    bytes /= 1000;
  std::string text;
  llvm::raw_string_ostream(text)
      << llvm::format(unit == 0 ? "%.0f %s" : "%.2f %s", bytes, units[unit]);
  return text;
}

std::string pplan::driver::formatSeconds(double seconds) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (seconds >= 1)
    os << llvm::format("%.3f s", seconds);
  else if (seconds >= 1e-3)
    os << llvm::format("%.3f ms", seconds * 1e3);
  else
    os << llvm::format("%.3f us", seconds * 1e6);
  return text;
}

void Report::addCollectives(ModuleOp module) {
  module.walk([&](Operation *op) {
    if (!spmd::isCollective(op))
      return;
    auto meshName = op->getAttrOfType<FlatSymbolRefAttr>("mesh");
    auto axes = op->getAttrOfType<ArrayAttr>("axes");
    MeshAttr mesh = lookupMesh(op, meshName).getShape();
    double k = DeviceMesh::get(mesh).getProduct(*spmd::getAxes(axes, mesh));
    auto bytesOf = [](Value value) {
      RankedTensorType type = getTensorType(value);
      return static_cast<double>(type.getNumElements()) * getElementBytes(type);
    };
    double in = bytesOf(op->getOperand(0)), out = bytesOf(op->getResult(0));
    double sent = 0;
    if (isa<spmd::AllReduceOp>(op))
      sent = 2 * (k - 1) / k * in;
    else if (isa<spmd::AllGatherOp>(op))
      sent = (k - 1) / k * out;
    else if (isa<spmd::PermuteOp>(op))
      sent = in;
    else
      sent = (k - 1) / k * in;
    CollectiveCount &count = collectives[op->getName().stripDialect().str()];
    ++count.calls;
    count.bytesSent += sent;
  });
}

void Report::addMemory(ModuleOp module) {
  if (auto attr = module->getAttrOfType<DictionaryAttr>("pplan.memory"))
    for (NamedAttribute entry : attr)
      if (auto bytes = dyn_cast<IntegerAttr>(entry.getValue()))
        memory[entry.getName().str()] = bytes.getInt();
}

int64_t Report::getPeakMemory() const {
  int64_t total = 0;
  for (const auto &[kind, bytes] : memory)
    total += bytes;
  return total;
}

void pplan::driver::printReshards(const PlanSummary &plan, size_t limit,
                                  double share, llvm::raw_ostream &os) {
  size_t printed = 0, dear = 0;
  for (const ReshardChoice &reshard : plan.reshards) {
    if (plan.stepTime <= 0 || reshard.seconds < share * plan.stepTime)
      break;
    if (++dear > limit)
      continue;
    ++printed;
    os << "reshard        "
       << llvm::format("%.1f %%", 100 * reshard.seconds / plan.stepTime)
       << " of the step, " << formatSeconds(reshard.seconds) << ": "
       << reshard.op << " at " << reshard.location << " brings a "
       << reshard.type << " from " << reshard.from << " to " << reshard.to;
    auto choice = llvm::find_if(plan.choices, [&](const OpChoice &choice) {
      return choice.location == reshard.location && choice.op == reshard.op &&
             !choice.second.empty();
    });
    if (choice != plan.choices.end())
      os << "; the best plan that runs it otherwise, " << choice->second
         << (choice->extraSeconds > 1e-9
                 ? ", takes " + formatSeconds(choice->extraSeconds) + " more"
                 : ", is as fast");
    else
      os << "; the pinned shardings force it";
    os << '\n';
  }
  if (dear > printed)
    os << "reshard        " << dear - printed
       << " more like these; pplan explain lists them\n";
}

void Report::print(llvm::raw_ostream &os) const {
  os << "cluster        " << plan.cluster;
  if (size_t count = plan.estimated.size())
    os << " (" << count
       << (count == 1 ? " figure is an estimate" : " figures are estimates")
       << "; pplan explain names them)";
  os << "\nmesh           ";
  if (plan.mesh.empty())
    os << "one device";
  llvm::interleave(
      plan.mesh, os,
      [&](const auto &axis) { os << axis.first << '=' << axis.second; }, " x ");
  os << "\nstep time      " << formatSeconds(plan.stepTime)
     << " predicted (compute " << formatSeconds(plan.computeTime)
     << ", communication " << formatSeconds(plan.communicationTime) << ")\n"
     << "lower bound    " << formatSeconds(plan.lowerBound) << ", gap "
     << llvm::format("%.2f %%", plan.gap * 100) << '\n'
     << "search         " << formatSeconds(plan.searchTime) << " ("
     << plan.algorithm << ")\n";
  if (!memory.empty()) {
    os << "memory         " << formatBytes(getPeakMemory()) << " per device (";
    llvm::interleaveComma(memory, os, [&](const auto &entry) {
      os << entry.first << ' ' << entry.second;
    });
    os << ")\n";
  }
  for (const auto &[kind, count] : collectives)
    os << llvm::format("%-14s ", kind.c_str()) << count.calls << " calls, "
       << formatBytes(count.bytesSent) << " sent per rank and step\n";
  printReshards(plan, /*limit=*/3, /*share=*/0.05, os);
}

void Report::printJson(llvm::json::OStream &json,
                       llvm::StringRef schema) const {
  json.attribute("schema", schema);
  json.attribute("cluster", plan.cluster);
  json.attributeArray("estimated", [&] {
    for (const std::string &field : plan.estimated)
      json.value(field);
  });
  json.attribute("step_time_s", plan.stepTime);
  json.attribute("lower_bound_s", plan.lowerBound);
  json.attribute("gap", plan.gap);
  json.attribute("search_time_s", plan.searchTime);
  json.attribute("algorithm", plan.algorithm);
  json.attribute("tflops_per_device",
                 plan.stepTime > 0 ? plan.flopsPerDevice / plan.stepTime / 1e12
                                   : 0.0);
  json.attributeObject("time", [&] {
    json.attribute("compute_s", plan.computeTime);
    json.attribute("exposed_communication_s", plan.communicationTime);
  });
  json.attributeObject("parallel", [&] {
    for (const auto &[name, size] : plan.mesh) {
      json.attribute(name == "data"     ? "dp"
                     : name == "tensor" ? "tp"
                                        : name,
                     size);
    }
  });
  if (!memory.empty()) {
    json.attributeArray("peak_memory_bytes",
                        [&] { json.value(getPeakMemory()); });
    json.attributeObject("memory", [&] {
      for (const auto &[kind, bytes] : memory)
        json.attribute(kind, bytes);
    });
  }
  json.attributeObject("collectives", [&] {
    for (const auto &[kind, count] : collectives)
      json.attributeObject(kind, [&] {
        json.attribute("calls", count.calls);
        json.attribute("bytes_sent_per_rank", count.bytesSent);
      });
  });
}
