// RUN: pplan-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{has 'rt.arguments'; 'rt.arguments', 'rt.results' (arrays) and 'rt.mesh' (a mesh) belong together, on a function with a body}}
func.func @alone() attributes {rt.arguments = []} { return }

// -----

// expected-error@+1 {{'rt.arguments', 'rt.results' (arrays) and 'rt.mesh' (a mesh) belong together, on a function with a body}}
func.func private @external() attributes {rt.arguments = [], rt.results = [], rt.mesh = #pplan.mesh_shape<[]>}

// -----

// expected-error@+1 {{has the unknown attribute 'rt.inputs'}}
func.func @unknown() attributes {rt.inputs = []} { return }

// -----

// expected-error@+1 {{rt.arguments 0 is no dictionary: "x"}}
func.func @entry() attributes {rt.arguments = ["x"], rt.results = [], rt.mesh = #pplan.mesh_shape<[]>} { return }

// -----

// expected-error@+1 {{rt.results 0 needs 'kind' ("output" or "update") and 'name'}}
func.func @kind() attributes {rt.arguments = [], rt.mesh = #pplan.mesh_shape<[]>,
    rt.results = [{kind = "input", name = "y", type = tensor<4xf32>, local = tensor<4xf32>, axes = [array<i32>]}]} { return }

// -----

// expected-error@+1 {{rt.arguments 0 needs 'type' and 'local', static tensor types of one rank and element type}}
func.func @type() attributes {rt.results = [], rt.mesh = #pplan.mesh_shape<[]>,
    rt.arguments = [{kind = "input", name = "x", type = tensor<?xf32>, local = tensor<4xf32>, axes = [array<i32>]}]} { return }

// -----

// expected-error@+1 {{rt.arguments 0 needs 'data' of 16 bytes}}
func.func @data() attributes {rt.results = [], rt.mesh = #pplan.mesh_shape<[]>,
    rt.arguments = [{kind = "param", name = "w", type = tensor<4xf32>, local = tensor<4xf32>, axes = [array<i32>]}]} { return }

// -----

// expected-error@+1 {{rt.arguments 0 needs 'axes', an array with an entry for each of 1 dimensions}}
func.func @axes() attributes {rt.results = [], rt.mesh = #pplan.mesh_shape<[]>,
    rt.arguments = [{kind = "input", name = "x", type = tensor<4xf32>, local = tensor<4xf32>, axes = []}]} { return }

// -----

// expected-error@+1 {{rt.arguments 0 has the axis 1, but the mesh is #pplan.mesh_shape<["a"=2]>}}
func.func @axis() attributes {rt.results = [], rt.mesh = #pplan.mesh_shape<["a"=2]>,
    rt.arguments = [{kind = "input", name = "x", type = tensor<4xf32>, local = tensor<2xf32>, axes = [array<i32: 1>]}]} { return }

// -----

// expected-error@+1 {{rt.results 0 needs 'argument', the number of a state of its type that no other result updates}}
func.func @update(%w: tensor<4xf32>) attributes {rt.mesh = #pplan.mesh_shape<[]>,
    rt.arguments = [{kind = "input", name = "w", type = tensor<4xf32>, local = tensor<4xf32>, axes = [array<i32>]}],
    rt.results = [{kind = "update", name = "w", type = tensor<4xf32>, local = tensor<4xf32>, axes = [array<i32>], argument = 0 : i64}]} { return }

// -----

// expected-error@+1 {{rt.arguments 0 has the 'init' 1 : i32; expected one of the elements}}
func.func @init(%w: tensor<4xf32>) attributes {rt.mesh = #pplan.mesh_shape<[]>, rt.results = [],
    rt.arguments = [{kind = "state", name = "w", type = tensor<4xf32>, local = tensor<4xf32>, axes = [array<i32>], init = 1 : i32}]} { return }
