// RUN: pplan-opt %s -pplan-phase-partition | FileCheck %s

// The block of transformer-block.mlir with the residual stream split over the
// sequence (Korthikanti et al., 2022): each all_reduce becomes a pair of
// reduce_scatter and all_gather, and nothing else is communicated.

// CHECK-LABEL: func.func @block
// CHECK: pplan.layer_norm
// CHECK-SAME: tensor<4x8x64xf32>
// CHECK: %[[N:.*]] = spmd.all_gather {{.*}} dim 1 on @mesh ["tensor"] : tensor<4x8x64xf32> to tensor<4x16x64xf32>
// CHECK-COUNT-3: pplan.contract "btd,dhe->bthe" %[[N]]
// CHECK: pplan.attention
// CHECK: pplan.contract "bthe,hed->btd"
// CHECK-NOT: = spmd.
// CHECK: spmd.reduce_scatter sum {{.*}} dim 1 on @mesh ["tensor"] : tensor<4x16x64xf32> to tensor<4x8x64xf32>
// CHECK-NOT: = spmd.
// CHECK: pplan.layer_norm
// CHECK: spmd.all_gather {{.*}} dim 1 on @mesh ["tensor"] : tensor<4x8x64xf32> to tensor<4x16x64xf32>
// CHECK-NOT: = spmd.
// CHECK: pplan.contract "btf,fd->btd"
// CHECK: spmd.reduce_scatter sum {{.*}} dim 1 on @mesh ["tensor"] : tensor<4x16x64xf32> to tensor<4x8x64xf32>
// CHECK-NOT: = spmd.
// CHECK: return
pplan.mesh @mesh = <["data"=2, "tensor"=2]>
func.func @block(
    %x: tensor<8x16x64xf32> {pplan.input = "x", pplan.sharding = #pplan.sharding<@mesh, [{"data"}, {"tensor"}, {}]>},
    %g1: tensor<64xf32> {pplan.param = "g1"}, %b1: tensor<64xf32> {pplan.param = "b1"},
    %wq: tensor<64x8x16xf32> {pplan.param = "wq", pplan.sharding = #pplan.sharding<@mesh, [{}, {"tensor"}, {}]>},
    %wk: tensor<64x8x16xf32> {pplan.param = "wk", pplan.sharding = #pplan.sharding<@mesh, [{}, {"tensor"}, {}]>},
    %wv: tensor<64x8x16xf32> {pplan.param = "wv", pplan.sharding = #pplan.sharding<@mesh, [{}, {"tensor"}, {}]>},
    %wo: tensor<8x16x64xf32> {pplan.param = "wo", pplan.sharding = #pplan.sharding<@mesh, [{"tensor"}, {}, {}]>},
    %g2: tensor<64xf32> {pplan.param = "g2"}, %b2: tensor<64xf32> {pplan.param = "b2"},
    %w1: tensor<64x256xf32> {pplan.param = "w1", pplan.sharding = #pplan.sharding<@mesh, [{}, {"tensor"}]>},
    %w2: tensor<256x64xf32> {pplan.param = "w2", pplan.sharding = #pplan.sharding<@mesh, [{"tensor"}, {}]>})
    -> (tensor<8x16x64xf32> {pplan.sharding = #pplan.sharding<@mesh, [{"data"}, {"tensor"}, {}]>}) {
  %n1 = pplan.layer_norm %x scale %g1 bias %b1 num_dims 1 epsilon 1.0e-5 {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {"tensor"}, {}]>]} : tensor<8x16x64xf32>, tensor<64xf32>, tensor<64xf32>
  %q = pplan.contract "btd,dhe->bthe" %n1, %wq {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {"tensor"}, {}]>]} : tensor<8x16x64xf32>, tensor<64x8x16xf32> to tensor<8x16x8x16xf32>
  %k = pplan.contract "btd,dhe->bthe" %n1, %wk {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {"tensor"}, {}]>]} : tensor<8x16x64xf32>, tensor<64x8x16xf32> to tensor<8x16x8x16xf32>
  %v = pplan.contract "btd,dhe->bthe" %n1, %wv {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {"tensor"}, {}]>]} : tensor<8x16x64xf32>, tensor<64x8x16xf32> to tensor<8x16x8x16xf32>
  %a = pplan.attention %q, %k, %v scale 0.25 causal layouts ["bthd", "bthd", "bthd", "bthd"] {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {"tensor"}, {}]>]} : tensor<8x16x8x16xf32>, tensor<8x16x8x16xf32>, tensor<8x16x8x16xf32> to tensor<8x16x8x16xf32>
  %o = pplan.contract "bthe,hed->btd" %a, %wo {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {"tensor"}, {}]>]} : tensor<8x16x8x16xf32>, tensor<8x16x64xf32> to tensor<8x16x64xf32>
  %r1 = pplan.add %x, %o {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {"tensor"}, {}]>]} : tensor<8x16x64xf32>
  %n2 = pplan.layer_norm %r1 scale %g2 bias %b2 num_dims 1 epsilon 1.0e-5 {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {"tensor"}, {}]>]} : tensor<8x16x64xf32>, tensor<64xf32>, tensor<64xf32>
  %h = pplan.contract "btd,df->btf" %n2, %w1 {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {"tensor"}]>]} : tensor<8x16x64xf32>, tensor<64x256xf32> to tensor<8x16x256xf32>
  %e = pplan.gelu tanh %h {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {"tensor"}]>]} : tensor<8x16x256xf32>
  %m = pplan.contract "btf,fd->btd" %e, %w2 {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {"tensor"}, {}]>]} : tensor<8x16x256xf32>, tensor<256x64xf32> to tensor<8x16x64xf32>
  %y = pplan.add %r1, %m {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {"tensor"}, {}]>]} : tensor<8x16x64xf32>
  return %y : tensor<8x16x64xf32>
}
