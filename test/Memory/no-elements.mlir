// Tensors without elements are neither read nor passed on, whatever dimension is 0.
// RUN: pplan-opt %s -pplan-convert-ops | FileCheck %s
// RUN: pplan-opt %s -pplan-phase-memory | FileCheck %s --check-prefix=MEMORY
// RUN: pplan-opt %s -pplan-phase-memory -pplan-phase-lower | FileCheck %s --check-prefix=LOWER

// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[A:[a-z0-9]+]]: tensor<2x0xf32>, %[[X:[a-z0-9]+]]: tensor<2x3xf32>
// CHECK-NOT: %[[A]]
// CHECK: linalg.fill
// CHECK-NOT: %[[A]]
// CHECK: tensor.empty() : tensor<3x0x1xf32>
// CHECK: return

// Only the copy of %x is left.
// MEMORY: pplan.memory = {arena = 0 : i64, constants = 0 : i64, inputs = 24 : i64, outputs = 32 : i64, params = 0 : i64}
// MEMORY-NOT: memref.copy
// MEMORY: memref.copy {{.*}} : memref<2x3xf32> to memref<2x3xf32>
// MEMORY-NOT: memref.copy

// LOWER: llvm.func internal @forward(%{{[a-z0-9]+}}: !llvm.ptr
// LOWER-NOT: unrealized_conversion_cast
func.func @forward(%a: tensor<2x0xf32>, %x: tensor<2x3xf32>)
    -> (tensor<2xf32>, tensor<3x0x1xf32>, tensor<2x3xf32>, tensor<2x0xf32>) {
  %sum = pplan.reduce sum %a dims [1] : tensor<2x0xf32> to tensor<2xf32>
  %turned = pplan.transpose %a [1, 0] : tensor<2x0xf32>
  %shaped = pplan.reshape %turned : tensor<0x2xf32> to tensor<3x0x1xf32>
  %joined = pplan.concat %a, %x dim 1 : tensor<2x0xf32>, tensor<2x3xf32> to tensor<2x3xf32>
  return %sum, %shaped, %joined, %a : tensor<2xf32>, tensor<3x0x1xf32>, tensor<2x3xf32>, tensor<2x0xf32>
}
