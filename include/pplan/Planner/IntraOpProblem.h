//===- IntraOpProblem.h - Choose a strategy for every node ------*- C++ -*-===//
//
// Decides what an intra-operator problem is, when it is well formed (check)
// and when a solution of it is right (verify). How one is read from text is
// left to IntraOpFormat.h, how one is solved to Solver.h, and how one is built
// from IR to the users of this class.
//
// The problem, with the names used throughout (docs/Planner has the maths):
//
//   minimise   sum_i cost_i[x_i] + sum_(i,j) cost_ij[x_i][x_j]
//   subject to sum over the usages alive at t of usage[x_i] <= limit, every t
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PLANNER_INTRAOPPROBLEM_H
#define PPLAN_PLANNER_INTRAOPPROBLEM_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace pplan {

/// The cost of a forbidden strategy or a forbidden pair of strategies.
inline constexpr double kInfiniteCost = std::numeric_limits<double>::infinity();

/// What a node keeps in memory while it is alive: `bytes[s]` under strategy
/// `s`, at every time t with start <= t < end. An empty interval uses nothing.
struct NodeUsage {
  int64_t start = 0;
  int64_t end = 0;
  std::vector<int64_t> bytes;
};

/// A solution, and what is known about how good it is.
struct IntraOpSolution {
  enum class Status {
    Optimal,         ///< `objective` is proven minimal
    Feasible,        ///< valid; the optimum lies in [lowerBound, objective]
    Infeasible,      ///< proven: no choice is finite and within the limit
    NoFeasibleFound, ///< none found before the budget ended; none excluded
  };
  Status status = Status::NoFeasibleFound;
  /// The strategy of each node; empty when no feasible choice is known.
  std::vector<unsigned> choice;
  /// Total cost of `choice`; infinite when there is none.
  double objective = kInfiniteCost;
  /// No solution costs less than this; infinite when infeasible.
  double lowerBound = -kInfiniteCost;
  /// Which algorithm answered, in words, and anything worth telling of how.
  std::string algorithm;
  /// Wall-clock seconds that the algorithm took.
  double seconds = 0;

  bool hasChoice() const {
    return status == Status::Optimal || status == Status::Feasible;
  }
  /// (objective - lowerBound) / |objective|; 0 when optimal, infinite when no
  /// choice or no bound is known.
  double gap() const;
};

/// "optimal", "feasible", "infeasible", "no feasible solution found".
llvm::StringRef stringifyStatus(IntraOpSolution::Status status);

/// Nodes with strategies, edges with cost matrices, a limit on usage.
class IntraOpProblem {
public:
  struct Node {
    std::string name;
    /// Cost of each strategy, in seconds (any unit, as long as it is one).
    /// Infinite forbids the strategy.
    std::vector<double> costs;
    /// What the node keeps in memory and when; most nodes have one entry.
    std::vector<NodeUsage> usages;
    /// Names of the strategies, for people; empty or one for each cost.
    std::vector<std::string> strategies;

    unsigned size() const { return static_cast<unsigned>(costs.size()); }
  };

  /// A cost for each pair of strategies of two different nodes: row-major,
  /// `costs[a * size(second) + b]`. Infinite forbids the pair. Several edges
  /// between the same two nodes add up.
  struct Edge {
    unsigned first = 0;
    unsigned second = 0;
    std::vector<double> costs;
  };

  std::string name;

  /// Adds a node and returns its index.
  unsigned addNode(std::string name, std::vector<double> costs,
                   std::vector<std::string> strategies = {});
  /// States that `node` keeps `bytes[s]` in [start, end).
  void addUsage(unsigned node, int64_t start, int64_t end,
                std::vector<int64_t> bytes);
  /// Adds an edge and returns its index.
  unsigned addEdge(unsigned first, unsigned second, std::vector<double> costs);

  /// Bytes that may be alive at any one time; none: no limit.
  std::optional<int64_t> usageLimit;

  llvm::ArrayRef<Node> getNodes() const { return nodes; }
  llvm::ArrayRef<Edge> getEdges() const { return edges; }
  const Node &getNode(unsigned i) const { return nodes[i]; }
  Node &getNode(unsigned i) { return nodes[i]; }
  unsigned getNumNodes() const { return static_cast<unsigned>(nodes.size()); }

  /// Whether the data is well formed: every node has a strategy, matrices and
  /// usage vectors have the right sizes, ends exist and differ, no cost is NaN
  /// or minus infinity, usages and limit are not negative and do not overflow
  /// when summed. The error names the node or edge and the offending values.
  llvm::Error check() const;

  /// Total cost of a choice (infinite when it uses a forbidden entry). The
  /// choice must have one strategy in range for each node.
  double evaluate(llvm::ArrayRef<unsigned> choice) const;

  /// The largest usage over time under `choice`, in bytes, and the first time
  /// at which it is reached (0 and 0 without usages).
  struct Peak {
    int64_t bytes = 0;
    int64_t time = 0;
  };
  Peak peakUsage(llvm::ArrayRef<unsigned> choice) const;

  /// Whether `solution` is right for this problem: choice complete and in
  /// range, cost finite, objective as stated, limit kept at every time, lower
  /// bound not above the objective, and equal to it when it says optimal. The
  /// error says what is wrong and by how much.
  llvm::Error verify(const IntraOpSolution &solution) const;

private:
  std::vector<Node> nodes;
  std::vector<Edge> edges;
};

/// Relative tolerance with which two costs count as equal: sums of the same
/// terms in different orders differ by rounding only.
inline constexpr double kCostTolerance = 1e-9;

} // namespace pplan

#endif // PPLAN_PLANNER_INTRAOPPROBLEM_H
