// RUN: pplan-opt %s -pplan-phase-partition | FileCheck %s

// A complete transformer block in the tensor-parallel form of Shoeybi et al.
// (2019): weights and activations are annotated, nothing says where to
// communicate. The forward pass needs one all_reduce after attention and one
// after the MLP.

// CHECK-LABEL: func.func @block
// CHECK: pplan.layer_norm
// CHECK: pplan.contract "btd,dhe->bthe"
// CHECK-SAME: tensor<4x16x64xf32>, tensor<64x4x16xf32> to tensor<4x16x4x16xf32>
// CHECK: pplan.attention
// CHECK: pplan.contract "bthe,hed->btd"
// CHECK-NOT: = spmd.
// CHECK: spmd.all_reduce sum {{.*}} on @mesh ["tensor"] : tensor<4x16x64xf32>
// CHECK-NOT: = spmd.
// CHECK: pplan.layer_norm
// CHECK: pplan.contract "btd,df->btf"
// CHECK-SAME: tensor<4x16x64xf32>, tensor<64x128xf32> to tensor<4x16x128xf32>
// CHECK: pplan.gelu
// CHECK: pplan.contract "btf,fd->btd"
// CHECK-NOT: = spmd.
// CHECK: spmd.all_reduce sum {{.*}} on @mesh ["tensor"] : tensor<4x16x64xf32>
// CHECK-NOT: = spmd.
// CHECK: return
pplan.mesh @mesh = <["data"=2, "tensor"=2]>
func.func @block(
    %x: tensor<8x16x64xf32> {pplan.input = "x", pplan.sharding = #pplan.sharding<@mesh, [{"data"}, {}, {}]>},
    %g1: tensor<64xf32> {pplan.param = "g1"}, %b1: tensor<64xf32> {pplan.param = "b1"},
    %wq: tensor<64x8x16xf32> {pplan.param = "wq", pplan.sharding = #pplan.sharding<@mesh, [{}, {"tensor"}, {}]>},
    %wk: tensor<64x8x16xf32> {pplan.param = "wk", pplan.sharding = #pplan.sharding<@mesh, [{}, {"tensor"}, {}]>},
    %wv: tensor<64x8x16xf32> {pplan.param = "wv", pplan.sharding = #pplan.sharding<@mesh, [{}, {"tensor"}, {}]>},
    %wo: tensor<8x16x64xf32> {pplan.param = "wo", pplan.sharding = #pplan.sharding<@mesh, [{"tensor"}, {}, {}]>},
    %g2: tensor<64xf32> {pplan.param = "g2"}, %b2: tensor<64xf32> {pplan.param = "b2"},
    %w1: tensor<64x256xf32> {pplan.param = "w1", pplan.sharding = #pplan.sharding<@mesh, [{}, {"tensor"}]>},
    %w2: tensor<256x64xf32> {pplan.param = "w2", pplan.sharding = #pplan.sharding<@mesh, [{"tensor"}, {}]>})
    -> (tensor<8x16x64xf32> {pplan.sharding = #pplan.sharding<@mesh, [{"data"}, {}, {}]>}) {
  %n1 = pplan.layer_norm %x scale %g1 bias %b1 num_dims 1 epsilon 1.0e-5 {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {}]>]} : tensor<8x16x64xf32>, tensor<64xf32>, tensor<64xf32>
  %q = pplan.contract "btd,dhe->bthe" %n1, %wq {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {"tensor"}, {}]>]} : tensor<8x16x64xf32>, tensor<64x8x16xf32> to tensor<8x16x8x16xf32>
  %k = pplan.contract "btd,dhe->bthe" %n1, %wk {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {"tensor"}, {}]>]} : tensor<8x16x64xf32>, tensor<64x8x16xf32> to tensor<8x16x8x16xf32>
  %v = pplan.contract "btd,dhe->bthe" %n1, %wv {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {"tensor"}, {}]>]} : tensor<8x16x64xf32>, tensor<64x8x16xf32> to tensor<8x16x8x16xf32>
  %a = pplan.attention %q, %k, %v scale 0.25 causal layouts ["bthd", "bthd", "bthd", "bthd"] {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {"tensor"}, {}]>]} : tensor<8x16x8x16xf32>, tensor<8x16x8x16xf32>, tensor<8x16x8x16xf32> to tensor<8x16x8x16xf32>
  %o = pplan.contract "bthe,hed->btd" %a, %wo {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {}]>]} : tensor<8x16x8x16xf32>, tensor<8x16x64xf32> to tensor<8x16x64xf32>
  %r1 = pplan.add %x, %o {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {}]>]} : tensor<8x16x64xf32>
  %n2 = pplan.layer_norm %r1 scale %g2 bias %b2 num_dims 1 epsilon 1.0e-5 {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {}]>]} : tensor<8x16x64xf32>, tensor<64xf32>, tensor<64xf32>
  %h = pplan.contract "btd,df->btf" %n2, %w1 {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {"tensor"}]>]} : tensor<8x16x64xf32>, tensor<64x256xf32> to tensor<8x16x256xf32>
  %e = pplan.gelu tanh %h {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {"tensor"}]>]} : tensor<8x16x256xf32>
  %m = pplan.contract "btf,fd->btd" %e, %w2 {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {}]>]} : tensor<8x16x256xf32>, tensor<256x64xf32> to tensor<8x16x64xf32>
  %y = pplan.add %r1, %m {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}, {}]>]} : tensor<8x16x64xf32>
  return %y : tensor<8x16x64xf32>
}
