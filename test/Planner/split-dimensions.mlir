// RUN: pplan-opt %s -split-input-file -pplan-split-dimensions | FileCheck %s

// A reshape into heads reaches the weight and the bias.
// CHECK-LABEL: func.func @heads
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<4x8x32xf32>, %[[W:[a-z0-9]+]]: tensor<32x2x16xf32> {pplan.param = "w"}, %[[B:[a-z0-9]+]]: tensor<2x16xf32> {pplan.param = "b"}
// CHECK: %[[H:.+]] = pplan.contract "btk,kna->btna" %[[X]], %[[W]]
// CHECK: %[[C:.+]] = pplan.broadcast %[[B]] dims [2, 3]
// CHECK: %[[Y:.+]] = pplan.add %[[H]], %[[C]]
// CHECK: return %[[Y]]
func.func @heads(%x: tensor<4x8x32xf32>, %w: tensor<32x32xf32> {pplan.param = "w"},
                 %b: tensor<32xf32> {pplan.param = "b"}) -> tensor<4x8x2x16xf32> {
  %h = pplan.contract "btk,kn->btn" %x, %w : tensor<4x8x32xf32>, tensor<32x32xf32> to tensor<4x8x32xf32>
  %c = pplan.broadcast %b dims [2] : tensor<32xf32> to tensor<4x8x32xf32>
  %y = pplan.add %h, %c : tensor<4x8x32xf32>
  %q = pplan.reshape %y : tensor<4x8x32xf32> to tensor<4x8x2x16xf32>
  return %q : tensor<4x8x2x16xf32>
}

// -----

// Equal slices of a fused projection, each reshaped into heads.
// CHECK-LABEL: func.func @fused
// CHECK-SAME: tensor<32x2x4x8xf32> {pplan.param = "w"}
// CHECK: pplan.contract
// CHECK-SAME: to tensor<6x2x4x8xf32>
// CHECK-COUNT-2: pplan.slice {{.*}} to tensor<6x1x4x8xf32>
func.func @fused(%x: tensor<6x32xf32>, %w: tensor<32x64xf32> {pplan.param = "w"}) -> (tensor<6x4x8xf32>, tensor<6x4x8xf32>) {
  %h = pplan.contract "mk,kn->mn" %x, %w : tensor<6x32xf32>, tensor<32x64xf32> to tensor<6x64xf32>
  %a = pplan.slice %h offsets [0, 0] strides [1, 1] : tensor<6x64xf32> to tensor<6x32xf32>
  %b = pplan.slice %h offsets [0, 32] strides [1, 1] : tensor<6x64xf32> to tensor<6x32xf32>
  %c = pplan.reshape %a : tensor<6x32xf32> to tensor<6x4x8xf32>
  %d = pplan.reshape %b : tensor<6x32xf32> to tensor<6x4x8xf32>
  return %c, %d : tensor<6x4x8xf32>, tensor<6x4x8xf32>
}

// -----

// A merge before a contraction over the merged dimension: sum over both parts.
// CHECK-LABEL: func.func @merge
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<6x4x8xf32>, %[[W:[a-z0-9]+]]: tensor<4x8x5xf32>
// CHECK: pplan.contract "mka,kan->mn" %[[X]], %[[W]]
func.func @merge(%x: tensor<6x4x8xf32>, %w: tensor<32x5xf32> {pplan.param = "w"}) -> tensor<6x5xf32> {
  %h = pplan.reshape %x : tensor<6x4x8xf32> to tensor<6x32xf32>
  %y = pplan.contract "mk,kn->mn" %h, %w : tensor<6x32xf32>, tensor<32x5xf32> to tensor<6x5xf32>
  return %y : tensor<6x5xf32>
}

// -----

// Halves that are not all of the users (a rotary embedding) stay.
// CHECK-LABEL: func.func @rotary
// CHECK-NOT: reshape
func.func @rotary(%x: tensor<6x8xf32>) -> (tensor<6x4xf32>, tensor<6x8xf32>) {
  %e = pplan.exp %x : tensor<6x8xf32>
  %a = pplan.slice %e offsets [0, 4] strides [1, 1] : tensor<6x8xf32> to tensor<6x4xf32>
  %b = pplan.neg %e : tensor<6x8xf32>
  return %a, %b : tensor<6x4xf32>, tensor<6x8xf32>
}

// -----

// Not a split: 6 x 4 to 3 x 8 cuts across dimensions.
// CHECK-LABEL: func.func @across
// CHECK: %[[E:.+]] = pplan.exp %{{.*}} : tensor<6x4xf32>
// CHECK: pplan.reshape %[[E]]
func.func @across(%x: tensor<6x4xf32>) -> tensor<3x8xf32> {
  %e = pplan.exp %x : tensor<6x4xf32>
  %y = pplan.reshape %e : tensor<6x4xf32> to tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}
