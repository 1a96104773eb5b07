// What the verifiers of contractions, reductions and fused operations refuse.
// RUN: pplan-opt %s -split-input-file -verify-diagnostics

func.func @contract_form(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) {
  // expected-error@+1 {{'pplan.contract' op equation "mk kn->mn" is not of the form "ab,bc->ac"}}
  %0 = pplan.contract "mk kn->mn" %x, %w : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
  return
}

// -----

func.func @contract_swapped(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) {
  // expected-error@+1 {{'pplan.contract' op equation "mk->kn,mn" is not of the form "ab,bc->ac"}}
  %0 = pplan.contract "mk->kn,mn" %x, %w : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
  return
}

// -----

func.func @contract_element(%x: tensor<4x8xf32>, %w: tensor<8x6xf16>) {
  // expected-error@+1 {{'pplan.contract' op element types differ: 'tensor<4x8xf32>' and 'tensor<8x6xf16>'}}
  %0 = pplan.contract "mk,kn->mn" %x, %w : tensor<4x8xf32>, tensor<8x6xf16> to tensor<4x6xf32>
  return
}

// -----

func.func @contract_letters(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) {
  // expected-error@+1 {{'pplan.contract' op equation "mk,kno->mn" has 3 letters for the right operand of type 'tensor<8x6xf32>'}}
  %0 = pplan.contract "mk,kno->mn" %x, %w : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
  return
}

// -----

func.func @contract_no_letter(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) {
  // expected-error@+1 {{'pplan.contract' op equation "m1,1n->mn" has '1' where a letter is due}}
  %0 = pplan.contract "m1,1n->mn" %x, %w : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
  return
}

// -----

func.func @contract_repeats(%x: tensor<4x4xf32>, %w: tensor<4x6xf32>) {
  // expected-error@+1 {{'pplan.contract' op equation "mm,mn->mn" repeats 'm' in the left operand}}
  %0 = pplan.contract "mm,mn->mn" %x, %w : tensor<4x4xf32>, tensor<4x6xf32> to tensor<4x6xf32>
  return
}

// -----

func.func @contract_result_only(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>) {
  // expected-error@+1 {{'pplan.contract' op equation "mk,kn->mz" has 'z' in the result only}}
  %0 = pplan.contract "mk,kn->mz" %x, %w : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
  return
}

// -----

func.func @contract_sizes(%x: tensor<4x8xf32>, %w: tensor<9x6xf32>) {
  // expected-error@+1 {{'pplan.contract' op equation "mk,kn->mn" gives 'k' the sizes 8 and 9}}
  %0 = pplan.contract "mk,kn->mn" %x, %w : tensor<4x8xf32>, tensor<9x6xf32> to tensor<4x6xf32>
  return
}

// -----

func.func @reduce_dims(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.reduce' op dims [1, 0] are not increasing dimensions of 'tensor<4x8xf32>'}}
  %0 = pplan.reduce sum %x dims [1, 0] : tensor<4x8xf32> to tensor<f32>
  return
}

// -----

func.func @reduce_result(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.reduce' op result should be 'tensor<4xf32>', found 'tensor<8xf32>'}}
  %0 = pplan.reduce sum %x dims [1] : tensor<4x8xf32> to tensor<8xf32>
  return
}

// -----

func.func @reduce_kind(%x: tensor<4x8xf32>) {
  // expected-error@+2 {{expected ::pplan::ReductionKind to be one of: sum, prod, max, min}}
  // expected-error@+1 {{failed to parse PPlan_ReductionKindAttr}}
  %0 = pplan.reduce mean %x dims [1] : tensor<4x8xf32> to tensor<4xf32>
  return
}

// -----

func.func @arg_reduce_dim(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.arg_reduce' op dimension 2 is not one of 'tensor<4x8xf32>' (rank 2)}}
  %0 = pplan.arg_reduce max %x dim 2 : tensor<4x8xf32> to tensor<4xi64>
  return
}

// -----

func.func @arg_reduce_kind(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.arg_reduce' op kind must be max or min, found sum}}
  %0 = pplan.arg_reduce sum %x dim 1 : tensor<4x8xf32> to tensor<4xi64>
  return
}

// -----

func.func @arg_reduce_empty(%x: tensor<4x0xf32>) {
  // expected-error@+1 {{'pplan.arg_reduce' op dimension 1 of 'tensor<4x0xf32>' is empty}}
  %0 = pplan.arg_reduce max %x dim 1 : tensor<4x0xf32> to tensor<4xi64>
  return
}

// -----

func.func @arg_reduce_result(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.arg_reduce' op result should be 'tensor<4xi64>', found 'tensor<8xi64>'}}
  %0 = pplan.arg_reduce max %x dim 1 : tensor<4x8xf32> to tensor<8xi64>
  return
}

// -----

func.func @cumsum_dim(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.cumsum' op dimension 2 is not one of 'tensor<4x8xf32>' (rank 2)}}
  %0 = pplan.cumsum %x dim 2 : tensor<4x8xf32>
  return
}

// -----

func.func @softmax_dim(%x: tensor<f32>) {
  // expected-error@+1 {{'pplan.softmax' op dimension 0 is not one of 'tensor<f32>' (rank 0)}}
  %0 = pplan.softmax %x dim 0 : tensor<f32>
  return
}

// -----

func.func @layer_norm_dims(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.layer_norm' op normalises 3 dimensions of 'tensor<4x8xf32>'; 1 to 2 are possible}}
  %0 = pplan.layer_norm %x num_dims 3 epsilon 1.0e-5 : tensor<4x8xf32>
  return
}

// -----

func.func @layer_norm_epsilon(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.layer_norm' op epsilon must not be negative, found -1.0}}
  %0 = pplan.layer_norm %x num_dims 1 epsilon -1.0 : tensor<4x8xf32>
  return
}

// -----

func.func @layer_norm_bias(%x: tensor<4x8xf32>, %g: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{'pplan.layer_norm' op scale and bias should be 'tensor<8xf32>', found 'tensor<4xf32>'}}
  %0 = pplan.layer_norm %x scale %g bias %b num_dims 1 epsilon 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>, tensor<4xf32>
  return
}

// -----

func.func @rms_norm_scale(%x: tensor<4x8xf32>, %g: tensor<4xf32>) {
  // expected-error@+1 {{'pplan.rms_norm' op scale and bias should be 'tensor<8xf32>', found 'tensor<4xf32>'}}
  %0 = pplan.rms_norm %x scale %g num_dims 1 epsilon 1.0e-5 : tensor<4x8xf32>, tensor<4xf32>
  return
}

// -----

func.func @attention_layouts(%q: tensor<2x4x16x8xf32>) {
  // expected-error@+1 {{'pplan.attention' op needs four layouts (query, key, value, result), found 3}}
  %0 = pplan.attention %q, %q, %q scale 1.0 layouts ["bhtd", "bhtd", "bhtd"]
    : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32> to tensor<2x4x16x8xf32>
  return
}

// -----

func.func @attention_letters(%q: tensor<2x4x16x8xf32>) {
  // expected-error@+1 {{'pplan.attention' op layout "bhsd" is not an order of the letters b, h, t, d}}
  %0 = pplan.attention %q, %q, %q scale 1.0 layouts ["bhtd", "bhsd", "bhtd", "bhtd"]
    : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32> to tensor<2x4x16x8xf32>
  return
}

// -----

func.func @attention_rank(%q: tensor<2x4x16x8xf32>, %k: tensor<4x16x8xf32>) {
  // expected-error@+1 {{'pplan.attention' op tensor 1 should have rank 4 and element type 'f32', found 'tensor<4x16x8xf32>'}}
  %0 = pplan.attention %q, %k, %q scale 1.0 layouts ["bhtd", "bhtd", "bhtd", "bhtd"]
    : tensor<2x4x16x8xf32>, tensor<4x16x8xf32>, tensor<2x4x16x8xf32> to tensor<2x4x16x8xf32>
  return
}

// -----

func.func @attention_shapes(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x16x7xf32>) {
  // expected-error@+1 {{'pplan.attention' op shapes do not fit: query 'tensor<2x4x16x8xf32>', key 'tensor<2x4x16x7xf32>', value 'tensor<2x4x16x8xf32>', result 'tensor<2x4x16x8xf32>' in layouts ["bhtd", "bhtd", "bhtd", "bhtd"]}}
  %0 = pplan.attention %q, %k, %q scale 1.0 layouts ["bhtd", "bhtd", "bhtd", "bhtd"]
    : tensor<2x4x16x8xf32>, tensor<2x4x16x7xf32>, tensor<2x4x16x8xf32> to tensor<2x4x16x8xf32>
  return
}

// -----

func.func @attention_groups(%q: tensor<2x4x16x8xf32>, %k: tensor<2x3x16x8xf32>) {
  // expected-error@+1 {{'pplan.attention' op has 4 query heads, which 3 key/value heads do not divide}}
  %0 = pplan.attention %q, %k, %k scale 1.0 layouts ["bhtd", "bhtd", "bhtd", "bhtd"]
    : tensor<2x4x16x8xf32>, tensor<2x3x16x8xf32>, tensor<2x3x16x8xf32> to tensor<2x4x16x8xf32>
  return
}

// -----

func.func @attention_mask(%q: tensor<2x4x16x8xf32>, %m: tensor<2x2x16x16xf32>) {
  // expected-error@+1 {{'pplan.attention' op mask 'tensor<2x2x16x16xf32>' does not fit [b, h, t, s] = [2, 4, 16, 16] (or 1 in any place) of i1 or 'f32'}}
  %0 = pplan.attention %q, %q, %q mask %m scale 1.0 layouts ["bhtd", "bhtd", "bhtd", "bhtd"]
    : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x2x16x16xf32> to tensor<2x4x16x8xf32>
  return
}

// -----

func.func @cross_entropy(%z: tensor<4x9xf32>, %t: tensor<9xi64>) {
  // expected-error@+1 {{targets of logits 'tensor<4x9xf32>' should have their shape without the last dimension, found 'tensor<9xi64>'}}
  %0 = pplan.cross_entropy %z, %t : tensor<4x9xf32>, tensor<9xi64> to tensor<4xf32>
  return
}

// -----

func.func @scatter_add(%i: tensor<5xi32>, %u: tensor<4x3xf32>) {
  // expected-error@+1 {{updates 'tensor<4x3xf32>' should have the shape of the indices 'tensor<5xi32>' from dimension 0 on, and the size 7 must not be negative}}
  %0 = pplan.scatter_add %i, %u dim 0 size 7 : tensor<5xi32>, tensor<4x3xf32> to tensor<7x3xf32>
  return
}

// -----

func.func @attention_backward(%q: tensor<2x4x6x8xf32>, %g: tensor<2x4x6x7xf32>) {
  // expected-error@+1 {{shapes do not fit: query 'tensor<2x4x6x8xf32>', key 'tensor<2x4x6x8xf32>', value 'tensor<2x4x6x8xf32>', result 'tensor<2x4x6x7xf32>'}}
  %0:3 = pplan.attention_backward %q, %q, %q gradient %g scale 1.0 layouts ["bthd", "bthd", "bthd", "bthd"] : tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>, tensor<2x4x6x8xf32>, tensor<2x4x6x7xf32>
  return
}
