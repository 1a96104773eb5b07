// Folds and patterns of single operations, what merges, and that an annotated operation (somebody chose its sharding) stays.
// RUN: pplan-opt %s -canonicalize -cse | FileCheck %s

pplan.mesh @mesh = <["data"=2]>

// CHECK-LABEL: func.func @convert_same
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: return %[[X]]
func.func @convert_same(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = pplan.convert %x : tensor<4xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @convert_annotated
// CHECK: pplan.convert
func.func @convert_annotated(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = pplan.convert %x {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}]>]} : tensor<4xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @convert_narrows
// CHECK: pplan.convert
func.func @convert_narrows(%x: tensor<4xf32>) -> tensor<4xf16> {
  %0 = pplan.convert %x : tensor<4xf32> to tensor<4xf16>
  return %0 : tensor<4xf16>
}

// CHECK-LABEL: func.func @broadcast_same
// CHECK-NEXT: return %arg0
func.func @broadcast_same(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pplan.broadcast %x dims [0, 1] : tensor<4x8xf32> to tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @broadcast_repeats
// CHECK: pplan.broadcast
func.func @broadcast_repeats(%x: tensor<1x8xf32>) -> tensor<4x8xf32> {
  %0 = pplan.broadcast %x dims [0, 1] : tensor<1x8xf32> to tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @reshape_same
// CHECK-NEXT: return %arg0
func.func @reshape_same(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pplan.reshape %x : tensor<4x8xf32> to tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @reshape_back
// CHECK-NEXT: return %arg0
func.func @reshape_back(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pplan.reshape %x : tensor<4x8xf32> to tensor<32xf32>
  %1 = pplan.reshape %0 : tensor<32xf32> to tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @reshape_chain
// CHECK-NEXT: %[[Y:.*]] = pplan.reshape %arg0 : tensor<4x8xf32> to tensor<2x16xf32>
// CHECK-NEXT: return %[[Y]]
func.func @reshape_chain(%x: tensor<4x8xf32>) -> tensor<2x16xf32> {
  %0 = pplan.reshape %x : tensor<4x8xf32> to tensor<32xf32>
  %1 = pplan.reshape %0 : tensor<32xf32> to tensor<2x16xf32>
  return %1 : tensor<2x16xf32>
}

// The sharding of the inner reshape is a decision; it may force a communication.
// CHECK-LABEL: func.func @reshape_chain_annotated
// CHECK-COUNT-2: pplan.reshape
func.func @reshape_chain_annotated(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pplan.reshape %x {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}]>]} : tensor<4x8xf32> to tensor<32xf32>
  %1 = pplan.reshape %0 : tensor<32xf32> to tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @transpose_identity
// CHECK-NEXT: return %arg0
func.func @transpose_identity(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pplan.transpose %x [0, 1] : tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Two rotations of three dimensions are one rotation the other way.
// CHECK-LABEL: func.func @transpose_chain
// CHECK-NEXT: %[[Y:.*]] = pplan.transpose %arg0 [2, 0, 1] : tensor<2x3x4xf32>
// CHECK-NEXT: return %[[Y]] : tensor<4x2x3xf32>
func.func @transpose_chain(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %0 = pplan.transpose %x [1, 2, 0] : tensor<2x3x4xf32>
  %1 = pplan.transpose %0 [1, 2, 0] : tensor<3x4x2xf32>
  return %1 : tensor<4x2x3xf32>
}

// CHECK-LABEL: func.func @transpose_back
// CHECK-NEXT: return %arg0
func.func @transpose_back(%x: tensor<2x3x4xf32>) -> tensor<2x3x4xf32> {
  %0 = pplan.transpose %x [1, 2, 0] : tensor<2x3x4xf32>
  %1 = pplan.transpose %0 [2, 0, 1] : tensor<3x4x2xf32>
  return %1 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @slice_whole
// CHECK-NEXT: return %arg0
func.func @slice_whole(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = pplan.slice %x offsets [0, 0] strides [1, 1] : tensor<4x8xf32> to tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: func.func @slice_reverses
// CHECK: pplan.slice
func.func @slice_reverses(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = pplan.slice %x offsets [3] strides [-1] : tensor<4xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @concat_one
// CHECK-NEXT: return %arg0
func.func @concat_one(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = pplan.concat %x dim 0 : tensor<4xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}

// CHECK-LABEL: func.func @contract_operands
// CHECK-NEXT: pplan.contract "km,nk->mn" %arg0, %arg1 : tensor<8x4xf32>, tensor<6x8xf32> to tensor<4x6xf32>
func.func @contract_operands(%x: tensor<8x4xf32>, %w: tensor<6x8xf32>) -> tensor<4x6xf32> {
  %0 = pplan.transpose %x [1, 0] : tensor<8x4xf32>
  %1 = pplan.transpose %w [1, 0] : tensor<6x8xf32>
  %2 = pplan.contract "mk,kn->mn" %0, %1 : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
  return %2 : tensor<4x6xf32>
}

// A rotation tells a permutation from its inverse.
// CHECK-LABEL: func.func @contract_rotated
// CHECK-NEXT: pplan.contract "kbm,bkn->bmn" %arg0, %arg1
func.func @contract_rotated(%x: tensor<5x2x3xf32>, %w: tensor<2x5x4xf32>) -> tensor<2x3x4xf32> {
  %0 = pplan.transpose %x [1, 2, 0] : tensor<5x2x3xf32>
  %1 = pplan.contract "bmk,bkn->bmn" %0, %w : tensor<2x3x5xf32>, tensor<2x5x4xf32> to tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// CHECK-LABEL: func.func @contract_result
// CHECK-NEXT: %[[Y:.*]] = pplan.contract "bmk,bkn->nbm" %arg0, %arg1
// CHECK-NEXT: return %[[Y]] : tensor<4x2x3xf32>
func.func @contract_result(%x: tensor<2x3x5xf32>, %w: tensor<2x5x4xf32>) -> tensor<4x2x3xf32> {
  %0 = pplan.contract "bmk,bkn->bmn" %x, %w : tensor<2x3x5xf32>, tensor<2x5x4xf32> to tensor<2x3x4xf32>
  %1 = pplan.transpose %0 [2, 0, 1] : tensor<2x3x4xf32>
  return %1 : tensor<4x2x3xf32>
}

// The product is needed in both orders: computing it twice costs more than the transpose.
// CHECK-LABEL: func.func @contract_result_used_twice
// CHECK: pplan.contract
// CHECK-NEXT: pplan.transpose
func.func @contract_result_used_twice(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) -> (tensor<4x6xf32>, tensor<6x4xf32>) {
  %0 = pplan.contract "mk,kn->mn" %x, %w : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
  %1 = pplan.transpose %0 [1, 0] : tensor<4x6xf32>
  return %0, %1 : tensor<4x6xf32>, tensor<6x4xf32>
}

// CHECK-LABEL: func.func @contract_annotated_transpose
// CHECK: pplan.transpose
// CHECK-NEXT: pplan.contract "mk,kn->mn"
func.func @contract_annotated_transpose(%x: tensor<8x4xf32>, %w: tensor<8x6xf32>) -> tensor<4x6xf32> {
  %0 = pplan.transpose %x [1, 0] {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}]>]} : tensor<8x4xf32>
  %1 = pplan.contract "mk,kn->mn" %0, %w : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// Splitting and joining heads disappears into the layouts.
// CHECK-LABEL: func.func @attention_transposes
// CHECK-NEXT: %[[Y:.*]] = pplan.attention %arg0, %arg1, %arg1 scale 1.000000e+00 layouts ["bthd", "bthd", "bthd", "bthd"]
// CHECK-NEXT: return %[[Y]]
func.func @attention_transposes(%q: tensor<2x16x4x8xf32>, %k: tensor<2x12x4x8xf32>) -> tensor<2x16x4x8xf32> {
  %0 = pplan.transpose %q [0, 2, 1, 3] : tensor<2x16x4x8xf32>
  %1 = pplan.transpose %k [0, 2, 1, 3] : tensor<2x12x4x8xf32>
  %2 = pplan.attention %0, %1, %1 scale 1.0 layouts ["bhtd", "bhtd", "bhtd", "bhtd"]
    : tensor<2x4x16x8xf32>, tensor<2x4x12x8xf32>, tensor<2x4x12x8xf32> to tensor<2x4x16x8xf32>
  %3 = pplan.transpose %2 [0, 2, 1, 3] : tensor<2x4x16x8xf32>
  return %3 : tensor<2x16x4x8xf32>
}

// The key's own transpose (t and d swapped) as well.
// CHECK-LABEL: func.func @attention_key
// CHECK-NEXT: pplan.attention %arg0, %arg1, %arg0 scale 1.000000e+00 layouts ["bhtd", "bhdt", "bhtd", "bhtd"]
func.func @attention_key(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x8x16xf32>) -> tensor<2x4x16x8xf32> {
  %0 = pplan.transpose %k [0, 1, 3, 2] : tensor<2x4x8x16xf32>
  %1 = pplan.attention %q, %0, %q scale 1.0 layouts ["bhtd", "bhtd", "bhtd", "bhtd"]
    : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32> to tensor<2x4x16x8xf32>
  return %1 : tensor<2x4x16x8xf32>
}

// Constants and dead values.
// CHECK-LABEL: func.func @constants
// CHECK-NEXT: %[[C:.*]] = pplan.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK-NEXT: return %[[C]], %[[C]]
func.func @constants(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = pplan.constant dense<2.0> : tensor<4xf32>
  %1 = pplan.constant dense<2.0> : tensor<4xf32>
  %2 = pplan.exp %x : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @constants_annotated
// CHECK-DAG: %[[A:.*]] = pplan.constant dense<2.000000e+00> : tensor<4xf32>
// CHECK-DAG: %[[B:.*]] = pplan.constant {pplan.shardings = {{.*}}{"data"}{{.*}}} dense<2.000000e+00> : tensor<4xf32>
// CHECK: return %[[A]], %[[B]]
func.func @constants_annotated() -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = pplan.constant dense<2.0> : tensor<4xf32>
  %1 = pplan.constant {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}]>]} dense<2.0> : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
