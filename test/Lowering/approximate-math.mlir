// RUN: pplan-opt %s -pplan-approximate-math | FileCheck %s

// CHECK-LABEL: func.func @f32
// CHECK-NOT: math.exp
// CHECK-NOT: math.erf
// CHECK: return
func.func @f32(%x: f32) -> (f32, f32) {
  %0 = math.exp %x : f32
  %1 = math.erf %x : f32
  return %0, %1 : f32, f32
}

// CHECK-LABEL: func.func @others
// CHECK: math.exp {{.*}} : f64
// CHECK: math.sin {{.*}} : f32
func.func @others(%x: f64, %y: f32) -> (f64, f32) {
  %0 = math.exp %x : f64
  %1 = math.sin %y : f32
  return %0, %1 : f64, f32
}
