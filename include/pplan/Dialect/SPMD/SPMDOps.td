// The spmd dialect: what one device does to communicate. Computation stays in the pplan dialect until it is lowered.
#ifndef PPLAN_DIALECT_SPMD_OPS_TD
#define PPLAN_DIALECT_SPMD_OPS_TD

include "pplan/Dialect/PPlan/PPlanBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def SPMD_Dialect : Dialect {
  let name = "spmd";
  let cppNamespace = "::pplan::spmd";
  let dependentDialects = ["::pplan::PPlanDialect"]; // for its enums
  let summary = "One device's view: collectives over named mesh axes, shard offsets, padding";
  let description = [{
    Every device runs the same function on tensors of local shape. A collective
    names axes of a mesh; its group is the devices that differ only in their
    coordinates on those axes, ordered row-major over the axes in the order
    given. Collectives execute in program order on every device.

    Padding: a dimension of size n over a group of k devices has parts of
    c = ceil(n / k). Elements of a part beyond n are unspecified; the operations
    here cut them off (gather) or add them (scatter, slice).

    The attribute `spmd.layout` on an entry function's argument or result keeps
    the sharding (`#pplan.sharding`) and the global type of what the runtime
    passes in and takes out.
  }];
}

class SPMD_Op<string mnemonic, list<Trait> traits = []> : Op<SPMD_Dialect, mnemonic, traits>;

def SPMD_Tensor : PPlan_TensorOf<[AnyType]>;

/// A collective: pure, because program order is all that matching needs and
/// every device drops or keeps the same operations. The mesh is checked by the verifier of the device program.
class SPMD_Collective<string mnemonic, list<Trait> traits = []> : SPMD_Op<mnemonic, !listconcat([Pure], traits)> {
  let results = (outs SPMD_Tensor:$result);
  let hasVerifier = 1;
}

def SPMD_AllReduceOp : SPMD_Collective<"all_reduce", [SameOperandsAndResultType]> {
  let summary = "Combines the tensors of the group element by element; every device gets the result";
  let description = [{
    ```mlir
    %y = spmd.all_reduce sum %x on @mesh ["tensor"] : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PPlan_ReductionKindAttr:$kind, SPMD_Tensor:$input, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let assemblyFormat = "`` $kind $input `on` $mesh $axes attr-dict `:` type($input)";
}

def SPMD_AllGatherOp : SPMD_Collective<"all_gather"> {
  let summary = "Joins the parts of a dimension in group order and cuts off the padding";
  let description = [{
    The result's dimension `dim` has size n <= k * c, where c is the operand's.

    ```mlir
    %y = spmd.all_gather %x dim 1 on @mesh ["tensor"] : tensor<4x4xf32> to tensor<4x8xf32>
    ```
  }];
  let arguments = (ins SPMD_Tensor:$input, I64Attr:$dim, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let assemblyFormat = "$input `dim` $dim `on` $mesh $axes attr-dict `:` type($input) `to` type($result)";
}

def SPMD_ReduceScatterOp : SPMD_Collective<"reduce_scatter"> {
  let summary = "Combines the tensors of the group; each device gets its part of dimension `dim`";
  let description = [{
    The result's dimension has size c = ceil(n / k); beyond n it is zero.

    ```mlir
    %y = spmd.reduce_scatter sum %x dim 1 on @mesh ["tensor"] : tensor<4x8xf32> to tensor<4x4xf32>
    ```
  }];
  let arguments = (ins PPlan_ReductionKindAttr:$kind, SPMD_Tensor:$input, I64Attr:$dim, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let assemblyFormat = "`` $kind $input `dim` $dim `on` $mesh $axes attr-dict `:` type($input) `to` type($result)";
}

def SPMD_AllToAllOp : SPMD_Collective<"all_to_all"> {
  let summary = "Moves a split from dimension `concat_dim` to dimension `split_dim`";
  let description = [{
    The operand has its part of `concat_dim` and all of `split_dim`; the result
    all of `concat_dim` (padding cut off) and its part of `split_dim`
    (ceil(n / k), zero beyond n).

    ```mlir
    %y = spmd.all_to_all %x split_dim 0 concat_dim 1 on @mesh ["tensor"] : tensor<8x4xf32> to tensor<4x8xf32>
    ```
  }];
  let arguments = (ins SPMD_Tensor:$input, I64Attr:$split_dim, I64Attr:$concat_dim, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let assemblyFormat = "$input `split_dim` $split_dim `concat_dim` $concat_dim `on` $mesh $axes attr-dict `:` type($input) `to` type($result)";
}

def SPMD_PermuteOp : SPMD_Collective<"permute", [SameOperandsAndResultType]> {
  let summary = "Sends the tensor of group member i to member targets[i]";
  let description = [{
    ```mlir
    %y = spmd.permute %x targets [1, 0] on @mesh ["tensor"] : tensor<4x8xf32>
    ```
    Constraints: `targets` is a permutation of the group's members.
  }];
  let arguments = (ins SPMD_Tensor:$input, DenseI64ArrayAttr:$targets, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let assemblyFormat = "$input `targets` $targets `on` $mesh $axes attr-dict `:` type($input)";
}

def SPMD_ShardSliceOp : SPMD_Op<"shard_slice", [Pure]> {
  let summary = "This device's part of a dimension that it holds whole; no communication";
  let description = [{
    The part is number i of k, i being the device's place in the group of
    `axes`; its size is c = ceil(n / k), zero beyond n.

    ```mlir
    %y = spmd.shard_slice %x dim 1 on @mesh ["tensor"] : tensor<4x8xf32> to tensor<4x4xf32>
    ```
  }];
  let arguments = (ins SPMD_Tensor:$input, I64Attr:$dim, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs SPMD_Tensor:$result);
  let assemblyFormat = "$input `dim` $dim `on` $mesh $axes attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def SPMD_ShardOffsetOp : SPMD_Op<"shard_offset", [Pure]> {
  let summary = "Global index of the first element of this device's part of a dimension of size `size`";
  let description = [{
    Nested ceiling division over the axes, as `#pplan.sharding` defines it.

    ```mlir
    %o = spmd.shard_offset size 50257 on @mesh ["data", "tensor"] : tensor<i64>
    ```
  }];
  let arguments = (ins I64Attr:$size, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs SPMD_Tensor:$result);
  let assemblyFormat = "`size` $size `on` $mesh $axes attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def SPMD_MaskPaddingOp : SPMD_Op<"mask_padding", [Pure, SameOperandsAndResultType]> {
  let summary = "Replaces the padding of a split dimension by a value";
  let description = [{
    Dimension `dim` is this device's part of a dimension of global size `size`
    over `axes` (nested ceiling division). Elements beyond the valid length get
    `fill`.

    ```mlir
    %y = spmd.mask_padding %x dim 1 size 9 fill 0.0 : f32 on @mesh ["tensor"] : tensor<4x5xf32>
    ```
  }];
  let arguments = (ins SPMD_Tensor:$input, I64Attr:$dim, I64Attr:$size, TypedAttrInterface:$fill, FlatSymbolRefAttr:$mesh, StrArrayAttr:$axes);
  let results = (outs SPMD_Tensor:$result);
  let assemblyFormat = "$input `dim` $dim `size` $size `fill` $fill `on` $mesh $axes attr-dict `:` type($input)";
  let hasVerifier = 1;
}

#endif // PPLAN_DIALECT_SPMD_OPS_TD
