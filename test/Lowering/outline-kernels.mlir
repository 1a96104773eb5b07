// RUN: pplan-opt %s -pplan-phase-memory -pplan-outline-kernels | FileCheck %s

// Two layers that compute alike share one kernel; it may assume that what it
// writes is not what it reads.
// CHECK-LABEL: func.func @layers
// CHECK: call @[[KERNEL:kernel_[0-9]+]](
// CHECK: rt.contract
// CHECK: call @[[KERNEL]](
// CHECK-NOT: linalg
// CHECK: return
// CHECK: func.func private @[[KERNEL]]({{.*}}llvm.noalias
// CHECK: linalg.generic
// CHECK-NOT: func.func
func.func @layers(%x: tensor<4x8xf32>, %b: tensor<8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %c = pplan.broadcast %b dims [1] : tensor<8xf32> to tensor<4x8xf32>
  %h0 = pplan.contract "bk,kn->bn" %x, %w : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  %s0 = pplan.add %h0, %c : tensor<4x8xf32>
  %r0 = pplan.relu %s0 : tensor<4x8xf32>
  %h1 = pplan.contract "bk,kn->bn" %r0, %w : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  %s1 = pplan.add %h1, %c : tensor<4x8xf32>
  %r1 = pplan.relu %s1 : tensor<4x8xf32>
  %h2 = pplan.contract "bk,kn->bn" %r1, %w : tensor<4x8xf32>, tensor<8x8xf32> to tensor<4x8xf32>
  return %h2 : tensor<4x8xf32>
}
