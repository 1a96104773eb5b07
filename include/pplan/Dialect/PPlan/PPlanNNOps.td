// Contractions, reductions, and the fused operations of neural networks. Included by PPlanOps.td.
#ifndef PPLAN_DIALECT_PPLAN_NNOPS_TD
#define PPLAN_DIALECT_PPLAN_NNOPS_TD

def PPlan_ContractOp : PPlan_ShardableOp<"contract", ["getFlopsPerPoint", "passesPartialSums"]> {
  let summary = "Sums products of two tensors as an Einstein summation says (matmul in general form)";
  let description = [{
    Each letter is a factor. A letter of the operands that the result lacks is
    summed over; every letter of the result stands in an operand.

    ```mlir
    %y = pplan.contract "btk,kn->btn" %x, %w : tensor<4x128x768xf32>, tensor<768x64xf32> to tensor<4x128x64xf32>
    ```
    Constraints: one lower- or upper-case letter per dimension, none twice in a
    tensor; a letter has one size; element types are equal.
  }];
  let arguments = (ins StrAttr:$equation, PPlan_NumberTensor:$lhs, PPlan_NumberTensor:$rhs);
  let results = (outs PPlan_NumberTensor:$result);
  let assemblyFormat = "$equation $lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `to` type($result)";
  let builders = [OpBuilder<(ins "::llvm::StringRef":$equation, "::mlir::Value":$lhs, "::mlir::Value":$rhs)>];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// The letters of the left operand, the right operand and the result.
    ::llvm::StringRef getLhsLetters();
    ::llvm::StringRef getRhsLetters();
    ::llvm::StringRef getResultLetters();
  }];
}

def PPlan_ReduceOp : PPlan_ShardableOp<"reduce", ["passesPartialSums"]> {
  let summary = "Combines the elements along some dimensions, which the result lacks";
  let description = [{
    ```mlir
    %y = pplan.reduce sum %x dims [1] : tensor<4x8xf32> to tensor<4xf32>
    ```
    Constraints: `dims` are distinct dimensions in increasing order; NaN wins
    in `max` and `min`.
  }];
  let arguments = (ins PPlan_ReductionKindAttr:$kind, PPlan_NumberTensor:$input, DenseI64ArrayAttr:$dims);
  let results = (outs PPlan_NumberTensor:$result);
  let assemblyFormat = "`` $kind $input `dims` $dims attr-dict `:` type($input) `to` type($result)";
  let builders = [OpBuilder<(ins "::pplan::ReductionKind":$kind, "::mlir::Value":$input, "::llvm::ArrayRef<int64_t>":$dims)>];
  let hasVerifier = 1;
}

def PPlan_ArgReduceOp : PPlan_ShardableOp<"arg_reduce"> {
  let summary = "Index of the first largest (`max`) or smallest (`min`) element along one dimension";
  let description = [{
    ```mlir
    %i = pplan.arg_reduce max %x dim 1 : tensor<4x8xf32> to tensor<4xi64>
    ```
    Constraints: `kind` is `max` or `min`; `dim` cannot be split.
  }];
  let arguments = (ins PPlan_ReductionKindAttr:$kind, PPlan_NumberTensor:$input, I64Attr:$dim);
  let results = (outs PPlan_IntTensor:$result);
  let assemblyFormat = "`` $kind $input `dim` $dim attr-dict `:` type($input) `to` type($result)";
  let hasVerifier = 1;
}

def PPlan_CumSumOp : PPlan_ShardableOp<"cumsum", [], [AllTypesMatch<["input", "result"]>]> {
  let summary = "Running sum along one dimension";
  let description = [{
    ```mlir
    %y = pplan.cumsum %x dim 1 : tensor<4x8xf32>
    ```
    Constraints: `dim` is a dimension and cannot be split.
  }];
  let arguments = (ins PPlan_NumberTensor:$input, I64Attr:$dim, UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs PPlan_NumberTensor:$result);
  let assemblyFormat = "$input `dim` $dim (`exclusive` $exclusive^)? (`reverse` $reverse^)? attr-dict `:` type($input)";
  let hasVerifier = 1;
}
// The result has the operand's type.
class PPlan_NormLikeOp<string mnemonic, list<Trait> traits = []>
    : PPlan_ShardableOp<mnemonic, ["getFlopsPerPoint"], !listconcat(traits, [AllTypesMatch<["input", "result"]>])>;

def PPlan_SoftmaxOp : PPlan_NormLikeOp<"softmax"> {
  let summary = "exp(x - max) / sum of it along one dimension, or its logarithm";
  let description = [{
    ```mlir
    %y = pplan.softmax %x dim 1 : tensor<4x8xf32>
    %z = pplan.softmax %x dim 1 log : tensor<4x8xf32>
    ```
    Constraints: `dim` is a dimension and cannot be split.
  }];
  let arguments = (ins PPlan_FloatTensor:$input, I64Attr:$dim, UnitAttr:$log);
  let results = (outs PPlan_FloatTensor:$result);
  let assemblyFormat = "$input `dim` $dim (`log` $log^)? attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def PPlan_LayerNormOp : PPlan_NormLikeOp<"layer_norm", [AttrSizedOperandSegments]> {
  let summary = "Normalises the last dimensions to mean 0 and variance 1, then scales and shifts (Ba et al., 2016)";
  let description = [{
    The last `num_dims` dimensions are normalised together: (x - mean) /
    sqrt(variance + epsilon) * scale + bias, with the biased variance.

    ```mlir
    %y = pplan.layer_norm %x scale %g bias %b num_dims 1 epsilon 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
    ```
    Constraints: scale and bias have the shape of the normalised dimensions,
    which cannot be split.
  }];
  let arguments = (ins PPlan_FloatTensor:$input, Optional<PPlan_FloatTensor>:$scale, Optional<PPlan_FloatTensor>:$bias,
                       I64Attr:$num_dims, F64Attr:$epsilon);
  let results = (outs PPlan_FloatTensor:$result);
  let assemblyFormat = [{
    $input (`scale` $scale^)? (`bias` $bias^)? `num_dims` $num_dims `epsilon` $epsilon attr-dict
    `:` custom<NormTypes>(type($input), type($scale), type($bias), ref($scale), ref($bias))
  }];
  let hasVerifier = 1;
}

def PPlan_RMSNormOp : PPlan_NormLikeOp<"rms_norm"> {
  let summary = "Divides the last dimensions by their root mean square, then scales (Zhang and Sennrich, 2019)";
  let description = [{
    x / sqrt(mean(x^2) + epsilon) * scale over the last `num_dims` dimensions.

    ```mlir
    %y = pplan.rms_norm %x scale %g num_dims 1 epsilon 1.0e-6 : tensor<4x8xf32>, tensor<8xf32>
    ```
    Constraints: as of `pplan.layer_norm`.
  }];
  let arguments = (ins PPlan_FloatTensor:$input, Optional<PPlan_FloatTensor>:$scale, I64Attr:$num_dims, F64Attr:$epsilon);
  let results = (outs PPlan_FloatTensor:$result);
  let assemblyFormat = [{
    $input (`scale` $scale^)? `num_dims` $num_dims `epsilon` $epsilon attr-dict `:` type($input) (`,` type($scale)^)?
  }];
  let hasVerifier = 1;
}

def PPlan_AttentionOp : PPlan_ShardableOp<"attention", ["getFlopsPerPoint"]> {
  let summary = "softmax(scale * Q K^T + mask) V, with grouped key/value heads and a causal form, scores never stored whole";
  let description = [{
    Each layout names a tensor's dimensions: `b` batch, `h` heads, `t` sequence,
    `d` head size, for query, key, value and result; any order in which all
    four occur. Shapes are, in those terms, query `[b, h, t, d]`, key
    `[b, g, s, d]`, value `[b, g, s, e]`, result `[b, h, t, e]`: query head i
    uses key/value head i / (h / g). The mask has the shape [b, h, t, s], each
    of them or 1, and is added to the scaled scores, or, if i1, keeps the
    scores where it is true. `causal` lets query i see keys 0 to i + s - t.

    ```mlir
    %o = pplan.attention %q, %k, %v scale 0.125 causal layouts ["bthd", "bthd", "bthd", "bthd"]
      : tensor<4x128x12x64xf32>, tensor<4x128x12x64xf32>, tensor<4x128x12x64xf32> to tensor<4x128x12x64xf32>
    ```
    Constraints: g divides h; shapes agree; s, t (with `causal`), d and e
    cannot be split.
  }];
  let arguments = (ins PPlan_FloatTensor:$query, PPlan_FloatTensor:$key, PPlan_FloatTensor:$value,
                       Optional<PPlan_Tensor>:$mask, F64Attr:$scale, UnitAttr:$causal, StrArrayAttr:$layouts);
  let results = (outs PPlan_FloatTensor:$result);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? `scale` $scale (`causal` $causal^)? `layouts` $layouts attr-dict
    `:` type($query) `,` type($key) `,` type($value) (`,` type($mask)^)? `to` type($result)
  }];
  let hasVerifier = 1;
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    /// Position of dimension `letter` ('b', 'h', 't' or 'd') in tensor `index`
    /// (0 query, 1 key, 2 value, 3 result).
    int64_t getDim(unsigned index, char letter);
    /// Its size.
    int64_t getDimSize(unsigned index, char letter);
  }];
}

#endif // PPLAN_DIALECT_PPLAN_NNOPS_TD
