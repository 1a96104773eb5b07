#!/usr/bin/env python3
"""The transformer block of block.mlir under JAX's partitioner on 8 host devices: bytes that one device sends.

Weights are split as in Megatron-LM (Shoeybi et al., 2019): query, key, value and up projections by columns (heads), output
and down projections by rows; input and output are whole on the tensor axis and split by batch on the data axis. Counts the
collectives of the compiled HLO with the formulas that pplan uses. Prints JSON.
Usage: jax_block.py DATA TENSOR"""
import json
import os
import re
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

BYTES = {"f64": 8, "s64": 8, "u64": 8, "f32": 4, "s32": 4, "u32": 4, "f16": 2, "bf16": 2, "s8": 1, "u8": 1, "pred": 1}
KINDS = "all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute"


def block(x, g1, b1, wq, wk, wv, wo, g2, b2, w1, w2):
    def norm(x, g, b):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b

    n = norm(x, g1, b1)
    q, k, v = (jnp.einsum("btk,khd->bthd", n, w) for w in (wq, wk, wv))
    scores = jnp.einsum("bthd,bshd->bhts", q, k) * 0.125
    mask = jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool))
    a = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(jnp.where(mask, scores, -jnp.inf)), v)
    r = x + jnp.einsum("bthd,hdk->btk", a, wo)
    h = jax.nn.gelu(jnp.einsum("btk,kn->btn", norm(r, g2, b2), w1), approximate=True)
    return r + jnp.einsum("btn,nk->btk", h, w2)


def shape_bytes(text):
    total = 0
    for kind, dims in re.findall(r"(\w+)\[([\d,]*)\]", text):
        size = BYTES[kind]
        for dim in filter(None, dims.split(",")):
            size *= int(dim)
        total += size
    return total


def group_size(line, devices):
    listed = re.search(r"replica_groups=\{\{([\d,]+)\}", line)
    if listed:
        return len(listed[1].split(","))
    iota = re.search(r"replica_groups=\[(\d+),(\d+)\]", line)
    return int(iota[2]) if iota else devices


def count(hlo, devices):
    """{kind: {"calls", "bytes_sent_per_rank"}}; a start/done pair counts once."""
    found = {}
    for line in hlo.splitlines():
        match = re.match(rf"\s*(?:ROOT )?\S+ = (.*?) ({KINDS})(-start)?\(", line)
        if not match:
            continue
        result, kind, k = shape_bytes(match[1]), match[2], group_size(line, devices)
        if match[3]:
            result /= 2  # the tuple of operand and result; no start form is used on CPUs
        sent = {
            "all-reduce": 2 * (k - 1) / k * result,
            "all-gather": (k - 1) / k * result,
            "reduce-scatter": (k - 1) * result,
            "all-to-all": (k - 1) / k * result,
            "collective-permute": result,
        }[kind]
        entry = found.setdefault(kind.replace("-", "_"), {"calls": 0, "bytes_sent_per_rank": 0})
        entry["calls"] += 1
        entry["bytes_sent_per_rank"] += sent
    return found


def main():
    data, tensor = int(sys.argv[1]), int(sys.argv[2])
    devices = data * tensor
    mesh = Mesh(np.array(jax.devices()[:devices]).reshape(data, tensor), ("data", "tensor"))
    heads, columns, rows = P(None, "tensor", None), P(None, "tensor"), P("tensor", None)
    specs = [P("data", None, None), P(), P(), heads, heads, heads, P("tensor", None, None), P(), P(), columns, rows]
    shapes = [(4, 128, 512), (512,), (512,), (512, 8, 64), (512, 8, 64), (512, 8, 64), (8, 64, 512), (512,), (512,),
              (512, 2048), (2048, 512)]
    sharding = [NamedSharding(mesh, spec) for spec in specs]
    arguments = [jax.ShapeDtypeStruct(shape, jnp.float32, sharding=s) for shape, s in zip(shapes, sharding)]
    compiled = jax.jit(block, out_shardings=sharding[0]).lower(*arguments).compile()
    collectives = count(compiled.as_text(), devices)
    total = sum(entry["bytes_sent_per_rank"] for entry in collectives.values())
    print(json.dumps({"collectives": collectives, "bytes_sent_per_rank": total}))


if __name__ == "__main__":
    main()
