// What the verifiers of operations refuse, with the whole message.
// RUN: pplan-opt %s -split-input-file -verify-diagnostics

func.func @compare_predicate(%x: tensor<4xf32>) {
  // expected-error@+1 {{unknown predicate 'less'; known are eq, ne, lt, le, gt and ge}}
  %0 = pplan.compare less %x, %x : tensor<4xf32>
  return
}

// -----

func.func @dynamic_shape(%x: tensor<?xf32>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor (at most 2^48 elements)}}
  %0 = pplan.exp %x : tensor<?xf32>
  return
}

// -----

// The number of elements is 5 modulo 2^64.
func.func @too_many_elements(%x: tensor<6148914691236517207x3xf32>) {
  // expected-error@+1 {{'pplan.reshape' op operand #0 must be statically shaped tensor (at most 2^48 elements)}}
  %0 = pplan.reshape %x : tensor<6148914691236517207x3xf32> to tensor<5xf32>
  return
}

// -----

// Without elements, but local shapes and reshapes multiply the other sizes.
func.func @too_large_but_empty(%x: tensor<0x281474976710657xf32>) {
  // expected-error@+1 {{'pplan.neg' op operand #0 must be statically shaped tensor (at most 2^48 elements)}}
  %0 = pplan.neg %x : tensor<0x281474976710657xf32>
  return
}

// -----

func.func @exp_of_integers(%x: tensor<4xi64>) {
  // expected-error@+1 {{operand #0 must be statically shaped tensor (at most 2^48 elements) of f64, f32, f16 or bf16 values, but got 'tensor<4xi64>'}}
  %0 = pplan.exp %x : tensor<4xi64>
  return
}

// -----

func.func @iota_dim() {
  // expected-error@+1 {{'pplan.iota' op dimension 2 is not one of 'tensor<4x8xi64>' (rank 2)}}
  %0 = pplan.iota dim 2 : tensor<4x8xi64>
  return
}

// -----

func.func @broadcast_element(%x: tensor<8xf32>) {
  // expected-error@+1 {{'pplan.broadcast' op element types differ: 'tensor<8xf32>' and 'tensor<4x8xf64>'}}
  %0 = pplan.broadcast %x dims [1] : tensor<8xf32> to tensor<4x8xf64>
  return
}

// -----

func.func @broadcast_count(%x: tensor<8xf32>) {
  // expected-error@+1 {{'pplan.broadcast' op has 2 entries in dims, but 'tensor<8xf32>' has rank 1}}
  %0 = pplan.broadcast %x dims [0, 1] : tensor<8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_order(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.broadcast' op dims 1, 0 are not increasing dimensions of 'tensor<8x4xf32>'}}
  %0 = pplan.broadcast %x dims [1, 0] : tensor<4x8xf32> to tensor<8x4xf32>
  return
}

// -----

func.func @broadcast_range(%x: tensor<8xf32>) {
  // expected-error@+1 {{'pplan.broadcast' op dims 2 are not increasing dimensions of 'tensor<4x8xf32>'}}
  %0 = pplan.broadcast %x dims [2] : tensor<8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @broadcast_size(%x: tensor<7xf32>) {
  // expected-error@+1 {{'pplan.broadcast' op operand dimension 0 has size 7, which is neither 1 nor the result's 8}}
  %0 = pplan.broadcast %x dims [1] : tensor<7xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @reshape_element(%x: tensor<4xf32>) {
  // expected-error@+1 {{'pplan.reshape' op element types differ: 'tensor<4xf32>' and 'tensor<4xi32>'}}
  %0 = pplan.reshape %x : tensor<4xf32> to tensor<4xi32>
  return
}

// -----

func.func @reshape_count(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.reshape' op cannot give 'tensor<4x8xf32>' (32 elements) the shape of 'tensor<3x11xf32>' (33)}}
  %0 = pplan.reshape %x : tensor<4x8xf32> to tensor<3x11xf32>
  return
}

// -----

func.func @transpose_text(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{the list is not a permutation of the 2 dimensions of 'tensor<4x8xf32>'}}
  %0 = pplan.transpose %x [0, 0] : tensor<4x8xf32>
  return
}

// -----

func.func @transpose_short(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{the list is not a permutation of the 2 dimensions of 'tensor<4x8xf32>'}}
  %0 = pplan.transpose %x [0] : tensor<4x8xf32>
  return
}

// -----

func.func @transpose_generic(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.transpose' op [2, 0] is not a permutation of the dimensions of 'tensor<4x8xf32>'}}
  %0 = "pplan.transpose"(%x) {permutation = array<i64: 2, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @transpose_result(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.transpose' op result should be 'tensor<8x4xf32>', found 'tensor<4x8xf32>'}}
  %0 = "pplan.transpose"(%x) {permutation = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @slice_element(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.slice' op cannot take 'tensor<4x8xf16>' from 'tensor<4x8xf32>'}}
  %0 = pplan.slice %x offsets [0, 0] strides [1, 1] : tensor<4x8xf32> to tensor<4x8xf16>
  return
}

// -----

func.func @slice_rank(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.slice' op cannot take 'tensor<4xf32>' from 'tensor<4x8xf32>'}}
  %0 = pplan.slice %x offsets [0, 0] strides [1, 1] : tensor<4x8xf32> to tensor<4xf32>
  return
}

// -----

func.func @slice_count(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.slice' op needs one offset and one stride for each of the 2 dimensions of 'tensor<4x8xf32>', found 1 and 2}}
  %0 = pplan.slice %x offsets [0] strides [1, 1] : tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @slice_stride(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.slice' op stride of dimension 1 is zero}}
  %0 = pplan.slice %x offsets [0, 0] strides [1, 0] : tensor<4x8xf32> to tensor<4x8xf32>
  return
}

// -----

func.func @slice_end(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.slice' op takes elements outside dimension 1 of size 8: offset 2, stride 2, size 4}}
  %0 = pplan.slice %x offsets [0, 2] strides [1, 2] : tensor<4x8xf32> to tensor<4x4xf32>
  return
}

// -----

func.func @slice_backward(%x: tensor<8xf32>) {
  // expected-error@+1 {{'pplan.slice' op takes elements outside dimension 0 of size 8: offset 2, stride -1, size 4}}
  %0 = pplan.slice %x offsets [2] strides [-1] : tensor<8xf32> to tensor<4xf32>
  return
}

// -----

func.func @slice_overflow(%x: tensor<8xf32>) {
  // expected-error@+1 {{'pplan.slice' op takes elements outside dimension 0 of size 8: offset 0, stride 9223372036854775807, size 3}}
  %0 = pplan.slice %x offsets [0] strides [9223372036854775807] : tensor<8xf32> to tensor<3xf32>
  return
}

// -----

func.func @slice_smallest_stride(%x: tensor<8xf32>) {
  // expected-error@+1 {{'pplan.slice' op takes elements outside dimension 0 of size 8: offset 7, stride -9223372036854775808, size 2}}
  %0 = "pplan.slice"(%x) {offsets = array<i64: 7>, strides = array<i64: -9223372036854775808>} : (tensor<8xf32>) -> tensor<2xf32>
  return
}

// -----

// 1048577 * (2^44) is 2^44 modulo 2^64.
func.func @slice_product_overflows(%x: tensor<35184372088832xf32>) {
  // expected-error@+1 {{'pplan.slice' op takes elements outside dimension 0 of size 35184372088832: offset 0, stride 1048577, size 17592186044417}}
  %0 = pplan.slice %x offsets [0] strides [1048577] : tensor<35184372088832xf32> to tensor<17592186044417xf32>
  return
}

// -----

func.func @concat_nothing() {
  // expected-error@+1 {{'pplan.concat' op needs at least one operand}}
  %0 = "pplan.concat"() {dim = 0 : i64} : () -> tensor<4xf32>
  return
}

// -----

func.func @concat_dim(%x: tensor<4xf32>) {
  // expected-error@+1 {{'pplan.concat' op dimension 1 is not one of 'tensor<8xf32>' (rank 1)}}
  %0 = pplan.concat %x, %x dim 1 : tensor<4xf32>, tensor<4xf32> to tensor<8xf32>
  return
}

// -----

func.func @concat_shape(%x: tensor<4x8xf32>, %y: tensor<4x7xf32>) {
  // expected-error@+1 {{'pplan.concat' op operand 1 of type 'tensor<4x7xf32>' does not fit into 'tensor<8x8xf32>' along dimension 0}}
  %0 = pplan.concat %x, %y dim 0 : tensor<4x8xf32>, tensor<4x7xf32> to tensor<8x8xf32>
  return
}

// -----

func.func @concat_total(%x: tensor<4xf32>) {
  // expected-error@+1 {{'pplan.concat' op operands add up to 8 along dimension 0, but the result has 9}}
  %0 = pplan.concat %x, %x dim 0 : tensor<4xf32>, tensor<4xf32> to tensor<9xf32>
  return
}

// -----

func.func @pad_count(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{'pplan.pad' op needs a low and a high amount for each of the 2 dimensions of 'tensor<4x8xf32>'}}
  %0 = pplan.pad %x low [0] high [0, 2] value 0.0 : f32 : tensor<4x8xf32> to tensor<4x10xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<8xf32>) {
  // expected-error@+1 {{'pplan.pad' op value 0 : i32 does not have the element type of 'tensor<8xf32>'}}
  %0 = pplan.pad %x low [0] high [2] value 0 : i32 : tensor<8xf32> to tensor<10xf32>
  return
}

// -----

func.func @pad_negative(%x: tensor<8xf32>) {
  // expected-error@+1 {{'pplan.pad' op amounts of dimension 0 are negative: 3 and -1}}
  %0 = pplan.pad %x low [3] high [-1] value 0.0 : f32 : tensor<8xf32> to tensor<10xf32>
  return
}

// -----

func.func @pad_size(%x: tensor<8xf32>) {
  // expected-error@+1 {{'pplan.pad' op dimension 0 of size 8 with 1 before it and 2 after it does not have the result's size 10}}
  %0 = pplan.pad %x low [1] high [2] value 0.0 : f32 : tensor<8xf32> to tensor<10xf32>
  return
}

// -----

// 8 and the two amounts are 6 modulo 2^64.
func.func @pad_overflows(%x: tensor<8xf32>) {
  // expected-error@+1 {{'pplan.pad' op dimension 0 of size 8 with 9223372036854775807 before it and 9223372036854775807 after it does not have the result's size 6}}
  %0 = pplan.pad %x low [9223372036854775807] high [9223372036854775807] value 0.0 : f32 : tensor<8xf32> to tensor<6xf32>
  return
}

// -----

func.func @gather_dim(%x: tensor<4x8xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{'pplan.gather' op dimension 2 is not one of 'tensor<4x8xf32>' (rank 2)}}
  %0 = pplan.gather %x, %i dim 2 : tensor<4x8xf32>, tensor<2xi64> to tensor<2x8xf32>
  return
}

// -----

func.func @gather_result(%x: tensor<4x8xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{'pplan.gather' op result should be 'tensor<4x2xf32>', found 'tensor<2x8xf32>'}}
  %0 = pplan.gather %x, %i dim 1 : tensor<4x8xf32>, tensor<2xi64> to tensor<2x8xf32>
  return
}

// -----

func.func @gather_empty(%x: tensor<0x8xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{'pplan.gather' op takes elements from dimension 0 of 'tensor<0x8xf32>', which is empty}}
  %0 = pplan.gather %x, %i dim 0 : tensor<0x8xf32>, tensor<2xi64> to tensor<2x8xf32>
  return
}

// -----

func.func @gather_elements_dim(%x: tensor<4x8xf32>, %i: tensor<4x2xi64>) {
  // expected-error@+1 {{'pplan.gather_elements' op dimension -1 is not one of 'tensor<4x8xf32>' (rank 2)}}
  %0 = pplan.gather_elements %x, %i dim -1 : tensor<4x8xf32>, tensor<4x2xi64> to tensor<4x2xf32>
  return
}

// -----

func.func @gather_elements_shape(%x: tensor<4x8xf32>, %i: tensor<3x2xi64>) {
  // expected-error@+1 {{'pplan.gather_elements' op shapes do not fit: input 'tensor<4x8xf32>', indices 'tensor<3x2xi64>', result 'tensor<3x2xf32>', dimension 1}}
  %0 = pplan.gather_elements %x, %i dim 1 : tensor<4x8xf32>, tensor<3x2xi64> to tensor<3x2xf32>
  return
}

// -----

func.func @gather_elements_empty(%x: tensor<0xf32>, %i: tensor<2xi64>) {
  // expected-error@+1 {{'pplan.gather_elements' op takes elements from dimension 0 of 'tensor<0xf32>', which is empty}}
  %0 = pplan.gather_elements %x, %i dim 0 : tensor<0xf32>, tensor<2xi64> to tensor<2xf32>
  return
}
