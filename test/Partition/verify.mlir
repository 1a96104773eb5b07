// RUN: pplan-opt %s -split-input-file -verify-diagnostics -spmd-verify

#rep = #pplan.sharding<@m, [{}]>
#split = #pplan.sharding<@m, [{"x"}]>
#sum = #pplan.sharding<@m, [{}], partial = sum {"x"}>
pplan.mesh @m = <["x"=2, "y"=2]>
func.func @correct(%x: tensor<8xf32> {spmd.layout = [#sum, tensor<8xf32>]}) -> (tensor<4xf32> {spmd.layout = [#split, tensor<8xf32>]}) {
  %0 = spmd.reduce_scatter sum %x dim 0 on @m ["x"] : tensor<8xf32> to tensor<4xf32>
  %1 = pplan.exp %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

pplan.mesh @m = <["x"=2, "y"=2]>
func.func @dropped(%x: tensor<8xf32> {spmd.layout = [#pplan.sharding<@m, [{}], partial = sum {"x"}>, tensor<8xf32>]}) -> (tensor<8xf32> {spmd.layout = [#pplan.sharding<@m, [{}]>, tensor<8xf32>]}) {
  // expected-error @+2 {{runs on parts that do not fit together: operand 0 is a partial value, which the operation does not pass on}}
  // expected-note @+1 {{operand 0 is tensor<8xf32> split as [{}], partial = sum {"x"}}}
  %0 = pplan.exp %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

pplan.mesh @m = <["x"=2, "y"=2]>
func.func @retargeted(%x: tensor<8xf32> {spmd.layout = [#pplan.sharding<@m, [{}], partial = sum {"x"}>, tensor<8xf32>]}) -> (tensor<8xf32> {spmd.layout = [#pplan.sharding<@m, [{}]>, tensor<8xf32>]}) {
  // expected-error @+1 {{over ["y"] does not fit its operand, which is tensor<8xf32> split as [{}], partial = sum {"x"}}}
  %0 = spmd.all_reduce sum %x on @m ["y"] : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

pplan.mesh @m = <["x"=2, "y"=2]>
func.func @padding(%x: tensor<3xf32> {spmd.layout = [#pplan.sharding<@m, [{"x"}]>, tensor<5xf32>]}) -> (tensor<f32> {spmd.layout = [#pplan.sharding<@m, [], partial = sum {"x"}>, tensor<f32>]}) {
  // expected-error @+1 {{reduces over the padding in dimension 0 of operand 0, tensor<5xf32> split as [{"x"}]; fill it with spmd.mask_padding}}
  %0 = pplan.reduce sum %x dims [0] : tensor<3xf32> to tensor<f32>
  return %0 : tensor<f32>
}

// -----

pplan.mesh @m = <["x"=2, "y"=2]>
func.func @filled_wrong(%x: tensor<3xf32> {spmd.layout = [#pplan.sharding<@m, [{"x"}]>, tensor<5xf32>]}) -> (tensor<f32> {spmd.layout = [#pplan.sharding<@m, [], partial = prod {"x"}>, tensor<f32>]}) {
  %0 = spmd.mask_padding %x dim 0 size 5 fill 0.0 : f32 on @m ["x"] : tensor<3xf32>
  // expected-error @+1 {{reduces over the padding in dimension 0}}
  %1 = pplan.reduce prod %0 dims [0] : tensor<3xf32> to tensor<f32>
  return %1 : tensor<f32>
}

// -----

pplan.mesh @m = <["x"=2, "y"=2]>
func.func @wrong_layout(%x: tensor<4xf32> {spmd.layout = [#pplan.sharding<@m, [{"x"}]>, tensor<8xf32>]}) -> (tensor<4xf32> {spmd.layout = [#pplan.sharding<@m, [{"y"}]>, tensor<8xf32>]}) {
  // expected-note @+1 {{it is computed here}}
  %0 = pplan.exp %x : tensor<4xf32>
  // expected-error @+1 {{operand 0 is tensor<8xf32> split as [{"x"}], but the result's layout declares tensor<8xf32> split as [{"y"}]}}
  return %0 : tensor<4xf32>
}

// -----

pplan.mesh @m = <["x"=2, "y"=2]>
func.func @false_claim(%x: tensor<4xf32> {spmd.layout = [#pplan.sharding<@m, [{"x"}]>, tensor<8xf32>]}) -> (tensor<4xf32> {spmd.layout = [#pplan.sharding<@m, [{"y"}]>, tensor<8xf32>]}) {
  // expected-error @+2 {{runs on parts that do not fit together: result 0 splits a factor unlike the other operands}}
  // expected-note @+1 {{operand 0 is}}
  %0 = pplan.exp %x {spmd.state = [#pplan.sharding<@m, [{"y"}]>, tensor<8xf32>]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

pplan.mesh @m = <["x"=2, "y"=2]>
func.func @permuted_wrong(%x: tensor<4xf32> {spmd.layout = [#pplan.sharding<@m, [{"x"}]>, tensor<8xf32>]}) -> (tensor<4xf32> {spmd.layout = [#pplan.sharding<@m, [{"y"}]>, tensor<8xf32>]}) {
  // expected-error @+1 {{targets [0, 1, 3, 2] do not turn tensor<8xf32> split as [{"x"}] into tensor<8xf32> split as [{"y"}]}}
  %0 = spmd.permute %x targets [0, 1, 3, 2] on @m ["x", "y"] {spmd.state = [#pplan.sharding<@m, [{"y"}]>, tensor<8xf32>]} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

pplan.mesh @m = <["x"=2, "y"=2]>
func.func @device_dependent() -> (tensor<i64> {spmd.layout = [#pplan.sharding<@m, []>, tensor<i64>]}) {
  // expected-note @+1 {{it is computed here}}
  %0 = spmd.shard_offset size 8 on @m ["x"] : tensor<i64>
  // expected-error @+1 {{operand 0 is a value that depends on the device, but the result's layout declares}}
  return %0 : tensor<i64>
}

// -----

pplan.mesh @m = <["x"=2, "y"=2]>
func.func @unchecked_lookup(%t: tensor<4x2xf32> {spmd.layout = [#pplan.sharding<@m, [{"x"}, {}]>, tensor<8x2xf32>]}, %i: tensor<3xi32> {spmd.layout = [#pplan.sharding<@m, [{}]>, tensor<3xi32>]}) -> (tensor<3x2xf32> {spmd.layout = [#pplan.sharding<@m, [{}, {}], partial = sum {"x"}>, tensor<3x2xf32>]}) {
  // expected-error @+1 {{looks up a split table}}
  %0 = pplan.gather %t, %i dim 0 {spmd.state = [#pplan.sharding<@m, [{}, {}], partial = sum {"x"}>, tensor<3x2xf32>]} : tensor<4x2xf32>, tensor<3xi32> to tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}

// -----

pplan.mesh @m = <["x"=2]>
// expected-error @+1 {{argument 0 has no spmd.layout}}
func.func @no_layout(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

pplan.mesh @m = <["x"=2]>
// expected-error @+1 {{has a value of type 'tensor<8xf32>' where a device's part of tensor<8xf32> split as [{"x"}] is due}}
func.func @wrong_size(%x: tensor<8xf32> {spmd.layout = [#pplan.sharding<@m, [{"x"}]>, tensor<8xf32>]}) -> (tensor<8xf32> {spmd.layout = [#pplan.sharding<@m, [{}]>, tensor<8xf32>]}) {
  return %x : tensor<8xf32>
}
