// RUN: pplan-opt %s -split-input-file -verify-diagnostics "-pplan-insert-reshards=report-bytes=100"

// Names what is moved, how much, and what would avoid it.
pplan.mesh @m = <["x"=2]>
func.func @costly(%x: tensor<8x8xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  // expected-remark @+1 {{resharding a 'tensor<8x8xf32>' from [{"x"}, {}] to [{}, {}] sends each device 128 bytes; to avoid it, give the operand the sharding that this operation uses}}
  %y = pplan.softmax %x dim 0 : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

pplan.mesh @m = <["x"=2]>
pplan.mesh @n = <["x"=2]>
// expected-remark @+1 {{mesh @m is used here}}
func.func @two_meshes(%x: tensor<8xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  // expected-error @+1 {{is sharded on mesh @n, others on @m; a program uses one mesh, name the axes of both in it}}
  %y = pplan.exp %x {pplan.shardings = [#pplan.sharding<@n, [{"x"}]>]} : tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

func.func private @callee(tensor<8xf32>) -> tensor<8xf32>
func.func @no_rule(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{has no sharding rule; only operations of the pplan dialect are partitioned}}
  %y = func.call @callee(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @+1 {{takes or returns a value of type 'tensor<?xf32>'; only tensors of static shape are partitioned}}
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// expected-error @+1 {{takes or returns a value of type 'tensor<4611686018427387904x4xf32>'; only tensors of at most 2^48 elements are partitioned}}
func.func @unused(%x: tensor<4xf32>, %u: tensor<4611686018427387904x4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
