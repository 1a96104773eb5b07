// RUN: pplan-opt %s -split-input-file -pplan-append-loss | FileCheck %s --check-prefix=LOSS
// RUN: pplan-opt %s -split-input-file -pplan-append-loss -pplan-differentiate="micro-batches=4 loss-scale=8" | FileCheck %s
// RUN: pplan-opt %s -split-input-file -pplan-append-loss -pplan-differentiate="frozen=w" | FileCheck %s --check-prefix=FROZEN

// LOSS-LABEL: func.func @linear
// LOSS-SAME: %[[T:[a-z0-9]+]]: tensor<4xi64> {pplan.input = "targets", pplan.range = array<i64: -9223372036854775808, 2>}) -> (tensor<f32> {pplan.output = "loss"})
// LOSS: %[[L:.+]] = pplan.cross_entropy %{{.+}}, %[[T]]

// Only weights are differentiated; what is summed over micro-batches is divided
// by their number and by the scale of the loss.
// CHECK-LABEL: func.func @linear
// CHECK-SAME: tensor<8x3xf32> {pplan.gradient = "w"}, tensor<3xf32> {pplan.gradient = "b"}) attributes {pplan.micro_batches = 4 : i64}
// CHECK: pplan.contract "bk,kn->bn" {{.*}} {pplan.phase = #pplan.phase<forward>}
// CHECK: pplan.constant {pplan.phase = #pplan.phase<input_gradient>} dense<8.000000e+00>
// CHECK: %[[DW:.+]] = pplan.contract {{.*}} {pplan.phase = #pplan.phase<weight_gradient>} {{.*}} to tensor<8x3xf32>
// CHECK-NOT: pplan.contract
// CHECK: %[[SUM:.+]] = pplan.accumulate %[[DW]] {pplan.phase = #pplan.phase<weight_gradient>}
// CHECK: %[[C:.+]] = pplan.constant {pplan.phase = #pplan.phase<update>} dense<3.125000e-02>
// CHECK: pplan.mul %[[SUM]], %[[C]] {pplan.phase = #pplan.phase<update>}

// FROZEN-LABEL: func.func @linear
// FROZEN-NOT: pplan.gradient = "w"
// FROZEN-SAME: pplan.gradient = "b"
// FROZEN-NOT: pplan.contract {{.*}} weight_gradient
func.func @linear(%x: tensor<4x8xf32> {pplan.input = "x"}, %w: tensor<8x3xf32> {pplan.param = "w"},
                  %b: tensor<3xf32> {pplan.param = "b"}) -> (tensor<4x3xf32> {pplan.output = "logits"}) {
  %h = pplan.contract "bk,kn->bn" %x, %w : tensor<4x8xf32>, tensor<8x3xf32> to tensor<4x3xf32>
  %c = pplan.broadcast %b dims [1] : tensor<3xf32> to tensor<4x3xf32>
  %z = pplan.add %h, %c : tensor<4x3xf32>
  return %z : tensor<4x3xf32>
}

// -----

// A mask among the parameters stays as it is; attention has one backward
// operation for its three gradients.
// CHECK-LABEL: func.func @attend
// CHECK-NOT: pplan.gradient = "mask"
// CHECK: pplan.attention_backward
// FROZEN-LABEL: func.func @attend
// LOSS-LABEL: func.func @attend
func.func @attend(%q: tensor<1x4x1x8xf32> {pplan.input = "q"}, %w: tensor<8x8xf32> {pplan.param = "w"},
                  %m: tensor<1x1x4x4xf32> {pplan.param = "mask"}) -> (tensor<1x4x1x8xf32> {pplan.output = "logits"}) {
  %k = pplan.contract "bthd,de->bthe" %q, %w : tensor<1x4x1x8xf32>, tensor<8x8xf32> to tensor<1x4x1x8xf32>
  %o = pplan.attention %k, %k, %k mask %m scale 0.5 layouts ["bthd", "bthd", "bthd", "bthd"] : tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x4x1x8xf32>, tensor<1x1x4x4xf32> to tensor<1x4x1x8xf32>
  return %o : tensor<1x4x1x8xf32>
}
