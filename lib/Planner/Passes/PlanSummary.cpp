//===- PlanSummary.cpp - The summary of a plan as an attribute ------------===//
//
// Writes and reads `pplan.plan`, and parses forced degrees.
//
//===----------------------------------------------------------------------===//
#include "mlir/IR/Builders.h"
#include "pplan/Planner/PlanModule.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pplan;

llvm::Expected<ParallelDegrees> ParallelDegrees::parse(StringRef text) {
  ParallelDegrees degrees;
  SmallVector<StringRef> entries;
  text.split(entries, ',', -1, /*KeepEmpty=*/false);
  for (StringRef entry : entries) {
    auto [key, value] = entry.split('=');
    int64_t degree = 0;
    bool isKnown = key == "dp" || key == "tp";
    if (!isKnown)
      return llvm::createStringError(
          "unknown degree '" + entry +
          "' in --parallel; known are dp=N (data) and tp=N (tensor)");
    if (value.getAsInteger(10, degree) || degree < 1 || degree > (1 << 20))
      return llvm::createStringError("degree '" + entry +
                                     "' in --parallel needs a number from 1 "
                                     "to 1048576, as in " +
                                     key + "=2");
    int64_t &slot = key == "dp" ? degrees.data : degrees.tensor;
    if (slot != 0)
      return llvm::createStringError("degree '" + key +
                                     "' occurs twice in --parallel");
    slot = degree;
  }
  return degrees;
}

DictionaryAttr PlanSummary::toAttr(MLIRContext *context) const {
  Builder builder(context);
  auto number = [&](StringRef name, double value) {
    return builder.getNamedAttr(name, builder.getF64FloatAttr(value));
  };
  auto text = [&](StringRef name, StringRef value) {
    return builder.getNamedAttr(name, builder.getStringAttr(value));
  };
  SmallVector<Attribute> axes, list, changes;
  for (const auto &[name, size] : mesh)
    axes.push_back(builder.getDictionaryAttr(
        {text("name", name),
         builder.getNamedAttr("size", builder.getI64IntegerAttr(size))}));
  for (const OpChoice &choice : choices)
    list.push_back(builder.getDictionaryAttr(
        {text("op", choice.op), text("location", choice.location),
         text("chosen", choice.chosen), text("second", choice.second),
         number("extra_s", choice.extraSeconds)}));
  for (const ReshardChoice &reshard : reshards)
    changes.push_back(builder.getDictionaryAttr(
        {text("op", reshard.op), text("location", reshard.location),
         text("type", reshard.type), text("from", reshard.from),
         text("to", reshard.to), number("seconds", reshard.seconds)}));
  return builder.getDictionaryAttr(
      {text("cluster", cluster), text("algorithm", algorithm),
       builder.getNamedAttr("estimated",
                            builder.getStrArrayAttr(SmallVector<StringRef>(
                                estimated.begin(), estimated.end()))),
       builder.getNamedAttr("mesh", builder.getArrayAttr(axes)),
       number("step_time_s", stepTime), number("compute_s", computeTime),
       number("communication_s", communicationTime),
       number("lower_bound_s", lowerBound), number("gap", gap),
       number("search_time_s", searchTime),
       number("flops_per_device", flopsPerDevice),
       builder.getNamedAttr("choices", builder.getArrayAttr(list)),
       builder.getNamedAttr("reshards", builder.getArrayAttr(changes))});
}

std::optional<PlanSummary> PlanSummary::get(ModuleOp module) {
  auto attr = module->getAttrOfType<DictionaryAttr>(kPlanAttr);
  if (!attr)
    return std::nullopt;
  auto number = [](DictionaryAttr from, StringRef name) {
    auto value = from.getAs<FloatAttr>(name);
    return value ? value.getValueAsDouble() : 0.0;
  };
  auto text = [](DictionaryAttr from, StringRef name) {
    auto value = from.getAs<StringAttr>(name);
    return value ? value.str() : std::string();
  };
  PlanSummary summary;
  summary.cluster = text(attr, "cluster");
  summary.algorithm = text(attr, "algorithm");
  summary.stepTime = number(attr, "step_time_s");
  summary.computeTime = number(attr, "compute_s");
  summary.communicationTime = number(attr, "communication_s");
  summary.lowerBound = number(attr, "lower_bound_s");
  summary.gap = number(attr, "gap");
  summary.searchTime = number(attr, "search_time_s");
  summary.flopsPerDevice = number(attr, "flops_per_device");
  if (auto fields = attr.getAs<ArrayAttr>("estimated"))
    for (Attribute field : fields)
      if (auto name = dyn_cast<StringAttr>(field))
        summary.estimated.push_back(name.str());
  if (auto axes = attr.getAs<ArrayAttr>("mesh"))
    for (Attribute entry : axes)
      if (auto axis = dyn_cast<DictionaryAttr>(entry))
        if (auto size = axis.getAs<IntegerAttr>("size"))
          summary.mesh.emplace_back(text(axis, "name"), size.getInt());
  if (auto list = attr.getAs<ArrayAttr>("choices"))
    for (Attribute entry : list)
      if (auto choice = dyn_cast<DictionaryAttr>(entry))
        summary.choices.push_back({text(choice, "op"), text(choice, "location"),
                                   text(choice, "chosen"),
                                   text(choice, "second"),
                                   number(choice, "extra_s")});
  if (auto list = attr.getAs<ArrayAttr>("reshards"))
    for (Attribute entry : list)
      if (auto reshard = dyn_cast<DictionaryAttr>(entry))
        summary.reshards.push_back(
            {text(reshard, "op"), text(reshard, "location"),
             text(reshard, "type"), text(reshard, "from"), text(reshard, "to"),
             number(reshard, "seconds")});
  return summary;
}
