// RUN: pplan-opt %s -pplan-add-optimizer="kind=adamw lr=0.001 clip-norm=1" | FileCheck %s

// State begins at zero, and each of it has a result that updates it.
// CHECK-LABEL: func.func @step
// CHECK-SAME: tensor<i64> {pplan.init = 0 : i64, pplan.state = "step"}
// CHECK-SAME: tensor<8x3xf32> {pplan.init = 0.000000e+00 : f32, pplan.state = "w.m"}
// CHECK-SAME: tensor<8x3xf32> {pplan.init = 0.000000e+00 : f32, pplan.state = "w.v"}
// CHECK-SAME: -> (tensor<f32> {pplan.output = "loss"}, tensor<i64> {pplan.updates = "step"}, tensor<f64> {pplan.output = "gradient_norm"}, tensor<8x3xf32> {pplan.updates = "w"}, tensor<8x3xf32> {pplan.updates = "w.m"}, tensor<8x3xf32> {pplan.updates = "w.v"})
func.func @step(%w: tensor<8x3xf32> {pplan.param = "w"}, %l: tensor<f32> {pplan.input = "l"})
    -> (tensor<f32> {pplan.output = "loss"}, tensor<8x3xf32> {pplan.gradient = "w"}) {
  return %l, %w : tensor<f32>, tensor<8x3xf32>
}
