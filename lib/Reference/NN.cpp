//===- NN.cpp - Reference of contractions, reductions, normalisations -----===//
//
// By the textbook, element by element.
//
//===----------------------------------------------------------------------===//
#include "Evaluate.h"
#include "pplan/Partition/Neutral.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace pplan;

using Index = ArrayRef<int64_t>;

double pplan::combine(ReductionKind kind, double a, double b) {
  if (kind == ReductionKind::Sum)
    return a + b;
  if (kind == ReductionKind::Prod)
    return a * b;
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return kind == ReductionKind::Max ? std::max(a, b) : std::min(a, b);
}

double pplan::getNeutral(ReductionKind kind, Type element) {
  TypedAttr attr = getNeutralElement(kind, element);
  if (auto number = dyn_cast_or_null<FloatAttr>(attr))
    return number.getValueAsDouble();
  auto integer = dyn_cast_or_null<IntegerAttr>(attr);
  return integer ? integer.getValue().roundToDouble(
                       !element.isUnsignedInteger() && !element.isInteger(1))
                 : 0;
}

static HostTensor evaluateContract(ContractOp op, HostOperands operands) {
  std::map<char, int64_t> sizes;
  StringRef letters[] = {op.getLhsLetters(), op.getRhsLetters(),
                         op.getResultLetters()};
  for (int i = 0; i < 2; ++i)
    for (auto [dim, letter] : llvm::enumerate(letters[i]))
      sizes[letter] = operands[i]->shape[dim];
  std::string space = letters[2].str();
  for (auto [letter, size] : sizes)
    if (!letters[2].contains(letter))
      space += letter;
  SmallVector<int64_t> extent;
  for (char letter : space)
    extent.push_back(sizes[letter]);
  HostTensor result(op.getType().getShape());
  forEachIndex(extent, [&](Index point) {
    auto pick = [&](StringRef names) {
      SmallVector<int64_t> index;
      for (char letter : names)
        index.push_back(point[space.find(letter)]);
      return index;
    };
    result.at(pick(letters[2])) +=
        operands[0]->at(pick(letters[0])) * operands[1]->at(pick(letters[1]));
  });
  return result;
}

static HostTensor evaluateReduce(ReduceOp op, HostOperands operands) {
  HostTensor result(op.getType().getShape(),
                    getNeutral(op.getKind(), op.getType().getElementType()));
  forEachIndex(operands[0]->shape, [&](Index index) {
    SmallVector<int64_t> to;
    for (auto [dim, i] : llvm::enumerate(index))
      if (!llvm::is_contained(op.getDims(), static_cast<int64_t>(dim)))
        to.push_back(i);
    double &place = result.at(to);
    place = combine(op.getKind(), place, operands[0]->at(index));
  });
  return result;
}

/// Calls `visit` with the elements of each row along `dim`, by reference to
/// their places.
template <typename Fn>
static void forEachRow(ArrayRef<int64_t> shape, int64_t dim, Fn visit) {
  SmallVector<int64_t> outer(shape);
  outer[dim] = 1;
  int64_t stride = 1;
  for (size_t i = dim + 1; i < shape.size(); ++i)
    stride *= shape[i];
  HostTensor places;
  places.shape.assign(shape.begin(), shape.end());
  forEachIndex(outer, [&](Index index) {
    std::vector<int64_t> row;
    int64_t start = places.getOffset(index);
    for (int64_t i = 0; i < shape[dim]; ++i)
      row.push_back(start + i * stride);
    visit(row);
  });
}

static HostTensor evaluateArgReduce(ArgReduceOp op, HostOperands operands) {
  HostTensor result(op.getType().getShape());
  int64_t place = 0;
  bool isMax = op.getKind() == ReductionKind::Max;
  forEachRow(operands[0]->shape, op.getDim(), [&](ArrayRef<int64_t> row) {
    size_t best = 0;
    for (size_t i = 1; i < row.size(); ++i) {
      double value = operands[0]->data[row[i]],
             top = operands[0]->data[row[best]];
      if (isMax ? value > top : value < top)
        best = i;
    }
    result.data[place++] = static_cast<double>(best);
  });
  return result;
}

static HostTensor evaluateCumSum(CumSumOp op, HostOperands operands) {
  HostTensor result = *operands[0];
  forEachRow(result.shape, op.getDim(), [&](std::vector<int64_t> row) {
    if (op.getReverse())
      std::reverse(row.begin(), row.end());
    double sum = 0;
    for (int64_t place : row) {
      double value = operands[0]->data[place];
      result.data[place] = op.getExclusive() ? sum : sum + value;
      sum += value;
    }
  });
  return result;
}

static HostTensor evaluateSoftmax(SoftmaxOp op, HostOperands operands) {
  HostTensor result = *operands[0];
  forEachRow(result.shape, op.getDim(), [&](ArrayRef<int64_t> row) {
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t place : row)
      top = std::max(top, result.data[place]);
    for (int64_t place : row)
      sum += std::exp(result.data[place] - top);
    for (int64_t place : row) {
      double shifted = result.data[place] - top;
      result.data[place] =
          op.getLog() ? shifted - std::log(sum) : std::exp(shifted) / sum;
    }
  });
  return result;
}

/// Layer normalisation, or without the mean the root mean square one.
static HostTensor normalise(const HostTensor &input, int64_t numDims,
                            double epsilon, bool centre,
                            const HostTensor *scale, const HostTensor *bias) {
  HostTensor result = input;
  int64_t row = 1;
  for (int64_t size : ArrayRef(input.shape).take_back(numDims))
    row *= size;
  for (int64_t start = 0; row > 0 && start < input.size(); start += row) {
    double mean = 0, square = 0;
    for (int64_t i = 0; centre && i < row; ++i)
      mean += input.data[start + i] / row;
    for (int64_t i = 0; i < row; ++i)
      square += std::pow(input.data[start + i] - mean, 2) / row;
    for (int64_t i = 0; i < row; ++i) {
      double value =
          (input.data[start + i] - mean) / std::sqrt(square + epsilon);
      result.data[start + i] =
          value * (scale ? scale->data[i] : 1) + (bias ? bias->data[i] : 0);
    }
  }
  return result;
}

static HostTensor evaluateLayerNorm(LayerNormOp op, HostOperands operands) {
  const HostTensor *scale = op.getScale() ? operands[1] : nullptr;
  const HostTensor *bias = op.getBias() ? operands.back() : nullptr;
  return normalise(*operands[0], op.getNumDims(),
                   op.getEpsilon().convertToDouble(), true, scale, bias);
}

std::optional<HostTensor> pplan::evaluateNN(Operation *op,
                                            HostOperands operands) {
  if (auto contract = dyn_cast<ContractOp>(op))
    return evaluateContract(contract, operands);
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return evaluateReduce(reduce, operands);
  if (auto reduce = dyn_cast<ArgReduceOp>(op))
    return evaluateArgReduce(reduce, operands);
  if (auto sum = dyn_cast<CumSumOp>(op))
    return evaluateCumSum(sum, operands);
  if (auto softmax = dyn_cast<SoftmaxOp>(op))
    return evaluateSoftmax(softmax, operands);
  if (auto norm = dyn_cast<LayerNormOp>(op))
    return evaluateLayerNorm(norm, operands);
  if (auto norm = dyn_cast<RMSNormOp>(op))
    return normalise(*operands[0], norm.getNumDims(),
                     norm.getEpsilon().convertToDouble(), false,
                     norm.getScale() ? operands[1] : nullptr, nullptr);
  if (auto attention = dyn_cast<AttentionOp>(op))
    return evaluateAttention(attention, operands);
  return std::nullopt;
}
