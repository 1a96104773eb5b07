// One transformer block as in GPT-2: batch 4, length 128, width 512, 8 heads of 64, 2048 hidden.
// benchmarks/figures/slice/jax_block.py has the same block.
func.func @block(
    %x: tensor<4x128x512xf32> {pplan.input = "x"},
    %g1: tensor<512xf32> {pplan.input = "g1"}, %b1: tensor<512xf32> {pplan.input = "b1"},
    %wq: tensor<512x8x64xf32> {pplan.input = "wq"}, %wk: tensor<512x8x64xf32> {pplan.input = "wk"},
    %wv: tensor<512x8x64xf32> {pplan.input = "wv"}, %wo: tensor<8x64x512xf32> {pplan.input = "wo"},
    %g2: tensor<512xf32> {pplan.input = "g2"}, %b2: tensor<512xf32> {pplan.input = "b2"},
    %w1: tensor<512x2048xf32> {pplan.input = "w1"}, %w2: tensor<2048x512xf32> {pplan.input = "w2"})
    -> (tensor<4x128x512xf32> {pplan.output = "y"}) {
  %n1 = pplan.layer_norm %x scale %g1 bias %b1 num_dims 1 epsilon 1.0e-5 : tensor<4x128x512xf32>, tensor<512xf32>, tensor<512xf32>
  %q = pplan.contract "btk,khd->bthd" %n1, %wq : tensor<4x128x512xf32>, tensor<512x8x64xf32> to tensor<4x128x8x64xf32>
  %k = pplan.contract "btk,khd->bthd" %n1, %wk : tensor<4x128x512xf32>, tensor<512x8x64xf32> to tensor<4x128x8x64xf32>
  %v = pplan.contract "btk,khd->bthd" %n1, %wv : tensor<4x128x512xf32>, tensor<512x8x64xf32> to tensor<4x128x8x64xf32>
  %a = pplan.attention %q, %k, %v scale 0.125 causal layouts ["bthd", "bthd", "bthd", "bthd"]
    : tensor<4x128x8x64xf32>, tensor<4x128x8x64xf32>, tensor<4x128x8x64xf32> to tensor<4x128x8x64xf32>
  %o = pplan.contract "bthd,hdk->btk" %a, %wo : tensor<4x128x8x64xf32>, tensor<8x64x512xf32> to tensor<4x128x512xf32>
  %r = pplan.add %x, %o : tensor<4x128x512xf32>
  %n2 = pplan.layer_norm %r scale %g2 bias %b2 num_dims 1 epsilon 1.0e-5 : tensor<4x128x512xf32>, tensor<512xf32>, tensor<512xf32>
  %h = pplan.contract "btk,kn->btn" %n2, %w1 : tensor<4x128x512xf32>, tensor<512x2048xf32> to tensor<4x128x2048xf32>
  %u = pplan.gelu tanh %h : tensor<4x128x2048xf32>
  %d = pplan.contract "btn,nk->btk" %u, %w2 : tensor<4x128x2048xf32>, tensor<2048x512xf32> to tensor<4x128x512xf32>
  %y = pplan.add %r, %d : tensor<4x128x512xf32>
  return %y : tensor<4x128x512xf32>
}
