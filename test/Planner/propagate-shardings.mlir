// RUN: pplan-opt %s -split-input-file -pplan-propagate-shardings -verify-diagnostics | FileCheck %s

// Forward and backward over the factors of a contraction.
pplan.mesh @m = <["data"=2, "tensor"=4]>
// CHECK-LABEL: func.func @matmul
// CHECK-SAME: %[[W:[a-z0-9]+]]: tensor<32x64xf32> {pplan.sharding = #pplan.sharding<@m, [{?}, {"tensor", ?}]>}
// CHECK: pplan.exp %{{.*}} {pplan.shardings = [#pplan.sharding<@m, [{"data", ?}, {?}]>]}
// CHECK: pplan.contract {{.*}} {pplan.shardings = [#pplan.sharding<@m, [{"data", ?}, {"tensor", ?}]>]}
// CHECK: pplan.relu %{{.*}} {pplan.shardings = [#pplan.sharding<@m, [{"data"}, {"tensor"}]>]}
func.func @matmul(%x: tensor<8x32xf32> {pplan.sharding = #pplan.sharding<@m, [{"data"}, {}]>}, %w: tensor<32x64xf32>) -> tensor<8x64xf32> {
  %e = pplan.exp %x : tensor<8x32xf32>
  %y = pplan.contract "mk,kn->mn" %e, %w : tensor<8x32xf32>, tensor<32x64xf32> to tensor<8x64xf32>
  %z = pplan.relu %y {pplan.shardings = [#pplan.sharding<@m, [{"data"}, {"tensor"}]>]} : tensor<8x64xf32>
  return %z : tensor<8x64xf32>
}

// -----

// A closed dimension keeps its axes.
pplan.mesh @m = <["x"=2]>
// CHECK-LABEL: func.func @closed
// CHECK: pplan.exp %{{.*}} {pplan.shardings = [#pplan.sharding<@m, [{}]>]}
func.func @closed(%x: tensor<8xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}]>}) -> tensor<8xf32> {
  %e = pplan.exp %x {pplan.shardings = [#pplan.sharding<@m, [{}]>]} : tensor<8xf32>
  return %e : tensor<8xf32>
}

// -----

// A conflict is told with both places.
pplan.mesh @m = <["x"=2, "y"=2]>
func.func @conflict(
    // expected-note @below {{one is #pplan.sharding<@m, [{"x"}]>}}
    %a: tensor<8xf32> {pplan.sharding = #pplan.sharding<@m, [{"x"}]>},
    // expected-note @below {{the other is #pplan.sharding<@m, [{"y"}]>}}
    %b: tensor<8xf32> {pplan.sharding = #pplan.sharding<@m, [{"y"}]>}) -> tensor<8xf32> {
  // expected-warning @below {{annotations want different axes for one factor of this operation; the first is kept}}
  %c = pplan.add %a, %b : tensor<8xf32>
  return %c : tensor<8xf32>
}

// -----

// Heads of a merged dimension keep their axis through the reshape.
pplan.mesh @m = <["x"=4]>
// CHECK-LABEL: func.func @reshape
// CHECK: pplan.reshape %{{.*}} {pplan.shardings = [#pplan.sharding<@m, [{?}, {"x", ?}, {?}]>]}
func.func @reshape(%x: tensor<2x32xf32> {pplan.sharding = #pplan.sharding<@m, [{}, {"x"}]>}) -> tensor<2x8x4xf32> {
  %y = pplan.reshape %x : tensor<2x32xf32> to tensor<2x8x4xf32>
  return %y : tensor<2x8x4xf32>
}
