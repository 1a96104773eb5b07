// The dialect uses enums of the pplan dialect and loads it, even if nothing of the latter is in the file.
// RUN: not pplan-opt %s 2>&1 | FileCheck %s

// CHECK: error: 'spmd.all_reduce' op names the mesh @mesh, which is not declared; declare it with pplan.mesh
func.func @no_mesh(%x: tensor<4xf32>) {
  %0 = spmd.all_reduce sum %x on @mesh ["data"] : tensor<4xf32>
  return
}
