// RUN: pplan-opt %s -split-input-file -pplan-convert-ops -pplan-fuse-loops | FileCheck %s

// Broadcast, addition and relu are one loop; the matrix product is a call.
// CHECK-LABEL: func.func @forward
// CHECK: %[[H:.+]] = rt.contract "bk,kn->bn" ins(%arg0, %arg1
// CHECK: linalg.generic {{.*}} ins(%[[H]], %arg2
// CHECK: arith.addf
// CHECK-NEXT: arith.maximumf
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @forward(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %b: tensor<6xf32>) -> tensor<4x6xf32> {
  %h = pplan.contract "bk,kn->bn" %x, %w : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
  %c = pplan.broadcast %b dims [1] : tensor<6xf32> to tensor<4x6xf32>
  %s = pplan.add %h, %c : tensor<4x6xf32>
  %y = pplan.relu %s : tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// What is dear and has two users is computed once.
// CHECK-LABEL: func.func @two_users
// CHECK-COUNT-1: math.exp
// CHECK-NOT: math.exp
// CHECK: return
func.func @two_users(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %e = pplan.exp %x : tensor<4x8xf32>
  %y = pplan.neg %e : tensor<4x8xf32>
  %z = pplan.mul %e, %x : tensor<4x8xf32>
  return %y, %z : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A broadcast is repeated in each loop that reads it.
// CHECK-LABEL: func.func @broadcast
// CHECK: linalg.generic {{.*}} ins(%arg0, %arg1
// CHECK: linalg.generic {{.*}} ins(%arg2, %arg1
// CHECK-NOT: linalg.generic
// CHECK: return
func.func @broadcast(%x: tensor<4x8xf32>, %b: tensor<8xf32>, %z: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>) {
  %c = pplan.broadcast %b dims [1] : tensor<8xf32> to tensor<4x8xf32>
  %y = pplan.mul %x, %c : tensor<4x8xf32>
  %u = pplan.mul %z, %c : tensor<4x8xf32>
  return %y, %u : tensor<4x8xf32>, tensor<4x8xf32>
}
