// RUN: pplan-opt %s -split-input-file -verify-diagnostics -pplan-partition

pplan.mesh @m = <["x"=2]>
func.func @no_reshards(%x: tensor<8x8xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  // expected-error @+1 {{does not fit its shardings: a factor that cannot be split is split; run pplan-insert-reshards before}}
  %y = pplan.softmax %x dim 0 {pplan.shardings = [#pplan.sharding<@m, [{"x"}, {}]>]} : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

pplan.mesh @m = <["x"=2]>
func.func @result(%x: tensor<8xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  // expected-error @+1 {{operand 0 has the sharding [{"x"}], but the function's result is [{}]; run pplan-insert-reshards before}}
  return %x : tensor<8xf32>
}
