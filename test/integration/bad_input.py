"""Bad input: one clear message that names the place, and the right exit code (1 input, 2 usage, 3 infeasible)."""
import pathlib
import random
import subprocess

import numpy as np

import model as committed

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLUSTER = ROOT / "share" / "clusters" / "cpu-threads.yaml"


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(path)


def models(pplan, gpt2, work):
    """(name, command, exit code, text that the message must have)"""
    dims = committed.dims(gpt2)
    whole = gpt2.read_bytes()
    files = {
        "truncated": (write(work / "truncated.onnx", whole[: len(whole) // 2]), dims),
        "empty": (write(work / "empty.onnx", b""), []),
        "random": (write(work / "random.onnx", random.Random(1).randbytes(4000)), []),
        "missing": (str(work / "none.onnx"), []),
        "syntax error in": (write(work / "syntax.mlir", "func.func @f("), []),
        "nothing in": (write(work / "nothing.mlir", ""), []),
        "wrong shape in": (write(work / "shape.mlir", "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
                                 "  %y = pplan.softmax %x dim 1 : tensor<4xf32>\n  return %y : tensor<4xf32>\n}\n"), []),
        "partial result in": (write(work / "partial.mlir", 'pplan.mesh @m = <["a"=1]>\nfunc.func @f(%x: tensor<4xf32>) -> (tensor<4xf32> '
                                    '{pplan.sharding = #pplan.sharding<@m, [{}], partial = sum {"a"}>}) {\n'
                                    "  return %x : tensor<4xf32>\n}\n"), []),
        "unknown mesh in": (write(work / "mesh.mlir", "func.func @f(%x: tensor<4xf32> {pplan.sharding = #pplan.sharding<@m, "
                                  "[{\"a\"}]>}) -> tensor<4xf32> {\n  return %x : tensor<4xf32>\n}\n"), []),
    }
    for name, (path, options) in files.items():
        yield f"{name} model", [pplan, "compile", path, *options, "-o", str(work / "x")], 1, pathlib.Path(path).name


def options(pplan, gpt2, work):
    dims = committed.dims(gpt2)
    base = [pplan, "compile", str(gpt2)]
    good = [*base, *dims, "-o", str(work / "x")]
    four = [*good, "--devices", "4", "--parallel", "dp=2,tp=2"]
    text = CLUSTER.read_text()
    typo = write(work / "typo.yaml", text.replace("peak_flops", "peak_flop"))
    unit = write(work / "unit.yaml", text.replace("memory: 4 GiB", "memory: 4 parsecs"))
    small = write(work / "small.yaml", text.replace("memory: 4 GiB", "memory: 1 KiB"))
    yield "unbound dimension", [*base, "--dim", "batch=2", "-o", "x"], 1, "seq"
    yield "unknown dimension", [*good, "--dim", "sequence=4"], 1, "sequence"
    yield "dimension of size 0", [*base, "--dim", "batch=0", "--dim", "seq=8", "-o", "x"], 2, "batch=0"
    yield "dimension that is no number", [*base, "--dim", "batch=two", "--dim", "seq=8", "-o", "x"], 2, "batch=two"
    yield "mesh larger than the machine", [*good, "--devices", "1000"], 1, "1000"
    yield "no devices", [*good, "--devices", "0"], 2, "--devices is 0"
    yield "cluster file with a typo", [*good, "--cluster", typo], 1, "peak_flop"
    yield "cluster file with an unknown unit", [*good, "--cluster", unit], 1, "parsecs"
    yield "unknown cluster", [*good, "--cluster", "dgx-x"], 1, "cpu-threads"
    yield "too little memory", [*good, "--cluster", small, "--devices", "2"], 3, "1024 bytes"
    yield "degrees that do not divide", [*good, "--devices", "4", "--parallel", "dp=3"], 1, "dp=3"
    yield "unknown degree", [*good, "--devices", "4", "--parallel", "xp=3"], 2, "xp=3"
    yield "pin of an unknown name", [*four, "--pin", 'ids=[{"data"}, {}]'], 1, "ids"
    yield "pin to an unknown axis", [*four, "--pin", 'input_ids=[{"model"}, {}]'], 1, "model"
    yield "pin of the wrong rank", [*four, "--pin", 'input_ids=[{"data"}]'], 1, "1 dimensions"
    yield "two pins of one input", [*four, "--pin", 'input_ids=[{"data"}, {}]', "--pin", 'input_ids=[{}, {}]'], 1, "keep one"
    yield "pin without a sharding", [*four, "--pin", "input_ids"], 2, "--pin input_ids"
    yield "pin without a mesh", [*good, "--devices", "4", "--pin", 'input_ids=[{"data"}, {}]'], 2, "--parallel"
    yield "unknown option", [*good, "--device", "4"], 2, "device"
    yield "unknown phase", [*good, "--compile-to", "magic"], 2, "magic"
    yield "unknown target", [*good, "--target", "tpu"], 2, "tpu"
    yield "unknown processor", [*good, "--mcpu", "z80"], 2, "z80"
    yield "unknown command", [pplan, "frobnicate"], 2, "frobnicate"
    yield "no command", [pplan], 2, "pplan --help"
    yield "missing output", [*base, *dims], 2, "-o"
    yield "output in no directory", [*base, *dims, "-o", str(work / "none" / "x")], 1, f"no directory '{work / 'none'}'"
    yield "output that is a directory", [*base, *dims, "-o", str(work)], 1, "it is a directory"
    yield "plan in no directory", [pplan, "plan", *base[2:], *dims, "-o", str(work / "none" / "x")], 1, str(work / "none")
    for timeout in ("0", "-1", "nan"):
        yield f"timeout of {timeout}", [*good, "--timeout", timeout], 2, f"--timeout is {timeout}"
    # What is asked for is checked before a model is read, however wrong that is.
    yield "unknown cluster for a missing model", [pplan, "plan", str(work / "none"), "--cluster", "dgx-x"], 1, "dgx-x"
    yield "program that is none", [pplan, "run", str(work / "none")], 1, "none"


def inputs(pplan, gpt2, work):
    """What compiled programs refuse."""
    program = str(work / "good")
    subprocess.run([pplan, "compile", str(gpt2), *committed.dims(gpt2), "--devices", "2", "-o", program], capture_output=True,
                   timeout=300)

    def array(name, value):
        np.save(work / name, value)
        return f"input_ids={work / name}"

    ids = np.zeros((2, 8), np.int64)
    command = [program, "--output", str(work / "out")]
    yield "input of the wrong shape", [*command, "--input", array("shape.npy", ids[:, :7])], 1, "input_ids"
    yield "index beyond the table", [*command, "--input", array("beyond.npy", ids + 1000)], 1, "but the model takes values of -96 to 95"
    yield "input of the wrong rank", [*command, "--input", array("rank.npy", ids[0])], 1, "input_ids"
    yield "input of the wrong type", [*command, "--input", array("type.npy", ids.astype(np.float32))], 1, "input_ids"
    yield "input that is no .npy", [*command, "--input", f"input_ids={write(work / 'text.npy', 'hello')}"], 1, "text.npy"
    yield "input file that is missing", [*command, "--input", f"input_ids={work / 'none.npy'}"], 1, "none.npy"
    yield "input that the model lacks", [*command, "--input", f"ids={work / 'shape.npy'}"], 1, "ids"
    yield "missing input", command, 1, "input_ids"
    yield "unknown option of a program", [program, "--iteration", "4"], 2, "--iteration"
    yield "no iterations", [program, "--iterations", "0"], 2, "0"


UNUSED = """func.func @forward(%x: tensor<4xf32> {pplan.input = "x"}, %u: tensor<{shape}xf32> {pplan.input = "u"})
    -> (tensor<4xf32> {pplan.output = "y"}) {
  %y = pplan.exp %x : tensor<4xf32>
  return %y : tensor<4xf32>
}
"""


def unused_inputs(pplan, gpt2, work):
    """An input that no operation uses is checked like any other."""
    def model(name, shape, named=True):
        text = UNUSED.replace("{shape}", shape)
        if not named:
            text = text.replace(' {pplan.input = "u"}', "")
        return write(work / name, text)

    for command in ("plan", "compile"):
        for name, named in (("named", True), ("nameless", False)):
            huge = model(f"{command}-{name}.mlir", "4611686018427387904x4", named)
            yield (f"{command} of a {name} unused input that is too large", [pplan, command, huge, "--devices", "2",
                   "-o", str(work / "x")], 1, "2^48")
    for shape, wrong in (("3x5", (5, 3)), ("3x5", (3, 5, 1)), ("2x0", (2, 1)), ("2x0", (0, 2))):
        for devices in ("1", "2"):
            case = f"{shape}-{'x'.join(map(str, wrong))}-{devices}"
            program, good, bad, out = (str(work / (case + end)) for end in ("", ".x.npy", ".u.npy", ".out"))
            subprocess.run([pplan, "compile", model(case + ".mlir", shape), "--devices", devices, "-o", program],
                           capture_output=True, timeout=300)
            np.save(good, np.zeros(4, np.float32))
            np.save(bad, np.zeros(wrong, np.float32))
            command = [program, "--output", out, "--input", f"x={good}"]
            yield f"unused input {case} of the wrong shape", [*command, "--input", f"u={bad}"], 1, "input 'u': expected f32"
    np.save(bad, np.zeros((2, 0), np.int64))
    yield "unused input of the wrong type", [*command, "--input", f"u={bad}"], 1, "input 'u': expected f32"
    yield "unused input that is missing", command, 1, "input 'u'"


def weights(pplan, gpt2, work):
    """The file with the weights is gone, or shorter, when the program runs."""
    copy = work / "moved.onnx"
    program = str(work / "weights")
    copy.write_bytes(gpt2.read_bytes())
    subprocess.run([pplan, "compile", str(copy), *committed.dims(gpt2), "-o", program], capture_output=True, timeout=300)
    copy.write_bytes(gpt2.read_bytes()[:20000])
    yield "weights that are cut off", [program, *committed.inputs(gpt2)], 1, "moved.onnx"
    gone = work / "gone.onnx"
    gone.write_bytes(gpt2.read_bytes())
    lost = str(work / "lost")
    subprocess.run([pplan, "compile", str(gone), *committed.dims(gpt2), "-o", lost], capture_output=True, timeout=300)
    gone.unlink()
    yield "weights that are missing", [lost, *committed.inputs(gpt2)], 1, "gone.onnx"


def refused(name, command, code, text, timeout=120):
    """Why the command did not fail as it should, or nothing."""
    result = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    if result.returncode != code:
        return f"exits with {result.returncode} instead of {code}: {result.stderr[-300:]}"
    if text not in result.stderr:
        return f"does not say {text!r}: {result.stderr[-300:]}"
    if result.stdout:
        return f"writes messages to stdout: {result.stdout[:200]}"
    if len(result.stderr) > 4000:
        return f"the message has {len(result.stderr)} characters"
    return None


def mutants(pplan, model, work, count=60):
    """Models with changed bytes are imported or refused; a crash or a hang is neither."""
    dims = committed.dims(model)
    whole = model.read_bytes()
    generator = random.Random(model.stem)
    for index in range(count):
        changed = bytearray(whole)
        # Names, shapes and attributes are at the start and the end of the file; weights in between do not matter.
        for _ in range(generator.randint(1, 6)):
            place = generator.randrange(min(len(changed), 8000))
            changed[generator.choice((place, len(changed) - 1 - place))] = generator.randrange(256)
        path = write(work / f"{model.stem}-mutant.onnx", bytes(changed))
        result = subprocess.run([pplan, "import", path, *dims, "-o", str(work / "mutant.mlir")], capture_output=True, timeout=60)
        if result.returncode not in (0, 1):
            return f"mutant {index} exits with {result.returncode}: {result.stderr[-300:].decode(errors='replace')}"
        if result.returncode == 1 and b"error" not in result.stderr and b"pplan:" not in result.stderr:
            return f"mutant {index} is refused without a message"
    return None


GROUPS = [models, options, inputs, unused_inputs, weights]
