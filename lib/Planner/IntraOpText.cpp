//===- IntraOpText.cpp - Intra-operator problems as lines of text ---------===//
//
// Decides the line-based text form: one statement a line, for people and for
// tests. The contest's JSON is left to IntraOpJson.cpp.
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/IntraOpFormat.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>

using namespace pplan;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
using llvm::Twine;

namespace {
/// Reads one line after the other; a failed read has set `error`.
class TextReader {
public:
  TextReader(StringRef text, StringRef fileName)
      : rest(text), fileName(fileName) {}

  Expected<IntraOpProblem> read();

private:
  /// The next word of the line; empty at its end. `|` counts as space.
  StringRef nextWord();
  bool fail(const Twine &message);
  bool readCost(StringRef word, double &cost);
  bool readInteger(StringRef what, int64_t &value);
  bool readNodeName(unsigned &node);
  bool readStatement(StringRef keyword);
  bool readNode();
  bool readUsage();
  bool readEdge();
  bool expectEnd();

  StringRef rest, line, lineRest, word, fileName;
  unsigned lineNumber = 0;
  IntraOpProblem problem;
  llvm::StringMap<unsigned> nodeNumbers;
  std::string error;
};
} // namespace

StringRef TextReader::nextWord() {
  lineRest = lineRest.ltrim(" \t\r|");
  word = lineRest.take_until(
      [](char c) { return StringRef(" \t\r|").contains(c); });
  lineRest = lineRest.drop_front(word.size());
  return word;
}

bool TextReader::fail(const Twine &message) {
  // An empty word is the end of the line; its column is one past the text.
  size_t column = word.data() ? word.data() - line.data() + 1 : 1;
  error = (fileName + ":" + Twine(lineNumber) + ":" + Twine(column) + ": " +
           message)
              .str();
  return false;
}

bool TextReader::readCost(StringRef text, double &cost) {
  if (text == "inf") {
    cost = kInfiniteCost;
    return true;
  }
  if (text.getAsDouble(cost) || !std::isfinite(cost))
    return fail("expected a cost (a number or inf), got '" + text + "'");
  return true;
}

bool TextReader::readInteger(StringRef what, int64_t &value) {
  if (nextWord().getAsInteger(10, value))
    return fail("expected " + what + " (a whole number), got '" + word + "'");
  return true;
}

bool TextReader::expectEnd() {
  return nextWord().empty() || fail("unexpected '" + word + "'");
}

bool TextReader::readNodeName(unsigned &node) {
  auto it = nodeNumbers.find(nextWord());
  if (it == nodeNumbers.end())
    return fail("unknown node '" + word +
                "'; state it on an earlier line with 'node NAME COST ...'");
  node = it->second;
  return true;
}

bool TextReader::readNode() {
  StringRef name = nextWord();
  if (name.empty())
    return fail("expected a name after 'node'");
  if (!nodeNumbers.try_emplace(name, problem.getNumNodes()).second)
    return fail("node '" + name + "' is stated twice");
  std::vector<double> costs;
  std::vector<std::string> strategies;
  bool anyName = false;
  while (!nextWord().empty()) {
    auto [strategy, text] = word.rsplit(':');
    bool named = word.contains(':');
    double cost;
    if (!readCost(named ? text : word, cost))
      return false;
    anyName |= named;
    costs.push_back(cost);
    strategies.push_back(named ? strategy.str() : "");
  }
  if (costs.empty())
    return fail("node '" + name + "' has no strategy; give a cost for each");
  if (!anyName)
    strategies.clear();
  problem.addNode(name.str(), std::move(costs), std::move(strategies));
  return true;
}

bool TextReader::readUsage() {
  unsigned node;
  int64_t start, end;
  if (!readNodeName(node) || !readInteger("a start time", start) ||
      !readInteger("an end time", end))
    return false;
  std::vector<int64_t> bytes;
  for (unsigned i = 0; i < problem.getNode(node).size(); ++i) {
    bytes.emplace_back();
    if (!readInteger("the usage of strategy " + std::to_string(i),
                     bytes.back()))
      return false;
  }
  problem.addUsage(node, start, end, std::move(bytes));
  return expectEnd();
}

bool TextReader::readEdge() {
  unsigned first, second;
  if (!readNodeName(first) || !readNodeName(second))
    return false;
  std::vector<double> costs;
  while (!nextWord().empty()) {
    costs.emplace_back();
    if (!readCost(word, costs.back()))
      return false;
  }
  size_t rows = problem.getNode(first).size();
  size_t columns = problem.getNode(second).size();
  if (costs.size() != rows * columns)
    return fail("expected " + Twine(rows) + " x " + Twine(columns) +
                " costs, got " + Twine(costs.size()));
  problem.addEdge(first, second, std::move(costs));
  return true;
}

bool TextReader::readStatement(StringRef keyword) {
  if (keyword == "problem") {
    problem.name = lineRest.trim().str();
    return true;
  }
  if (keyword == "limit") {
    int64_t limit;
    if (!readInteger("the limit", limit))
      return false;
    problem.usageLimit = limit;
    return expectEnd();
  }
  if (keyword == "node")
    return readNode();
  if (keyword == "usage")
    return readUsage();
  if (keyword == "edge")
    return readEdge();
  return fail("unknown statement '" + keyword +
              "'; known: problem, limit, node, usage, edge");
}

Expected<IntraOpProblem> TextReader::read() {
  while (!rest.empty()) {
    std::tie(line, rest) = rest.split('\n');
    ++lineNumber;
    lineRest = line.split('#').first;
    StringRef keyword = nextWord();
    if (!keyword.empty() && !readStatement(keyword))
      return llvm::createStringError(error);
  }
  if (Error e = problem.check())
    return llvm::createStringError(fileName + ": " +
                                   llvm::toString(std::move(e)));
  return std::move(problem);
}

Expected<IntraOpProblem> pplan::parseIntraOpText(StringRef text,
                                                 StringRef fileName) {
  return TextReader(text, fileName).read();
}

static bool isPlainWord(StringRef name) {
  return !name.empty() && name.find_first_of(" \t\r\n|#") == StringRef::npos;
}

/// Shortest decimal that reads back as the same double.
static void printCost(double cost, llvm::raw_ostream &os) {
  if (std::isinf(cost)) {
    os << "inf";
    return;
  }
  for (int digits = 6; digits <= 17; ++digits) {
    char text[40];
    snprintf(text, sizeof(text), "%.*g", digits, cost);
    double back;
    if (digits == 17 || (!StringRef(text).getAsDouble(back) && back == cost)) {
      os << text;
      return;
    }
  }
}

void pplan::printIntraOpText(const IntraOpProblem &problem,
                             llvm::raw_ostream &os) {
  if (!problem.name.empty())
    os << "problem " << StringRef(problem.name).split('\n').first << "\n";
  if (problem.usageLimit)
    os << "limit " << *problem.usageLimit << "\n";
  std::vector<std::string> names;
  llvm::StringSet<> taken;
  bool plain = true;
  for (const IntraOpProblem::Node &node : problem.getNodes())
    plain &= isPlainWord(node.name) && taken.insert(node.name).second;
  for (unsigned i = 0; i < problem.getNumNodes(); ++i)
    names.push_back(plain ? problem.getNode(i).name : "n" + std::to_string(i));
  for (unsigned i = 0; i < problem.getNumNodes(); ++i) {
    const IntraOpProblem::Node &node = problem.getNode(i);
    os << "node " << names[i];
    for (unsigned s = 0; s < node.size(); ++s) {
      os << " ";
      if (!node.strategies.empty() && isPlainWord(node.strategies[s]))
        os << node.strategies[s] << ":";
      printCost(node.costs[s], os);
    }
    os << "\n";
    for (const NodeUsage &usage : node.usages) {
      os << "usage " << names[i] << " " << usage.start << " " << usage.end;
      for (int64_t bytes : usage.bytes)
        os << " " << bytes;
      os << "\n";
    }
  }
  for (const IntraOpProblem::Edge &edge : problem.getEdges()) {
    os << "edge " << names[edge.first] << " " << names[edge.second];
    unsigned columns = problem.getNode(edge.second).size();
    for (size_t i = 0; i < edge.costs.size(); ++i) {
      os << (i && i % columns == 0 ? " | " : " ");
      printCost(edge.costs[i], os);
    }
    os << "\n";
  }
}

Expected<IntraOpProblem> pplan::readIntraOpFile(StringRef path) {
  auto buffer = llvm::MemoryBuffer::getFileOrSTDIN(path);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), "cannot read '%s': %s",
                                   path.str().c_str(),
                                   buffer.getError().message().c_str());
  StringRef text = (*buffer)->getBuffer();
  if (text.starts_with("\x1f\x8b"))
    return llvm::createStringError(
        "'" + path + "' is a gzip file; unpack it first: gunzip -k " + path);
  if (text.ltrim().starts_with("{"))
    return parseIntraOpJson(text, path);
  return parseIntraOpText(text, path);
}
