#!/usr/bin/env python3
"""Writes test/fuzz/onnx: one small valid model for each operator that the importer reads (needs the Python package onnx).

Run it after a change; the files are committed, since they are both a test (onnx_replay) and where onnx_fuzzer starts.
Files in that folder whose names begin with `found-` came from the fuzzer and are kept.
"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OUT = pathlib.Path(__file__).parent / "onnx"
F32, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
MICROSOFT = "com.microsoft"


def ints(*values):
    return np.array(values, np.int64)


def floats(*shape):
    return np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape) / 8


def save(name, op, operands, results=1, domain="", opset=None, **attributes):
    """Operands: a shape (an input of floats), ("i" or "b", shape), an array (a weight) or None (left out)."""
    inputs, weights, names = [], [], []
    for index, operand in enumerate(operands):
        label = f"x{index}"
        if isinstance(operand, (np.ndarray, np.generic)):
            weights.append(numpy_helper.from_array(np.asarray(operand), label))
        elif operand is None:
            label = ""
        else:
            kind, shape = operand if operand and operand[0] in ("i", "b") else ("f", operand)
            inputs.append(helper.make_tensor_value_info(label, {"f": F32, "i": I64, "b": BOOL}[kind], shape))
        names.append(label)
    outputs = [f"y{index}" for index in range(results)]
    node = helper.make_node(op, names, outputs, domain=domain, **attributes)
    # Results of unknown shape; the importer computes it.
    declared = [onnx.ValueInfoProto(name=output) for output in outputs]
    graph = helper.make_graph([node], "g", inputs, declared, weights)
    version = opset or (23 if op in ("Attention", "RMSNormalization", "RotaryEmbedding", "Swish") else 18)
    imports = [helper.make_opsetid("", version)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    (OUT / f"{name}.onnx").write_bytes(model.SerializeToString())


def elementwise():
    unary = """Abs Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish IsInf IsNaN LeakyRelu Log Mish Neg
               Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Swish Tan Tanh ThresholdedRelu"""
    for op in unary.split():
        save(op, op, [(2, 3)])
        save(f"{op}-known", op, [floats(4)])
    for op in "Add Div Max Mean Min Mod Mul Pow PRelu Sub Sum".split():
        fmod = {"fmod": 1} if op == "Mod" else {}
        save(op, op, [(2, 3), (3,)], **fmod)
        save(f"{op}-known", op, [floats(3) + 1, floats(3)], **fmod)
        if op not in ("Mean", "PRelu", "Sum"):
            save(f"{op}-ints", op, [ints(5, -7, -(2**63)), ints(2, 3, -1)])
    for op in "Equal Greater GreaterOrEqual Less LessOrEqual".split():
        save(op, op, [(2, 3), (2, 1)])
    for op in "And Or Xor".split():
        save(op, op, [("b", (2, 3)), ("b", (3,))])
    for op in "BitwiseAnd BitwiseOr BitwiseXor".split():
        save(op, op, [("i", (3,)), ints(1, 2, 3)])
    save("Not", "Not", [("b", (2,))])
    save("BitwiseNot", "BitwiseNot", [("i", (2,))])
    save("Cast", "Cast", [(2, 3)], to=TensorProto.INT64)
    save("Cast-known", "Cast", [floats(3) * 1e30], to=TensorProto.INT8)
    save("CastLike", "CastLike", [(2, 3), ("i", (1,))])
    save("Clip", "Clip", [(2, 3), np.float32(-1), np.float32(1)])
    save("Where", "Where", [("b", (2, 1)), (2, 3), (3,)])
    for op in "BiasGelu FastGelu QuickGelu".split():
        save(op, op, [(2, 3), (3,)] if op != "QuickGelu" else [(2, 3)], domain=MICROSOFT)


def moves():
    save("Identity", "Identity", [(2,)])
    save("Dropout", "Dropout", [(2, 3), np.float32(0.5), np.array(False)], results=2)
    save("Shape", "Shape", [(2, 3, 4)], start=1, end=-1)
    save("Size", "Size", [(2, 3)])
    save("Reshape", "Reshape", [(2, 3, 4), ints(0, -1, 2)])
    save("Flatten", "Flatten", [(2, 3, 4)], axis=2)
    save("Squeeze", "Squeeze", [(2, 1, 3), ints(1)])
    save("Unsqueeze", "Unsqueeze", [(2, 3), ints(0, -1)])
    save("Transpose", "Transpose", [(2, 3, 4)], perm=[2, 0, 1])
    save("Expand", "Expand", [(1, 3), ints(2, 2, 3)])
    save("Tile", "Tile", [(2, 3), ints(2, 3)])
    save("Concat", "Concat", [(2, 3), (2, 1)], axis=-1)
    save("Split", "Split", [(2, 6), ints(2, 4)], results=2, axis=1)
    save("DepthToSpace", "DepthToSpace", [(1, 8, 2, 3)], blocksize=2, mode="CRD")
    save("SpaceToDepth", "SpaceToDepth", [(1, 2, 4, 6)], blocksize=2)
    save("Slice", "Slice", [(4, 6), ints(-1, 1), ints(-9, 5), ints(0, 1), ints(-2, 2)])
    save("Pad", "Pad", [(2, 3), ints(1, -1, 0, 2), np.float32(1)])
    save("Gather", "Gather", [(4, 3), ("i", (2, 2))], axis=0)
    save("Gather-known", "Gather", [(4, 3), ints(-1, 2)], axis=1)
    save("GatherElements", "GatherElements", [(2, 3), ("i", (2, 2))], axis=1)
    save("GatherND", "GatherND", [(2, 3, 4), ("i", (2, 5, 1))], batch_dims=1)
    save("Trilu", "Trilu", [(2, 3, 4), ints(1).reshape(())], upper=0)
    save("EyeLike", "EyeLike", [(2, 3)], k=1, dtype=F32)
    save("Range", "Range", [ints(7).reshape(()), ints(-3).reshape(()), ints(-2).reshape(())])
    save("OneHot", "OneHot", [("i", (2, 3)), ints(4), floats(2)], axis=1)
    save("ConstantOfShape", "ConstantOfShape", [ints(2, 3)], value=numpy_helper.from_array(ints(7), "v"))
    save("NonZero", "NonZero", [ints(0, 3, 0, 4)])
    save("ScatterND", "ScatterND", [ints(1, 2, 3, 4), ints(1, -1).reshape(2, 1), ints(8, 9)], reduction="add")
    save("ScatterElements", "ScatterElements", [ints(1, 2, 3), ints(0, -1), ints(8, 9)], axis=0)
    save("Constant", "Constant", [], value=numpy_helper.from_array(floats(2, 3), "v"))
    save("Constant-floats", "Constant", [], value_floats=[1.0, float("inf")])
    save("Constant-ints", "Constant", [], value_ints=[1, -(2**63)])


def reductions():
    names = "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare"
    for op in (f"Reduce{name}" for name in names.split()):
        save(op, op, [(2, 3, 4), ints(0, -1)], keepdims=0)
        save(f"{op}-attribute", op, [(2, 3)], opset=13 if op != "ReduceSum" else 18, **({"axes": [1]} if op != "ReduceSum" else {}))
        save(f"{op}-known", op, [ints(1, 2, -3)])
    for op in ("ArgMax", "ArgMin"):
        save(op, op, [(2, 3)], axis=1, keepdims=0, select_last_index=1)
    save("CumSum", "CumSum", [(2, 3), ints(1).reshape(())], exclusive=1, reverse=1)
    for op in ("Softmax", "LogSoftmax"):
        save(op, op, [(2, 3)], axis=-1)
    save("GlobalAveragePool", "GlobalAveragePool", [(2, 3, 4, 4)])


def contractions():
    save("MatMul", "MatMul", [(2, 3, 4), (4, 5)])
    save("MatMul-broadcast", "MatMul", [(2, 1, 3, 4), (5, 4, 6)])
    save("MatMul-known", "MatMul", [floats(2, 3), floats(3)])
    save("Gemm", "Gemm", [(4, 2), floats(3, 4), floats(3)], transA=1, transB=1, alpha=0.5, beta=2.0)
    save("Einsum", "Einsum", [(2, 3, 4), (2, 4, 5)], equation="bij,bjk->bik")
    save("Einsum-ellipsis", "Einsum", [(2, 3, 4), (4, 5)], equation="...a,ab")
    save("Einsum-three", "Einsum", [(2, 3), (3, 4), (4, 5)], equation="ab,bc,cd->da")
    save("Einsum-one", "Einsum", [(2, 3, 4)], equation="abc->ca")


def networks():
    save("LayerNormalization", "LayerNormalization", [(2, 3, 8), floats(8), floats(8)], axis=-1)
    save("RMSNormalization", "RMSNormalization", [(2, 3, 8), floats(8)], axis=-1)
    save("SimplifiedLayerNormalization", "SimplifiedLayerNormalization", [(2, 8), floats(8)], axis=-1)
    for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
        save(op, op, [(2, 3, 8), (2, 3, 8), floats(8), floats(8)], domain=MICROSOFT)
    save("BatchNormalization", "BatchNormalization", [(2, 3, 4)] + [floats(3)] * 4)
    save("GroupNormalization", "GroupNormalization", [(2, 4, 3), floats(4), floats(4)], num_groups=2, opset=21)
    save("InstanceNormalization", "InstanceNormalization", [(2, 3, 4), floats(3), floats(3)])
    save("LpNormalization", "LpNormalization", [(2, 3)], axis=1, p=2)
    save("Attention", "Attention", [(2, 4, 3, 8), (2, 2, 5, 8), (2, 2, 5, 8)], is_causal=1)
    save("Attention-flat", "Attention", [(2, 3, 16), (2, 5, 8), (2, 5, 8), ("b", (3, 5))], q_num_heads=4, kv_num_heads=2)
    past = [(2, 4, 1, 8), (2, 4, 6, 8), (2, 4, 6, 8), None, (2, 4, 2, 8), (2, 4, 2, 8)]
    save("Attention-past", "Attention", past[:1] + [(2, 4, 1, 8)] * 2 + past[3:], results=3, is_causal=1)
    save("RotaryEmbedding", "RotaryEmbedding", [(2, 4, 3, 8), floats(6, 4), floats(6, 4), ("i", (2, 3))])
    save("RotaryEmbedding-flat", "RotaryEmbedding", [(2, 3, 16), (2, 3, 2), (2, 3, 2)], num_heads=2, interleaved=1,
         rotary_embedding_dim=4)


def control():
    """If with a known condition, around nodes that fold."""
    branches = [
        helper.make_graph([helper.make_node(op, ["x"], [op])], op, [], [onnx.ValueInfoProto(name=op)]) for op in ("Neg", "Abs")
    ]
    nodes = [
        helper.make_node("Size", ["x"], ["size"]),
        helper.make_node("Less", ["size", "four"], ["small"]),
        helper.make_node("If", ["small"], ["y"], then_branch=branches[0], else_branch=branches[1]),
    ]
    inputs = [helper.make_tensor_value_info("x", F32, ["n"])]
    graph = helper.make_graph(nodes, "g", inputs, [onnx.ValueInfoProto(name="y")],
                              [numpy_helper.from_array(ints(4).reshape(()), "four")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    (OUT / "If.onnx").write_bytes(model.SerializeToString())


def main():
    OUT.mkdir(exist_ok=True)
    for old in OUT.glob("[A-Z]*.onnx"):
        old.unlink()
    for family in (elementwise, moves, reductions, contractions, networks, control):
        family()


if __name__ == "__main__":
    main()
