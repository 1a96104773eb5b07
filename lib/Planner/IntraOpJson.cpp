//===- IntraOpJson.cpp - Intra-operator problems of the IOPDDL contest ----===//
//
// Decides how the contest's JSON is read. Instances have millions of numbers,
// so they are read in one pass without a tree of values between, and nesting
// is only as deep as the format. What a well-formed problem is, is decided by
// IntraOpProblem::check.
//
// Format: github.com/google/iopddl, README (ASPLOS/EuroSys 2025).
//
//===----------------------------------------------------------------------===//
#include "pplan/Planner/IntraOpFormat.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <cstdlib>

using namespace pplan;
using llvm::Error;
using llvm::Expected;
using llvm::function_ref;
using llvm::StringRef;
using llvm::Twine;

/// Costs from here on mean "forbidden".
static constexpr double kContestInfinity = 1e18;

namespace {
/// A pull parser for the JSON that the format can have, with a path for
/// messages. All read functions return false after an error.
class JsonReader {
public:
  JsonReader(StringRef text, StringRef fileName)
      : text(text), fileName(fileName) {}

  bool fail(const Twine &message);
  Error takeError() { return llvm::createStringError(error); }

  bool readObject(function_ref<bool(StringRef key)> member);
  bool readArray(function_ref<bool()> element);
  bool readNumber(double &value);
  bool readInteger(int64_t &value);
  bool readString(std::string &value);
  bool expectEnd();
  /// Puts `step` (such as ".nodes") on the path while `read` runs.
  bool within(StringRef step, function_ref<bool()> read);

private:
  void skipSpace();
  bool expect(char c);
  StringRef readToken();

  StringRef text, fileName;
  size_t at = 0;
  std::string path = "$", error;
};
} // namespace

bool JsonReader::fail(const Twine &message) {
  if (error.empty()) {
    StringRef before = text.take_front(at);
    size_t line = before.count('\n') + 1;
    size_t column = before.size() - (before.rfind('\n') + 1) + 1;
    error = (fileName + ":" + Twine(line) + ":" + Twine(column) + ": " + path +
             ": " + message)
                .str();
  }
  return false;
}

void JsonReader::skipSpace() {
  while (at < text.size() && StringRef(" \t\r\n").contains(text[at]))
    ++at;
}

bool JsonReader::expect(char c) {
  skipSpace();
  if (at < text.size() && text[at] == c) {
    ++at;
    return true;
  }
  if (at == text.size())
    return fail(Twine("expected '") + Twine(c) + "', got the end of the file");
  return fail(Twine("expected '") + Twine(c) + "', got '" + text.substr(at, 1) +
              "'");
}

bool JsonReader::within(StringRef step, function_ref<bool()> read) {
  size_t length = path.size();
  path += step;
  bool ok = read();
  path.resize(length);
  return ok;
}

bool JsonReader::readObject(function_ref<bool(StringRef)> member) {
  if (!expect('{'))
    return false;
  skipSpace();
  if (at < text.size() && text[at] == '}') {
    ++at;
    return true;
  }
  while (true) {
    std::string key;
    if (!readString(key) || !expect(':') ||
        !within("." + key, [&] { return member(key); }))
      return false;
    skipSpace();
    if (at < text.size() && text[at] == ',') {
      ++at;
      continue;
    }
    return expect('}');
  }
}

bool JsonReader::readArray(function_ref<bool()> element) {
  if (!expect('['))
    return false;
  skipSpace();
  if (at < text.size() && text[at] == ']') {
    ++at;
    return true;
  }
  size_t length = path.size();
  for (size_t index = 0;; ++index) {
    path += '[';
    path += llvm::utostr(index);
    path += ']';
    if (!element())
      return false;
    path.resize(length);
    skipSpace();
    if (at < text.size() && text[at] == ',') {
      ++at;
      continue;
    }
    return expect(']');
  }
}

StringRef JsonReader::readToken() {
  skipSpace();
  size_t end = at;
  while (end < text.size() &&
         (llvm::isAlnum(text[end]) || StringRef("+-.").contains(text[end])))
    ++end;
  return text.slice(at, end);
}

bool JsonReader::readNumber(double &value) {
  StringRef token = readToken();
  int64_t whole;
  if (!token.getAsInteger(10, whole))
    value = static_cast<double>(whole);
  else if (token.empty() || !(llvm::isDigit(token[0]) || token[0] == '-') ||
           token.getAsDouble(value))
    return fail("expected a number, got '" +
                (token.empty() ? text.substr(at, 1) : token.take_front(40)) +
                "'");
  at += token.size();
  return true;
}

bool JsonReader::readInteger(int64_t &value) {
  StringRef token = readToken();
  if (token.getAsInteger(10, value))
    return fail("expected a whole number, got '" +
                (token.empty() ? text.substr(at, 1) : token.take_front(40)) +
                "'");
  at += token.size();
  return true;
}

// Names are kept as they are written, except that escapes lose their
// backslash: nothing depends on their text.
bool JsonReader::readString(std::string &value) {
  if (!expect('"'))
    return false;
  value.clear();
  while (at < text.size() && text[at] != '"') {
    if (text[at] == '\\' && ++at == text.size())
      break;
    value += text[at++];
  }
  if (at == text.size())
    return fail("a string does not end");
  ++at;
  return true;
}

bool JsonReader::expectEnd() {
  skipSpace();
  return at == text.size() || fail("there is more after the problem");
}

namespace {
/// What the file says, before it is put together.
struct RawProblem {
  std::string name;
  std::vector<std::pair<int64_t, int64_t>> intervals;
  std::vector<std::vector<double>> costs;
  std::vector<std::vector<int64_t>> usages;
  std::vector<std::pair<int64_t, int64_t>> edgeNodes;
  std::vector<std::vector<double>> edgeCosts;
  std::optional<int64_t> limit;
};
} // namespace

static bool readCostRows(JsonReader &json,
                         std::vector<std::vector<double>> &rows) {
  return json.readArray([&] {
    rows.emplace_back();
    return json.readArray([&] {
      double cost;
      if (!json.readNumber(cost))
        return false;
      rows.back().push_back(cost >= kContestInfinity ? kInfiniteCost : cost);
      return true;
    });
  });
}

static bool readUsageRows(JsonReader &json,
                          std::vector<std::vector<int64_t>> &rows) {
  return json.readArray([&] {
    rows.emplace_back();
    return json.readArray([&] {
      rows.back().emplace_back();
      return json.readInteger(rows.back().back());
    });
  });
}

static bool readPairs(JsonReader &json,
                      std::vector<std::pair<int64_t, int64_t>> &pairs) {
  return json.readArray([&] {
    int64_t values[2] = {0, 0};
    unsigned count = 0;
    if (!json.readArray([&] {
          int64_t value;
          if (!json.readInteger(value))
            return false;
          if (count < 2)
            values[count] = value;
          ++count;
          return true;
        }))
      return false;
    if (count != 2)
      return json.fail("expected two numbers, got " + Twine(count));
    pairs.emplace_back(values[0], values[1]);
    return true;
  });
}

static bool unknownKey(JsonReader &json, StringRef key, StringRef known) {
  return json.fail("unknown key '" + key + "'; known: " + known);
}

static bool readProblem(JsonReader &json, RawProblem &raw) {
  auto nodes = [&](StringRef key) {
    if (key == "intervals")
      return readPairs(json, raw.intervals);
    if (key == "costs")
      return readCostRows(json, raw.costs);
    if (key == "usages")
      return readUsageRows(json, raw.usages);
    return unknownKey(json, key, "intervals, costs, usages");
  };
  auto edges = [&](StringRef key) {
    if (key == "nodes")
      return readPairs(json, raw.edgeNodes);
    if (key == "costs")
      return readCostRows(json, raw.edgeCosts);
    return unknownKey(json, key, "nodes, costs");
  };
  return json.readObject([&](StringRef key) {
    if (key == "name")
      return json.readString(raw.name);
    if (key == "nodes")
      return json.readObject(nodes);
    if (key == "edges")
      return json.readObject(edges);
    if (key == "usage_limit") {
      raw.limit.emplace();
      return json.readInteger(*raw.limit);
    }
    return unknownKey(json, key, "name, nodes, edges, usage_limit");
  });
}

static Expected<IntraOpProblem> assemble(RawProblem raw, StringRef fileName) {
  auto mismatch = [&](StringRef path, size_t got, size_t nodes) {
    return llvm::createStringError(fileName + ": $.problem." + path + " has " +
                                   Twine(got) + " entries, expected " +
                                   Twine(nodes));
  };
  size_t count = raw.costs.size();
  if (raw.intervals.size() != count)
    return mismatch("nodes.intervals", raw.intervals.size(), count);
  if (raw.usages.size() != count)
    return mismatch("nodes.usages", raw.usages.size(), count);
  if (raw.edgeCosts.size() != raw.edgeNodes.size())
    return mismatch("edges.costs", raw.edgeCosts.size(), raw.edgeNodes.size());
  IntraOpProblem problem;
  problem.name = std::move(raw.name);
  problem.usageLimit = raw.limit;
  for (size_t i = 0; i < count; ++i) {
    unsigned node = problem.addNode("", std::move(raw.costs[i]));
    problem.addUsage(node, raw.intervals[i].first, raw.intervals[i].second,
                     std::move(raw.usages[i]));
  }
  for (size_t i = 0; i < raw.edgeNodes.size(); ++i) {
    auto [a, b] = raw.edgeNodes[i];
    for (int64_t end : {a, b})
      if (end < 0 || end >= static_cast<int64_t>(count))
        return llvm::createStringError(
            fileName + ": $.problem.edges.nodes[" + Twine(i) + "] names node " +
            Twine(end) + ", but there are " + Twine(count) + " nodes");
    problem.addEdge(static_cast<unsigned>(a), static_cast<unsigned>(b),
                    std::move(raw.edgeCosts[i]));
  }
  if (Error e = problem.check())
    return llvm::createStringError(fileName + ": " +
                                   llvm::toString(std::move(e)));
  return std::move(problem);
}

Expected<IntraOpProblem> pplan::parseIntraOpJson(StringRef text,
                                                 StringRef fileName) {
  JsonReader json(text, fileName);
  RawProblem raw;
  bool any = false;
  bool ok = json.readObject([&](StringRef key) {
    if (key != "problem")
      return unknownKey(json, key, "problem");
    any = true;
    return readProblem(json, raw);
  });
  if (!ok || !json.expectEnd())
    return json.takeError();
  if (!any)
    return llvm::createStringError(fileName + ": $ lacks the key 'problem'");
  return assemble(std::move(raw), fileName);
}
