//===- onnx_mutator.cpp - Changes to ONNX models that keep them models ----===//
//
// Random bytes rarely parse. This mutator changes one message of a parsed model
// at a time (numbers, names, operators, attributes, whole nodes), so that the
// fuzzer reaches what lies behind protobuf. Some inputs are still changed as
// bytes, so that the reader of the file format is searched too.
//
//===----------------------------------------------------------------------===//
#include "ONNX/OpTable.h"
#include <google/protobuf/stubs/logging.h>
#include <array>
#include <cmath>
#include <random>

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

/// Attributes that some import function reads.
static constexpr const char *attributeNames[] = {
    "allowzero",   "alpha",       "approximate",  "axes",
    "axis",        "batch_dims",  "beta",         "blocksize",
    "dtype",       "else_branch", "end",          "epsilon",
    "equation",    "exclusive",   "fmod",         "gamma",
    "interleaved", "is_causal",   "k",            "keepdims",
    "max",         "min",         "mode",         "noop_with_empty_axes",
    "num_groups",  "num_heads",   "kv_num_heads", "q_num_heads",
    "p",           "perm",        "reduction",    "reverse",
    "scale",       "softcap",     "start",        "then_branch",
    "to",          "transA",      "transB",       "upper",
    "value",       "value_float", "value_floats", "value_int",
    "value_ints",  "detect_positive",             "rotary_embedding_dim",
    "select_last_index"};
static constexpr const char *strings[] = {
    "",     "none", "add",   "tanh",     "CRD",           "DCR",
    "ij->", "i,i",  "->",    "...i,...", "a,b,c->cba",    "ab,bc->ac",
    "n",    "seq",  "batch", "reflect",  "com.microsoft", "ai.onnx",
    "../x", "aa->"};
static constexpr int64_t numbers[] = {
    0,       1,        2,        3,         4,        5,       7,
    8,       16,       32,       64,        100,      1023,    65535,
    1 << 20, 1 << 30,  int64_t(1) << 31,    int64_t(1) << 40,
    int64_t(1) << 48,  INT64_MAX, INT64_MIN, INT64_MIN + 1, -1, -2, -3};
static const double fractions[] = {
    0,    1,   -1,   0.5,       2,         1e-5,          1e30,
    1e39, 255, -1e9, INFINITY, -INFINITY, std::nan(""), 0x1p63, -0x1p63};

namespace {
class Mutator {
public:
  Mutator(onnx::ModelProto &model, unsigned seed) : model(model), random(seed) {
    collect(model);
  }

  /// Applies one change; a few choices change nothing.
  void mutate() {
    switch (below(8)) {
    case 0:
      return changeOperator();
    case 1:
      return rewire();
    case 2:
      return addAttribute();
    case 3:
      return moveNode();
    default:
      return changeField();
    }
  }

private:
  size_t below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random);
  }
  template <typename List> auto pick(const List &list) {
    return list[below(std::size(list))];
  }

  void collect(Message &message) {
    messages.push_back(&message);
    const Reflection *reflection = message.GetReflection();
    std::vector<const FieldDescriptor *> fields;
    reflection->ListFields(message, &fields);
    for (const FieldDescriptor *field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
        continue;
      if (!field->is_repeated()) {
        collect(*reflection->MutableMessage(&message, field));
        continue;
      }
      for (int i = 0; i < reflection->FieldSize(message, field); ++i)
        collect(*reflection->MutableRepeatedMessage(&message, field, i));
    }
  }

  onnx::NodeProto *pickNode() {
    auto *nodes = model.mutable_graph()->mutable_node();
    if (model.functions_size() && below(4) == 0)
      nodes = model.mutable_functions(below(model.functions_size()))
                  ->mutable_node();
    return nodes->empty() ? nullptr : nodes->Mutable(below(nodes->size()));
  }

  void changeOperator() {
    onnx::NodeProto *node = pickNode();
    if (!node)
      return;
    using namespace pplan::import;
    llvm::ArrayRef<OpEntry> family =
        pick(std::array{getElementwiseOps(), getShapeOps(), getIndexingOps(),
                        getReduceOps(), getContractOps(), getNNOps(),
                        getConstantOps()});
    const OpEntry &entry = family[below(family.size())];
    node->set_op_type(entry.name);
    node->set_domain(entry.domain);
  }

  /// Another operand for a node, or one more, or another result of the model.
  void rewire() {
    onnx::GraphProto &graph = *model.mutable_graph();
    std::vector<std::string> names{""};
    for (const auto &input : graph.input())
      names.push_back(input.name());
    for (const auto &tensor : graph.initializer())
      names.push_back(tensor.name());
    for (const auto &node : graph.node())
      names.insert(names.end(), node.output().begin(), node.output().end());
    if (graph.output_size() && below(4) == 0)
      return graph.mutable_output(0)->set_name(pick(names));
    onnx::NodeProto *node = pickNode();
    if (node && node->input_size() && below(3))
      node->set_input(below(node->input_size()), pick(names));
    else if (node && below(3))
      node->add_input(pick(names));
    else if (node)
      node->add_output("o" + std::to_string(random()));
  }

  void addAttribute() {
    onnx::NodeProto *node = pickNode();
    if (!node)
      return;
    onnx::AttributeProto *attribute = node->add_attribute();
    attribute->set_name(pick(attributeNames));
    switch (below(5)) {
    case 0:
      return attribute->set_i(pick(numbers));
    case 1:
      return attribute->set_f(static_cast<float>(pick(fractions)));
    case 2:
      return attribute->set_s(pick(strings));
    case 3:
      for (size_t i = below(5); i > 0; --i)
        attribute->add_ints(below(2) ? pick(numbers) : int64_t(below(4)));
      return;
    default:
      if (model.graph().initializer_size())
        *attribute->mutable_t() = model.graph().initializer(
            below(model.graph().initializer_size()));
    }
  }

  /// Copies, removes or swaps nodes.
  void moveNode() {
    auto *nodes = model.mutable_graph()->mutable_node();
    if (nodes->empty())
      return;
    int at = below(nodes->size()), other = below(nodes->size());
    switch (below(4)) {
    case 0:
      return nodes->DeleteSubrange(at, 1);
    case 1:
      return nodes->SwapElements(at, other);
    default:
      onnx::NodeProto copy = nodes->Get(at);
      for (std::string &output : *copy.mutable_output())
        output += "'";
      copy.set_name(copy.name() + "'");
      *nodes->Add() = std::move(copy);
    }
  }

  /// Sets, adds to, shortens or clears one field of one message.
  void changeField() {
    Message *message = pick(messages);
    const auto *descriptor = message->GetDescriptor();
    if (descriptor->field_count() == 0)
      return;
    const FieldDescriptor *field =
        descriptor->field(below(descriptor->field_count()));
    const Reflection *reflection = message->GetReflection();
    std::vector<const FieldDescriptor *> present;
    reflection->ListFields(*message, &present);
    if (!present.empty() && below(4))
      field = pick(present);
    if (!field->is_repeated()) {
      if (below(16) == 0)
        return reflection->ClearField(message, field);
      return setField(*message, *field, -1);
    }
    int size = reflection->FieldSize(*message, field);
    if (size && below(4) == 0)
      return reflection->RemoveLast(message, field);
    if (size && below(4) == 0)
      return reflection->SwapElements(message, field, below(size), below(size));
    setField(*message, *field, size && below(4) ? int(below(size)) : size);
  }

  /// `at` is -1 for a singular field and the size to append.
  void setField(Message &message, const FieldDescriptor &field, int at) {
    const Reflection *r = message.GetReflection();
    bool add = at >= 0 && at == r->FieldSize(message, &field);
    auto store = [&](auto single, auto append, auto change, auto value) {
      if (at < 0)
        (r->*single)(&message, &field, value);
      else if (add)
        (r->*append)(&message, &field, value);
      else
        (r->*change)(&message, &field, at, value);
    };
    int64_t number = below(3) ? pick(numbers) : int64_t(below(12));
    switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return store(&Reflection::SetInt64, &Reflection::AddInt64,
                   &Reflection::SetRepeatedInt64, number);
    case FieldDescriptor::CPPTYPE_INT32:
      return store(&Reflection::SetInt32, &Reflection::AddInt32,
                   &Reflection::SetRepeatedInt32, int32_t(number));
    case FieldDescriptor::CPPTYPE_UINT64:
      return store(&Reflection::SetUInt64, &Reflection::AddUInt64,
                   &Reflection::SetRepeatedUInt64, uint64_t(number));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return store(&Reflection::SetFloat, &Reflection::AddFloat,
                   &Reflection::SetRepeatedFloat, float(pick(fractions)));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return store(&Reflection::SetDouble, &Reflection::AddDouble,
                   &Reflection::SetRepeatedDouble, pick(fractions));
    case FieldDescriptor::CPPTYPE_ENUM:
      return store(&Reflection::SetEnumValue, &Reflection::AddEnumValue,
                   &Reflection::SetRepeatedEnumValue, int(below(24)));
    case FieldDescriptor::CPPTYPE_STRING:
      return setString(message, field, at, add);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (add)
        r->AddMessage(&message, &field);
      else if (at < 0)
        r->MutableMessage(&message, &field);
      return;
    default:
      return;
    }
  }

  void setString(Message &message, const FieldDescriptor &field, int at,
                 bool add) {
    const Reflection *r = message.GetReflection();
    std::string text = pick(strings);
    if (below(2) && !add) {
      std::string old = at < 0 ? r->GetString(message, &field)
                               : r->GetRepeatedString(message, &field, at);
      size_t size = old.size();
      old.resize(size + 16);
      auto *bytes = reinterpret_cast<uint8_t *>(old.data());
      old.resize(LLVMFuzzerMutate(bytes, size, size + 16));
      text = std::move(old);
    }
    if (at < 0)
      r->SetString(&message, &field, text);
    else if (add)
      r->AddString(&message, &field, text);
    else
      r->SetRepeatedString(&message, &field, at, text);
  }

  onnx::ModelProto &model;
  std::mt19937 random;
  std::vector<Message *> messages;
};
} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size,
                                          size_t maxSize, unsigned seed) {
  google::protobuf::LogSilencer silencer;
  onnx::ModelProto model;
  if (seed % 8 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, maxSize);
  for (unsigned i = 0; i <= seed / 8 % 4; ++i)
    Mutator(model, seed + i).mutate();
  if (model.ByteSizeLong() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  size_t written = model.ByteSizeLong();
  model.SerializePartialToArray(data, static_cast<int>(written));
  return written;
}

/// Joins the nodes, weights and inputs of two models.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first,
                                            size_t firstSize,
                                            const uint8_t *second,
                                            size_t secondSize, uint8_t *out,
                                            size_t maxSize, unsigned seed) {
  google::protobuf::LogSilencer silencer;
  onnx::ModelProto a, b;
  if (!a.ParseFromArray(first, static_cast<int>(firstSize)) ||
      !b.ParseFromArray(second, static_cast<int>(secondSize)))
    return 0;
  a.mutable_graph()->mutable_node()->MergeFrom(b.graph().node());
  a.mutable_graph()->mutable_initializer()->MergeFrom(b.graph().initializer());
  if (seed % 2)
    a.mutable_graph()->mutable_input()->MergeFrom(b.graph().input());
  if (a.ByteSizeLong() > maxSize)
    return 0;
  size_t written = a.ByteSizeLong();
  a.SerializePartialToArray(out, static_cast<int>(written));
  return written;
}
