// RUN: pplan-opt %s -split-input-file -pplan-raise-patterns -canonicalize -cse | FileCheck %s

// x * 0.5 * (1 + erf(x / sqrt(2)))
// CHECK-LABEL: func.func @erf
// CHECK-NEXT: pplan.gelu erf %arg0
// CHECK-NEXT: return
func.func @erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = pplan.constant dense<0.5> : tensor<4xf32>
  %one = pplan.constant dense<1.0> : tensor<4xf32>
  %root = pplan.constant dense<1.41421354> : tensor<4xf32>
  %xh = pplan.mul %x, %half : tensor<4xf32>
  %d = pplan.div %x, %root : tensor<4xf32>
  %e = pplan.erf %d : tensor<4xf32>
  %g = pplan.add %e, %one : tensor<4xf32>
  %y = pplan.mul %xh, %g : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The half comes last.
// CHECK-LABEL: func.func @erf_half_last
// CHECK-NEXT: pplan.gelu erf %arg0
func.func @erf_half_last(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = pplan.constant dense<0.5> : tensor<4xf32>
  %one = pplan.constant dense<1.0> : tensor<4xf32>
  %root = pplan.constant dense<0.707106769> : tensor<4xf32>
  %d = pplan.mul %x, %root : tensor<4xf32>
  %e = pplan.erf %d : tensor<4xf32>
  %g = pplan.add %one, %e : tensor<4xf32>
  %y = pplan.mul %x, %g : tensor<4xf32>
  %z = pplan.mul %y, %half : tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @tanh
// CHECK-NEXT: pplan.gelu tanh %arg0
func.func @tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = pplan.constant dense<0.5> : tensor<4xf32>
  %one = pplan.constant dense<1.0> : tensor<4xf32>
  %three = pplan.constant dense<3.0> : tensor<4xf32>
  %c = pplan.constant dense<4.471500e-02> : tensor<4xf32>
  %r = pplan.constant dense<0.797884583> : tensor<4xf32>
  %cube = pplan.pow %x, %three : tensor<4xf32>
  %cc = pplan.mul %c, %cube : tensor<4xf32>
  %i = pplan.add %x, %cc : tensor<4xf32>
  %ir = pplan.mul %i, %r : tensor<4xf32>
  %t = pplan.tanh %ir : tensor<4xf32>
  %g = pplan.add %t, %one : tensor<4xf32>
  %xh = pplan.mul %half, %x : tensor<4xf32>
  %y = pplan.mul %xh, %g : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// The argument in factored form: 0.79788 * x * (1 + 0.044715 * x * x).
// CHECK-LABEL: func.func @tanh_factored
// CHECK-NEXT: pplan.gelu tanh %arg0
func.func @tanh_factored(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = pplan.constant dense<0.5> : tensor<4xf32>
  %one = pplan.constant dense<1.0> : tensor<4xf32>
  %c = pplan.constant dense<4.471500e-02> : tensor<4xf32>
  %r = pplan.constant dense<0.797884583> : tensor<4xf32>
  %xx = pplan.mul %x, %x : tensor<4xf32>
  %cxx = pplan.mul %c, %xx : tensor<4xf32>
  %p = pplan.add %one, %cxx : tensor<4xf32>
  %rx = pplan.mul %x, %r : tensor<4xf32>
  %i = pplan.mul %rx, %p : tensor<4xf32>
  %t = pplan.tanh %i : tensor<4xf32>
  %g = pplan.add %one, %t : tensor<4xf32>
  %hx = pplan.mul %half, %x : tensor<4xf32>
  %y = pplan.mul %hx, %g : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// Another constant is another function.
// CHECK-LABEL: func.func @not_gelu
// CHECK-NOT: gelu
func.func @not_gelu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %half = pplan.constant dense<0.5> : tensor<4xf32>
  %one = pplan.constant dense<1.0> : tensor<4xf32>
  %e = pplan.erf %x : tensor<4xf32>
  %g = pplan.add %e, %one : tensor<4xf32>
  %xh = pplan.mul %x, %half : tensor<4xf32>
  %y = pplan.mul %xh, %g : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @silu
// CHECK-NEXT: pplan.silu %arg0
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %s = pplan.sigmoid %x : tensor<4xf32>
  %y = pplan.mul %s, %x : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @gated
// CHECK-NOT: silu
func.func @gated(%x: tensor<4xf32>, %z: tensor<4xf32>) -> tensor<4xf32> {
  %s = pplan.sigmoid %x : tensor<4xf32>
  %y = pplan.mul %s, %z : tensor<4xf32>
  return %y : tensor<4xf32>
}
