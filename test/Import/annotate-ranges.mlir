// RUN: pplan-opt %s -split-input-file -pplan-annotate-ranges | FileCheck %s

// CHECK-LABEL: func.func @plain
// CHECK-SAME: %{{.+}}: tensor<4xi32> {pplan.input = "ids", pplan.range = array<i64: 0, 9>}
// CHECK-SAME: %{{.+}}: tensor<4xi64> {pplan.input = "targets", pplan.range = array<i64: -9223372036854775808, 2>}
func.func @plain(%table: tensor<10x3xf32> {pplan.param = "w"}, %ids: tensor<4xi32> {pplan.input = "ids"},
                 %t: tensor<4xi64> {pplan.input = "targets"}) -> tensor<4xf32> {
  %wide = pplan.convert %ids : tensor<4xi32> to tensor<4xi64>
  %z = pplan.gather %table, %wide dim 0 : tensor<10x3xf32>, tensor<4xi64> to tensor<4x3xf32>
  %l = pplan.cross_entropy %z, %t : tensor<4x3xf32>, tensor<4xi64> to tensor<4xf32>
  return %l : tensor<4xf32>
}

// -----

// Negative indices count from the end; of two tables the smaller one counts.
// CHECK-LABEL: func.func @wrapped
// CHECK-SAME: pplan.range = array<i64: -8, 7>
func.func @wrapped(%a: tensor<10x3xf32>, %b: tensor<8x3xf32>, %ids: tensor<4xi64> {pplan.input = "ids"}) -> (tensor<4x3xf32>, tensor<4x3xf32>) {
  %zero = pplan.constant dense<0> : tensor<4xi64>
  %negative = pplan.compare lt %ids, %zero : tensor<4xi64>
  %ten = pplan.constant dense<10> : tensor<4xi64>
  %i = pplan.add %ids, %ten : tensor<4xi64>
  %p = pplan.select %negative, %i, %ids : tensor<4xi64>
  %y = pplan.gather %a, %p dim 0 : tensor<10x3xf32>, tensor<4xi64> to tensor<4x3xf32>
  %eight = pplan.constant dense<8> : tensor<4xi64>
  %j = pplan.add %ids, %eight : tensor<4xi64>
  %q = pplan.select %negative, %j, %ids : tensor<4xi64>
  %z = pplan.gather %b, %q dim 0 : tensor<8x3xf32>, tensor<4xi64> to tensor<4x3xf32>
  return %y, %z : tensor<4x3xf32>, tensor<4x3xf32>
}

// -----

// Computed indices are no input's.
// CHECK-LABEL: func.func @computed
// CHECK-NOT: pplan.range
func.func @computed(%table: tensor<10x3xf32>, %ids: tensor<4xi64> {pplan.input = "ids"}) -> tensor<4x3xf32> {
  %one = pplan.constant dense<1> : tensor<4xi64>
  %next = pplan.add %ids, %one : tensor<4xi64>
  %z = pplan.gather %table, %next dim 0 : tensor<10x3xf32>, tensor<4xi64> to tensor<4x3xf32>
  return %z : tensor<4x3xf32>
}
