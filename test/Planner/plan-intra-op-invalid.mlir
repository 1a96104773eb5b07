// RUN: pplan-opt %s -split-input-file "-pplan-plan-intra-op=cluster-dirs=%clusters devices=4" -verify-diagnostics

// expected-error @below {{'pplan.mesh' op has 8 devices, but 4 are asked for; change the mesh or --devices}}
pplan.mesh @m = <["x"=8]>
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

// expected-note @below {{the first is here}}
func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
// expected-error @below {{is a second function with a body; a module to plan has one}}
func.func @g(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}

// -----

func.func @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @below {{has no sharding rule; only operations of the pplan dialect can be planned}}
  %y = builtin.unrealized_conversion_cast %x : tensor<8xf32> to tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

// expected-error @below {{has no function to plan}}
module {}
