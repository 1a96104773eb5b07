// RUN: pplan-opt %s --pplan-duplicate-broadcasts | FileCheck %s

// Each user of a broadcast constant has its own.
// CHECK-LABEL: func.func @rotary
func.func @rotary(%x: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  // CHECK: %[[C:.+]] = pplan.constant
  %c = pplan.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %b = pplan.broadcast %c dims [0, 1] : tensor<1x4xf32> to tensor<8x4xf32>
  // CHECK: %[[RETURNED:.+]] = pplan.broadcast %[[C]]
  // CHECK: %[[FIRST:.+]] = pplan.broadcast %[[C]]
  // CHECK: %[[Y:.+]] = pplan.mul %{{.+}}, %[[FIRST]]
  %y = pplan.mul %x, %b : tensor<8x4xf32>
  // CHECK: %[[SECOND:.+]] = pplan.broadcast %[[C]]
  // CHECK: %[[Z:.+]] = pplan.mul %[[Y]], %[[SECOND]]
  %z = pplan.mul %y, %b : tensor<8x4xf32>
  // CHECK-NOT: pplan.broadcast
  // CHECK: return %[[Z]], %[[RETURNED]]
  return %z, %b : tensor<8x4xf32>, tensor<8x4xf32>
}

// What is computed is not computed twice.
// CHECK-LABEL: func.func @mask
func.func @mask(%m: tensor<1x4xf32>, %x: tensor<8x4xf32>) -> tensor<8x4xf32> {
  // CHECK-COUNT-1: pplan.broadcast
  // CHECK-NOT: pplan.broadcast
  %b = pplan.broadcast %m dims [0, 1] : tensor<1x4xf32> to tensor<8x4xf32>
  %y = pplan.mul %x, %b : tensor<8x4xf32>
  %z = pplan.mul %y, %b : tensor<8x4xf32>
  return %z : tensor<8x4xf32>
}
