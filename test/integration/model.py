#!/usr/bin/env python3
"""What the committed models are run with.

test/models/NAME.onnx comes with NAME.inputs/INPUT.npy and NAME.outputs/OUTPUT.npy; symbolic dimensions are bound to the
sizes that the inputs have.
Usage: model.py dims|inputs MODEL.onnx    (prints arguments of `pplan compile` or of the program)"""
import pathlib
import sys

import numpy as np

SYMBOLS = {"input_ids": ("batch", "seq"), "attention_mask": ("batch", "seq"), "x": ("batch",), "image": ("batch",)}


def input_files(model):
    return sorted(pathlib.Path(model).with_suffix(".inputs").glob("*.npy"))


def dims(model):
    """For example ["--dim", "batch=2", "--dim", "seq=8"]."""
    sizes = {}
    for file in input_files(model):
        sizes.update(zip(SYMBOLS[file.stem], np.load(file, mmap_mode="r").shape))
    return [word for name, size in sizes.items() for word in ("--dim", f"{name}={size}")]


def inputs(model):
    """For example ["--input", "x=test/models/tiny-mlp.inputs/x.npy"]."""
    return [word for file in input_files(model) for word in ("--input", f"{file.stem}={file}")]


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("dims", "inputs"):
        sys.exit(__doc__)
    print(*(dims if sys.argv[1] == "dims" else inputs)(sys.argv[2]))
