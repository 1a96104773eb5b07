#!/usr/bin/env python3
"""Writes the small ONNX files that the importer's tests read (needs the Python package onnx).

Run it in this folder after a change; the files are committed, so that tests need only the compiler.
"""
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = pathlib.Path(__file__).parent
F, I = TensorProto.FLOAT, TensorProto.INT64


def value(name, shape, dtype=F):
    return helper.make_tensor_value_info(name, dtype, shape)


def weight(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def save(name, nodes, inputs, outputs, weights=(), opset=18, ir=8, functions=(), imports=()):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", opset), *imports],
        functions=list(functions),
        ir_version=ir,
    )
    (HERE / name).write_bytes(model.SerializeToString())


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, name=f"/{outputs[0]}", **attributes)


def shapes_nodes():
    """What exporters leave behind of a reshape to heads and a causal mask."""
    return [
        node("Shape", ["x"], ["shape"]),
        node("Constant", [], ["zero"], value_int=0),
        node("Constant", [], ["one"], value_int=1),
        node("Gather", ["shape", "zero"], ["batch"]),
        node("Gather", ["shape", "one"], ["length"]),
        node("Constant", [], ["axes"], value_ints=[0]),
        node("Constant", [], ["axes1"], value_ints=[1]),
        node("Unsqueeze", ["batch", "axes"], ["b"]),
        node("Unsqueeze", ["length", "axes"], ["s"]),
        node("Constant", [], ["two"], value_ints=[2]),
        node("Constant", [], ["rest"], value_ints=[-1]),
        node("Concat", ["b", "s", "two", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["heads"]),
        node("Range", ["zero", "length", "one"], ["positions"]),
        node("Unsqueeze", ["positions", "axes1"], ["column"]),
        node("LessOrEqual", ["positions", "column"], ["seen"]),
        node("Concat", ["s", "s"], ["square"], axis=0),
        node("ConstantOfShape", ["square"], ["hidden"], value=weight("_", np.array([-np.inf], np.float32))),
        node("Where", ["seen", "nothing", "hidden"], ["mask"]),
        node("Transpose", ["x"], ["xt"], perm=[0, 2, 1]),
        node("MatMul", ["x", "xt"], ["scores"]),
        node("Add", ["scores", "mask"], ["y"]),
    ]


def simple(name, **kwargs):
    """One MatMul with a weight."""
    save(
        name,
        [node("MatMul", ["x", "w"], ["y"])],
        [value("x", ["n", 4])],
        [value("y", ["n", 2])],
        [weight("w", np.arange(8, dtype=np.float32).reshape(4, 2))],
        **kwargs,
    )


def unsupported():
    save(
        "unsupported.onnx",
        [
            node("Conv", ["x", "k"], ["a"]),
            node("Relu", ["a"], ["b"]),
            node("Conv", ["b", "k"], ["c"]),
            node("Frobnicate", ["c"], ["d"], domain="com.example"),
            node("Pad", ["x", "pads"], ["e"], mode="reflect"),
            node("Add", ["d", "e"], ["y"]),
        ],
        [value("x", [1, 1, 4, 4])],
        [value("y", [1, 1, 4, 4])],
        [weight("k", np.zeros((1, 1, 1, 1), np.float32)), weight("pads", np.zeros(8, np.int64))],
        imports=[helper.make_opsetid("com.example", 3)],
    )


def external(name, location, offset=0, length=None, second=False):
    tensors = []
    for tensor in ["w", "v"] if second else ["w"]:
        stored = TensorProto(name=tensor, data_type=F, dims=[4, 2], data_location=TensorProto.EXTERNAL)
        entries = {"location": location, "offset": str(offset)}
        if length is not None:
            entries["length"] = str(length)
        for key, text in entries.items():
            stored.external_data.add(key=key, value=text)
        tensors.append(stored)
    nodes = [node("MatMul", ["x", "w"], ["y"])]
    outputs = [value("y", [3, 2])]
    if second:
        nodes.append(node("MatMul", ["x", "v"], ["z"]))
        outputs.append(value("z", [3, 2]))
    save(name, nodes, [value("x", [3, 4])], outputs, tensors)


def typed():
    """Weights in typed fields: floats of rank 1 and more become parameters of a sidecar."""
    save(
        "typed.onnx",
        [
            node("MatMul", ["x", "w"], ["a"]),
            node("Add", ["a", "b"], ["c"]),
            node("Mul", ["c", "s"], ["y"]),
        ],
        [value("x", [3, 4])],
        [value("y", [3, 2])],
        [
            helper.make_tensor("w", F, [4, 2], list(range(8))),
            helper.make_tensor("b", F, [2], [0.5, -0.5]),
            helper.make_tensor("s", F, [], [2.0]),
        ],
    )


def function():
    """A model-local function that takes an attribute, called twice."""
    body = [
        helper.make_node("Constant", [], ["alpha"], name="constant"),
        helper.make_node("Mul", ["a", "alpha"], ["b"], name="scale"),
    ]
    reference = onnx.AttributeProto(name="value_float", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT)
    body[0].attribute.append(reference)
    scale = helper.make_function(
        "local", "Scale", ["a"], ["b"], body, [helper.make_opsetid("", 18)], attributes=["alpha"]
    )
    save(
        "function.onnx",
        [
            node("Scale", ["x"], ["h"], domain="local", alpha=2.0),
            node("Scale", ["h"], ["y"], domain="local", alpha=3.0),
        ],
        [value("x", [2])],
        [value("y", [2])],
        functions=[scale],
        imports=[helper.make_opsetid("local", 1)],
    )
    loop = helper.make_function(
        "local", "Scale", ["a"], ["b"],
        [helper.make_node("Scale", ["a"], ["b"], name="again", domain="local")],
        [helper.make_opsetid("local", 1)],
    )
    save(
        "recursive-function.onnx",
        [node("Scale", ["x"], ["y"], domain="local")],
        [value("x", [2])],
        [value("y", [2])],
        functions=[loop],
        imports=[helper.make_opsetid("local", 1)],
    )


def conditional():
    """If with a condition that the shape decides."""
    then = helper.make_graph([node("Neg", ["x"], ["t"])], "then", [], [value("t", None)])
    other = helper.make_graph([node("Conv", ["x"], ["e"])], "else", [], [value("e", None)])
    save(
        "if.onnx",
        [
            node("Size", ["x"], ["size"]),
            node("Constant", [], ["four"], value_int=4),
            node("Less", ["size", "four"], ["small"]),
            node("If", ["small"], ["y"], then_branch=then, else_branch=other),
        ],
        [value("x", ["n"])],
        [value("y", ["n"])],
    )


def integers():
    """Large integer tables stay parameters, small ones become constants."""
    save(
        "integers.onnx",
        [
            node("Gather", ["big", "x"], ["a"]),
            node("Add", ["a", "small"], ["y"]),
        ],
        [value("x", [2], I)],
        [value("y", [2], I)],
        [weight("big", np.arange(300, dtype=np.int64)), weight("small", np.array([5], np.int64))],
    )


def bad():
    save("undefined.onnx", [node("Add", ["x", "nowhere"], ["y"])], [value("x", [2])], [value("y", [2])])
    save(
        "twice.onnx",
        [node("Neg", ["x"], ["y"]), node("Abs", ["x"], ["y"])],
        [value("x", [2])],
        [value("y", [2])],
    )
    save(
        "contradiction.onnx",
        [node("MatMul", ["x", "x"], ["y"])],
        [value("x", [2, 3])],
        [value("y", [2, 3])],
    )
    save("wrong-output.onnx", [node("Neg", ["x"], ["y"])], [value("x", ["n", 3])], [value("y", ["n", 4])])
    save(
        "types.onnx",
        [node("Add", ["x", "z"], ["y"])],
        [value("x", [2]), value("z", [2], I)],
        [value("y", [2])],
    )
    save(
        "dynamic-shape.onnx",
        [node("Reshape", ["x", "shape"], ["y"])],
        [value("x", [4]), value("shape", [2], I)],
        [value("y", None)],
    )
    save("int16.onnx", [node("Neg", ["x"], ["y"])], [value("x", [2], TensorProto.INT16)], [value("y", [2])])
    short = TensorProto(name="w", data_type=F, dims=[4, 2], raw_data=b"1234")
    save("short-raw.onnx", [node("MatMul", ["x", "w"], ["y"])], [value("x", [3, 4])], [value("y", [3, 2])], [short])
    model = (HERE / "simple.onnx").read_bytes()
    (HERE / "truncated.onnx").write_bytes(model[: len(model) // 2])
    (HERE / "text.onnx").write_text("this is not a model\n")
    save("no-nodes.onnx", [], [value("x", [2])], [value("x", [2])])


def main():
    shapes_model = shapes_nodes()
    save(
        "shapes.onnx",
        shapes_model,
        [value("x", ["batch", "seq", 8])],
        [value("heads", ["batch", "seq", 2, 4]), value("y", ["batch", "seq", "seq"])],
        [weight("nothing", np.float32(0))],
    )
    simple("simple.onnx")
    simple("opset12.onnx", opset=12)
    simple("opset24.onnx", opset=24)
    simple("ir14.onnx", ir=14)
    unsupported()
    (HERE / "weights.bin").write_bytes(bytes(16) + np.arange(8, dtype=np.float32).tobytes())
    external("external.onnx", "weights.bin", offset=16, length=32, second=True)
    external("external-missing.onnx", "nowhere.bin")
    external("external-short.onnx", "weights.bin", offset=24)
    external("external-escape.onnx", "../Inputs/weights.bin")
    external("external-length.onnx", "weights.bin", length=31)
    typed()
    function()
    conditional()
    integers()
    bad()


if __name__ == "__main__":
    main()
