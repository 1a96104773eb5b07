// RUN: pplan-opt %s -split-input-file -pplan-insert-reshards | FileCheck %s

// What fits stays as it is.
// CHECK-LABEL: func.func @fits
// CHECK-NOT: pplan.reshard
// CHECK: return
pplan.mesh @m = <["x"=2, "y"=2]>
func.func @fits(%x: tensor<8x4xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}, {}]>}) -> (tensor<8x4xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}, {}]>}) {
  %y = pplan.exp %x {pplan.shardings = [#pplan.sharding<@m, [{"x"}, {}]>]} : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// A replicated operand is sliced, which is free, rather than the result.
// CHECK-LABEL: func.func @slice_operand
// CHECK-SAME: %[[X:[a-z0-9]+]]
// CHECK: %[[R:.*]] = pplan.reshard %[[X]] {pplan.shardings = [#pplan.sharding<@m, [{"x"}, {}]>]}
// CHECK: pplan.exp %[[R]]
pplan.mesh @m = <["x"=2, "y"=2]>
func.func @slice_operand(%x: tensor<8x4xf32>) -> (tensor<8x4xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}, {}]>}) {
  %y = pplan.exp %x {pplan.shardings = [#pplan.sharding<@m, [{"x"}, {}]>]} : tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// A contraction over a split factor leaves a partial sum, reduced after it: the
// result is smaller than the operands.
// CHECK-LABEL: func.func @partial
// CHECK: %[[Y:.*]] = pplan.contract {{.*}} {pplan.shardings = [#pplan.sharding<@m, [{}, {}], partial = sum {"x"}>]}
// CHECK: pplan.reshard %[[Y]] {pplan.shardings = [#pplan.sharding<@m, [{}, {}]>]}
pplan.mesh @m = <["x"=2]>
func.func @partial(%a: tensor<8x64xf32> {pplan.sharding = #pplan.sharding<@m, [{}, {"x"}]>}, %b: tensor<64x8xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %y = pplan.contract "mk,kn->mn" %a, %b {pplan.shardings = [#pplan.sharding<@m, [{}, {}]>]} : tensor<8x64xf32>, tensor<64x8xf32> to tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

// Two operations that want an operand alike share its reshard.
// CHECK-LABEL: func.func @shared
// CHECK-COUNT-1: pplan.reshard %arg0
// CHECK-NOT: pplan.reshard %arg0
// CHECK: return
pplan.mesh @m = <["x"=2]>
func.func @shared(%x: tensor<8x8xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}, {}]>}) -> (tensor<8x8xf32> {pplan.sharding = #pplan.sharding<@m, [{}, {"x"}]>}, tensor<8x8xf32> {pplan.sharding = #pplan.sharding<@m, [{}, {"x"}]>}) {
  %y = pplan.softmax %x dim 0 {pplan.shardings = [#pplan.sharding<@m, [{}, {"x"}]>]} : tensor<8x8xf32>
  %z = pplan.cumsum %x dim 0 {pplan.shardings = [#pplan.sharding<@m, [{}, {"x"}]>]} : tensor<8x8xf32>
  return %y, %z : tensor<8x8xf32>, tensor<8x8xf32>
}
