// Operations that training adds: losses, and what gradients are made of. Included by PPlanOps.td.
#ifndef PPLAN_DIALECT_PPLAN_TRAININGOPS_TD
#define PPLAN_DIALECT_PPLAN_TRAININGOPS_TD

def PPlan_CrossEntropyOp : PPlan_ShardableOp<"cross_entropy", ["getFlopsPerPoint"]> {
  let summary = "-log softmax(logits)[target] of each row, classes in the last dimension";
  let description = [{
    A negative target is ignored: its loss and its gradient are 0. Computed in
    f32 or wider. The phase `train` replaces the operation by plain ones
    (`pplan-expand-losses`), so that the classes can be split.

    ```mlir
    %l = pplan.cross_entropy %z, %t : tensor<4x8x100xf32>, tensor<4x8xi64> to tensor<4x8xf32>
    ```
    Constraints: targets have the logits' shape without the last dimension,
    and so has the result, in the logits' element type. A target of the number
    of classes or more is the caller's mistake: its loss is log(sum(exp(z - max))).
  }];
  let arguments = (ins PPlan_FloatTensor:$logits, PPlan_IntTensor:$targets);
  let results = (outs PPlan_FloatTensor:$result);
  let assemblyFormat = "$logits `,` $targets attr-dict `:` type($logits) `,` type($targets) `to` type($result)";
  let hasVerifier = 1;
}

def PPlan_AccumulateOp : PPlan_ShardableOp<"accumulate", ["passesPartialSums"], [AllTypesMatch<["input", "result"]>]> {
  let summary = "Sum of a value over the micro-batches of a training step";
  let description = [{
    The border between what a step does for each micro-batch and what it does
    once. With one micro-batch it is the identity. A partial sum may be
    accumulated as it is and reduced once afterwards.

    ```mlir
    %g = pplan.accumulate %dw : tensor<8x4xf32>
    ```
  }];
  let arguments = (ins PPlan_FloatTensor:$input);
  let results = (outs PPlan_FloatTensor:$result);
  let assemblyFormat = "$input attr-dict `:` type($input)";
}

def PPlan_ScatterAddOp : PPlan_ShardableOp<"scatter_add", ["partition", "passesPartialSums"]> {
  let summary = "Adds slices to the places along one dimension that an integer tensor names; the transpose of gather";
  let description = [{
    The result starts from zero. Its shape is that of `updates` with the
    dimensions from `dim` on that are those of `indices` replaced by one of
    size `size`. What an index outside [0, size) names is dropped.

    ```mlir
    %y = pplan.scatter_add %ids, %g dim 0 size 100 : tensor<4xi64>, tensor<4x8xf32> to tensor<100x8xf32>
    ```
  }];
  let arguments = (ins PPlan_IntTensor:$indices, PPlan_NumberTensor:$updates, I64Attr:$dim, I64Attr:$size);
  let results = (outs PPlan_NumberTensor:$result);
  let assemblyFormat = [{
    $indices `,` $updates `dim` $dim `size` $size attr-dict `:` type($indices) `,` type($updates) `to` type($result)
  }];
  let builders = [OpBuilder<(ins "::mlir::Value":$indices, "::mlir::Value":$updates, "int64_t":$dim, "int64_t":$size)>];
  let hasVerifier = 1;
}

def PPlan_AttentionBackwardOp : PPlan_ShardableOp<"attention_backward", ["getFlopsPerPoint", "passesPartialSums"],
                                                  [AllTypesMatch<["query", "query_gradient"]>, AllTypesMatch<["key", "key_gradient"]>,
                                                   AllTypesMatch<["value", "value_gradient"]>]> {
  let summary = "Gradients of pplan.attention with respect to query, key and value";
  let description = [{
    Computes the scores again, a block of queries at a time (Dao et al., 2022).
    Operands and attributes are those of the attention and the gradient of its
    result; the results have the types of query, key and value.

    ```mlir
    %dq, %dk, %dv = pplan.attention_backward %q, %k, %v gradient %g scale 0.125 causal layouts ["bthd", "bthd", "bthd", "bthd"]
      : tensor<4x128x12x64xf32>, tensor<4x128x12x64xf32>, tensor<4x128x12x64xf32>, tensor<4x128x12x64xf32>
    ```
    Constraints: as of `pplan.attention`. Split query heads that share a key
    head, or split queries, give partial gradients of key and value.
  }];
  let arguments = (ins PPlan_FloatTensor:$query, PPlan_FloatTensor:$key, PPlan_FloatTensor:$value,
                       Optional<PPlan_Tensor>:$mask, PPlan_FloatTensor:$gradient, F64Attr:$scale, UnitAttr:$causal,
                       StrArrayAttr:$layouts);
  let results = (outs PPlan_FloatTensor:$query_gradient, PPlan_FloatTensor:$key_gradient,
                      PPlan_FloatTensor:$value_gradient);
  let assemblyFormat = [{
    $query `,` $key `,` $value (`mask` $mask^)? `gradient` $gradient `scale` $scale (`causal` $causal^)? `layouts` $layouts
    attr-dict `:` type($query) `,` type($key) `,` type($value) (`mask` type($mask)^)? `,` type($gradient)
  }];
  let hasVerifier = 1;
}

#endif // PPLAN_DIALECT_PPLAN_TRAININGOPS_TD
