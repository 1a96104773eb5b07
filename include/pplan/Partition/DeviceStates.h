//===- DeviceStates.h - What each local value is a part of ------*- C++ -*-===//
//
// Decides, by following a device program from its argument layouts, which part
// of which global tensor every value is. The layouts are taken as given;
// everything else is recomputed, and `spmd.state` compared with it.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_PARTITION_DEVICESTATES_H
#define PPLAN_PARTITION_DEVICESTATES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pplan/Dialect/SPMD/SPMD.h"
#include "llvm/ADT/DenseMap.h"

namespace pplan {

/// What is known of a local value.
struct DeviceState {
  enum Kind {
    Part,    ///< the part of a global tensor that `sharding` gives this device
    Uniform, ///< the same element everywhere: a part of whatever fits its shape
    Opaque,  ///< depends on the device; only known patterns make sense of it
  };
  Kind kind = Opaque;
  mlir::RankedTensorType globalType;
  TensorSharding sharding;
  /// What fills the padding of each dimension; null where that is unknown.
  llvm::SmallVector<mlir::Attribute> fills;
};

/// Computes the states of a function; reports and fails at the first operation
/// whose operands do not fit together or whose result is not what it claims.
class DeviceStates {
public:
  explicit DeviceStates(mlir::func::FuncOp function) : function(function) {}
  mlir::LogicalResult run();
  /// State of a value, after run().
  const DeviceState &get(mlir::Value value) const {
    return states.find(value)->second;
  }
  MeshAttr getMesh() const { return meshAttr; }

private:
  mlir::FailureOr<DeviceState>
  readState(mlir::Attribute attr, mlir::Operation *op, mlir::Type localType);
  mlir::LogicalResult visitArguments();
  mlir::LogicalResult visitReturn(mlir::func::ReturnOp ret);
  mlir::FailureOr<DeviceState> visit(mlir::Operation *op);
  mlir::FailureOr<DeviceState> visitDevice(mlir::Operation *op);
  mlir::FailureOr<DeviceState> visitPermute(spmd::PermuteOp op,
                                            const DeviceState &input);
  mlir::FailureOr<DeviceState> visitCompute(mlir::Operation *op);
  mlir::FailureOr<DeviceState> visitOpaque(mlir::Operation *op);
  mlir::FailureOr<DeviceState> visitMakePartial(SelectOp op);
  mlir::FailureOr<DeviceState> visitSplitGather(SelectOp op);
  mlir::FailureOr<DeviceState> visitSplitScatter(ScatterAddOp op);
  /// An operation of several results, which say what they are.
  mlir::LogicalResult visitMultiple(mlir::Operation *op);
  /// Checks that the operation makes these results of these operands. Without
  /// claims there is one result, whose sharding is inferred.
  mlir::LogicalResult
  checkAgainstRule(mlir::Operation *op, llvm::ArrayRef<DeviceState> operands,
                   llvm::MutableArrayRef<DeviceState> results, bool isClaimed,
                   bool isRangeChecked);
  mlir::FailureOr<DeviceState>
  checkAgainstRule(mlir::Operation *op, llvm::ArrayRef<DeviceState> operands,
                   std::optional<DeviceState> claimed, bool isRangeChecked);
  DeviceState resolve(mlir::Value value) const;
  AxisList getAxes(mlir::ArrayAttr axes) const;
  /// Fails with a message unless the local type is that of the state.
  mlir::LogicalResult checkLocalType(mlir::Operation *op, mlir::Type type,
                                     const DeviceState &state);

  mlir::func::FuncOp function;
  MeshAttr meshAttr;
  mlir::FlatSymbolRefAttr meshName;
  DeviceMesh mesh;
  llvm::DenseMap<mlir::Value, DeviceState> states;
};

/// A state as the verifier prints it.
std::string describe(const DeviceState &state, MeshAttr mesh);

} // namespace pplan

#endif // PPLAN_PARTITION_DEVICESTATES_H
