//===- Contract.cpp - ONNX matrix products and Einstein sums --------------===//
//
// MatMul, Gemm and Einsum are all `pplan.contract`. Dimensions of size 1 that
// ONNX broadcasts are dropped from the operand instead of being repeated.
//
//===----------------------------------------------------------------------===//
#include "OpTable.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

static constexpr llvm::StringLiteral allLetters =
    "abcdefghijlopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"; // without k, m, n

/// An operand and the letters of its dimensions.
struct Labelled {
  Value value;
  std::string letters;
};

/// Reshapes away the dimensions at `positions`, which have size 1.
static void dropDims(Emitter &e, Labelled &operand,
                     ArrayRef<size_t> positions) {
  if (!operand.value || positions.empty())
    return;
  SmallVector<int64_t> shape;
  std::string letters;
  ArrayRef<int64_t> from = getTensorType(operand.value).getShape();
  for (size_t i = 0; i < from.size(); ++i) {
    if (llvm::is_contained(positions, i))
      continue;
    shape.push_back(from[i]);
    letters += operand.letters[i];
  }
  operand.value = e.reshape(operand.value, shape);
  operand.letters = letters;
}

/// Drops size-1 dimensions whose letter has another size in the other operand.
static void dropBroadcast(Emitter &e, Labelled &a, Labelled &b) {
  if (!a.value || !b.value)
    return;
  ArrayRef<int64_t> aShape = getTensorType(a.value).getShape();
  ArrayRef<int64_t> bShape = getTensorType(b.value).getShape();
  SmallVector<size_t> fromA, fromB;
  for (size_t i = 0; i < a.letters.size(); ++i) {
    size_t j = b.letters.find(a.letters[i]);
    if (j == std::string::npos || aShape[i] == bShape[j])
      continue;
    if (aShape[i] == 1)
      fromA.push_back(i);
    else if (bShape[j] == 1)
      fromB.push_back(j);
  }
  dropDims(e, a, fromA);
  dropDims(e, b, fromB);
}

/// The contraction of two operands; reports and returns null when a letter has
/// two sizes or the element types differ.
static Value contract(Emitter &e, Labelled a, Labelled b, StringRef result) {
  dropBroadcast(e, a, b);
  if (!a.value || !b.value)
    return {};
  return e.create<ContractOp>(
      StringRef(a.letters + "," + b.letters + "->" + result.str()), a.value,
      b.value);
}

static LogicalResult matMul(Node &n) {
  Value a = n.input(0), b = n.input(1);
  if (!a || !b)
    return failure();
  int64_t aRank = n.rank(0), bRank = n.rank(1);
  if (aRank < 1 || bRank < 1 ||
      std::max(aRank, bRank) > static_cast<int64_t>(allLetters.size()))
    return n.error() << "cannot multiply " << n.type(0) << " and " << n.type(1);
  int64_t inner = n.type(0).getDimSize(aRank - 1);
  int64_t bInner = n.type(1).getDimSize(std::max<int64_t>(bRank - 2, 0));
  if (inner != bInner)
    return n.error() << "cannot multiply " << n.type(0) << " and " << n.type(1)
                     << ": the inner dimensions are " << inner << " and "
                     << bInner;
  int64_t aBatch = std::max<int64_t>(aRank - 2, 0);
  int64_t bBatch = std::max<int64_t>(bRank - 2, 0);
  int64_t batch = std::max(aBatch, bBatch);
  StringRef letters = allLetters.take_front(batch);
  if (!Emitter::getCommonShape(n.type(0).getShape().take_front(aBatch),
                               n.type(1).getShape().take_front(bBatch)))
    return n.error() << "cannot multiply " << n.type(0) << " and " << n.type(1)
                     << ": the batch dimensions do not fit";
  Labelled left{a, letters.take_back(aBatch).str() + (aRank > 1 ? "mk" : "k")};
  Labelled right{b, letters.take_back(bBatch).str() + (bRank > 1 ? "kn" : "k")};
  std::string result =
      letters.str() + (aRank > 1 ? "m" : "") + (bRank > 1 ? "n" : "");
  return n.yield(contract(n.e, left, right, result));
}

static LogicalResult gemm(Node &n) {
  Value a = n.input(0), b = n.input(1);
  if (!a || !b)
    return failure();
  if (n.rank(0) != 2 || n.rank(1) != 2)
    return n.error() << "cannot multiply " << n.type(0) << " and " << n.type(1)
                     << "; both must be matrices";
  bool transA = n.getInt("transA", 0), transB = n.getInt("transB", 0);
  int64_t inner = n.type(0).getDimSize(transA ? 0 : 1);
  int64_t bInner = n.type(1).getDimSize(transB ? 1 : 0);
  if (inner != bInner)
    return n.error() << "cannot multiply " << n.type(0) << " and " << n.type(1)
                     << ": the inner dimensions are " << inner << " and "
                     << bInner;
  Value result =
      contract(n.e, {a, transA ? "km" : "mk"}, {b, transB ? "nk" : "kn"}, "mn");
  if (double alpha = n.getFloat("alpha", 1.0); alpha != 1)
    result = n.e.binary<MulOp>(result, alpha);
  double beta = n.getFloat("beta", 1.0);
  if (!n.has(2) || !result || beta == 0)
    return n.yield(result);
  Value bias = n.e.broadcastTo(n.input(2), getTensorType(result).getShape(),
                               /*fold=*/false);
  if (beta != 1)
    bias = n.e.binary<MulOp>(bias, beta);
  return n.yield(n.e.binary<AddOp>(result, bias));
}

//===----------------------------------------------------------------------===//
// Einsum
//===----------------------------------------------------------------------===//

namespace {
/// An equation with the ellipses written out as letters.
struct Equation {
  SmallVector<std::string> operands;
  std::string result;
};
} // namespace

/// Replaces "..." by the last `count` of `letters`. False if it is not "...".
static bool expandEllipsis(std::string &term, StringRef letters,
                           int64_t count) {
  size_t at = term.find("...");
  if (at == std::string::npos)
    return count == 0 && term.find('.') == std::string::npos;
  if (count < 0 || count > static_cast<int64_t>(letters.size()))
    return false;
  term.replace(at, 3, letters.take_back(count).str());
  return term.find('.') == std::string::npos;
}

/// Result letters of an equation without "->": "..." and then, in order, the
/// letters that occur once.
static std::string getImplicitResult(StringRef left) {
  std::string result = left.contains("...") ? "..." : "";
  for (int letter = 'A'; letter <= 'z'; ++letter)
    if (llvm::isAlpha(letter) && left.count(static_cast<char>(letter)) == 1)
      result += static_cast<char>(letter);
  return result;
}

/// None when the equation is malformed or does not fit the operands' ranks.
static std::optional<Equation> parseEquation(Node &n, std::string text) {
  llvm::erase(text, ' ');
  auto [left, right] = StringRef(text).split("->");
  Equation equation;
  equation.result =
      StringRef(text).contains("->") ? right.str() : getImplicitResult(left);
  SmallVector<StringRef> terms;
  left.split(terms, ',');
  if (static_cast<int64_t>(terms.size()) != n.getNumInputs())
    return std::nullopt;
  int64_t widest = 0;
  for (auto [i, term] : llvm::enumerate(terms)) {
    int64_t named = llvm::count_if(term, llvm::isAlpha);
    if (!n.has(i))
      return std::nullopt;
    widest = std::max(widest, n.rank(i) - named);
  }
  std::string free;
  for (char letter : (allLetters + "kmn").str())
    if (text.find(letter) == std::string::npos)
      free += letter;
  if (widest > static_cast<int64_t>(free.size()))
    return std::nullopt;
  StringRef ellipsis = StringRef(free).take_front(widest);
  for (auto [i, term] : llvm::enumerate(terms)) {
    std::string letters = term.str();
    if (!expandEllipsis(letters, ellipsis,
                        n.rank(i) - llvm::count_if(term, llvm::isAlpha)))
      return std::nullopt;
    equation.operands.push_back(letters);
  }
  if (StringRef(equation.result).contains("...") &&
      !expandEllipsis(equation.result, ellipsis, widest))
    return std::nullopt;
  for (char letter : equation.result)
    if (!llvm::isAlpha(letter) ||
        StringRef(equation.result).count(letter) != 1 ||
        llvm::none_of(equation.operands, [&](const std::string &operand) {
          return operand.find(letter) != std::string::npos;
        }))
      return std::nullopt;
  return equation;
}

/// Sums over the letters that the result lacks and orders the others.
static Value reduceTo(Emitter &e, Labelled operand, StringRef result) {
  SmallVector<int64_t> dims, permutation;
  std::string kept;
  for (auto [dim, letter] : llvm::enumerate(operand.letters)) {
    if (result.contains(letter))
      kept += letter;
    else
      dims.push_back(dim);
  }
  for (char letter : result)
    permutation.push_back(kept.find(letter));
  return e.transpose(
      e.reduce(ReductionKind::Sum, operand.value, dims, /*keep=*/false),
      permutation);
}

static LogicalResult einsum(Node &n) {
  std::string text = n.getString("equation", "");
  std::optional<Equation> equation = parseEquation(n, text);
  if (!equation || equation->operands.empty())
    return n.error() << "the equation '" << text
                     << "' does not fit the operands";
  for (const std::string &letters : equation->operands)
    for (char letter : letters) {
      if (!llvm::isAlpha(letter))
        return n.error() << "the equation '" << text << "' has '" << letter
                         << "' where a letter is due";
      if (StringRef(letters).count(letter) > 1)
        return n.unsupported("a letter twice in one operand");
    }
  Labelled sum{n.input(0), equation->operands[0]};
  for (size_t i = 1; i < equation->operands.size(); ++i) {
    Labelled next{n.input(i), equation->operands[i]};
    // Keep what the result or a later operand needs.
    std::string later = equation->result;
    bool last = i + 1 == equation->operands.size();
    for (size_t j = i + 1; j < equation->operands.size(); ++j)
      later += equation->operands[j];
    std::string kept = last ? equation->result : "";
    for (char letter : last ? std::string() : sum.letters + next.letters)
      if (later.find(letter) != std::string::npos &&
          kept.find(letter) == std::string::npos)
        kept += letter;
    if (last) // a letter of the result can only be in this pair
      for (char letter : kept)
        if ((sum.letters + next.letters).find(letter) == std::string::npos)
          return n.error() << "the equation '" << text
                           << "' does not fit the operands";
    sum = {contract(n.e, sum, next, kept), kept};
  }
  if (equation->operands.size() == 1)
    return n.yield(reduceTo(n.e, sum, equation->result));
  return n.yield(sum.value);
}

ArrayRef<OpEntry> pplan::import::getContractOps() {
  static const OpEntry table[] = {
      {"Einsum", einsum},
      {"Gemm", gemm},
      {"MatMul", matMul},
  };
  return table;
}
