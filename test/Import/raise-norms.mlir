// RUN: pplan-opt %s -split-input-file -pplan-raise-patterns -canonicalize -cse | FileCheck %s

// Mean by a product after a reshape; scale and bias; the deviation divides.
// CHECK-LABEL: func.func @layer_norm
// CHECK-NEXT: pplan.layer_norm %arg0 scale %arg1 bias %arg2 num_dims 1 epsilon {{1.0*e-05|9.99.*E-6|9.99.*e-06}}
// CHECK-NEXT: return
func.func @layer_norm(%x: tensor<2x3x8xf32>, %g: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<2x3x8xf32> {
  %n = pplan.constant dense<0.125> : tensor<2x3x1xf32>
  %e = pplan.constant dense<1.0e-5> : tensor<2x3x1xf32>
  %s = pplan.reduce sum %x dims [2] : tensor<2x3x8xf32> to tensor<2x3xf32>
  %s1 = pplan.reshape %s : tensor<2x3xf32> to tensor<2x3x1xf32>
  %mean = pplan.mul %s1, %n : tensor<2x3x1xf32>
  %meanb = pplan.broadcast %mean dims [0, 1, 2] : tensor<2x3x1xf32> to tensor<2x3x8xf32>
  %c = pplan.sub %x, %meanb : tensor<2x3x8xf32>
  %two = pplan.constant dense<2.0> : tensor<2x3x8xf32>
  %sq = pplan.pow %c, %two : tensor<2x3x8xf32>
  %v = pplan.reduce sum %sq dims [2] : tensor<2x3x8xf32> to tensor<2x3xf32>
  %v1 = pplan.reshape %v : tensor<2x3xf32> to tensor<2x3x1xf32>
  %var = pplan.mul %v1, %n : tensor<2x3x1xf32>
  %ve = pplan.add %var, %e : tensor<2x3x1xf32>
  %dev = pplan.sqrt %ve : tensor<2x3x1xf32>
  %devb = pplan.broadcast %dev dims [0, 1, 2] : tensor<2x3x1xf32> to tensor<2x3x8xf32>
  %y = pplan.div %c, %devb : tensor<2x3x8xf32>
  %gb = pplan.broadcast %g dims [2] : tensor<8xf32> to tensor<2x3x8xf32>
  %bb = pplan.broadcast %b dims [2] : tensor<8xf32> to tensor<2x3x8xf32>
  %ys = pplan.mul %y, %gb : tensor<2x3x8xf32>
  %r = pplan.add %ys, %bb : tensor<2x3x8xf32>
  return %r : tensor<2x3x8xf32>
}

// -----

// Scale on the left, a product with 1 / sqrt, the mean by a quotient.
// CHECK-LABEL: func.func @rms_norm
// CHECK-NEXT: pplan.rms_norm %arg0 scale %arg1 num_dims 1
// CHECK-NEXT: return
func.func @rms_norm(%x: tensor<3x8xf32>, %g: tensor<8xf32>) -> tensor<3x8xf32> {
  %n = pplan.constant dense<8.0> : tensor<3xf32>
  %e = pplan.constant dense<1.0e-6> : tensor<3xf32>
  %one = pplan.constant dense<1.0> : tensor<3xf32>
  %sq = pplan.mul %x, %x : tensor<3x8xf32>
  %s = pplan.reduce sum %sq dims [1] : tensor<3x8xf32> to tensor<3xf32>
  %m = pplan.div %s, %n : tensor<3xf32>
  %me = pplan.add %e, %m : tensor<3xf32>
  %root = pplan.sqrt %me : tensor<3xf32>
  %inv = pplan.div %one, %root : tensor<3xf32>
  %invb = pplan.broadcast %inv dims [0] : tensor<3xf32> to tensor<3x8xf32>
  %y = pplan.mul %invb, %x : tensor<3x8xf32>
  %gb = pplan.broadcast %g dims [1] : tensor<8xf32> to tensor<3x8xf32>
  %r = pplan.mul %gb, %y : tensor<3x8xf32>
  return %r : tensor<3x8xf32>
}

// -----

// A sum that is not divided by the number of elements is no mean.
// CHECK-LABEL: func.func @not_a_mean
// CHECK-NOT: rms_norm
func.func @not_a_mean(%x: tensor<3x8xf32>) -> tensor<3x8xf32> {
  %n = pplan.constant dense<7.0> : tensor<3xf32>
  %sq = pplan.mul %x, %x : tensor<3x8xf32>
  %s = pplan.reduce sum %sq dims [1] : tensor<3x8xf32> to tensor<3xf32>
  %m = pplan.div %s, %n : tensor<3xf32>
  %inv = pplan.rsqrt %m : tensor<3xf32>
  %invb = pplan.broadcast %inv dims [0] : tensor<3xf32> to tensor<3x8xf32>
  %y = pplan.mul %x, %invb : tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

// Statistics over the first dimension normalise columns, not rows.
// CHECK-LABEL: func.func @columns
// CHECK-NOT: rms_norm
func.func @columns(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %n = pplan.constant dense<8.0> : tensor<8xf32>
  %sq = pplan.mul %x, %x : tensor<8x8xf32>
  %s = pplan.reduce sum %sq dims [0] : tensor<8x8xf32> to tensor<8xf32>
  %m = pplan.div %s, %n : tensor<8xf32>
  %inv = pplan.rsqrt %m : tensor<8xf32>
  %invb = pplan.broadcast %inv dims [1] : tensor<8xf32> to tensor<8x8xf32>
  %y = pplan.mul %x, %invb : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Row statistics that are spread over columns are another computation.
// CHECK-LABEL: func.func @wrong_spread
// CHECK-NOT: rms_norm
func.func @wrong_spread(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %n = pplan.constant dense<8.0> : tensor<8xf32>
  %sq = pplan.mul %x, %x : tensor<8x8xf32>
  %s = pplan.reduce sum %sq dims [1] : tensor<8x8xf32> to tensor<8xf32>
  %m = pplan.div %s, %n : tensor<8xf32>
  %inv = pplan.rsqrt %m : tensor<8xf32>
  %invb = pplan.broadcast %inv dims [1] : tensor<8xf32> to tensor<8x8xf32>
  %y = pplan.mul %x, %invb : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// The unscaled norm is used elsewhere: it stays whole, the product too.
// CHECK-LABEL: func.func @two_uses
// CHECK: pplan.rms_norm %arg0 num_dims 1
// CHECK: pplan.mul
func.func @two_uses(%x: tensor<3x8xf32>, %g: tensor<8xf32>) -> (tensor<3x8xf32>, tensor<3x8xf32>) {
  %y = pplan.rms_norm %x num_dims 1 epsilon 1.0e-6 : tensor<3x8xf32>
  %gb = pplan.broadcast %g dims [1] : tensor<8xf32> to tensor<3x8xf32>
  %r = pplan.mul %y, %gb : tensor<3x8xf32>
  return %r, %y : tensor<3x8xf32>, tensor<3x8xf32>
}
