//===- Elimination.cpp - Exact minimisation of narrow models --------------===//
//
// Decides how the tables of an elimination are laid out and walked. Each walk
// goes over rows: all strategies of the scope's last variable at once, so that
// the inner loops are those of MinPlus.h. The order is decided by
// EliminationOrder.cpp.
//
//===----------------------------------------------------------------------===//
#include "Elimination.h"
#include "MinPlus.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>

using namespace pplan;
using llvm::ArrayRef;

Elimination::Elimination(const WorkModel &model, EliminationOrder order)
    : model(model), bucketOf(model.getNumVars(), ~0u) {
  buckets.resize(order.order.size());
  for (unsigned b = 0; b < buckets.size(); ++b) {
    buckets[b].var = order.order[b];
    buckets[b].scope = std::move(order.scopes[b]);
    bucketOf[buckets[b].var] = b;
    // The variable with the most strategies makes the longest rows.
    llvm::sort(buckets[b].scope, [&](unsigned x, unsigned y) {
      return std::make_pair(model.sizeOf(x), x) <
             std::make_pair(model.sizeOf(y), y);
    });
  }
  for (unsigned b = 0; b < buckets.size(); ++b) {
    for (auto [other, edge] : model.vars[buckets[b].var].edges)
      if (bucketOf[other] > b)
        buckets[b].edges.push_back(edge);
    unsigned parent = ~0u;
    for (unsigned other : buckets[b].scope)
      parent = std::min(parent, bucketOf[other]);
    if (parent != ~0u)
      buckets[parent].children.push_back(b);
  }
}

size_t Elimination::messageSize(const Bucket &bucket) const {
  size_t size = 1;
  for (unsigned v : bucket.scope)
    size *= model.sizeOf(v);
  return size;
}

/// Sets up the table `data` over `vars` (row-major) as a factor of `bucket`.
void Elimination::makeFactor(const Bucket &bucket, ArrayRef<unsigned> vars,
                             const double *data, Factor &factor) const {
  llvm::SmallVector<size_t, 8> stride(vars.size());
  size_t size = 1;
  for (size_t i = vars.size(); i-- > 0;) {
    stride[i] = size;
    size *= model.sizeOf(vars[i]);
  }
  auto strideOf = [&](unsigned v) -> size_t {
    auto it = llvm::find(vars, v);
    return it == vars.end() ? 0 : stride[it - vars.begin()];
  };
  factor.data = data;
  factor.strideVar = strideOf(bucket.var);
  for (unsigned v : bucket.scope)
    factor.strideScope.push_back(strideOf(v));
  if (bucket.scope.empty() || factor.strideScope.back() <= 1)
    return;
  // The row's variable is not innermost: copy the table with it there.
  size_t rowStride = factor.strideScope.back();
  size_t row = model.sizeOf(bucket.scope.back());
  size_t block = rowStride * row;
  factor.copy.resize(size);
  for (size_t outer = 0; outer < size; outer += block)
    for (size_t inner = 0; inner < rowStride; ++inner)
      for (size_t r = 0; r < row; ++r)
        factor.copy[outer + inner * row + r] =
            data[outer + r * rowStride + inner];
  factor.data = factor.copy.data();
  auto restride = [&](size_t &s) {
    if (s != 0 && s < rowStride)
      s *= row;
  };
  restride(factor.strideVar);
  for (size_t &s : factor.strideScope)
    restride(s);
  factor.strideScope.back() = 1;
}

std::vector<Elimination::Factor>
Elimination::makeFactors(const Bucket &bucket) const {
  std::vector<Factor> factors;
  factors.reserve(bucket.edges.size() + bucket.children.size());
  for (unsigned number : bucket.edges) {
    const WorkModel::Edge &edge = model.edges[number];
    makeFactor(bucket, {edge.first, edge.second}, edge.costs.data(),
               factors.emplace_back());
  }
  for (unsigned child : bucket.children) {
    makeFactor(bucket, buckets[child].scope, buckets[child].message.data(),
               factors.emplace_back());
    factors.back().child = static_cast<int>(child);
  }
  return factors;
}

/// Walks the joint table of a bucket row by row and calls fn(strategy of the
/// variable, index of the row in a table over the scope, offsets of the row in
/// the factors, sum of what does not depend on the row, rows to add to it).
/// Rows with an infinite sum are skipped. False: time was up.
template <typename Fn>
bool Elimination::forEachRow(const Bucket &bucket, ArrayRef<Factor> factors,
                             ArrayRef<double> own, const Deadline &deadline,
                             Fn fn) const {
  size_t outerVars = bucket.scope.empty() ? 0 : bucket.scope.size() - 1;
  size_t row = bucket.scope.empty() ? 1 : model.sizeOf(bucket.scope.back());
  llvm::SmallVector<unsigned, 8> counter(outerVars, 0);
  llvm::SmallVector<size_t, 8> base(factors.size(), 0), at(factors.size());
  llvm::SmallVector<const double *, 8> rows;
  size_t done = 0;
  for (size_t index = 0;; index += row) {
    for (unsigned s = 0; s < own.size(); ++s) {
      double sum = own[s];
      rows.clear();
      for (size_t f = 0; f < factors.size(); ++f) {
        at[f] = base[f] + s * factors[f].strideVar;
        if (!bucket.scope.empty() && factors[f].strideScope.back())
          rows.push_back(factors[f].data + at[f]);
        else
          sum += factors[f].data[at[f]];
      }
      if (sum < kInfiniteCost)
        fn(s, index, at, sum, rows);
    }
    done += own.size() * row;
    if (done > 50'000'000) {
      done = 0;
      if (deadline.passed())
        return false;
    }
    // The next assignment of the outer variables, the last one fastest.
    size_t v = outerVars;
    while (v > 0) {
      --v;
      bool wraps = ++counter[v] == model.sizeOf(bucket.scope[v]);
      for (size_t f = 0; f < factors.size(); ++f) {
        size_t stride = factors[f].strideScope[v];
        base[f] += stride;
        if (wraps)
          base[f] -= stride * counter[v];
      }
      if (!wraps)
        break;
      counter[v] = 0;
      if (v == 0)
        return true;
    }
    if (outerVars == 0)
      return true;
  }
}

bool Elimination::sendUp(Bucket &bucket, const Deadline &deadline) {
  std::vector<Factor> factors = makeFactors(bucket);
  size_t row = bucket.scope.empty() ? 1 : model.sizeOf(bucket.scope.back());
  bucket.message.assign(messageSize(bucket), kInfiniteCost);
  std::vector<double> buffer(row);
  return forEachRow(bucket, factors, unary[bucket.var], deadline,
                    [&](unsigned, size_t index, ArrayRef<size_t>, double sum,
                        ArrayRef<const double *> rows) {
                      double *out = bucket.message.data() + index;
                      switch (rows.size()) {
                      case 0:
                        for (size_t r = 0; r < row; ++r)
                          out[r] = std::min(out[r], sum);
                        return;
                      case 1:
                        minPlusRow(out, rows[0], sum, row);
                        return;
                      case 2:
                        minPlusRow(out, rows[0], rows[1], sum, row);
                        return;
                      default:
                        setRow(buffer.data(), rows[0], sum, row);
                        for (const double *next : rows.drop_front(2))
                          addRow(buffer.data(), next, row);
                        minPlusRow(out, rows[1], buffer.data(), 0.0, row);
                      }
                    });
}

bool Elimination::run(ArrayRef<std::vector<double>> costs,
                      const Deadline &deadline) {
  unary = costs;
  minimum = 0;
  for (Bucket &bucket : buckets) {
    if (!sendUp(bucket, deadline))
      return false;
    if (bucket.scope.empty())
      minimum += bucket.message[0];
  }
  return true;
}

std::vector<unsigned> Elimination::decode() const {
  std::vector<unsigned> choice(model.getNumVars(), 0);
  for (const Bucket &bucket : llvm::reverse(buckets)) {
    std::vector<double> costs(unary[bucket.var]);
    for (unsigned number : bucket.edges) {
      const WorkModel::Edge &edge = model.edges[number];
      unsigned other = edge.first == bucket.var ? edge.second : edge.first;
      for (unsigned s = 0; s < costs.size(); ++s)
        costs[s] += model.pairCost(edge, bucket.var, s, choice[other]);
    }
    for (unsigned child : bucket.children) {
      size_t index = 0, own = 0;
      for (unsigned v : buckets[child].scope) {
        index = index * model.sizeOf(v) + (v == bucket.var ? 0 : choice[v]);
        own = own * model.sizeOf(v) + (v == bucket.var ? 1 : 0);
      }
      for (unsigned s = 0; s < costs.size(); ++s)
        costs[s] += buckets[child].message[index + s * own];
    }
    choice[bucket.var] =
        static_cast<unsigned>(llvm::min_element(costs) - costs.begin());
  }
  return choice;
}

/// Completes the joint table of a bucket with what comes from above, takes the
/// marginal of its variable from it, and minimises it onto each child's scope.
/// What the child itself sent is subtracted afterwards: over the child's scope
/// it is constant.
bool Elimination::sendDown(unsigned number, std::vector<double> &marginal,
                           const Deadline &deadline) {
  Bucket &bucket = buckets[number];
  std::vector<Factor> factors = makeFactors(bucket);
  size_t row = bucket.scope.empty() ? 1 : model.sizeOf(bucket.scope.back());
  // Tables towards the children, in the layouts of their factors.
  std::vector<std::vector<double>> sums(factors.size());
  for (size_t f = 0; f < factors.size(); ++f)
    if (factors[f].child >= 0)
      sums[f].assign(buckets[factors[f].child].message.size(), kInfiniteCost);
  marginal.assign(model.sizeOf(bucket.var), kInfiniteCost);
  std::vector<double> joint(row);
  bool ok =
      forEachRow(bucket, factors, unary[bucket.var], deadline,
                 [&](unsigned s, size_t index, ArrayRef<size_t> at, double sum,
                     ArrayRef<const double *> rows) {
                   setRow(joint.data(), bucket.down.data() + index, sum, row);
                   for (const double *next : rows)
                     addRow(joint.data(), next, row);
                   double least = minOfRow(joint.data(), row);
                   marginal[s] = std::min(marginal[s], least);
                   for (size_t f = 0; f < factors.size(); ++f) {
                     if (factors[f].child < 0)
                       continue;
                     double *out = sums[f].data() + at[f];
                     if (!bucket.scope.empty() && factors[f].strideScope.back())
                       minRow(out, joint.data(), row);
                     else
                       *out = std::min(*out, least);
                   }
                 });
  if (!ok)
    return false;
  for (size_t f = 0; f < factors.size(); ++f) {
    if (factors[f].child < 0)
      continue;
    Bucket &child = buckets[factors[f].child];
    child.down.assign(child.message.size(), kInfiniteCost);
    // The factor's strides lead from the child's layout to that of the sums.
    llvm::SmallVector<size_t, 8> stride;
    for (unsigned v : child.scope)
      stride.push_back(
          v == bucket.var ? factors[f].strideVar
                          : factors[f].strideScope[llvm::find(bucket.scope, v) -
                                                   bucket.scope.begin()]);
    llvm::SmallVector<unsigned, 8> counter(child.scope.size(), 0);
    size_t at = 0;
    for (size_t i = 0; i < child.down.size(); ++i) {
      double sent = child.message[i];
      child.down[i] = sent < kInfiniteCost ? sums[f][at] - sent : kInfiniteCost;
      for (size_t v = counter.size(); v-- > 0;) {
        at += stride[v];
        if (++counter[v] < model.sizeOf(child.scope[v]))
          break;
        at -= stride[v] * counter[v];
        counter[v] = 0;
      }
    }
  }
  std::vector<double>().swap(bucket.down);
  return true;
}

bool Elimination::marginals(std::vector<std::vector<double>> &result,
                            const Deadline &deadline) {
  result.assign(model.getNumVars(), {});
  for (Bucket &bucket : buckets)
    if (bucket.scope.empty())
      bucket.down.assign(1, minimum - bucket.message[0]);
  for (unsigned b = buckets.size(); b-- > 0;)
    if (!sendDown(b, result[buckets[b].var], deadline))
      return false;
  for (unsigned v = 0; v < model.getNumVars(); ++v)
    if (!model.vars[v].alive)
      result[v] = {minimum};
  return true;
}
