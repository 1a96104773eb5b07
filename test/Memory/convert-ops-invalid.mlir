// What cannot be the argument or result of a program, with the whole message.
// RUN: pplan-opt %s -pplan-convert-ops -split-input-file -verify-diagnostics

// No operation uses the argument, so none checks its size.
// expected-error@+1 {{argument 1 has type 'tensor<4611686018427387904x4xf32>'; expected a tensor of static shape with at most 2^48 elements of a type that the runtime knows}}
func.func @unused(%x: tensor<4xf32>, %u: tensor<4611686018427387904x4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0 has type 'tensor<?xf32>'; expected a tensor of static shape with at most 2^48 elements of a type that the runtime knows}}
func.func @dynamic(%x: tensor<?xf32>) {
  return
}

// -----

// expected-error@+1 {{result 0 has type 'tensor<4xi3>'; expected a tensor of static shape with at most 2^48 elements of a type that the runtime knows}}
func.func @width() -> tensor<4xi3> {
  %x = arith.constant dense<1> : tensor<4xi3>
  return %x : tensor<4xi3>
}
