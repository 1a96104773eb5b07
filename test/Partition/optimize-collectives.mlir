// RUN: pplan-opt %s -split-input-file -spmd-optimize-collectives -cse | FileCheck %s

// CHECK-LABEL: func.func @gather_then_slice
// CHECK-NEXT: return %arg0
pplan.mesh @m = <["x"=2, "y"=2]>
func.func @gather_then_slice(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = spmd.all_gather %x dim 0 on @m ["x"] : tensor<4xf32> to tensor<8xf32>
  %1 = spmd.shard_slice %0 dim 0 on @m ["x"] : tensor<8xf32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Other axes hold other parts.
// CHECK-LABEL: func.func @slice_over_other_axis
// CHECK: spmd.all_gather
// CHECK: spmd.shard_slice
pplan.mesh @m = <["x"=2, "y"=2]>
func.func @slice_over_other_axis(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = spmd.all_gather %x dim 0 on @m ["x"] : tensor<4xf32> to tensor<8xf32>
  %1 = spmd.shard_slice %0 dim 0 on @m ["y"] : tensor<8xf32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @reduce_then_slice
// CHECK: %[[S:.*]] = spmd.reduce_scatter sum %arg0 dim 0 on @m ["x"] : tensor<8xf32> to tensor<4xf32>
// CHECK: spmd.all_reduce sum %[[S]] on @m ["y"] : tensor<4xf32>
pplan.mesh @m = <["x"=2, "y"=2]>
func.func @reduce_then_slice(%x: tensor<8xf32>) -> tensor<4xf32> {
  %0 = spmd.all_reduce sum %x on @m ["x", "y"] : tensor<8xf32>
  %1 = spmd.shard_slice %0 dim 0 on @m ["x"] : tensor<8xf32> to tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Conversions move to where fewer bytes are sent.
// CHECK-LABEL: func.func @conversions
// CHECK: %[[N:.*]] = pplan.convert %arg0 : tensor<4xf32> to tensor<4xbf16>
// CHECK: spmd.all_gather %[[N]] dim 0 on @m ["x"] : tensor<4xbf16> to tensor<8xbf16>
// CHECK: %[[W:.*]] = spmd.all_gather %arg1 dim 0 on @m ["x"] : tensor<4xbf16> to tensor<8xbf16>
// CHECK: pplan.convert %[[W]] : tensor<8xbf16> to tensor<8xf32>
pplan.mesh @m = <["x"=2, "y"=2]>
func.func @conversions(%x: tensor<4xf32>, %y: tensor<4xbf16>) -> (tensor<8xbf16>, tensor<8xf32>) {
  %0 = spmd.all_gather %x dim 0 on @m ["x"] : tensor<4xf32> to tensor<8xf32>
  %1 = pplan.convert %0 : tensor<8xf32> to tensor<8xbf16>
  %2 = pplan.convert %y : tensor<4xbf16> to tensor<4xf32>
  %3 = spmd.all_gather %2 dim 0 on @m ["x"] : tensor<4xf32> to tensor<8xf32>
  return %1, %3 : tensor<8xbf16>, tensor<8xf32>
}

// -----

// Equal collectives are one; one that moves nothing is none.
// CHECK-LABEL: func.func @merge
// CHECK-NEXT: %[[R:.*]] = spmd.all_reduce
// CHECK-NEXT: return %[[R]], %[[R]], %arg0
pplan.mesh @m = <["x"=2, "y"=1]>
func.func @merge(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %0 = spmd.all_reduce sum %x on @m ["x"] : tensor<4xf32>
  %1 = spmd.all_reduce sum %x on @m ["x"] : tensor<4xf32>
  %2 = spmd.all_reduce sum %x on @m ["y"] : tensor<4xf32>
  %3 = spmd.permute %2 targets [0, 1] on @m ["x"] : tensor<4xf32>
  return %0, %1, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
