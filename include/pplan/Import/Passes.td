// Passes of the import phase.
#ifndef PPLAN_IMPORT_PASSES_TD
#define PPLAN_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def RaisePatterns : Pass<"pplan-raise-patterns", "::mlir::ModuleOp"> {
  let summary = "Recognises attention and other fused operations in what exporters decompose them into";
  let description = [{
    * A contraction of a softmax of a scaled, masked contraction becomes
      `pplan.attention`: scale factors on scores, query or key; a mask that is
      added or selected; a constant mask that lets query i see keys 0 to
      i + s - t becomes `causal`; keys and values repeated for groups of query
      heads are taken unrepeated; a guard against NaN of fully masked rows is
      part of the operation.
    * x / sqrt(mean(x^2) + epsilon) over the last dimensions becomes
      `pplan.rms_norm`, and `pplan.layer_norm` where x is y - mean(y); products
      and sums with a parameter that follow become its scale and bias.
    * x/2 * (1 + erf(x / sqrt(2))), its approximation by tanh, and
      x * sigmoid(x) become `pplan.gelu` and `pplan.silu`, whatever the order of
      the multiplications.
    * A transpose between a merge of dimensions and their split becomes a
      transpose of the unmerged tensor.
    * A power with a constant exponent 2, 3, 0.5, 1, -0.5 or -1 becomes
      products, roots or quotients.

    Before:
    ```mlir
    %s = pplan.contract "bhtd,bhsd->bhts" %q, %k : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> to tensor<2x4x8x8xf32>
    %p = pplan.softmax %s dim 3 : tensor<2x4x8x8xf32>
    %o = pplan.contract "bhts,bhsd->bhtd" %p, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> to tensor<2x4x8x16xf32>
    ```
    After:
    ```mlir
    %o = pplan.attention %q, %k, %v scale 1.0 layouts ["bhtd", "bhtd", "bhtd", "bhtd"]
      : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> to tensor<2x4x8x16xf32>
    ```
    A row whose scores are all minus infinity is zero afterwards where the
    decomposed form without a guard had NaN.
  }];
}

def AnnotateRanges : Pass<"pplan-annotate-ranges", "::mlir::func::FuncOp"> {
  let summary = "Notes on integer inputs which values the model can take";
  let description = [{
    An input that is used as indices of a dimension of size n must hold values
    from 0 to n - 1, or from -n where the model counts negative ones from the
    end; the targets of a cross-entropy over c classes must be below c. A value
    outside would silently be taken for another one. The program refuses it.

    Before: `%ids: tensor<4x128xi64> {pplan.input = "ids"}`, used by `pplan.gather %table, %ids dim 0` with 100 rows.
    After: `%ids: tensor<4x128xi64> {pplan.input = "ids", pplan.range = array<i64: 0, 99>}`.
  }];
}

#endif // PPLAN_IMPORT_PASSES_TD
