// RUN: pplan-opt %s -split-input-file -pplan-raise-patterns -canonicalize -cse | FileCheck %s

// CHECK-LABEL: func.func @plain
// CHECK: pplan.attention %arg0, %arg1, %arg2 scale 2.500000e-01 layouts ["bhtd", "bhtd", "bhtd", "bhtd"]
// CHECK-NOT: softmax
func.func @plain(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x6x16xf32>, %v: tensor<2x4x6x16xf32>) -> tensor<2x4x8x16xf32> {
  %c = pplan.constant dense<4.0> : tensor<f32>
  %b = pplan.broadcast %c dims [] : tensor<f32> to tensor<2x4x8x6xf32>
  %s = pplan.contract "bhtd,bhsd->bhts" %q, %k : tensor<2x4x8x16xf32>, tensor<2x4x6x16xf32> to tensor<2x4x8x6xf32>
  %d = pplan.div %s, %b : tensor<2x4x8x6xf32>
  %p = pplan.softmax %d dim 3 : tensor<2x4x8x6xf32>
  %o = pplan.contract "bhts,bhsd->bhtd" %p, %v : tensor<2x4x8x6xf32>, tensor<2x4x6x16xf32> to tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// -----

// Scaled query and key, key transposed through a merge, a causal mask, a guard.
// CHECK-LABEL: func.func @causal
// CHECK: pplan.attention %arg0, %arg1, %arg2 scale 2.500000e-01 causal layouts ["bthd", "bthd", "bthd", "bthd"]
func.func @causal(%q: tensor<2x2x4x16xf32>, %k: tensor<2x2x4x16xf32>, %v: tensor<2x2x4x16xf32>) -> tensor<2x2x4x16xf32> {
  %c = pplan.constant dense<0.5> : tensor<2x4x2x16xf32>
  %ck = pplan.constant dense<0.5> : tensor<2x4x16x2xf32>
  %qt = pplan.transpose %q [0, 2, 1, 3] : tensor<2x2x4x16xf32>
  %kt = pplan.transpose %k [0, 2, 1, 3] : tensor<2x2x4x16xf32>
  %vt = pplan.transpose %v [0, 2, 1, 3] : tensor<2x2x4x16xf32>
  %km = pplan.reshape %kt : tensor<2x4x2x16xf32> to tensor<8x2x16xf32>
  %kn = pplan.transpose %km [0, 2, 1] : tensor<8x2x16xf32>
  %ks = pplan.reshape %kn : tensor<8x16x2xf32> to tensor<2x4x16x2xf32>
  %q1 = pplan.mul %qt, %c : tensor<2x4x2x16xf32>
  %k1 = pplan.mul %ks, %ck : tensor<2x4x16x2xf32>
  %m = pplan.constant dense<[[0.0, 0xFF800000], [0.0, 0.0]]> : tensor<2x2xf32>
  %mb = pplan.broadcast %m dims [2, 3] : tensor<2x2xf32> to tensor<2x4x2x2xf32>
  %s = pplan.contract "bhtd,bhds->bhts" %q1, %k1 : tensor<2x4x2x16xf32>, tensor<2x4x16x2xf32> to tensor<2x4x2x2xf32>
  %a = pplan.add %s, %mb : tensor<2x4x2x2xf32>
  %p = pplan.softmax %a dim 3 : tensor<2x4x2x2xf32>
  %n = pplan.compare ne %p, %p : tensor<2x4x2x2xf32>
  %z = pplan.constant dense<0.0> : tensor<2x4x2x2xf32>
  %g = pplan.select %n, %z, %p : tensor<2x4x2x2xf32>
  %o = pplan.contract "bhts,bhsd->bhtd" %g, %vt : tensor<2x4x2x2xf32>, tensor<2x4x2x16xf32> to tensor<2x4x2x16xf32>
  %t = pplan.transpose %o [0, 2, 1, 3] : tensor<2x4x2x16xf32>
  return %t : tensor<2x2x4x16xf32>
}

// -----

// Grouped query attention: repeated keys and values are taken unrepeated. A mask that is an input stays a mask.
// CHECK-LABEL: func.func @grouped
// CHECK: pplan.attention %arg0, %arg1, %arg2 mask %arg3 scale 1.000000e+00 layouts
// CHECK-SAME: tensor<2x4x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x2x8x16xf32>, tensor<2x1x8x8xf32>
func.func @grouped(%q: tensor<2x4x8x16xf32>, %k: tensor<2x2x8x16xf32>, %v: tensor<2x2x8x16xf32>, %m: tensor<2x1x8x8xf32>) -> tensor<2x4x8x16xf32> {
  %kb = pplan.broadcast %k dims [0, 1, 3, 4] : tensor<2x2x8x16xf32> to tensor<2x2x2x8x16xf32>
  %kr = pplan.reshape %kb : tensor<2x2x2x8x16xf32> to tensor<2x4x8x16xf32>
  %vb = pplan.broadcast %v dims [0, 1, 3, 4] : tensor<2x2x8x16xf32> to tensor<2x2x2x8x16xf32>
  %vr = pplan.reshape %vb : tensor<2x2x2x8x16xf32> to tensor<2x4x8x16xf32>
  %mb = pplan.broadcast %m dims [0, 1, 2, 3] : tensor<2x1x8x8xf32> to tensor<2x4x8x8xf32>
  %s = pplan.contract "bhtd,bhsd->bhts" %q, %kr : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> to tensor<2x4x8x8xf32>
  %a = pplan.add %s, %mb : tensor<2x4x8x8xf32>
  %p = pplan.softmax %a dim 3 : tensor<2x4x8x8xf32>
  %o = pplan.contract "bhts,bhsd->bhtd" %p, %vr : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> to tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// -----

// A scale outside the mask would scale the mask: not attention.
// CHECK-LABEL: func.func @scaled_mask
// CHECK: pplan.softmax
func.func @scaled_mask(%q: tensor<2x4x8x16xf32>, %k: tensor<2x4x8x16xf32>, %v: tensor<2x4x8x16xf32>, %m: tensor<2x4x8x8xf32>) -> tensor<2x4x8x16xf32> {
  %c = pplan.constant dense<4.0> : tensor<2x4x8x8xf32>
  %s = pplan.contract "bhtd,bhsd->bhts" %q, %k : tensor<2x4x8x16xf32>, tensor<2x4x8x16xf32> to tensor<2x4x8x8xf32>
  %a = pplan.add %s, %m : tensor<2x4x8x8xf32>
  %d = pplan.mul %a, %c : tensor<2x4x8x8xf32>
  %p = pplan.softmax %d dim 3 : tensor<2x4x8x8xf32>
  %o = pplan.contract "bhts,bhsd->bhtd" %p, %v : tensor<2x4x8x8xf32>, tensor<2x4x8x16xf32> to tensor<2x4x8x16xf32>
  return %o : tensor<2x4x8x16xf32>
}

// -----

// CHECK-LABEL: func.func @powers
// CHECK: %[[S:.+]] = pplan.mul %arg0, %arg0
// CHECK: %[[C:.+]] = pplan.mul %[[S]], %arg0
// CHECK: pplan.add %[[S]], %[[C]]
func.func @powers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = pplan.constant dense<2.0> : tensor<4xf32>
  %three = pplan.constant dense<3.0> : tensor<4xf32>
  %a = pplan.pow %x, %two : tensor<4xf32>
  %b = pplan.pow %x, %three : tensor<4xf32>
  %c = pplan.add %a, %b : tensor<4xf32>
  return %c : tensor<4xf32>
}

// -----

// Heads repeated for their groups, then merged with the batch around a transpose: the group stays unrepeated.
// CHECK-LABEL: func.func @grouped_through_merge
// CHECK: pplan.attention %arg0, %arg1, %arg2 scale 1.000000e+00 layouts ["bhtd", "bhtd", "bhtd", "bhtd"]
func.func @grouped_through_merge(%q: tensor<3x4x8x16xf32>, %k: tensor<3x2x6x16xf32>, %v: tensor<3x2x6x16xf32>) -> tensor<3x4x8x16xf32> {
  %k1 = pplan.reshape %k : tensor<3x2x6x16xf32> to tensor<3x2x1x6x16xf32>
  %k2 = pplan.broadcast %k1 dims [0, 1, 2, 3, 4] : tensor<3x2x1x6x16xf32> to tensor<3x2x2x6x16xf32>
  %k3 = pplan.reshape %k2 : tensor<3x2x2x6x16xf32> to tensor<12x6x16xf32>
  %k4 = pplan.transpose %k3 [0, 2, 1] : tensor<12x6x16xf32>
  %k5 = pplan.reshape %k4 : tensor<12x16x6xf32> to tensor<3x4x16x6xf32>
  %v1 = pplan.reshape %v : tensor<3x2x6x16xf32> to tensor<3x2x1x6x16xf32>
  %v2 = pplan.broadcast %v1 dims [0, 1, 2, 3, 4] : tensor<3x2x1x6x16xf32> to tensor<3x2x2x6x16xf32>
  %v3 = pplan.reshape %v2 : tensor<3x2x2x6x16xf32> to tensor<3x4x6x16xf32>
  %s = pplan.contract "bhtd,bhds->bhts" %q, %k5 : tensor<3x4x8x16xf32>, tensor<3x4x16x6xf32> to tensor<3x4x8x6xf32>
  %p = pplan.softmax %s dim 3 : tensor<3x4x8x6xf32>
  %o = pplan.contract "bhts,bhsd->bhtd" %p, %v3 : tensor<3x4x8x6xf32>, tensor<3x4x6x16xf32> to tensor<3x4x8x16xf32>
  return %o : tensor<3x4x8x16xf32>
}

// -----

// A causal mask on the operation itself.
// CHECK-LABEL: func.func @causal_mask
// CHECK: pplan.attention %arg0, %arg1, %arg2 scale 1.000000e+00 causal
// CHECK-NOT: mask
func.func @causal_mask(%q: tensor<1x1x2x4xf32>, %k: tensor<1x1x3x4xf32>, %v: tensor<1x1x3x4xf32>) -> tensor<1x1x2x4xf32> {
  %m = pplan.constant dense<[[[[true, true, false], [true, true, true]]]]> : tensor<1x1x2x3xi1>
  %o = pplan.attention %q, %k, %v mask %m scale 1.0 layouts ["bhtd", "bhtd", "bhtd", "bhtd"] : tensor<1x1x2x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x2x3xi1> to tensor<1x1x2x4xf32>
  return %o : tensor<1x1x2x4xf32>
}

// -----

// Aligned at the first query instead of the last: another mask.
// CHECK-LABEL: func.func @other_mask
// CHECK: pplan.attention %arg0, %arg1, %arg2 mask %{{.*}} scale 1.000000e+00 layouts
func.func @other_mask(%q: tensor<1x1x2x4xf32>, %k: tensor<1x1x3x4xf32>, %v: tensor<1x1x3x4xf32>) -> tensor<1x1x2x4xf32> {
  %m = pplan.constant dense<[[[[true, false, false], [true, true, false]]]]> : tensor<1x1x2x3xi1>
  %o = pplan.attention %q, %k, %v mask %m scale 1.0 layouts ["bhtd", "bhtd", "bhtd", "bhtd"] : tensor<1x1x2x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x3x4xf32>, tensor<1x1x2x3xi1> to tensor<1x1x2x4xf32>
  return %o : tensor<1x1x2x4xf32>
}
