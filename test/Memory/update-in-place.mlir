// RUN: pplan-opt %s -split-input-file -pplan-phase-memory | FileCheck %s

// The moment is read element by element by the loop that writes it.
// CHECK: pplan.memory = {arena = 0 : i64, {{.*}} states = 64 : i64}
// CHECK-LABEL: func.func @moment
// CHECK-SAME: %{{[a-z0-9]+}}: memref<0xi8>, %[[G:[a-z0-9]+]]: memref<8xf32>, %[[M:[a-z0-9]+]]: memref<8xf32>, %[[W:[a-z0-9]+]]: memref<8xf32>)
// CHECK-SAME: rt.results = []
// CHECK: linalg.generic {{.*}} ins(%[[M]], %[[G]] {{.*}} outs(%[[M]]
// CHECK: linalg.generic {{.*}} ins(%[[W]], %[[M]] {{.*}} outs(%[[W]]
// CHECK-NOT: memref.copy
func.func @moment(%g: tensor<8xf32> {pplan.input = "g"}, %m: tensor<8xf32> {pplan.state = "m"}, %w: tensor<8xf32> {pplan.state = "w"})
    -> (tensor<8xf32> {pplan.updates = "m"}, tensor<8xf32> {pplan.updates = "w"}) {
  %0 = pplan.add %m, %g : tensor<8xf32>
  %1 = pplan.exp %0 : tensor<8xf32>
  %2 = pplan.sub %w, %1 : tensor<8xf32>
  return %0, %2 : tensor<8xf32>, tensor<8xf32>
}

// -----

// Two that change places: one waits in the arena until the other is written.
// CHECK: pplan.memory = {arena = 64 : i64,
// CHECK-LABEL: func.func @swap
// CHECK-SAME: %[[ARENA:[a-z0-9]+]]: memref<64xi8>, %[[A:[a-z0-9]+]]: memref<8xf32>, %[[B:[a-z0-9]+]]: memref<8xf32>)
// CHECK: %[[T:.+]] = memref.view %[[ARENA]]
// CHECK: memref.copy %[[B]], %[[T]]
// CHECK: memref.copy %[[A]], %[[B]]
// CHECK: memref.copy %[[T]], %[[A]]
func.func @swap(%a: tensor<8xf32> {pplan.state = "a"}, %b: tensor<8xf32> {pplan.state = "b"})
    -> (tensor<8xf32> {pplan.updates = "a"}, tensor<8xf32> {pplan.updates = "b"}) {
  return %b, %a : tensor<8xf32>, tensor<8xf32>
}

// -----

// A transposed read is not element by element.
// CHECK-LABEL: func.func @transposed
// CHECK: memref.copy %{{.+}}, %arg1
func.func @transposed(%a: tensor<8x8xf32> {pplan.state = "a"}) -> (tensor<8x8xf32> {pplan.updates = "a"}) {
  %0 = pplan.transpose %a [1, 0] : tensor<8x8xf32>
  %1 = pplan.exp %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
