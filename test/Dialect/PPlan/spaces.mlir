// Printed operations have one space between words, also around enums. FileCheck by itself takes several for one.
// RUN: pplan-opt %S/ops.mlir | FileCheck %s --strict-whitespace --implicit-check-not="{{[^ ]  }}"
// RUN: pplan-opt %S/../SPMD/ops.mlir | FileCheck %s --strict-whitespace --implicit-check-not="{{[^ ]  }}"
// RUN: pplan-opt %s -pplan-convert-ops | FileCheck %s --strict-whitespace --implicit-check-not="{{[^ ]  }}" --check-prefixes=CHECK,RT
// CHECK: module {
// RT: rt.all_reduce sum axes
// RT: rt.reduce_scatter max dim 0 axes

pplan.mesh @mesh = <["x"=2]>
func.func @forward(%x: tensor<4xf32>) -> tensor<2xf32> {
  %0 = spmd.all_reduce sum %x on @mesh ["x"] : tensor<4xf32>
  %1 = spmd.reduce_scatter max %0 dim 0 on @mesh ["x"] : tensor<4xf32> to tensor<2xf32>
  return %1 : tensor<2xf32>
}
