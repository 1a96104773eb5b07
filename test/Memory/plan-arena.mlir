// RUN: pplan-opt %s -split-input-file -pplan-phase-memory | FileCheck %s

// %c takes the bytes of %a, which nobody reads any more; %d is written where
// the result is wanted. What is stated is the arena of the function.
// CHECK: pplan.memory = {arena = 256 : i64, constants = 0 : i64, inputs = 384 : i64, outputs = 128 : i64, params = 0 : i64}
// CHECK-LABEL: func.func @chain
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: memref<256xi8>, %[[X:[a-z0-9]+]]: memref<4x8xf32>, %[[W:[a-z0-9]+]]: memref<8x8xf32>, %[[Y:[a-z0-9]+]]: memref<4x8xf32>
// CHECK: %[[C0:.+]] = arith.constant 0
// CHECK: %[[A:.+]] = memref.view %[[ARENA]][%[[C0]]]
// CHECK: rt.contract {{.*}} ins(%[[X]], %[[W]] {{.*}} outs(%[[A]]
// CHECK: %[[C128:.+]] = arith.constant 128
// CHECK: %[[B:.+]] = memref.view %[[ARENA]][%[[C128]]]
// CHECK: rt.contract {{.*}} ins(%[[A]], %[[W]] {{.*}} outs(%[[B]]
// CHECK: rt.contract {{.*}} ins(%[[B]], %[[W]] {{.*}} outs(%[[A]]
// CHECK: rt.contract {{.*}} ins(%[[A]], %[[W]] {{.*}} outs(%[[Y]]
// CHECK-NEXT: return
func.func @chain(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %a = pplan.contract "bk,kn->bn" %x, %w : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  %b = pplan.contract "bk,kn->bn" %a, %w : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  %c = pplan.contract "bk,kn->bn" %b, %w : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  %d = pplan.contract "bk,kn->bn" %c, %w : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  return %d : tensor<4x8xf32>
}

// -----

// An elementwise loop works in place.
// CHECK: pplan.memory = {arena = 128 : i64,
// CHECK-LABEL: func.func @in_place
// CHECK: %[[H:.+]] = memref.view
// CHECK: rt.contract {{.*}} outs(%[[H]]
// CHECK: linalg.generic {{.*}} ins(%[[H]] {{.*}} outs(%[[H]]
// CHECK: rt.contract {{.*}} ins(%[[H]]
func.func @in_place(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %h = pplan.contract "bk,kn->bn" %x, %w : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  %r = pplan.relu %h : tensor<4x8xf32>
  %y = pplan.contract "bk,kn->bn" %r, %w : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
