//===- Attention.cpp - Reference of attention and its gradient ------------===//
//
// By the textbook: scores, their softmax, and the chain rule.
//
//===----------------------------------------------------------------------===//
#include "Evaluate.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace pplan;

static constexpr double kMinusInfinity =
    -std::numeric_limits<double>::infinity();

namespace {
/// The probabilities of attention, whole: [b, h, t, s].
class Probabilities {
public:
  template <typename OpT>
  Probabilities(OpT op, const HostTensor &query, const HostTensor &key,
                const HostTensor *mask)
      : layouts(op.getLayouts()), query(query), key(key), mask(mask),
        keeps(mask && getTensorType(op.getMask()).getElementType().isInteger(1)),
        isCausal(op.getCausal()), scale(op.getScale().convertToDouble()) {
    auto size = [&](unsigned tensor, const HostTensor &of, char letter) {
      return of.shape[getDim(tensor, letter)];
    };
    batch = size(0, query, 'b');
    heads = size(0, query, 'h');
    queries = size(0, query, 't');
    width = size(0, query, 'd');
    keys = size(1, key, 't');
    groupSize = heads / size(1, key, 'h');
    values = HostTensor({batch, heads, queries, keys});
    forEachIndex({batch, heads, queries},
                 [&](ArrayRef<int64_t> row) { fillRow(row); });
  }

  int64_t getDim(unsigned tensor, char letter) const {
    return cast<StringAttr>(layouts[tensor]).getValue().find(letter);
  }
  SmallVector<int64_t> place(unsigned tensor, int64_t b, int64_t h, int64_t t,
                             int64_t d) const {
    SmallVector<int64_t> index(4);
    index[getDim(tensor, 'b')] = b;
    index[getDim(tensor, 'h')] = h;
    index[getDim(tensor, 't')] = t;
    index[getDim(tensor, 'd')] = d;
    return index;
  }

  HostTensor values;
  int64_t batch, heads, queries, keys, width, groupSize;

private:
  double getScore(int64_t b, int64_t h, int64_t t, int64_t s) {
    if (isCausal && s > t + keys - queries)
      return kMinusInfinity;
    double score = 0;
    for (int64_t d = 0; d < width; ++d)
      score += query.at(place(0, b, h, t, d)) *
               key.at(place(1, b, h / groupSize, s, d));
    score *= scale;
    if (!mask)
      return score;
    SmallVector<int64_t> index = {b, h, t, s};
    for (int i = 0; i < 4; ++i)
      if (mask->shape[i] == 1)
        index[i] = 0;
    double value = mask->at(index);
    if (keeps)
      return value != 0 ? score : kMinusInfinity;
    return score + value;
  }

  /// A row that sees no key is zero.
  void fillRow(ArrayRef<int64_t> row) {
    std::vector<double> scores(keys);
    double top = kMinusInfinity, sum = 0;
    for (int64_t s = 0; s < keys; ++s)
      top = std::max(top, scores[s] = getScore(row[0], row[1], row[2], s));
    for (double &score : scores)
      sum += score = top == kMinusInfinity ? 0 : std::exp(score - top);
    for (int64_t s = 0; s < keys; ++s)
      values.at({row[0], row[1], row[2], s}) =
          sum > 0 || std::isnan(sum) ? scores[s] / sum : 0;
  }

  ArrayAttr layouts;
  const HostTensor &query, &key;
  const HostTensor *mask;
  bool keeps, isCausal;
  double scale;
};
} // namespace

HostTensor pplan::evaluateAttention(AttentionOp op, HostOperands operands) {
  const HostTensor *mask = op.getMask() ? operands[3] : nullptr;
  Probabilities p(op, *operands[0], *operands[1], mask);
  HostTensor result(op.getType().getShape());
  int64_t depth = op.getDimSize(2, 'd');
  forEachIndex({p.batch, p.heads, p.queries, depth},
               [&](ArrayRef<int64_t> i) {
                 double value = 0;
                 for (int64_t s = 0; s < p.keys; ++s) {
                   double weight = p.values.at({i[0], i[1], i[2], s});
                   if (weight != 0)
                     value += weight * operands[2]->at(p.place(
                                           2, i[0], i[1] / p.groupSize, s,
                                           i[3]));
                 }
                 result.at(p.place(3, i[0], i[1], i[2], i[3])) = value;
               });
  return result;
}

std::vector<HostTensor>
pplan::evaluateAttentionBackward(AttentionBackwardOp op,
                                 HostOperands operands) {
  const HostTensor *mask = op.getMask() ? operands[3] : nullptr;
  const HostTensor &query = *operands[0], &key = *operands[1],
                   &value = *operands[2], &gradient = *operands.back();
  Probabilities p(op, query, key, mask);
  double scale = op.getScale().convertToDouble();
  HostTensor dq(query.shape), dk(key.shape), dv(value.shape);
  int64_t depth = value.shape[p.getDim(2, 'd')];
  forEachIndex({p.batch, p.heads, p.queries}, [&](ArrayRef<int64_t> row) {
    int64_t b = row[0], h = row[1], t = row[2], g = h / p.groupSize;
    std::vector<double> slopes(p.keys); // of the loss by each probability
    double mean = 0;
    for (int64_t s = 0; s < p.keys; ++s) {
      double weight = p.values.at({b, h, t, s});
      if (weight == 0)
        continue;
      for (int64_t e = 0; e < depth; ++e) {
        double above = gradient.at(p.place(3, b, h, t, e));
        slopes[s] += above * value.at(p.place(2, b, g, s, e));
        dv.at(p.place(2, b, g, s, e)) += weight * above;
      }
      mean += weight * slopes[s];
    }
    for (int64_t s = 0; s < p.keys; ++s) {
      double weight = p.values.at({b, h, t, s});
      if (weight == 0)
        continue;
      double slope = weight * (slopes[s] - mean) * scale;
      for (int64_t d = 0; d < p.width; ++d) {
        dq.at(p.place(0, b, h, t, d)) += slope * key.at(p.place(1, b, g, s, d));
        dk.at(p.place(1, b, g, s, d)) +=
            slope * query.at(p.place(0, b, h, t, d));
      }
    }
  });
  return {dq, dk, dv};
}
