//===- EvaluateReduction.cpp - Reductions and contractions of constants ---===//
//
// Operations that combine elements. Sums are kept in double precision (64 bits
// for integers) and rounded once. Softmax, norms and attention are not folded:
// they never occur in shape computations.
//
//===----------------------------------------------------------------------===//
#include "ConstantEvaluator.h"
#include "pplan/Dialect/PPlan/PPlan.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace pplan;
using namespace pplan::import;

static double combine(ReductionKind kind, double x, double y) {
  switch (kind) {
  case ReductionKind::Sum:
    return x + y;
  case ReductionKind::Prod:
    return x * y;
  case ReductionKind::Max:
    return std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y);
  case ReductionKind::Min:
    return std::isnan(x) || std::isnan(y) ? NAN : std::min(x, y);
  }
  return x;
}

static int64_t combine(ReductionKind kind, int64_t x, int64_t y) {
  switch (kind) {
  case ReductionKind::Sum:
    return static_cast<int64_t>(uint64_t(x) + uint64_t(y));
  case ReductionKind::Prod:
    return static_cast<int64_t>(uint64_t(x) * uint64_t(y));
  case ReductionKind::Max:
    return std::max(x, y);
  case ReductionKind::Min:
    return std::min(x, y);
  }
  return x;
}

/// Combines into `accumulators` (of the result's number of elements).
template <typename T, typename Read>
static void reduceInto(ReduceOp op, const HostTensor &input, Read read,
                       ArrayRef<int64_t> resultShape,
                       std::vector<T> &accumulators) {
  SmallVector<int64_t> steps(input.getShape().size(), 0);
  SmallVector<int64_t> strides = getStrides(resultShape);
  size_t next = 0;
  for (size_t dim = 0; dim < steps.size(); ++dim)
    if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
      steps[dim] = strides[next++];
  std::vector<bool> started(accumulators.size(), false);
  int64_t index = 0;
  forEachPosition(input.getShape(), [&](ArrayRef<int64_t> position) {
    int64_t to = 0;
    for (auto [at, step] : llvm::zip(position, steps))
      to += at * step;
    T value = read(index++);
    accumulators[to] =
        started[to] ? combine(op.getKind(), accumulators[to], value) : value;
    started[to] = true;
  });
}

static bool evaluate(ReduceOp op, const HostTensor &input, HostTensor &result) {
  ReductionKind kind = op.getKind();
  bool empty = input.getNumElements() == 0;
  if (empty && (kind == ReductionKind::Max || kind == ReductionKind::Min))
    return result.getNumElements() == 0;
  int64_t count = result.getNumElements();
  int64_t start = kind == ReductionKind::Prod;
  if (input.isFloat()) {
    std::vector<double> sums(count, start);
    reduceInto(
        op, input, [&](int64_t i) { return input.getFloat(i); },
        result.getShape(), sums);
    for (int64_t i = 0; i < count; ++i)
      result.setFloat(i, sums[i]);
    return true;
  }
  std::vector<int64_t> sums(count, start);
  reduceInto(
      op, input, [&](int64_t i) { return input.getInt(i); }, result.getShape(),
      sums);
  for (int64_t i = 0; i < count; ++i)
    result.setInt(i, sums[i]);
  return true;
}

/// One row along `dim` of every tensor with the input's shape: calls `visit`
/// with the index of its first element and the row's number.
static void forEachRow(ArrayRef<int64_t> shape, int64_t dim,
                       function_ref<void(int64_t first, int64_t row)> visit) {
  SmallVector<int64_t> outer(shape), strides = getStrides(shape);
  outer[dim] = 1;
  int64_t row = 0;
  forEachPosition(outer, [&](ArrayRef<int64_t> position) {
    int64_t first = 0;
    for (auto [at, stride] : llvm::zip(position, strides))
      first += at * stride;
    visit(first, row++);
  });
}

static void evaluate(ArgReduceOp op, const HostTensor &input,
                     HostTensor &result) {
  int64_t dim = op.getDim(), size = input.getShape()[dim];
  int64_t stride = getStrides(input.getShape())[dim];
  bool max = op.getKind() == ReductionKind::Max;
  forEachRow(input.getShape(), dim, [&](int64_t first, int64_t row) {
    int64_t best = 0;
    for (int64_t i = 1; i < size; ++i) {
      int64_t at = first + i * stride, bestAt = first + best * stride;
      bool better = input.isFloat()
                        ? (max ? input.getFloat(at) > input.getFloat(bestAt)
                               : input.getFloat(at) < input.getFloat(bestAt))
                        : (max ? input.getInt(at) > input.getInt(bestAt)
                               : input.getInt(at) < input.getInt(bestAt));
      best = better ? i : best;
    }
    result.setInt(row, best);
  });
}

static void evaluate(CumSumOp op, const HostTensor &input, HostTensor &result) {
  int64_t dim = op.getDim(), size = input.getShape()[dim];
  int64_t stride = getStrides(input.getShape())[dim];
  forEachRow(input.getShape(), dim, [&](int64_t first, int64_t) {
    double floatSum = 0;
    uint64_t intSum = 0;
    for (int64_t i = 0; i < size; ++i) {
      int64_t at = first + (op.getReverse() ? size - 1 - i : i) * stride;
      auto write = [&] {
        input.isFloat() ? result.setFloat(at, floatSum)
                        : result.setInt(at, static_cast<int64_t>(intSum));
      };
      if (op.getExclusive())
        write();
      input.isFloat() ? void(floatSum += input.getFloat(at))
                      : void(intSum += static_cast<uint64_t>(input.getInt(at)));
      if (!op.getExclusive())
        write();
    }
  });
}

static void evaluate(ContractOp op, const HostTensor &lhs,
                     const HostTensor &rhs, HostTensor &result) {
  // One loop per letter: those of the result first, then the summed ones.
  std::string letters = op.getResultLetters().str();
  for (char letter : (op.getLhsLetters() + op.getRhsLetters()).str())
    if (letters.find(letter) == std::string::npos)
      letters += letter;
  SmallVector<int64_t> sizes(letters.size(), 1), lhsSteps(letters.size(), 0),
      rhsSteps(letters.size(), 0);
  auto note = [&](StringRef own, const HostTensor &tensor,
                  SmallVectorImpl<int64_t> &steps) {
    SmallVector<int64_t> strides = getStrides(tensor.getShape());
    for (auto [dim, letter] : llvm::enumerate(own)) {
      sizes[letters.find(letter)] = tensor.getShape()[dim];
      steps[letters.find(letter)] = strides[dim];
    }
  };
  note(op.getLhsLetters(), lhs, lhsSteps);
  note(op.getRhsLetters(), rhs, rhsSteps);
  size_t outer = op.getResultLetters().size();
  int64_t index = 0;
  forEachPosition(ArrayRef(sizes).take_front(outer), [&](ArrayRef<int64_t> p) {
    int64_t left = 0, right = 0;
    for (size_t i = 0; i < outer; ++i) {
      left += p[i] * lhsSteps[i];
      right += p[i] * rhsSteps[i];
    }
    double floatSum = 0;
    uint64_t intSum = 0;
    forEachPosition(
        ArrayRef(sizes).drop_front(outer), [&](ArrayRef<int64_t> q) {
          int64_t l = left, r = right;
          for (auto [i, at] : llvm::enumerate(q)) {
            l += at * lhsSteps[outer + i];
            r += at * rhsSteps[outer + i];
          }
          if (lhs.isFloat())
            floatSum += lhs.getFloat(l) * rhs.getFloat(r);
          else
            intSum += uint64_t(lhs.getInt(l)) * uint64_t(rhs.getInt(r));
        });
    lhs.isFloat() ? result.setFloat(index, floatSum)
                  : result.setInt(index, static_cast<int64_t>(intSum));
    ++index;
  });
}

std::optional<HostTensor>
pplan::import::evaluateReduction(Operation *op,
                                 ArrayRef<const HostTensor *> operands) {
  HostTensor result(getTensorType(op->getResult(0)));
  bool done =
      TypeSwitch<Operation *, bool>(op)
          .Case([&](ReduceOp reduce) {
            return evaluate(reduce, *operands[0], result);
          })
          .Case<ArgReduceOp, CumSumOp>([&](auto along) {
            return evaluate(along, *operands[0], result), true;
          })
          .Case([&](ContractOp contract) {
            return evaluate(contract, *operands[0], *operands[1], result), true;
          })
          .Default(false);
  return done ? std::optional<HostTensor>(std::move(result)) : std::nullopt;
}
