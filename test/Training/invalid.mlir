// RUN: pplan-opt %s -split-input-file -verify-diagnostics -pplan-differentiate="frozen=v"

// expected-error@+1 {{has no parameter 'v' that could be frozen}}
func.func @frozen(%w: tensor<f32> {pplan.param = "w"}) -> tensor<f32> {
  return %w : tensor<f32>
}

// -----

// expected-error@+1 {{should return the loss alone, a float scalar, to be differentiated; pplan-append-loss makes one of logits}}
func.func @logits(%v: tensor<4xf32> {pplan.param = "v"}) -> tensor<4xf32> {
  return %v : tensor<4xf32>
}
