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
  struct Key {
    StringRef name;
    int64_t *slot;
    int64_t least, most;
    bool seen = false;
  };
  Key keys[] = {{"dp", &degrees.data, 1, 1 << 20},
                {"tp", &degrees.tensor, 1, 1 << 20},
                {"zero", &degrees.zero, 0, 3}};
  for (StringRef entry : entries) {
    auto [name, value] = entry.split('=');
    Key *key = llvm::find_if(
        keys, [name = name](const Key &other) { return other.name == name; });
    if (key == std::end(keys))
      return llvm::createStringError(
          "unknown degree '" + entry +
          "' in --parallel; known are dp=N (data), tp=N (tensor) and zero=0..3 "
          "(what of a training step is split over the data axis)");
    int64_t number = 0;
    if (value.getAsInteger(10, number) || number < key->least ||
        number > key->most)
      return llvm::createStringError(
          "degree '" + entry + "' in --parallel needs a number from " +
          llvm::Twine(key->least) + " to " + llvm::Twine(key->most) +
          ", as in " + name + "=2");
    if (key->seen)
      return llvm::createStringError("degree '" + name +
                                     "' occurs twice in --parallel");
    key->seen = true;
    *key->slot = number;
  }
  if (degrees.zero >= 0 && degrees.data == 0)
    return llvm::createStringError(
        "zero=" + llvm::Twine(degrees.zero) +
        " in --parallel says what is split over the data axis; add dp=N");
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
