// Operations that make, move or index elements without arithmetic on them. Included by PPlanOps.td.
#ifndef PPLAN_DIALECT_PPLAN_STRUCTURALOPS_TD
#define PPLAN_DIALECT_PPLAN_STRUCTURALOPS_TD

class PPlan_ShardableOp<string mnemonic, list<string> methods = [], list<Trait> traits = []>
    : PPlan_Op<mnemonic, !listconcat(traits, [Pure, DeclareOpInterfaceMethods<PPlan_ShardableOpInterface, methods>])>;

def PPlan_ConstantOp : PPlan_ShardableOp<"constant", ["partition"], [AllTypesMatch<["value", "result"]>]> {
  let summary = "A tensor whose elements are known";
  let description = [{
    Not `ConstantLike`: folding merges equal constants without regard to their
    attributes, and two of them may differ in their shardings. Common
    subexpression elimination merges those that do not.

    ```mlir
    %c = pplan.constant dense<1.0> : tensor<4x8xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value);
  let results = (outs PPlan_Tensor:$result);
  let assemblyFormat = "attr-dict $value";
}

def PPlan_IotaOp : PPlan_ShardableOp<"iota", ["partition"]> {
  let summary = "Counts 0, 1, 2, ... along one dimension";
  let description = [{
    ```mlir
    %i = pplan.iota dim 1 : tensor<4x8xi64>
    ```
    Constraints: `dim` is a dimension of the result.
  }];
  let arguments = (ins I64Attr:$dim);
  let results = (outs PPlan_NumberTensor:$result);
  let assemblyFormat = "`dim` $dim attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def PPlan_BroadcastOp : PPlan_ShardableOp<"broadcast", ["passesPartialSums"]> {
  let summary = "Repeats a tensor along new dimensions and dimensions of size 1";
  let description = [{
    Operand dimension i becomes result dimension `dims[i]`; it has that
    dimension's size or 1.

    ```mlir
    %y = pplan.broadcast %x dims [1] : tensor<8xf32> to tensor<4x8xf32>
    ```
    Constraints: one entry per operand dimension, strictly increasing.
  }];
  let arguments = (ins PPlan_Tensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs PPlan_Tensor:$result);
  let assemblyFormat = "$input `dims` $dims attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def PPlan_ReshapeOp : PPlan_ShardableOp<"reshape", ["passesPartialSums"]> {
  let summary = "Gives a tensor another shape; the row-major order of the elements stays";
  let description = [{
    ```mlir
    %y = pplan.reshape %x : tensor<4x8x64xf32> to tensor<4x512xf32>
    ```
    Constraints: equal element types and numbers of elements.
  }];
  let arguments = (ins PPlan_Tensor:$input);
  let results = (outs PPlan_Tensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
}

def PPlan_TransposeOp : PPlan_ShardableOp<"transpose", ["passesPartialSums"]> {
  let summary = "Permutes dimensions: result dimension i is operand dimension permutation[i]";
  let description = [{
    ```mlir
    %y = pplan.transpose %x [1, 0] : tensor<4x8xf32>
    ```
    Constraints: `permutation` is one of the operand's dimensions.
  }];
  let arguments = (ins PPlan_Tensor:$input, DenseI64ArrayAttr:$permutation);
  let results = (outs PPlan_Tensor:$result);
  let hasCustomAssemblyFormat = 1;
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$permutation)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def PPlan_SliceOp : PPlan_ShardableOp<"slice", ["partition", "passesPartialSums"]> {
  let summary = "Takes offsets, offsets + strides, ... of each dimension, as many as the result has";
  let description = [{
    ```mlir
    %y = pplan.slice %x offsets [0, 4] strides [1, 1] : tensor<4x8xf32> to tensor<4x4xf32>
    ```
    Constraints: one offset and one non-zero stride per dimension; every
    element taken exists. A negative stride walks backward. A dimension that is
    not taken whole cannot be split.
  }];
  let arguments = (ins PPlan_Tensor:$input, DenseI64ArrayAttr:$offsets, DenseI64ArrayAttr:$strides);
  let results = (outs PPlan_Tensor:$result);
  let assemblyFormat = "$input `offsets` $offsets `strides` $strides attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// True when dimension `dim` is taken whole and in order.
    bool isFullDim(int64_t dim);
  }];
}

def PPlan_ConcatOp : PPlan_ShardableOp<"concat", ["passesPartialSums"]> {
  let summary = "Joins tensors along one dimension";
  let description = [{
    ```mlir
    %z = pplan.concat %x, %y dim 1 : tensor<4x8xf32>, tensor<4x2xf32> to tensor<4x10xf32>
    ```
    Constraints: equal in all other dimensions and in type; that dimension
    cannot be split.
  }];
  let arguments = (ins Variadic<PPlan_Tensor>:$inputs, I64Attr:$dim);
  let results = (outs PPlan_Tensor:$result);
  let assemblyFormat = "$inputs `dim` $dim attr-dict `:` type($inputs) `to` type($result)";
  let builders = [OpBuilder<(ins "::mlir::ValueRange":$inputs, "int64_t":$dim)>];
  let hasVerifier = 1;
  let hasFolder = 1;
}

def PPlan_PadOp : PPlan_ShardableOp<"pad"> {
  let summary = "Adds a constant before and after each dimension";
  let description = [{
    ```mlir
    %y = pplan.pad %x low [0, 1] high [0, 2] value 0.0 : f32 : tensor<4x8xf32> to tensor<4x11xf32>
    ```
    Constraints: no negative amounts; `value` has the element type. A padded
    dimension cannot be split.
  }];
  let arguments = (ins PPlan_Tensor:$input, DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high, TypedAttrInterface:$value);
  let results = (outs PPlan_Tensor:$result);
  let assemblyFormat = "$input `low` $low `high` $high `value` $value attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def PPlan_GatherOp : PPlan_ShardableOp<"gather", ["partition"]> {
  let summary = "Takes the slices of one dimension that an integer tensor names (an embedding lookup when `dim` is 0)";
  let description = [{
    The result's shape is the input's with dimension `dim` replaced by the
    shape of `indices`. An index outside [0, n) is clamped into it at run time.
    The gathered dimension is a reduction factor: split, each device looks up
    the indices that fall into its part and the results are summed.

    ```mlir
    %y = pplan.gather %table, %ids dim 0 : tensor<100x8xf32>, tensor<4xi64> to tensor<4x8xf32>
    ```
    Constraints: `dim` is a dimension of the input.
  }];
  let arguments = (ins PPlan_Tensor:$input, PPlan_IntTensor:$indices, I64Attr:$dim);
  let results = (outs PPlan_Tensor:$result);
  let assemblyFormat = "$input `,` $indices `dim` $dim attr-dict `:` type($input) `,` type($indices) `to` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$input, "::mlir::Value":$indices, "int64_t":$dim)>];
  let hasVerifier = 1;
}

def PPlan_GatherElementsOp : PPlan_ShardableOp<"gather_elements"> {
  let summary = "result[.., i, ..] = input[.., indices[.., i, ..], ..] along one dimension";
  let description = [{
    An index outside [0, n) is clamped into it.

    ```mlir
    %y = pplan.gather_elements %x, %ids dim 1 : tensor<4x8xf32>, tensor<4x2xi64> to tensor<4x2xf32>
    ```
    Constraints: the shapes agree in every other dimension; `dim` cannot be
    split.
  }];
  let arguments = (ins PPlan_Tensor:$input, PPlan_IntTensor:$indices, I64Attr:$dim);
  let results = (outs PPlan_Tensor:$result);
  let assemblyFormat = "$input `,` $indices `dim` $dim attr-dict `:` type($input) `,` type($indices) `to` type($result)";
  let hasVerifier = 1;
}

#endif // PPLAN_DIALECT_PPLAN_STRUCTURALOPS_TD
