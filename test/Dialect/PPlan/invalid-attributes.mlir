// What the dialect refuses about meshes, shardings and the attributes on functions.
// RUN: pplan-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{a mesh axis needs a name}}
pplan.mesh @mesh = <[""=2]>

// -----

// expected-error@+1 {{mesh axis "data" has size 0; it must be at least 1}}
pplan.mesh @mesh = <["data"=0]>

// -----

// expected-error@+1 {{mesh axis "data" occurs twice}}
pplan.mesh @mesh = <["data"=2, "data"=4]>

// -----

// expected-error@+1 {{a mesh has at most 1048576 devices}}
pplan.mesh @mesh = <["data"=1048576, "tensor"=2]>

// -----

// The product of the sizes would overflow 64 bits.
// expected-error@+1 {{a mesh has at most 1048576 devices}}
pplan.mesh @mesh = <["data"=9223372036854775807, "tensor"=9223372036854775807]>

// -----

// expected-error@+1 {{a mesh has at most 16 axes, found 17}}
pplan.mesh @mesh = <["a"=1, "b"=1, "c"=1, "d"=1, "e"=1, "f"=1, "g"=1, "h"=1, "i"=1, "j"=1, "k"=1, "l"=1, "m"=1, "n"=1, "o"=1, "p"=1, "q"=1]>

// -----

pplan.mesh @mesh = <["data"=2]>
// expected-error@+2 {{'?' must come last in a dimension}}
func.func @open_first(
    %x: tensor<4xf32> {pplan.sharding = #pplan.sharding<@mesh, [{?, "data"}]>}) {
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @reduction_name(
    // expected-error@+1 {{unknown reduction 'mean'; known are sum, prod, max and min}}
    %x: tensor<4xf32> {pplan.sharding = #pplan.sharding<@mesh, [{}], partial = mean {"data"}>}) {
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @axis_twice(
    // expected-error@+1 {{axis "data" occurs twice in a sharding of @mesh}}
    %x: tensor<4x4xf32> {pplan.sharding = #pplan.sharding<@mesh, [{"data"}, {"data"}]>}) {
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @axis_split_and_partial(
    // expected-error@+1 {{axis "data" occurs twice in a sharding of @mesh}}
    %x: tensor<4xf32> {pplan.sharding = #pplan.sharding<@mesh, [{"data"}], partial = sum {"data"}>}) {
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
// expected-error@+1 {{'func.func' op expects a #pplan.sharding, found "data"}}
func.func @not_a_sharding(%x: tensor<4xf32> {pplan.sharding = "data"}) {
  return
}

// -----

// expected-error@+1 {{'func.func' op sharding #pplan.sharding<@mesh, [{}]> names the mesh @mesh, which is not declared; declare it with pplan.mesh}}
func.func @no_mesh(%x: tensor<4xf32> {pplan.sharding = #pplan.sharding<@mesh, [{}]>}) {
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
// expected-error@+1 {{sharding #pplan.sharding<@mesh, []> annotates a value of type 'i32'; only ranked tensors have shardings}}
func.func @scalar(%x: i32 {pplan.sharding = #pplan.sharding<@mesh, []>}) {
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @rank(%x: tensor<4x8xf32>) {
  // expected-error@+1 {{sharding #pplan.sharding<@mesh, [{"data"}]> has 1 dimensions, but the value's type 'tensor<4x8xf32>' has 2}}
  %0 = pplan.reshard %x {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}]>]} : tensor<4x8xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2, "tensor"=4]>
func.func @axis(%x: tensor<4xf32>) {
  // expected-error@+1 {{sharding #pplan.sharding<@mesh, [{"model"}]> names axis "model", which mesh @mesh lacks; it has "data", "tensor"}}
  %0 = pplan.reshard %x {pplan.shardings = [#pplan.sharding<@mesh, [{"model"}]>]} : tensor<4xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2, "tensor"=4]>
func.func @partial_axis(%x: tensor<4xf32>) {
  // expected-error@+1 {{names axis "model", which mesh @mesh lacks; it has "data", "tensor"}}
  %0 = pplan.reshard %x {pplan.shardings = [#pplan.sharding<@mesh, [{}], partial = sum {"model"}>]} : tensor<4xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @count(%x: tensor<4xf32>) {
  // expected-error@+1 {{'pplan.shardings' must be an array with one sharding for each of the 1 results, found []}}
  %0 = pplan.reshard %x {pplan.shardings = []} : tensor<4xf32>
  return
}

// -----

pplan.mesh @mesh = <["data"=2]>
func.func @not_an_array(%x: tensor<4xf32>) {
  // expected-error@+1 {{'pplan.shardings' must be an array with one sharding for each of the 1 results, found #pplan.sharding<@mesh, [{"data"}]>}}
  %0 = pplan.reshard %x {pplan.shardings = #pplan.sharding<@mesh, [{"data"}]>} : tensor<4xf32>
  return
}

// -----

// expected-error@+1 {{'pplan.input' must be a name (a string that is not empty), found 3 : i64}}
func.func @input_name(%x: tensor<4xf32> {pplan.input = 3}) {
  return
}

// -----

// expected-error@+1 {{'pplan.param' must be a name (a string that is not empty), found ""}}
func.func @param_name(%x: tensor<4xf32> {pplan.param = ""}) {
  return
}

// -----

// expected-error@+1 {{'pplan.output' must be a name (a string that is not empty), found unit}}
func.func @output_name(%x: tensor<4xf32>) -> (tensor<4xf32> {pplan.output}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{'pplan.data' must be a #pplan.data, found "w.bin"}}
func.func @data_kind(%x: tensor<4xf32> {pplan.data = "w.bin"}) {
  return
}

// -----

// expected-error@+1 {{'pplan.data' annotates a value of type 'index'; it holds only tensors of numbers}}
func.func @data_type(%x: index {pplan.data = #pplan.data<"w.bin", offset = 0, size = 8>}) {
  return
}

// -----

// expected-error@+1 {{'pplan.data' has 12 bytes, but 'tensor<4xf32>' needs 16}}
func.func @data_size(%x: tensor<4xf32> {pplan.data = #pplan.data<"w.bin", offset = 0, size = 12>}) {
  return
}

// -----

// expected-error@+1 {{#pplan.data needs a path}}
func.func @data_path(%x: tensor<4xf32> {pplan.data = #pplan.data<"", offset = 0, size = 16>}) {
  return
}

// -----

// expected-error@+1 {{#pplan.data of "w.bin" has offset -4 and size 16; neither can be negative}}
func.func @data_offset(%x: tensor<4xf32> {pplan.data = #pplan.data<"w.bin", offset = -4, size = 16>}) {
  return
}

// -----

// No operation uses the argument, so none checks its size.
// expected-error@+1 {{'pplan.input' annotates a value of type 'tensor<4611686018427387904x4xf32>', which has more than 2^48 elements}}
func.func @unused(%x: tensor<4xf32>, %u: tensor<4611686018427387904x4xf32> {pplan.input = "u"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
