// The one interface that carries the meaning of an operation for every phase.
#ifndef PPLAN_DIALECT_PPLAN_SHARDABLEOPINTERFACE_TD
#define PPLAN_DIALECT_PPLAN_SHARDABLEOPINTERFACE_TD

include "mlir/IR/OpBase.td"

def PPlan_ShardableOpInterface : OpInterface<"ShardableOpInterface"> {
  let cppNamespace = "::pplan";
  let description = [{
    An operation's sharding rule (its factors and which dimensions they make
    up) and what else follows from its meaning: its arithmetic work, the value
    that padding must hold, and its form on one device.
  }];
  let methods = [
    InterfaceMethod<"The factors of the operation and their place in each operand and result.",
      "::pplan::ShardingRule", "getShardingRule", (ins)>,
    InterfaceMethod<[{
      Floating-point operations for each point of the space spanned by all
      factors (a multiply-add counts 2). Transcendental functions count what
      their usual polynomial costs.}],
      "double", "getFlopsPerPoint", (ins), "", [{ return 1.0; }]>,
    InterfaceMethod<[{
      True if the operation is linear in the operands marked in `partial`
      together, while the others are held fixed and complete, so that partial
      sums over the same axes in all of these give partial sums in the
      results. At least one operand is marked.}],
      "bool", "passesPartialSums", (ins "const ::llvm::SmallBitVector &":$partial), "", [{ return false; }]>,
    InterfaceMethod<[{
      The operation on one device. `operands` are local values, `resultTypes`
      the local types. The default clones the operation with its attributes.
      `context` gives the sharding of each factor and emits shard offsets.}],
      "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "partition",
      (ins "::mlir::OpBuilder &":$builder, "::pplan::PartitionContext &":$context,
           "::mlir::ValueRange":$operands, "::mlir::TypeRange":$resultTypes), "",
      [{ return ::pplan::partitionByCloning($_op.getOperation(), builder, operands, resultTypes); }]>,
  ];
}

#endif // PPLAN_DIALECT_PPLAN_SHARDABLEOPINTERFACE_TD
