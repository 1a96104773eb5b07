// RUN: pplan-opt %s -split-input-file -pplan-convert-ops -pplan-fuse-loops -pplan-reuse-operands -pplan-bufferize-program -canonicalize | FileCheck %s

// The result is an argument of its own, written without a copy, and no score
// matrix of attention is made: its workspace does not grow with the length.
// CHECK-LABEL: func.func @attend
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x512x2x4xf32>, %[[K:[a-z0-9]+]]: memref<1x512x2x4xf32>, %[[V:[a-z0-9]+]]: memref<1x512x2x4xf32>, %[[O:[a-z0-9]+]]: memref<1x512x2x4xf32>)
// CHECK-NOT: memref<{{.*}}512x512
// CHECK: rt.attention ins(%[[Q]], %[[K]], %[[V]] {{.*}} outs(%[[O]], %{{.+}} : memref<1x512x2x4xf32>, memref<{{[0-9]+}}xi8>)
// CHECK-NOT: memref.copy
// CHECK: return{{$}}
func.func @attend(%q: tensor<1x512x2x4xf32>, %k: tensor<1x512x2x4xf32>, %v: tensor<1x512x2x4xf32>) -> tensor<1x512x2x4xf32> {
  %o = pplan.attention %q, %k, %v scale 0.5 causal layouts ["bthd", "bthd", "bthd", "bthd"] : tensor<1x512x2x4xf32>, tensor<1x512x2x4xf32>, tensor<1x512x2x4xf32> to tensor<1x512x2x4xf32>
  return %o : tensor<1x512x2x4xf32>
}

// -----

// Arguments are read only: a result that is one is copied.
// CHECK-LABEL: func.func @identity
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4xf32>, %[[Y:[a-z0-9]+]]: memref<4xf32>)
// CHECK: memref.copy %[[X]], %[[Y]]
func.func @identity(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
