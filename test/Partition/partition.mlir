// RUN: pplan-opt %s -split-input-file -pplan-insert-reshards -pplan-partition | FileCheck %s

// One device: shapes stay, the layout names the mesh that is declared for it.
// CHECK: pplan.mesh @mesh = <[]>
// CHECK-LABEL: func.func @single
// CHECK-SAME: tensor<8xf32> {spmd.layout = [#pplan.sharding<@mesh, [{}]>, tensor<8xf32>]}
func.func @single(%x: tensor<8xf32>) -> tensor<8xf32> {
  %y = pplan.exp %x : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// A sum over a factor that the mesh does not divide is masked on both sides.
// CHECK-LABEL: func.func @uneven_contraction
// CHECK-SAME: tensor<8x33xf32>
// CHECK: %[[A:.*]] = spmd.mask_padding %arg0 dim 1 size 65 fill 0.000000e+00 : f32 on @m ["x"]
// CHECK: %[[B:.*]] = spmd.mask_padding %arg1 dim 0 size 65 fill 0.000000e+00 : f32 on @m ["x"]
// CHECK: pplan.contract "mk,kn->mn" %[[A]], %[[B]]
// CHECK: spmd.all_reduce sum
pplan.mesh @m = <["x"=2]>
func.func @uneven_contraction(%a: tensor<8x65xf32> {pplan.sharding = #pplan.sharding<@m, [{}, {"x"}]>}, %b: tensor<65x8xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %y = pplan.contract "mk,kn->mn" %a, %b {pplan.shardings = [#pplan.sharding<@m, [{}, {}]>]} : tensor<8x65xf32>, tensor<65x8xf32> to tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Padding of a maximum is the least value.
// CHECK-LABEL: func.func @uneven_max
// CHECK: spmd.mask_padding %arg0 dim 0 size 5 fill -2147483648 : i32 on @m ["x"]
// CHECK: spmd.all_reduce max
pplan.mesh @m = <["x"=2]>
func.func @uneven_max(%a: tensor<5xi32> {pplan.sharding = #pplan.sharding<@m, [{"x"}]>}) -> tensor<i32> {
  %y = pplan.reduce max %a dims [0] : tensor<5xi32> to tensor<i32>
  return %y : tensor<i32>
}

// -----

// A value that becomes partial stays on the first device.
// CHECK-LABEL: func.func @to_partial
// CHECK: %[[PLACE:.*]] = spmd.shard_offset size 2 on @m ["x"] : tensor<i64>
// CHECK: pplan.compare eq %[[PLACE]]
// CHECK: pplan.select {{.*}} %arg0
pplan.mesh @m = <["x"=2]>
func.func @to_partial(%a: tensor<4xf32>) -> (tensor<4xf32> {pplan.sharding = #pplan.sharding<@m, [{}], partial = sum {"x"}>}) {
  return %a : tensor<4xf32>
}

// -----

// An axis moves between dimensions in one all_to_all, the order of axes in one
// permute.
// CHECK-LABEL: func.func @movements
// CHECK: spmd.all_to_all %arg0 split_dim 1 concat_dim 0 on @m ["x"] : tensor<4x8xf32> to tensor<8x4xf32>
// CHECK: spmd.permute %arg1 targets [0, 2, 1, 3] on @m ["x", "y"] {{.*}} : tensor<2xf32>
pplan.mesh @m = <["x"=2, "y"=2]>
func.func @movements(%a: tensor<8x8xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}, {}]>}, %b: tensor<8xf32> {pplan.sharding = #pplan.sharding<@m, [{"x", "y"}]>}) -> (tensor<8x8xf32> {pplan.sharding = #pplan.sharding<@m, [{}, {"x"}]>}, tensor<8xf32> {pplan.sharding = #pplan.sharding<@m, [{"y", "x"}]>}) {
  return %a, %b : tensor<8x8xf32>, tensor<8xf32>
}
