// RUN: pplan-opt %s -pplan-phase-partition -pplan-phase-memory -pplan-outline-kernels -pplan-lower-loops -pplan-lower-runtime | FileCheck %s
// RUN: pplan-opt %s -pplan-phase-partition -pplan-phase-memory -pplan-phase-lower | FileCheck %s --check-prefix=FINAL

// Each call's status is looked at before the next: after an error nothing runs.
// CHECK-LABEL: func.func @forward
// CHECK-SAME: %[[CONTEXT:[a-z0-9]+]]: !llvm.ptr
// CHECK: %[[S:.+]] = llvm.call @pplan_rt_gemm
// CHECK: cf.cond_br
// CHECK: llvm.call @pplan_rt_all_reduce
// CHECK: cf.cond_br

// Nothing but the LLVM dialect is left, with the descriptor that the runtime reads.
// FINAL-NOT: memref.
// FINAL-NOT: func.func
// FINAL: llvm.mlir.global {{.*}} @pplan_rt_program
pplan.mesh @mesh = <["t"=2]>
func.func @forward(%x: tensor<4x8xf32> {pplan.input = "x", pplan.sharding = #pplan.sharding<@mesh, [{}, {"t"}]>},
                   %w: tensor<8x6xf32> {pplan.input = "w", pplan.sharding = #pplan.sharding<@mesh, [{"t"}, {}]>})
    -> (tensor<4x6xf32> {pplan.output = "y", pplan.sharding = #pplan.sharding<@mesh, [{}, {}]>}) {
  %h = pplan.contract "bk,kn->bn" %x, %w {pplan.shardings = [#pplan.sharding<@mesh, [{}, {}], partial = sum {"t"}>]} : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
  %y = pplan.reshard %h {pplan.shardings = [#pplan.sharding<@mesh, [{}, {}]>]} : tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
