// Every operation of the dialect in every optional form: what is printed parses to the same again.
// RUN: pplan-opt %s | pplan-opt | FileCheck %s
// RUN: pplan-opt %s -mlir-print-op-generic | pplan-opt | FileCheck %s

// CHECK: pplan.mesh @mesh = <["data"=2, "tensor"=4]>
pplan.mesh @mesh = <["data"=2, "tensor"=4]>
// CHECK: pplan.mesh @single = <[]>
pplan.mesh @single = <[]>

// CHECK-LABEL: func.func @unary
func.func @unary(%x: tensor<4x8xf32>, %i: tensor<4xi64>, %b: tensor<4xi1>) {
  // CHECK-NEXT: pplan.abs %{{.*}} : tensor<4x8xf32>
  %abs = pplan.abs %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.abs %{{.*}} : tensor<4xi64>
  %absInt = pplan.abs %i : tensor<4xi64>
  // CHECK-NEXT: pplan.sign %{{.*}} : tensor<4x8xf32>
  %sign = pplan.sign %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.neg %{{.*}} : tensor<4x8xf32>
  %neg = pplan.neg %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.exp %{{.*}} : tensor<4x8xf32>
  %exp = pplan.exp %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.log %{{.*}} : tensor<4x8xf32>
  %log = pplan.log %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.sqrt %{{.*}} : tensor<4x8xf32>
  %sqrt = pplan.sqrt %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.rsqrt %{{.*}} : tensor<4x8xf32>
  %rsqrt = pplan.rsqrt %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.sin %{{.*}} : tensor<4x8xf32>
  %sin = pplan.sin %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.cos %{{.*}} : tensor<4x8xf32>
  %cos = pplan.cos %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.tanh %{{.*}} : tensor<4x8xf32>
  %tanh = pplan.tanh %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.erf %{{.*}} : tensor<4x8xf32>
  %erf = pplan.erf %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.sigmoid %{{.*}} : tensor<4x8xf32>
  %sigmoid = pplan.sigmoid %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.silu %{{.*}} : tensor<4x8xf32>
  %silu = pplan.silu %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.relu %{{.*}} : tensor<4x8xf32>
  %relu = pplan.relu %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.floor %{{.*}} : tensor<4x8xf32>
  %floor = pplan.floor %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.ceil %{{.*}} : tensor<4x8xf32>
  %ceil = pplan.ceil %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.round %{{.*}} : tensor<4x8xf32>
  %round = pplan.round %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.not %{{.*}} : tensor<4xi1>
  %not = pplan.not %b : tensor<4xi1>
  // CHECK-NEXT: pplan.not %{{.*}} : tensor<4xi64>
  %notInt = pplan.not %i : tensor<4xi64>
  // CHECK-NEXT: pplan.gelu erf %{{.*}} : tensor<4x8xf32>
  %gelu = pplan.gelu erf %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.gelu tanh %{{.*}} : tensor<4x8xf32>
  %geluTanh = pplan.gelu tanh %x : tensor<4x8xf32>
  // CHECK-NEXT: pplan.convert %{{.*}} : tensor<4x8xf32> to tensor<4x8xbf16>
  %convert = pplan.convert %x : tensor<4x8xf32> to tensor<4x8xbf16>
  return
}

// CHECK-LABEL: func.func @binary
func.func @binary(%x: tensor<4xf32>, %y: tensor<4xf32>, %i: tensor<4xi32>, %c: tensor<4xi1>) {
  // CHECK-NEXT: pplan.add %{{.*}}, %{{.*}} : tensor<4xf32>
  %add = pplan.add %x, %y : tensor<4xf32>
  // CHECK-NEXT: pplan.sub %{{.*}}, %{{.*}} : tensor<4xf32>
  %sub = pplan.sub %x, %y : tensor<4xf32>
  // CHECK-NEXT: pplan.mul %{{.*}}, %{{.*}} : tensor<4xf32>
  %mul = pplan.mul %x, %y : tensor<4xf32>
  // CHECK-NEXT: pplan.div %{{.*}}, %{{.*}} : tensor<4xf32>
  %div = pplan.div %x, %y : tensor<4xf32>
  // CHECK-NEXT: pplan.rem %{{.*}}, %{{.*}} : tensor<4xi32>
  %rem = pplan.rem %i, %i : tensor<4xi32>
  // CHECK-NEXT: pplan.pow %{{.*}}, %{{.*}} : tensor<4xf32>
  %pow = pplan.pow %x, %y : tensor<4xf32>
  // CHECK-NEXT: pplan.max %{{.*}}, %{{.*}} : tensor<4xf32>
  %max = pplan.max %x, %y : tensor<4xf32>
  // CHECK-NEXT: pplan.min %{{.*}}, %{{.*}} : tensor<4xf32>
  %min = pplan.min %x, %y : tensor<4xf32>
  // CHECK-NEXT: pplan.and %{{.*}}, %{{.*}} : tensor<4xi1>
  %and = pplan.and %c, %c : tensor<4xi1>
  // CHECK-NEXT: pplan.or %{{.*}}, %{{.*}} : tensor<4xi1>
  %or = pplan.or %c, %c : tensor<4xi1>
  // CHECK-NEXT: pplan.xor %{{.*}}, %{{.*}} : tensor<4xi32>
  %xor = pplan.xor %i, %i : tensor<4xi32>
  // CHECK-NEXT: pplan.compare eq %{{.*}}, %{{.*}} : tensor<4xi1>
  %eq = pplan.compare eq %c, %c : tensor<4xi1>
  // CHECK-NEXT: pplan.compare ne %{{.*}}, %{{.*}} : tensor<4xf32>
  %ne = pplan.compare ne %x, %y : tensor<4xf32>
  // CHECK-NEXT: pplan.compare lt %{{.*}}, %{{.*}} : tensor<4xf32>
  %lt = pplan.compare lt %x, %y : tensor<4xf32>
  // CHECK-NEXT: pplan.compare le %{{.*}}, %{{.*}} : tensor<4xf32>
  %le = pplan.compare le %x, %y : tensor<4xf32>
  // CHECK-NEXT: pplan.compare gt %{{.*}}, %{{.*}} : tensor<4xf32>
  %gt = pplan.compare gt %x, %y : tensor<4xf32>
  // CHECK-NEXT: pplan.compare ge %{{.*}}, %{{.*}} : tensor<4xi32>
  %ge = pplan.compare ge %i, %i : tensor<4xi32>
  // CHECK-NEXT: pplan.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<4xf32>
  %select = pplan.select %c, %x, %y : tensor<4xf32>
  return
}

// CHECK-LABEL: func.func @structural
func.func @structural(%x: tensor<4x8xf32>, %v: tensor<8xf32>, %ids: tensor<2x3xi64>, %e: tensor<4x2xi32>) {
  // CHECK-NEXT: pplan.constant dense<1.000000e+00> : tensor<4x8xf32>
  %constant = pplan.constant dense<1.0> : tensor<4x8xf32>
  // CHECK-NEXT: pplan.iota dim 1 : tensor<4x8xi64>
  %iota = pplan.iota dim 1 : tensor<4x8xi64>
  // CHECK-NEXT: pplan.broadcast %{{.*}} dims [1] : tensor<8xf32> to tensor<4x8xf32>
  %broadcast = pplan.broadcast %v dims [1] : tensor<8xf32> to tensor<4x8xf32>
  // CHECK-NEXT: pplan.reshape %{{.*}} : tensor<4x8xf32> to tensor<2x16xf32>
  %reshape = pplan.reshape %x : tensor<4x8xf32> to tensor<2x16xf32>
  // CHECK-NEXT: pplan.transpose %{{.*}} [1, 0] : tensor<4x8xf32>
  %transpose = pplan.transpose %x [1, 0] : tensor<4x8xf32>
  // CHECK-NEXT: pplan.slice %{{.*}} offsets [3, 0] strides [-1, 2] : tensor<4x8xf32> to tensor<4x4xf32>
  %slice = pplan.slice %x offsets [3, 0] strides [-1, 2] : tensor<4x8xf32> to tensor<4x4xf32>
  // CHECK-NEXT: pplan.concat %{{.*}}, %{{.*}} dim 0 : tensor<4x8xf32>, tensor<4x8xf32> to tensor<8x8xf32>
  %concat = pplan.concat %x, %constant dim 0 : tensor<4x8xf32>, tensor<4x8xf32> to tensor<8x8xf32>
  // CHECK-NEXT: pplan.pad %{{.*}} low [0, 1] high [0, 2] value 0.000000e+00 : f32 : tensor<4x8xf32> to tensor<4x11xf32>
  %pad = pplan.pad %x low [0, 1] high [0, 2] value 0.0 : f32 : tensor<4x8xf32> to tensor<4x11xf32>
  // CHECK-NEXT: pplan.gather %{{.*}}, %{{.*}} dim 0 : tensor<4x8xf32>, tensor<2x3xi64> to tensor<2x3x8xf32>
  %gather = pplan.gather %x, %ids dim 0 : tensor<4x8xf32>, tensor<2x3xi64> to tensor<2x3x8xf32>
  // CHECK-NEXT: pplan.gather_elements %{{.*}}, %{{.*}} dim 1 : tensor<4x8xf32>, tensor<4x2xi32> to tensor<4x2xf32>
  %elements = pplan.gather_elements %x, %e dim 1 : tensor<4x8xf32>, tensor<4x2xi32> to tensor<4x2xf32>
  return
}

// CHECK-LABEL: func.func @nn
func.func @nn(%x: tensor<4x8xf32>, %w: tensor<8x6xf32>, %g: tensor<8xf32>) {
  // CHECK-NEXT: pplan.contract "mk,kn->mn" %{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
  %contract = pplan.contract "mk,kn->mn" %x, %w : tensor<4x8xf32>, tensor<8x6xf32> to tensor<4x6xf32>
  // CHECK-NEXT: pplan.reduce sum %{{.*}} dims [0, 1] : tensor<4x8xf32> to tensor<f32>
  %sum = pplan.reduce sum %x dims [0, 1] : tensor<4x8xf32> to tensor<f32>
  // CHECK-NEXT: pplan.reduce prod %{{.*}} dims [1] : tensor<4x8xf32> to tensor<4xf32>
  %prod = pplan.reduce prod %x dims [1] : tensor<4x8xf32> to tensor<4xf32>
  // CHECK-NEXT: pplan.reduce max %{{.*}} dims [0] : tensor<4x8xf32> to tensor<8xf32>
  %max = pplan.reduce max %x dims [0] : tensor<4x8xf32> to tensor<8xf32>
  // CHECK-NEXT: pplan.reduce min %{{.*}} dims [] : tensor<4x8xf32> to tensor<4x8xf32>
  %min = pplan.reduce min %x dims [] : tensor<4x8xf32> to tensor<4x8xf32>
  // CHECK-NEXT: pplan.arg_reduce max %{{.*}} dim 1 : tensor<4x8xf32> to tensor<4xi64>
  %argmax = pplan.arg_reduce max %x dim 1 : tensor<4x8xf32> to tensor<4xi64>
  // CHECK-NEXT: pplan.arg_reduce min %{{.*}} dim 0 : tensor<4x8xf32> to tensor<8xi32>
  %argmin = pplan.arg_reduce min %x dim 0 : tensor<4x8xf32> to tensor<8xi32>
  // CHECK-NEXT: pplan.cumsum %{{.*}} dim 1 : tensor<4x8xf32>
  %cumsum = pplan.cumsum %x dim 1 : tensor<4x8xf32>
  // CHECK-NEXT: pplan.cumsum %{{.*}} dim 1 exclusive reverse : tensor<4x8xf32>
  %both = pplan.cumsum %x dim 1 exclusive reverse : tensor<4x8xf32>
  // CHECK-NEXT: pplan.softmax %{{.*}} dim 1 : tensor<4x8xf32>
  %softmax = pplan.softmax %x dim 1 : tensor<4x8xf32>
  // CHECK-NEXT: pplan.softmax %{{.*}} dim 0 log : tensor<4x8xf32>
  %logSoftmax = pplan.softmax %x dim 0 log : tensor<4x8xf32>
  // CHECK-NEXT: pplan.layer_norm %{{.*}} num_dims 2 epsilon 1.000000e-05 : tensor<4x8xf32>
  %plain = pplan.layer_norm %x num_dims 2 epsilon 1.0e-5 : tensor<4x8xf32>
  // CHECK-NEXT: pplan.layer_norm %{{.*}} scale %{{.*}} num_dims 1 epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>
  %scaled = pplan.layer_norm %x scale %g num_dims 1 epsilon 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>
  // CHECK-NEXT: pplan.layer_norm %{{.*}} bias %{{.*}} num_dims 1 epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>
  %shifted = pplan.layer_norm %x bias %g num_dims 1 epsilon 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>
  // CHECK-NEXT: pplan.layer_norm %{{.*}} scale %{{.*}} bias %{{.*}} num_dims 1 epsilon 1.000000e-05 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  %full = pplan.layer_norm %x scale %g bias %g num_dims 1 epsilon 1.0e-5 : tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>
  // CHECK-NEXT: pplan.rms_norm %{{.*}} num_dims 1 epsilon 0.000000e+00 : tensor<4x8xf32>
  %rms = pplan.rms_norm %x num_dims 1 epsilon 0.0 : tensor<4x8xf32>
  // CHECK-NEXT: pplan.rms_norm %{{.*}} scale %{{.*}} num_dims 1 epsilon 0.000000e+00 : tensor<4x8xf32>, tensor<8xf32>
  %rmsScaled = pplan.rms_norm %x scale %g num_dims 1 epsilon 0.0 : tensor<4x8xf32>, tensor<8xf32>
  return
}

// CHECK-LABEL: func.func @attention
func.func @attention(%q: tensor<2x16x4x8xf32>, %kv: tensor<2x2x16x8xf32>, %m: tensor<2x1x16x16xf32>, %b: tensor<1x1x16x16xi1>) {
  // Four query heads share two key/value heads; the layouts differ.
  // CHECK-NEXT: pplan.attention %{{.*}}, %{{.*}}, %{{.*}} scale 1.250000e-01 causal layouts ["bthd", "bhtd", "bhtd", "bthd"] : tensor<2x16x4x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32> to tensor<2x16x4x8xf32>
  %causal = pplan.attention %q, %kv, %kv scale 0.125 causal layouts ["bthd", "bhtd", "bhtd", "bthd"]
    : tensor<2x16x4x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32> to tensor<2x16x4x8xf32>
  // CHECK-NEXT: pplan.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} scale 1.250000e-01 layouts
  %masked = pplan.attention %q, %kv, %kv mask %m scale 0.125 layouts ["bthd", "bhtd", "bhtd", "bthd"]
    : tensor<2x16x4x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>, tensor<2x1x16x16xf32> to tensor<2x16x4x8xf32>
  // CHECK-NEXT: pplan.attention %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} scale 1.250000e-01 causal layouts
  %bool = pplan.attention %q, %kv, %kv mask %b scale 0.125 causal layouts ["bthd", "bhtd", "bhtd", "bhtd"]
    : tensor<2x16x4x8xf32>, tensor<2x2x16x8xf32>, tensor<2x2x16x8xf32>, tensor<1x1x16x16xi1> to tensor<2x4x16x8xf32>
  return
}

// Shardings: several axes on a dimension, open dimensions, every kind of partial value.
// CHECK-LABEL: func.func @annotated
// CHECK-SAME: pplan.input = "x", pplan.sharding = #pplan.sharding<@mesh, [{"data", "tensor"}, {?}]>
// CHECK-SAME: pplan.data = #pplan.data<"w.bin", offset = 16, size = 128>, pplan.param = "w"
// CHECK-SAME: pplan.output = "y", pplan.sharding = #pplan.sharding<@mesh, [{}, {"tensor", ?}]>
func.func @annotated(
    %x: tensor<4x8xf32> {pplan.input = "x", pplan.sharding = #pplan.sharding<@mesh, [{"data", "tensor"}, {?}]>},
    %w: tensor<4x8xf32> {pplan.param = "w", pplan.data = #pplan.data<"w.bin", offset = 16, size = 128>})
    -> (tensor<4x8xf32> {pplan.output = "y", pplan.sharding = #pplan.sharding<@mesh, [{}, {"tensor", ?}]>}) {
  // CHECK: pplan.reshard %{{.*}} {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}]>]} : tensor<4x8xf32>
  %0 = pplan.reshard %x {pplan.shardings = [#pplan.sharding<@mesh, [{"data"}, {}]>]} : tensor<4x8xf32>
  // CHECK: partial = sum {"data", "tensor"}>
  %1 = pplan.reshard %0 {pplan.shardings = [#pplan.sharding<@mesh, [{}, {}], partial = sum {"data", "tensor"}>]} : tensor<4x8xf32>
  // CHECK: partial = prod {"data"}>
  %2 = pplan.reshard %1 {pplan.shardings = [#pplan.sharding<@mesh, [{}, {"tensor"}], partial = prod {"data"}>]} : tensor<4x8xf32>
  // CHECK: partial = max {"data"}>
  %3 = pplan.reshard %2 {pplan.shardings = [#pplan.sharding<@mesh, [{}, {}], partial = max {"data"}>]} : tensor<4x8xf32>
  // CHECK: partial = min {"data"}>
  %4 = pplan.reshard %3 {pplan.shardings = [#pplan.sharding<@mesh, [{}, {}], partial = min {"data"}>]} : tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// Shapes that are often forgotten: rank 0 and dimensions of size 0 and 1.
// CHECK-LABEL: func.func @edges
func.func @edges(%s: tensor<f32>, %z: tensor<0x3xf32>) {
  // CHECK-NEXT: pplan.broadcast %{{.*}} dims [] : tensor<f32> to tensor<2x1xf32>
  %0 = pplan.broadcast %s dims [] : tensor<f32> to tensor<2x1xf32>
  // CHECK-NEXT: pplan.transpose %{{.*}} [] : tensor<f32>
  %1 = pplan.transpose %s [] : tensor<f32>
  // CHECK-NEXT: pplan.reshape %{{.*}} : tensor<0x3xf32> to tensor<5x0xf32>
  %2 = pplan.reshape %z : tensor<0x3xf32> to tensor<5x0xf32>
  // CHECK-NEXT: pplan.slice %{{.*}} offsets [0, 0] strides [1, 1] : tensor<0x3xf32> to tensor<0x2xf32>
  %3 = pplan.slice %z offsets [0, 0] strides [1, 1] : tensor<0x3xf32> to tensor<0x2xf32>
  return
}

// CHECK-LABEL: func.func @training
func.func @training(%logits: tensor<4x9xf32>, %targets: tensor<4xi64>, %ids: tensor<5xi32>, %rows: tensor<5x3xf32>,
                    %q: tensor<2x4x6x8xf32>, %k: tensor<2x4x3x8xf32>, %m: tensor<2x1x4x4xi1>) {
  // CHECK: pplan.cross_entropy %{{.*}}, %{{.*}} : tensor<4x9xf32>, tensor<4xi64> to tensor<4xf32>
  %0 = pplan.cross_entropy %logits, %targets : tensor<4x9xf32>, tensor<4xi64> to tensor<4xf32>
  // CHECK: pplan.accumulate %{{.*}} : tensor<4xf32>
  %1 = pplan.accumulate %0 : tensor<4xf32>
  // CHECK: pplan.scatter_add %{{.*}}, %{{.*}} dim 0 size 7 : tensor<5xi32>, tensor<5x3xf32> to tensor<7x3xf32>
  %2 = pplan.scatter_add %ids, %rows dim 0 size 7 : tensor<5xi32>, tensor<5x3xf32> to tensor<7x3xf32>
  // CHECK: pplan.attention_backward %{{.*}}, %{{.*}}, %{{.*}} mask %{{.*}} gradient %{{.*}} scale 5.000000e-01 layouts ["bthd", "bthd", "bthd", "bthd"] : tensor<2x4x6x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32> mask tensor<2x1x4x4xi1>, tensor<2x4x6x8xf32>
  %dq, %dk, %dv = pplan.attention_backward %q, %k, %k mask %m gradient %q scale 0.5 layouts ["bthd", "bthd", "bthd", "bthd"] : tensor<2x4x6x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32> mask tensor<2x1x4x4xi1>, tensor<2x4x6x8xf32>
  return
}
