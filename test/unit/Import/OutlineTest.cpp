//===- OutlineTest.cpp - The wire walker against protobuf -----------------===//
//
// Every raw_data that protobuf finds must be what the outline's span says, at
// any depth; and no prefix or mutation of a file may be read out of bounds.
//
//===----------------------------------------------------------------------===//
#include "Import/ONNX/Outline.h"
#include "gtest/gtest.h"
#include <onnx/onnx_pb.h>
#include <random>

using namespace pplan::import;

/// Fills a tensor with `size` bytes that differ from tensor to tensor.
static void fill(onnx::TensorProto *tensor, const std::string &name,
                 size_t size) {
  tensor->set_name(name);
  tensor->set_data_type(onnx::TensorProto::UINT8);
  tensor->add_dims(size);
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<char>(i * 7 + name.size() + size);
  tensor->set_raw_data(bytes);
}

/// A model with tensors in every place where one can be.
static onnx::ModelProto makeModel() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("test");
  onnx::GraphProto *graph = model.mutable_graph();
  graph->set_name("g");
  fill(graph->add_initializer(), "empty", 0);
  fill(graph->add_initializer(), "small", 5);
  fill(graph->add_initializer(), "large", 100000);
  onnx::NodeProto *node = graph->add_node();
  node->set_op_type("Constant");
  fill(node->add_attribute()->mutable_t(), "attribute", 300);
  fill(node->mutable_attribute(0)->add_tensors(), "list", 17);
  onnx::GraphProto *inner = graph->add_node()->add_attribute()->mutable_g();
  fill(inner->add_initializer(), "nested", 129);
  fill(inner->add_node()->add_attribute()->mutable_t(), "deep", 128);
  fill(graph->mutable_node(1)->add_attribute()->add_graphs()->add_initializer(),
       "graphs", 127);
  fill(model.add_functions()->add_node()->add_attribute()->mutable_t(),
       "function", 33);
  return model;
}

/// Compares the tensors of a model and of its outline.
static void check(const onnx::TensorProto &expected,
                  const onnx::TensorProto &found, const Outline &outline,
                  const std::string &file, int &count) {
  ++count;
  EXPECT_EQ(expected.name(), found.name());
  std::optional<FileSpan> span = outline.getSpan(found.raw_data());
  ASSERT_TRUE(span) << expected.name();
  EXPECT_EQ(expected.raw_data(), file.substr(span->offset, span->size))
      << expected.name();
}

static void check(const onnx::GraphProto &expected,
                  const onnx::GraphProto &found, const Outline &outline,
                  const std::string &file, int &count);

template <typename Nodes>
static void checkNodes(const Nodes &expected, const Nodes &found,
                       const Outline &outline, const std::string &file,
                       int &count) {
  ASSERT_EQ(expected.size(), found.size());
  for (int i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(expected[i].attribute_size(), found[i].attribute_size());
    for (int j = 0; j < expected[i].attribute_size(); ++j) {
      const auto &from = expected[i].attribute(j), &to = found[i].attribute(j);
      if (from.has_t())
        check(from.t(), to.t(), outline, file, count);
      for (int k = 0; k < from.tensors_size(); ++k)
        check(from.tensors(k), to.tensors(k), outline, file, count);
      if (from.has_g())
        check(from.g(), to.g(), outline, file, count);
      for (int k = 0; k < from.graphs_size(); ++k)
        check(from.graphs(k), to.graphs(k), outline, file, count);
    }
  }
}

static void check(const onnx::GraphProto &expected,
                  const onnx::GraphProto &found, const Outline &outline,
                  const std::string &file, int &count) {
  EXPECT_EQ(expected.name(), found.name());
  ASSERT_EQ(expected.initializer_size(), found.initializer_size());
  for (int i = 0; i < expected.initializer_size(); ++i)
    check(expected.initializer(i), found.initializer(i), outline, file, count);
  checkNodes(expected.node(), found.node(), outline, file, count);
}

TEST(Outline, FindsTheBytesOfEveryTensor) {
  onnx::ModelProto model = makeModel(), parsed;
  std::string file = model.SerializeAsString();
  llvm::Expected<Outline> outline = makeOutline(file);
  ASSERT_TRUE(bool(outline));
  EXPECT_LT(outline->bytes.size(), 1000u); // the weights are not in it
  ASSERT_TRUE(parsed.ParseFromString(outline->bytes));
  EXPECT_EQ("test", parsed.producer_name());
  int count = 0;
  check(model.graph(), parsed.graph(), *outline, file, count);
  checkNodes(model.functions(0).node(), parsed.functions(0).node(), *outline,
             file, count);
  EXPECT_EQ(9, count);
  EXPECT_EQ(9u, outline->spans.size());
}

TEST(Outline, RefusesWhatIsNotASpan) {
  Outline outline;
  outline.spans.push_back({1, 2});
  EXPECT_TRUE(outline.getSpan(llvm::StringRef("\0\0\0\0\0\0\0\0", 8)));
  EXPECT_FALSE(outline.getSpan(llvm::StringRef("\1\0\0\0\0\0\0\0", 8)));
  EXPECT_FALSE(outline.getSpan("\xff\xff\xff\xff\xff\xff\xff\xff"));
  EXPECT_FALSE(outline.getSpan("short"));
}

TEST(Outline, EveryPrefixIsReadWithinBounds) {
  onnx::ModelProto model = makeModel();
  model.mutable_graph()->mutable_initializer()->DeleteSubrange(2, 1);
  std::string file = model.SerializeAsString();
  for (size_t size = 0; size < file.size(); ++size) {
    // An exact copy, so that a sanitizer sees reads beyond the end.
    std::vector<char> copy(file.begin(), file.begin() + size);
    llvm::Expected<Outline> outline =
        makeOutline(llvm::StringRef(copy.data(), size));
    if (!outline) {
      std::string message = llvm::toString(outline.takeError());
      EXPECT_NE(std::string::npos, message.find("malformed at byte"));
      continue;
    }
    for (const FileSpan &span : outline->spans)
      EXPECT_LE(span.offset + span.size, static_cast<int64_t>(size));
  }
}

TEST(Outline, MutatedFilesAreReadWithinBounds) {
  onnx::ModelProto model = makeModel();
  model.mutable_graph()->mutable_initializer()->DeleteSubrange(2, 1);
  const std::string file = model.SerializeAsString();
  std::mt19937 random(1);
  for (int round = 0; round < 5000; ++round) {
    std::string mutated = file;
    for (int i = 0; i < 3; ++i)
      mutated[random() % mutated.size()] = static_cast<char>(random());
    llvm::Expected<Outline> outline = makeOutline(mutated);
    if (!outline) {
      llvm::consumeError(outline.takeError());
      continue;
    }
    for (const FileSpan &span : outline->spans) {
      EXPECT_GE(span.offset, 0);
      EXPECT_LE(span.offset + span.size, static_cast<int64_t>(file.size()));
    }
  }
}

TEST(Outline, DeepNestingIsRefused) {
  // Graphs in attributes in nodes in graphs ...
  std::string message;
  for (int i = 0; i < 200; ++i) {
    for (char tag :
         {char(0x32), char(0x2a), char(0x0a)}) { // g, attribute, node
      std::string outer(1, tag);
      for (size_t size = message.size(); true; size >>= 7) {
        outer.push_back(static_cast<char>(size >= 0x80 ? size | 0x80 : size));
        if (size < 0x80)
          break;
      }
      message = outer + message;
    }
  }
  std::string model(1, char(0x3a));
  for (size_t size = message.size(); true; size >>= 7) {
    model.push_back(static_cast<char>(size >= 0x80 ? size | 0x80 : size));
    if (size < 0x80)
      break;
  }
  llvm::Expected<Outline> outline = makeOutline(model + message);
  ASSERT_FALSE(bool(outline));
  EXPECT_NE(std::string::npos,
            llvm::toString(outline.takeError()).find("nested deeper"));
}
