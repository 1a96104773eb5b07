// RUN: pplan-opt %s -split-input-file -pplan-lower-loops -canonicalize | FileCheck %s

// The innermost loop runs along the rows of both buffers, though the
// operation names the dimensions the other way round.
// CHECK-LABEL: func.func @columns
// CHECK: scf.for %[[I:.+]] =
// CHECK: scf.for %[[J:.+]] =
// CHECK: memref.load %arg0[%[[I]], %[[J]]]
// CHECK: memref.store %{{.+}}, %arg1[%[[I]], %[[J]]]
#swapped = affine_map<(d0, d1) -> (d1, d0)>
func.func @columns(%x: memref<16x8xf32>, %y: memref<16x8xf32>) {
  linalg.generic {indexing_maps = [#swapped, #swapped], iterator_types = ["parallel", "parallel"]} ins(%x : memref<16x8xf32>) outs(%y : memref<16x8xf32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.negf %in : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// Sums may be reordered, other arithmetic may not.
// CHECK-LABEL: func.func @sum
// CHECK: arith.mulf {{.*}} fastmath<contract>
// CHECK: arith.addf {{.*}} fastmath<{{.*}}reassoc
func.func @sum(%x: memref<16xf32>, %y: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%x : memref<16xf32>) outs(%y : memref<f32>) {
  ^bb0(%in: f32, %out: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %out, %0 : f32
    linalg.yield %1 : f32
  }
  return
}
