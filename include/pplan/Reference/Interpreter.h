//===- Interpreter.h - What programs compute, by definition -----*- C++ -*-===//
//
// Decides what a global program and a device program compute, in the plainest
// way. It is the oracle that the partitioner is tested against; it is not made
// to be fast.
//
//===----------------------------------------------------------------------===//
#ifndef PPLAN_REFERENCE_INTERPRETER_H
#define PPLAN_REFERENCE_INTERPRETER_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "pplan/Dialect/SPMD/SPMD.h"
#include "pplan/Reference/HostTensor.h"

namespace pplan {

/// Results of one operation of the pplan dialect on whole tensors. Fails with
/// a message for an operation it does not know.
mlir::FailureOr<std::vector<HostTensor>>
evaluateOp(mlir::Operation *op, llvm::ArrayRef<const HostTensor *> operands);

/// Results of a function in the global view; shardings are ignored.
mlir::FailureOr<std::vector<HostTensor>>
evaluateFunction(mlir::func::FuncOp function,
                 llvm::ArrayRef<HostTensor> arguments);

/// Place of a device on each axis of the mesh.
llvm::SmallVector<int64_t> getCoordinates(int64_t device,
                                          const DeviceMesh &mesh);

/// The part of a tensor that the device with the given mesh coordinates holds.
/// Padding is `fill`. A partial value is whole on the first device along its
/// partial axes and neutral on the others.
HostTensor getShard(const HostTensor &whole, const TensorSharding &sharding,
                    const DeviceMesh &mesh, llvm::ArrayRef<int64_t> coordinates,
                    double fill);

/// One tensor for each device of the mesh, by device number.
using DeviceTensors = std::vector<HostTensor>;

/// Joins the parts of all devices into the whole tensor. Copies of a part must
/// agree to within `tolerance` (relative); returns nothing when they do not.
std::optional<HostTensor> joinShards(llvm::ArrayRef<int64_t> shape,
                                     const DeviceTensors &parts,
                                     const TensorSharding &sharding,
                                     const DeviceMesh &mesh, double tolerance);

/// Padding that a device program must not read: NaN for floats, an unlikely
/// number for integers.
double getGarbage(mlir::Type element);

/// Runs a device program on all devices of its mesh in lockstep: arguments are
/// split as their layouts say with garbage in the padding, every operation puts
/// garbage into the padding it makes, results are joined. `arguments` are
/// whole tensors. Fails with a message when the program is malformed or two
/// copies of a result disagree by more than `tolerance`.
mlir::FailureOr<std::vector<HostTensor>>
runDeviceProgram(mlir::func::FuncOp function,
                 llvm::ArrayRef<HostTensor> arguments, double tolerance = 1e-6);

} // namespace pplan

#endif // PPLAN_REFERENCE_INTERPRETER_H
