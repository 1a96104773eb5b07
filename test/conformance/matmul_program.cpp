//===- matmul_program.cpp - a program descriptor written by hand ----------===//
//
// What the compiler would make of y = x * w + b on two ranks: w [6, 4] in a file
// next to the executable, sharded by its rows over axis "tensor"; x [3, 6]
// sharded likewise; b [4] in the program; y [3, 4] an all-reduce of the partial
// products. Shows what generated code has to look like, and is run by the tests.
//
//===----------------------------------------------------------------------===//
#include "pplan_rt.h"

#include <cstring>

namespace {

constexpr int32_t TensorAxis[] = {0};
const pplan_mesh_axis Axes[] = {{"tensor", 2}};
const pplan_dim XDims[] = {{3, 3, nullptr, 0, 0}, {6, 3, TensorAxis, 1, 0}};
const pplan_dim WDims[] = {{6, 3, TensorAxis, 1, 0}, {4, 4, nullptr, 0, 0}};
const pplan_dim BDims[] = {{4, 4, nullptr, 0, 0}};
const pplan_dim YDims[] = {{3, 3, nullptr, 0, 0}, {4, 4, nullptr, 0, 0}};
const float Bias[] = {10, 20, 30, 40};

const pplan_tensor Inputs[] = {{"x", XDims, 2, PPLAN_F32, INT64_MIN, INT64_MAX}};
const pplan_tensor Outputs[] = {{"y", YDims, 2, PPLAN_F32, INT64_MIN, INT64_MAX}};
const pplan_param Params[] = {
    {{"w", WDims, 2, PPLAN_F32, INT64_MIN, INT64_MAX}, "matmul_weights.bin", nullptr, 8, 96},
    {{"b", BDims, 1, PPLAN_F32, INT64_MIN, INT64_MAX}, nullptr, Bias, 0, 16}};

constexpr char MatmulLoc[] = "dense/matmul";
constexpr char BiasLoc[] = "dense/bias";

const pplan_gemm_desc Gemm = {
    3,         4,         3,         3, 4, 4, {1, 1, 1}, {0, 0, 0},
    {0, 0, 0}, {0, 0, 0}, 1.0,       0.0, 0, 0, PPLAN_F32, 0, MatmulLoc};

pplan_status *entry(pplan_context *Ctx, void *Arena, const void *const *P,
                    void *const *, const void *const *In, void *const *Out) {
  pplan_stream *Stream = pplan_rt_default_stream(Ctx);
  pplan_comm *Comm;
  if (pplan_status *Error = pplan_rt_comm(Ctx, TensorAxis, 1, &Comm))
    return Error;
  auto *Partial = static_cast<float *>(Arena);
  pplan_rt_op_begin(Ctx, MatmulLoc);
  pplan_status *Error = pplan_rt_gemm(Stream, &Gemm, In[0], P[0], Partial);
  pplan_rt_op_end(Ctx, MatmulLoc);
  if (Error)
    return Error;
  if ((Error = pplan_rt_all_reduce(Comm, Stream, Partial, Partial, 12, PPLAN_F32,
                                   PPLAN_SUM, MatmulLoc)))
    return Error;
  pplan_rt_op_begin(Ctx, BiasLoc);
  auto *Y = static_cast<float *>(Out[0]);
  auto *B = static_cast<const float *>(P[1]);
  for (int I = 0; I < 12; ++I)
    Y[I] = Partial[I] + B[I % 4];
  pplan_rt_op_end(Ctx, BiasLoc);
  return nullptr;
}

} // namespace

extern "C" const pplan_program pplan_rt_program = {
    PPLAN_RT_ABI_VERSION, 2,      "matmul", 1,      1,     1,
    2,                    0,      0,        Axes,   Inputs, Outputs, Params,
    nullptr,              48,     0,        entry,  "a test written by hand",
    {}};
