//===- ShardingRule.h - Factors, shardings as data, projections -*- C++ -*-===//
//
// Decides what a sharding rule is, how a tensor's sharding is represented
// while passes compute with it, and how the one is projected onto the other.
// Which sharding is good is decided by the planner; how one is carried out, by
// the partitioner.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_DIALECT_PPLAN_SHARDINGRULE_H
#define PPLAN_DIALECT_PPLAN_SHARDINGRULE_H

#include "pplan/Dialect/PPlan/PPlanAttrs.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace pplan {

/// What a factor (a named loop dimension of an operation) allows.
enum class FactorKind {
  Parallel,   ///< splits operands and results alike; a result that lacks the
              ///< factor becomes partial with the combiner
  Reduction,  ///< splits operands; results become partial with the combiner
  Replicated, ///< cannot be split; every device has it whole
};

/// One factor of an operation.
struct Factor {
  int64_t size;
  FactorKind kind;
  ReductionKind combiner = ReductionKind::Sum;
};

/// Indices of the factors that make up one dimension, major to minor. Empty
/// for a dimension of size 1 that no factor splits (a broadcast dimension).
using DimFactors = llvm::SmallVector<int, 2>;
/// One DimFactors per dimension of a tensor.
using TensorFactors = llvm::SmallVector<DimFactors, 4>;

/// The sharding rule of an operation: for each operand and result dimension
/// the factors it is made of. The product of a dimension's factor sizes is its
/// size.
struct ShardingRule {
  llvm::SmallVector<Factor, 6> factors;
  llvm::SmallVector<TensorFactors, 3> operands;
  llvm::SmallVector<TensorFactors, 1> results;

  int addFactor(int64_t size, FactorKind kind,
                ReductionKind combiner = ReductionKind::Sum) {
    factors.push_back({size, kind, combiner});
    return factors.size() - 1;
  }
  /// True when some result is a sum (or maximum, ...) over the factor: it is a
  /// reduction, or the result lacks it. What pads it must then be neutral.
  bool isReduced(int factor) const;
  /// Number of points of the iteration space.
  double getNumPoints() const;
};

/// Axes (indices into the mesh) that split something, major to minor.
using AxisList = llvm::SmallVector<int8_t, 2>;

/// A mesh as plain data: axis sizes by index.
struct DeviceMesh {
  llvm::SmallVector<int64_t, 4> sizes;

  int64_t getNumDevices() const;
  /// Number of parts that the axes make.
  int64_t getProduct(llvm::ArrayRef<int8_t> axes) const;
  static DeviceMesh get(MeshAttr mesh);
};

/// A complete sharding as plain data: what `#pplan.sharding` says, with axes as
/// indices into the mesh. Comparable and hashable by value.
struct TensorSharding {
  llvm::SmallVector<AxisList, 4> dims;
  AxisList partial; ///< sorted
  ReductionKind partialKind = ReductionKind::Sum;

  static TensorSharding getReplicated(unsigned rank);
  bool isReplicated() const;
  bool operator==(const TensorSharding &other) const;
  bool operator!=(const TensorSharding &other) const {
    return !(*this == other);
  }
  bool operator<(const TensorSharding &other) const;
  /// Bit mask of the axes that split a dimension or are partial.
  uint32_t getAxisMask() const;

  /// The attribute; axis names come from `meshAttr`.
  ShardingAttr toAttr(mlir::FlatSymbolRefAttr mesh, MeshAttr meshAttr) const;
  /// The sharding an attribute describes (open dimensions are taken as they
  /// are; axes of one device, which split nothing, are left out). The attribute
  /// must have been verified against the mesh.
  static TensorSharding get(ShardingAttr attr, MeshAttr meshAttr);
  /// For messages: `[{"data"}, {}]`.
  std::string str(MeshAttr meshAttr) const;
};

/// Size of the part of a dimension of size `n` on one device: nested ceiling
/// division over the axes, the contract of `#pplan.sharding`.
int64_t getLocalSize(int64_t n, llvm::ArrayRef<int8_t> axes,
                     const DeviceMesh &mesh);
/// True when no part of a dimension of size `n` is padded.
bool isEvenlySplit(int64_t n, llvm::ArrayRef<int8_t> axes,
                   const DeviceMesh &mesh);
/// Local shape of a tensor.
llvm::SmallVector<int64_t> getLocalShape(llvm::ArrayRef<int64_t> shape,
                                         const TensorSharding &sharding,
                                         const DeviceMesh &mesh);
/// Offset and valid length of the part of a dimension of size `n` that the
/// device with the given coordinates (one per mesh axis) holds.
struct ShardRange {
  int64_t offset;
  int64_t length;
};
ShardRange getShardRange(int64_t n, llvm::ArrayRef<int8_t> axes,
                         const DeviceMesh &mesh,
                         llvm::ArrayRef<int64_t> coordinates);

/// Axes of each factor of an operation.
using FactorAxes = llvm::SmallVector<AxisList, 6>;

/// Sharding of a tensor whose dimensions are made of `dims`, when the factors
/// are split over `axes`. None when a dimension cannot express it: a minor
/// factor can be split only if every factor before it is split to size 1
/// evenly, and a factor followed by others (of size > 1) only evenly.
std::optional<TensorSharding>
projectFactors(const ShardingRule &rule, const TensorFactors &dims,
               const FactorAxes &axes, const DeviceMesh &mesh);

/// The reverse for one tensor: the axes of the factors that its sharding
/// implies (partial axes are ignored). None when the dimension's axes do not
/// fall on factors. Entries of factors the tensor lacks are empty.
std::optional<FactorAxes> inferFactorAxes(const ShardingRule &rule,
                                          const TensorFactors &dims,
                                          const TensorSharding &sharding,
                                          const DeviceMesh &mesh);

/// Sharding of the result: projectFactors plus the partial axes that the split
/// factors it lacks leave.
std::optional<TensorSharding>
projectResult(const ShardingRule &rule, unsigned resultIndex,
              const FactorAxes &axes, const DeviceMesh &mesh);

/// Axes of each factor when the operation runs with exactly these operand and
/// result shardings, without any communication. None when they do not fit
/// together; `why` then says where. Partial sums in operands are accepted if
/// the operation passes them on and the result is partial likewise.
std::optional<FactorAxes>
getCompatibleFactorAxes(mlir::Operation *op, const ShardingRule &rule,
                        llvm::ArrayRef<TensorSharding> operands,
                        llvm::ArrayRef<TensorSharding> results,
                        const DeviceMesh &mesh, std::string *why = nullptr);

/// Identity rule of an elementwise operation: all operands and results have
/// the same shape; one parallel factor per dimension of size > 1.
ShardingRule getElementwiseRule(mlir::Operation *op);

/// What the partitioner lends to `ShardableOpInterface::partition`.
class PartitionContext {
public:
  virtual ~PartitionContext() = default;
  /// Axes of each factor in this operation's rule.
  virtual const FactorAxes &getFactorAxes() const = 0;
  virtual const DeviceMesh &getMesh() const = 0;
  /// A `tensor<i64>` that holds the global index of the first element of this
  /// device's part of a dimension of size `n` split over `axes`.
  virtual mlir::Value getShardOffset(mlir::OpBuilder &builder,
                                     mlir::Location loc, int64_t n,
                                     llvm::ArrayRef<int8_t> axes) = 0;
  /// This device's part of a replicated value.
  virtual mlir::Value sliceShard(mlir::OpBuilder &builder, mlir::Value value,
                                 const TensorSharding &sharding) = 0;
};

/// Default of `ShardableOpInterface::partition`.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
partitionByCloning(mlir::Operation *op, mlir::OpBuilder &builder,
                   mlir::ValueRange operands, mlir::TypeRange resultTypes);

} // namespace pplan

#include "pplan/Dialect/PPlan/ShardableOpInterface.h.inc"

#endif // PPLAN_DIALECT_PPLAN_SHARDINGRULE_H
