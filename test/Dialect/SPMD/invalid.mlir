// What the verifiers refuse: unknown meshes and axes, and local sizes that the group does not give.
// RUN: pplan-opt %s -split-input-file -verify-diagnostics

func.func @no_mesh(%x: tensor<4xf32>) {
  // expected-error@+1 {{'spmd.all_reduce' op names the mesh @mesh, which is not declared; declare it with pplan.mesh}}
  %0 = spmd.all_reduce sum %x on @mesh ["data"] : tensor<4xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @unknown_axis(%x: tensor<4xf32>) {
  // expected-error@+1 {{'spmd.all_reduce' op axes ["tensor"] are not distinct axes of mesh @mesh = #pplan.mesh_shape<["data"=2]>}}
  %0 = spmd.all_reduce sum %x on @mesh ["tensor"] : tensor<4xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @axis_twice(%x: tensor<4xf32>) {
  // expected-error@+1 {{'spmd.permute' op axes ["data", "data"] are not distinct axes of mesh @mesh}}
  %0 = spmd.permute %x targets [0, 1, 2, 3] on @mesh ["data", "data"] : tensor<4xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @gather_dim(%x: tensor<4xf32>) {
  // expected-error@+1 {{'spmd.all_gather' op dimension 1 is not one of 'tensor<4xf32>' (rank 1)}}
  %0 = spmd.all_gather %x dim 1 on @mesh ["data"] : tensor<4xf32> to tensor<8xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @gather_size(%x: tensor<4xf32>) {
  // expected-error@+1 {{'spmd.all_gather' op dimension 0 of size 9 over 2 devices has parts of 5, found 4}}
  %0 = spmd.all_gather %x dim 0 on @mesh ["data"] : tensor<4xf32> to tensor<9xf32>
  return
}

// -----

// Six elements in parts of four do not need four devices: the last one would be empty, and parts of two would do.
pplan.mesh @mesh = <["data"=4]>
func.func @gather_part(%x: tensor<4xf32>) {
  // expected-error@+1 {{'spmd.all_gather' op dimension 0 of size 6 over 4 devices has parts of 2, found 4}}
  %0 = spmd.all_gather %x dim 0 on @mesh ["data"] : tensor<4xf32> to tensor<6xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @gather_other(%x: tensor<4x3xf32>) {
  // expected-error@+1 {{'spmd.all_gather' op operand 'tensor<4x3xf32>' and result 'tensor<8x4xf32>' differ in more than the dimensions it works on}}
  %0 = spmd.all_gather %x dim 0 on @mesh ["data"] : tensor<4x3xf32> to tensor<8x4xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @gather_element(%x: tensor<4xf32>) {
  // expected-error@+1 {{'spmd.all_gather' op operand 'tensor<4xf32>' and result 'tensor<8xf16>' differ in more than the dimensions it works on}}
  %0 = spmd.all_gather %x dim 0 on @mesh ["data"] : tensor<4xf32> to tensor<8xf16>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @scatter_size(%x: tensor<9xf32>) {
  // expected-error@+1 {{'spmd.reduce_scatter' op dimension 0 of size 9 over 2 devices has parts of 5, found 4}}
  %0 = spmd.reduce_scatter sum %x dim 0 on @mesh ["data"] : tensor<9xf32> to tensor<4xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @scatter_rank(%x: tensor<8xf32>) {
  // expected-error@+1 {{'spmd.reduce_scatter' op operand 'tensor<8xf32>' and result 'tensor<4x1xf32>' differ in more than the dimensions it works on}}
  %0 = spmd.reduce_scatter sum %x dim 0 on @mesh ["data"] : tensor<8xf32> to tensor<4x1xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @all_to_all_same(%x: tensor<8xf32>) {
  // expected-error@+1 {{'spmd.all_to_all' op split and concat dimension are both 0}}
  %0 = spmd.all_to_all %x split_dim 0 concat_dim 0 on @mesh ["data"] : tensor<8xf32> to tensor<8xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @all_to_all_split(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'spmd.all_to_all' op dimension 0 of size 8 over 2 devices has parts of 4, found 3}}
  %0 = spmd.all_to_all %x split_dim 0 concat_dim 1 on @mesh ["data"] : tensor<8x4xf32> to tensor<3x8xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @all_to_all_concat(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'spmd.all_to_all' op dimension 1 of size 9 over 2 devices has parts of 5, found 4}}
  %0 = spmd.all_to_all %x split_dim 0 concat_dim 1 on @mesh ["data"] : tensor<8x4xf32> to tensor<4x9xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @all_to_all_dim(%x: tensor<8x4xf32>) {
  // expected-error@+1 {{'spmd.all_to_all' op dimension -1 is not one of 'tensor<8x4xf32>' (rank 2)}}
  %0 = spmd.all_to_all %x split_dim 0 concat_dim -1 on @mesh ["data"] : tensor<8x4xf32> to tensor<4x8xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @permute_not(%x: tensor<4xf32>) {
  // expected-error@+1 {{'spmd.permute' op targets [1, 1] are not a permutation of the group's 2 members}}
  %0 = spmd.permute %x targets [1, 1] on @mesh ["data"] : tensor<4xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @permute_short(%x: tensor<4xf32>) {
  // expected-error@+1 {{'spmd.permute' op targets [0] are not a permutation of the group's 2 members}}
  %0 = spmd.permute %x targets [0] on @mesh ["data"] : tensor<4xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @slice_size(%x: tensor<9xf32>) {
  // expected-error@+1 {{'spmd.shard_slice' op dimension 0 of size 9 over 2 devices has parts of 5, found 4}}
  %0 = spmd.shard_slice %x dim 0 on @mesh ["data"] : tensor<9xf32> to tensor<4xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @offset_type() {
  // expected-error@+1 {{'spmd.shard_offset' op result should be tensor<i64>, found 'tensor<1xi64>'}}
  %0 = spmd.shard_offset size 9 on @mesh ["data"] : tensor<1xi64>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @offset_size() {
  // expected-error@+1 {{'spmd.shard_offset' op size must not be negative, found -9}}
  %0 = spmd.shard_offset size -9 on @mesh ["data"] : tensor<i64>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @mask_dim(%x: tensor<5xf32>) {
  // expected-error@+1 {{'spmd.mask_padding' op dimension 3 is not one of 'tensor<5xf32>' (rank 1)}}
  %0 = spmd.mask_padding %x dim 3 size 9 fill 0.0 : f32 on @mesh ["data"] : tensor<5xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @mask_fill(%x: tensor<5xf32>) {
  // expected-error@+1 {{'spmd.mask_padding' op fill 0 : i64 does not have the element type of 'tensor<5xf32>'}}
  %0 = spmd.mask_padding %x dim 0 size 9 fill 0 : i64 on @mesh ["data"] : tensor<5xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @mask_size(%x: tensor<5xf32>) {
  // expected-error@+1 {{'spmd.mask_padding' op dimension 0 of global size 11 has parts of 6, found 5}}
  %0 = spmd.mask_padding %x dim 0 size 11 fill 0.0 : f32 on @mesh ["data"] : tensor<5xf32>
  return
}
