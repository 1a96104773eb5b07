// RUN: pplan-opt %s "-pplan-phase-plan=cluster-dirs=%clusters devices=4 parallel=dp=4" | FileCheck %s --check-prefix=DATA
// RUN: pplan-opt %s "-pplan-phase-plan=cluster-dirs=%clusters devices=4 parallel=tp=4" | FileCheck %s --check-prefix=TENSOR
// RUN: pplan-opt %s "-pplan-phase-plan=cluster-dirs=%clusters devices=8 parallel=dp=2,tp=4" | FileCheck %s --check-prefix=MIXED
// RUN: pplan-opt %s "-pplan-phase-plan=cluster-dirs=%clusters devices=1" | FileCheck %s --check-prefix=ONE
// RUN: pplan-opt %s "-pplan-phase-plan=cluster-dirs=%clusters devices=3" | FileCheck %s --check-prefix=THREE
// RUN: not pplan-opt %s "-pplan-phase-plan=cluster-dirs=%clusters devices=4 parallel=dp=3" 2>&1 | FileCheck %s --check-prefix=DIVIDE
// RUN: not pplan-opt %s "-pplan-phase-plan=cluster-dirs=%clusters devices=4 parallel=pp=2" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not pplan-opt %s "-pplan-phase-plan=cluster-dirs=%clusters devices=4 parallel=zero=1" 2>&1 | FileCheck %s --check-prefix=ALONE
// RUN: not pplan-opt %s "-pplan-phase-plan=cluster-dirs=%clusters devices=4 parallel=dp=2,zero=4" 2>&1 | FileCheck %s --check-prefix=STAGE

// Data parallel: no communication at all.
// DATA: module attributes {pplan.plan = {algorithm = "elimination
// DATA-SAME: gap = 0.000000e+00
// DATA: pplan.mesh @mesh = <["data"=4]>
// DATA: %arg1: tensor<1024x4096xf32> {pplan.param = "w0", pplan.sharding = #pplan.sharding<@mesh, [{}, {}]>}
// DATA-NOT: pplan.reshard

// Tensor parallel: the first weight by columns, the second by rows, one reduction.
// TENSOR: pplan.mesh @mesh = <["tensor"=4]>
// TENSOR: %arg1: tensor<1024x4096xf32> {pplan.param = "w0", pplan.sharding = #pplan.sharding<@mesh, [{}, {"tensor"}]>}
// TENSOR: %arg3: tensor<4096x1024xf32> {pplan.param = "w1", pplan.sharding = #pplan.sharding<@mesh, [{"tensor"}, {}]>}
// TENSOR-NOT: pplan.reshard
// TENSOR: %[[Y:.+]] = pplan.contract {{.*}}partial = sum {"tensor"}
// TENSOR-NEXT: pplan.reshard %[[Y]]

// MIXED: pplan.mesh @mesh = <["data"=2, "tensor"=4]>
// MIXED: %arg0: tensor<64x1024xf32> {pplan.input = "x", pplan.sharding = #pplan.sharding<@mesh, [{"data"}, {}]>}
// MIXED: %arg1: tensor<1024x4096xf32> {pplan.param = "w0", pplan.sharding = #pplan.sharding<@mesh, [{}, {"tensor"}]>}

// One device is a plan like any other.
// ONE: pplan.mesh @mesh = <["x"=1]>
// ONE-NOT: pplan.reshard

// Three devices divide neither dimension.
// THREE: pplan.mesh @mesh = <["x"=3]>
// THREE: pplan.contract {{.*}}{"x"}

// DIVIDE: error: dp=3 times tp=1 is 3, which does not divide the 4 devices; change --parallel or --devices
// UNKNOWN: error: unknown degree 'pp=2' in --parallel; known are dp=N (data), tp=N (tensor) and zero=0..3 (what of a training step is split over the data axis)
// ALONE: error: zero=1 in --parallel says what is split over the data axis; add dp=N
// STAGE: error: degree 'zero=4' in --parallel needs a number from 0 to 3, as in zero=2
func.func @forward(%x: tensor<64x1024xf32> {pplan.input = "x"},
    %w0: tensor<1024x4096xf32> {pplan.param = "w0"}, %b0: tensor<4096xf32> {pplan.param = "b0"},
    %w1: tensor<4096x1024xf32> {pplan.param = "w1"}) -> (tensor<64x1024xf32> {pplan.output = "y"}) {
  %h = pplan.contract "mk,kn->mn" %x, %w0 : tensor<64x1024xf32>, tensor<1024x4096xf32> to tensor<64x4096xf32>
  %bb = pplan.broadcast %b0 dims [1] : tensor<4096xf32> to tensor<64x4096xf32>
  %a = pplan.add %h, %bb : tensor<64x4096xf32>
  %g = pplan.gelu tanh %a : tensor<64x4096xf32>
  %y = pplan.contract "mk,kn->mn" %g, %w1 : tensor<64x4096xf32>, tensor<4096x1024xf32> to tensor<64x1024xf32>
  %z = pplan.add %y, %x : tensor<64x1024xf32>
  return %z : tensor<64x1024xf32>
}
