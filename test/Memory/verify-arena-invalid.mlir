// RUN: pplan-opt %s -split-input-file -verify-diagnostics -pplan-verify-arena

// The second product writes over the bytes that the third still reads.
module attributes {pplan.memory = {arena = 256 : i64}} {
func.func @overlap(%arena: memref<256xi8>, %x: memref<4x8xf32>, %w: memref<8x8xf32>, %y: memref<4x8xf32>)
    attributes {rt.arguments = [], rt.results = [], rt.mesh = #pplan.mesh_shape<[]>} {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  // expected-note@+1 {{the buffer that is read}}
  %a = memref.view %arena[%c0][] : memref<256xi8> to memref<4x8xf32>
  // expected-note@+1 {{by the buffer placed here}}
  %b = memref.view %arena[%c64][] : memref<256xi8> to memref<4x8xf32>
  rt.contract "bk,kn->bn" ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) outs(%a : memref<4x8xf32>)
  rt.contract "bk,kn->bn" ins(%x, %w : memref<4x8xf32>, memref<8x8xf32>) outs(%b : memref<4x8xf32>)
  // expected-error@+1 {{reads bytes 0 to 128 of the arena after they were overwritten}}
  rt.contract "bk,kn->bn" ins(%a, %w : memref<4x8xf32>, memref<8x8xf32>) outs(%y : memref<4x8xf32>)
  return
}
}

// -----

module attributes {pplan.memory = {arena = 128 : i64}} {
func.func @unwritten(%arena: memref<128xi8>, %w: memref<8x8xf32>, %y: memref<4x8xf32>)
    attributes {rt.arguments = [], rt.results = [], rt.mesh = #pplan.mesh_shape<[]>} {
  %c0 = arith.constant 0 : index
  // expected-note@+1 {{the buffer that is read}}
  %a = memref.view %arena[%c0][] : memref<128xi8> to memref<4x8xf32>
  // expected-error@+1 {{reads bytes 0 to 128 of the arena after they were never written}}
  rt.contract "bk,kn->bn" ins(%a, %w : memref<4x8xf32>, memref<8x8xf32>) outs(%y : memref<4x8xf32>)
  return
}
}

// -----

module attributes {pplan.memory = {arena = 128 : i64}} {
func.func @outside(%arena: memref<128xi8>)
    attributes {rt.arguments = [], rt.results = [], rt.mesh = #pplan.mesh_shape<[]>} {
  %c64 = arith.constant 64 : index
  // expected-error@+1 {{spans bytes 64 to 192 of an arena of 128 bytes, aligned to 64}}
  %a = memref.view %arena[%c64][] : memref<128xi8> to memref<4x8xf32>
  return
}
}

// -----

module attributes {pplan.memory = {arena = 64 : i64}} {
// expected-error@+1 {{the arena has 128 bytes, which 'pplan.memory' does not say}}
func.func @stated(%arena: memref<128xi8>)
    attributes {rt.arguments = [], rt.results = [], rt.mesh = #pplan.mesh_shape<[]>} {
  return
}
}
