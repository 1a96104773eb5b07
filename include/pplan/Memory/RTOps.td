// The rt dialect: calls of the runtime in destination-passing style, first on tensors, then on buffers.
#ifndef PPLAN_MEMORY_RTOPS_TD
#define PPLAN_MEMORY_RTOPS_TD

include "pplan/Dialect/PPlan/PPlanBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def RT_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::pplan::rt";
  let dependentDialects = ["::pplan::PPlanDialect"]; // for its enums
  let summary = "Calls of the runtime in destination-passing style, on tensors and then on buffers";
  let description = [{
    What no loop of the compiler computes: matrix products, attention and
    communication. Each operation writes its result into its last operand(s),
    the destination, so that bufferisation decides where it lies. On tensors the
    operations have results; on buffers they have none. Mesh axes are numbers
    here: positions in the mesh of the program.

    On buffers, operations have program order and become one call of the
    runtime's C interface each. Collectives need dense buffers; the matrix
    product and attention take strides.

    Discardable attributes of the program's function: `rt.arguments`,
    `rt.results` and `rt.mesh` describe what the host passes in and takes out.
  }];
  let hasOperationAttrVerify = 1;
}

def RT_Shaped : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef], "a ranked tensor or a strided buffer">;

class RT_Op<string mnemonic, list<Trait> traits = []> : Op<RT_Dialect, mnemonic, traits>;

/// An operation with inputs and one or more destinations.
class RT_DestinationOp<string mnemonic, list<Trait> traits = []>
    : RT_Op<mnemonic, !listconcat(traits, [DestinationStyleOpInterface,
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
}

def RT_ContractOp : RT_DestinationOp<"contract"> {
  let summary = "Sums products of two operands as an Einstein summation says, into a destination";
  let description = [{
    The letters mean what they mean in `pplan.contract`. With `accumulate` the
    products are added to what the destination holds; without it the
    destination is not read.

    ```mlir
    %c = rt.contract "mk,kn->mn" ins(%a, %b : tensor<4x8xf32>, tensor<8x6xf32>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
    rt.contract "mk,kn->mn" ins(%A, %B : memref<4x8xf32>, memref<8x6xf32>) outs(%C : memref<4x6xf32>)
    ```
    Constraints: on buffers the operands' strides fit one call of the
    strided and batched matrix product (see GemmShape.h).
  }];
  let arguments = (ins StrAttr:$equation, RT_Shaped:$lhs, RT_Shaped:$rhs, RT_Shaped:$init, UnitAttr:$accumulate);
  let assemblyFormat = [{
    $equation (`accumulate` $accumulate^)? `ins` `(` $lhs `,` $rhs `:` type($lhs) `,` type($rhs) `)`
    `outs` `(` $init `:` type($init) `)` attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

def RT_AttentionOp : RT_DestinationOp<"attention"> {
  let summary = "softmax(scale * Q K^T + mask) V into a destination, with a workspace";
  let description = [{
    Layouts and masks as in `pplan.attention`. The workspace is a second
    destination whose contents mean nothing afterwards.

    ```mlir
    %o:2 = rt.attention ins(%q, %k, %v : tensor<4x128x12x64xf32>, tensor<4x128x12x64xf32>, tensor<4x128x12x64xf32>)
      outs(%init, %ws : tensor<4x128x12x64xf32>, tensor<49408xi8>)
      {scale = 0.125 : f64, causal, layouts = ["bthd", "bthd", "bthd", "bthd"]} -> tensor<4x128x12x64xf32>, tensor<49408xi8>
    ```
    Constraints: the last letter of the layouts of query, value and result is
    `d`; that of the key is `d` or `t`.
  }];
  let arguments = (ins RT_Shaped:$query, RT_Shaped:$key, RT_Shaped:$value, Optional<RT_Shaped>:$mask,
                       RT_Shaped:$init, RT_Shaped:$workspace, F64Attr:$scale, UnitAttr:$causal, UnitAttr:$bool_mask,
                       StrArrayAttr:$layouts);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `:` type($query) `,` type($key) `,` type($value) `)`
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    `outs` `(` $init `,` $workspace `:` type($init) `,` type($workspace) `)` attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), 3 + (getMask() ? 1 : 0), 2);
    }
  }];
}

def RT_AttentionBackwardOp : RT_DestinationOp<"attention_backward"> {
  let summary = "Gradients of attention with respect to query, key and value, with a workspace";
  let description = [{
    Operands and attributes as of `rt.attention`, and the gradient of its
    result, whose layout is the fourth. Each gradient has the layout of what it
    is the gradient of.

    ```mlir
    %g:4 = rt.attention_backward ins(%q, %k, %v, %do : tensor<4x8x2x4xf32>, tensor<4x8x2x4xf32>, tensor<4x8x2x4xf32>, tensor<4x8x2x4xf32>)
      outs(%dq, %dk, %dv, %ws : tensor<4x8x2x4xf32>, tensor<4x8x2x4xf32>, tensor<4x8x2x4xf32>, tensor<9216xi8>)
      {scale = 0.5 : f64, layouts = ["bthd", "bthd", "bthd", "bthd"]} -> tensor<4x8x2x4xf32>, tensor<4x8x2x4xf32>, tensor<4x8x2x4xf32>, tensor<9216xi8>
    ```
    Constraints: as of `rt.attention`.
  }];
  let arguments = (ins RT_Shaped:$query, RT_Shaped:$key, RT_Shaped:$value, Optional<RT_Shaped>:$mask,
                       RT_Shaped:$gradient, RT_Shaped:$query_gradient, RT_Shaped:$key_gradient,
                       RT_Shaped:$value_gradient, RT_Shaped:$workspace, F64Attr:$scale, UnitAttr:$causal,
                       UnitAttr:$bool_mask, StrArrayAttr:$layouts);
  let assemblyFormat = [{
    `ins` `(` $query `,` $key `,` $value `,` $gradient `:` type($query) `,` type($key) `,` type($value) `,` type($gradient) `)`
    (`mask` `(` $mask^ `:` type($mask) `)`)?
    `outs` `(` $query_gradient `,` $key_gradient `,` $value_gradient `,` $workspace `:` type($query_gradient) `,`
    type($key_gradient) `,` type($value_gradient) `,` type($workspace) `)` attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() {
      return ::mlir::MutableOperandRange(getOperation(), 4 + (getMask() ? 1 : 0), 4);
    }
  }];
}

def RT_ScatterAddOp : RT_DestinationOp<"scatter_add"> {
  let summary = "Sums the rows of a dimension by the indices that they have, into a destination";
  let description = [{
    The dimensions of the indices take the place of dimension `dim` of the
    destination in the updates; rows with an index outside it are skipped.

    ```mlir
    %y = rt.scatter_add ins(%ids, %g : tensor<4xi64>, tensor<4x8xf32>) outs(%init : tensor<100x8xf32>) dim 0 -> tensor<100x8xf32>
    ```
    Constraints: on buffers all are dense.
  }];
  let arguments = (ins RT_Shaped:$indices, RT_Shaped:$updates, RT_Shaped:$init, I64Attr:$dim);
  let assemblyFormat = [{
    `ins` `(` $indices `,` $updates `:` type($indices) `,` type($updates) `)` `outs` `(` $init `:` type($init) `)`
    `dim` $dim attr-dict (`->` type($results)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

/// A collective over mesh axes, given by their positions in the mesh.
class RT_Collective<string mnemonic, list<Trait> traits = []> : RT_DestinationOp<mnemonic, traits> {
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
  }];
}

def RT_AllReduceOp : RT_Collective<"all_reduce"> {
  let summary = "Combines a buffer over the group, in place";
  let description = [{
    ```mlir
    %y = rt.all_reduce sum axes [1] dtype 0 outs(%x : tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins PPlan_ReductionKindAttr:$kind, DenseI32ArrayAttr:$axes, I32Attr:$dtype, RT_Shaped:$init);
  let assemblyFormat = [{
    `` $kind `axes` $axes `dtype` $dtype `outs` `(` $init `:` type($init) `)` attr-dict (`->` type($results)^)?
  }];
}

/// A collective that moves data from an input to a destination.
class RT_MovingCollective<string mnemonic, dag extra, string format> : RT_Collective<mnemonic> {
  let arguments = !con(extra, (ins DenseI32ArrayAttr:$axes, I32Attr:$dtype, RT_Shaped:$input, RT_Shaped:$init));
  let assemblyFormat = format # " " # [{
    `axes` $axes `dtype` $dtype `ins` `(` $input `:` type($input) `)`
    `outs` `(` $init `:` type($init) `)` attr-dict (`->` type($results)^)?
  }];
}

def RT_AllGatherOp : RT_MovingCollective<"all_gather", (ins I64Attr:$dim), "`dim` $dim"> {
  let summary = "Joins the parts of a dimension and cuts off the padding";
}
def RT_ReduceScatterOp
    : RT_MovingCollective<"reduce_scatter", (ins PPlan_ReductionKindAttr:$kind, I64Attr:$dim), "`` $kind `dim` $dim"> {
  let summary = "Combines over the group and keeps this device's part of a dimension";
}
def RT_AllToAllOp
    : RT_MovingCollective<"all_to_all", (ins I64Attr:$split_dim, I64Attr:$concat_dim),
                          "`split_dim` $split_dim `concat_dim` $concat_dim"> {
  let summary = "Moves a split from one dimension to another";
}
def RT_PermuteOp : RT_MovingCollective<"permute", (ins DenseI32ArrayAttr:$targets), "`targets` $targets"> {
  let summary = "Sends the buffer of group member i to member targets[i]";
}

def RT_AxisCoordOp : RT_Op<"axis_coord", [Pure]> {
  let summary = "Coordinate of this device on a mesh axis";
  let description = [{
    ```mlir
    %i = rt.axis_coord 1 : index
    ```
  }];
  let arguments = (ins I32Attr:$axis);
  let results = (outs Index:$result);
  let assemblyFormat = "$axis attr-dict `:` type($result)";
}

#endif // PPLAN_MEMORY_RTOPS_TD
