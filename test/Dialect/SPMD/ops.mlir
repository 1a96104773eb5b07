// Every operation of the dialect: what is printed parses to the same again.
// RUN: pplan-opt %s | pplan-opt | FileCheck %s
// RUN: pplan-opt %s -mlir-print-op-generic | pplan-opt | FileCheck %s

pplan.mesh @mesh = <["data"=2, "tensor"=4]>

// CHECK-LABEL: func.func @reductions
func.func @reductions(%x: tensor<4x8xf32>) {
  // CHECK-NEXT: spmd.all_reduce sum %{{.*}} on @mesh ["tensor"] : tensor<4x8xf32>
  %sum = spmd.all_reduce sum %x on @mesh ["tensor"] : tensor<4x8xf32>
  // CHECK-NEXT: spmd.all_reduce prod %{{.*}} on @mesh ["data", "tensor"] : tensor<4x8xf32>
  %prod = spmd.all_reduce prod %x on @mesh ["data", "tensor"] : tensor<4x8xf32>
  // CHECK-NEXT: spmd.all_reduce max %{{.*}} on @mesh ["tensor", "data"] : tensor<4x8xf32>
  %max = spmd.all_reduce max %x on @mesh ["tensor", "data"] : tensor<4x8xf32>
  // CHECK-NEXT: spmd.all_reduce min %{{.*}} on @mesh [] : tensor<4x8xf32>
  %min = spmd.all_reduce min %x on @mesh [] : tensor<4x8xf32>
  // CHECK-NEXT: spmd.reduce_scatter sum %{{.*}} dim 1 on @mesh ["tensor"] : tensor<4x8xf32> to tensor<4x2xf32>
  %scatter = spmd.reduce_scatter sum %x dim 1 on @mesh ["tensor"] : tensor<4x8xf32> to tensor<4x2xf32>
  return
}

// CHECK-LABEL: func.func @moves
func.func @moves(%x: tensor<4x8xf32>) {
  // CHECK-NEXT: spmd.all_gather %{{.*}} dim 1 on @mesh ["data"] : tensor<4x8xf32> to tensor<4x16xf32>
  %gather = spmd.all_gather %x dim 1 on @mesh ["data"] : tensor<4x8xf32> to tensor<4x16xf32>
  // CHECK-NEXT: spmd.all_to_all %{{.*}} split_dim 0 concat_dim 1 on @mesh ["tensor"] : tensor<4x8xf32> to tensor<1x32xf32>
  %all = spmd.all_to_all %x split_dim 0 concat_dim 1 on @mesh ["tensor"] : tensor<4x8xf32> to tensor<1x32xf32>
  // CHECK-NEXT: spmd.permute %{{.*}} targets [1, 2, 3, 0] on @mesh ["tensor"] : tensor<4x8xf32>
  %permute = spmd.permute %x targets [1, 2, 3, 0] on @mesh ["tensor"] : tensor<4x8xf32>
  // CHECK-NEXT: spmd.shard_slice %{{.*}} dim 0 on @mesh ["data"] : tensor<4x8xf32> to tensor<2x8xf32>
  %slice = spmd.shard_slice %x dim 0 on @mesh ["data"] : tensor<4x8xf32> to tensor<2x8xf32>
  // CHECK-NEXT: spmd.shard_offset size 50257 on @mesh ["data", "tensor"] : tensor<i64>
  %offset = spmd.shard_offset size 50257 on @mesh ["data", "tensor"] : tensor<i64>
  return
}

// Sizes that the group does not divide: 9 over 4 devices has parts of 3, and of 9 over 2 then 4, parts of 5 then 2.
// CHECK-LABEL: func.func @padded
func.func @padded(%part: tensor<4x3xf32>, %whole: tensor<4x9xf32>, %deep: tensor<4x2xi64>) {
  // CHECK-NEXT: spmd.all_gather %{{.*}} dim 1 on @mesh ["tensor"] : tensor<4x3xf32> to tensor<4x9xf32>
  %gather = spmd.all_gather %part dim 1 on @mesh ["tensor"] : tensor<4x3xf32> to tensor<4x9xf32>
  // CHECK-NEXT: spmd.reduce_scatter max %{{.*}} dim 1 on @mesh ["tensor"] : tensor<4x9xf32> to tensor<4x3xf32>
  %scatter = spmd.reduce_scatter max %whole dim 1 on @mesh ["tensor"] : tensor<4x9xf32> to tensor<4x3xf32>
  // CHECK-NEXT: spmd.shard_slice %{{.*}} dim 1 on @mesh ["tensor"] : tensor<4x9xf32> to tensor<4x3xf32>
  %slice = spmd.shard_slice %whole dim 1 on @mesh ["tensor"] : tensor<4x9xf32> to tensor<4x3xf32>
  // CHECK-NEXT: spmd.all_to_all %{{.*}} split_dim 0 concat_dim 1 on @mesh ["tensor"] : tensor<4x3xf32> to tensor<1x11xf32>
  %all = spmd.all_to_all %part split_dim 0 concat_dim 1 on @mesh ["tensor"] : tensor<4x3xf32> to tensor<1x11xf32>
  // CHECK-NEXT: spmd.mask_padding %{{.*}} dim 1 size 9 fill 0.000000e+00 : f32 on @mesh ["tensor"] : tensor<4x3xf32>
  %mask = spmd.mask_padding %part dim 1 size 9 fill 0.0 : f32 on @mesh ["tensor"] : tensor<4x3xf32>
  // CHECK-NEXT: spmd.mask_padding %{{.*}} dim 1 size 9 fill -1 : i64 on @mesh ["data", "tensor"] : tensor<4x2xi64>
  %nested = spmd.mask_padding %deep dim 1 size 9 fill -1 : i64 on @mesh ["data", "tensor"] : tensor<4x2xi64>
  return
}
