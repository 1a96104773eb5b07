// RUN: not pplan-opt %s -pplan-add-optimizer="kind=adamax" 2>&1 | FileCheck %s --check-prefix=KIND
// RUN: not pplan-opt %s -pplan-add-optimizer="beta1=1" 2>&1 | FileCheck %s --check-prefix=BETA
// RUN: not pplan-opt %s -pplan-add-optimizer="schedule=cosine warmup=9 steps=9" 2>&1 | FileCheck %s --check-prefix=STEPS
// RUN: not pplan-opt %s -pplan-add-optimizer 2>&1 | FileCheck %s --check-prefix=NONE
// KIND: cannot be trained with the optimizer 'adamax'; known are
// BETA: cannot have beta1 = 1{{.*}}; it must be at least 0{{.*}} and less than 1
// STEPS: with the schedule 'cosine' needs more steps than the 9 of its warmup, found 9
// NONE: has no gradients to update parameters with; run pplan-differentiate first
func.func @forward(%w: tensor<f32> {pplan.param = "w"}) -> tensor<f32> {
  return %w : tensor<f32>
}
