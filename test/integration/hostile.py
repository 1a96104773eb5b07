"""Truncated and mutated input of every kind but ONNX (see test/fuzz): it is accepted or refused, with a message and an exit
code of docs/commands.md. A signal, a hang or an exit code that means a bug in pplan fails the test.

Mutations are the same in each run. PPLAN_CASES is the number of mutants of each case, for a longer search; PPLAN_KEEP a
directory where mutants that fail the test are left."""
import functools
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess

import numpy as np

import model as committed

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTITION = ROOT / "test" / "Partition"
DIALECT = ROOT / "test" / "Dialect"
PIECE = re.compile(rb'\s+|[A-Za-z_$.][\w$.]*|-?\d+(?:\.\d*(?:[eE][-+]?\d+)?)?|"[^"\n]*"|->|[%@#!^][\w$.]+|.', re.DOTALL)
NUMBERS = [b"0", b"-1", b"1", b"2", b"3", b"63", b"64", b"255", b"65536", b"2147483648", b"4611686018427387904",
           b"9223372036854775807", b"-9223372036854775808", b"99999999999999999999", b"1e400", b"0.5"]
TYPES = [b"f32", b"f64", b"f16", b"bf16", b"i1", b"i8", b"i32", b"i64", b"ui8", b"index", b"complex", b"none"]
MEMORY = 6 << 30  # bytes of address space; a mutant that makes pplan ask for more ends it


def mutate_text(text, generator):
    """Text with one to three pieces or lines changed, or its end cut off."""
    if generator.random() < 0.05:
        return text[: generator.randrange(len(text) + 1)]
    pieces = PIECE.findall(text)
    words = [index for index, piece in enumerate(pieces) if not piece.isspace()]
    for _ in range(generator.choice((1, 1, 1, 2, 3))):
        at = generator.choice(words)
        piece = pieces[at]
        kind = generator.randrange(8)
        if kind < 3 and re.fullmatch(rb"-?\d+(\.\d*)?", piece):
            pieces[at] = generator.choice(NUMBERS)
        elif kind < 3 and piece in TYPES:
            pieces[at] = generator.choice(TYPES)
        elif kind == 3:
            pieces[at] = b""
        elif kind == 4:
            pieces[at] = piece + b" " + piece
        elif kind == 5:
            other = generator.choice(words)
            pieces[at], pieces[other] = pieces[other], piece
        elif kind == 6:
            pieces[at] = bytes([generator.randrange(1, 256)])
        else:  # another piece of its kind, mostly
            alike = [i for i in words if pieces[i][:1] == piece[:1]]
            pieces[at] = pieces[generator.choice(alike or words)]
    text = b"".join(pieces)
    if generator.random() < 0.15:
        lines = text.split(b"\n")
        one, two = (generator.randrange(len(lines)) for _ in range(2))
        lines[one:one + 1] = generator.choice(([], [lines[one]] * 2, [lines[two]]))
        text = b"\n".join(lines)
    return text


def mutate_bytes(content, generator, head=None):
    """Bytes with some changed, mostly in the first `head` ones, or the end cut off or appended to."""
    changed = bytearray(content)
    kind = generator.randrange(4)
    if kind == 0:
        return bytes(changed[: generator.randrange(len(changed))])
    if kind == 1:
        return bytes(changed) + generator.randbytes(generator.randint(1, 50))
    for _ in range(generator.randint(1, 4)):
        place = generator.randrange(min(head or len(changed), len(changed)))
        changed[place] = generator.choice((0, 255, 128, generator.randrange(256), changed[place] ^ 1))
    return bytes(changed)


@functools.lru_cache(maxsize=None)
def limits(program):
    """Commands of a shell before the program; a sanitizer's shadow memory would be more than any limit."""
    return "ulimit -c 0" + ("" if b"__asan_init" in pathlib.Path(program).read_bytes() else f"; ulimit -v {MEMORY >> 10}")


def judge(command, codes, path, seconds=30):
    """What is wrong with how the command takes its input, or nothing."""
    try:
        guarded = ["sh", "-c", limits(command[0]) + '; exec "$0" "$@"', *(str(word) for word in command)]
        result = subprocess.run(guarded, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"no end after {seconds} s"
    said = result.stderr.decode(errors="replace")
    if result.returncode not in codes:
        return f"exits with {result.returncode}: {said[:600]}"
    if result.returncode and "error" not in said and "pplan" not in said and path.name not in said:
        return f"exits with {result.returncode} without a message: {said[:300]}"
    if "Sanitizer" in said or "runtime error:" in said:
        return said[:1500]
    return None


def search(name, work, seeds, mutate, command, count, codes=(0, 1, 2, 3)):
    """Runs `command(path)` on mutants of the seeds, each (content, suffix)."""
    generator = random.Random(name)
    count = int(os.environ.get("PPLAN_CASES", count))
    seeds = list(seeds)
    for index in range(count):
        content, suffix = seeds[index % len(seeds)]
        mutant = work / f"mutant{suffix}"
        mutant.write_bytes(mutate(content, generator))
        line = command(mutant, index)
        why = judge(line, codes, mutant)
        if why:
            keep = os.environ.get("PPLAN_KEEP")
            if keep:
                shutil.copy(mutant, pathlib.Path(keep) / f"{name.replace(' ', '-')}-{index}{suffix}")
            return f"mutant {index}, {' '.join(map(str, line))}: {why}"
    return None


def make(*command):
    subprocess.run([str(word) for word in command], check=True, capture_output=True, timeout=300)


def chunks(*paths):
    """The modules of lit tests, without their RUN lines."""
    for path in paths:
        for chunk in path.read_bytes().split(b"// -----"):
            code = re.sub(rb"(?m)^\s*//.*\n", b"", chunk).strip() + b"\n"
            if b"func.func" in code:
                yield code, ".mlir"


def model_text(pplan, models, work):
    """Models as text, with and without annotations."""
    commands = (["plan"], ["compile", "--compile-to", "lower"], ["compile", "--compile-to", "memory", "--parallel", "tp=2"])
    seeds = chunks(PARTITION / "transformer-block.mlir", PARTITION / "sequence-parallel-block.mlir", PARTITION / "partition.mlir")
    return search("model text", work, seeds, mutate_text, lambda path, index: [
        pplan, commands[index % 3][0], path, *commands[index % 3][1:], "--devices", "2", "--timeout", "5", "-o",
        work / "out.mlir"], 45)


def plan_text(pplan, models, work):
    """A plan that has been edited."""
    seeds = []
    for name, options in (("tiny-mlp", []), ("tiny-gpt2", ["--parallel", "tp=2"])):
        model = models / f"{name}.onnx"
        make(pplan, "plan", model, *committed.dims(model), "--devices", 2, *options, "-o", work / "plan.mlir")
        seeds.append(((work / "plan.mlir").read_bytes(), ".mlir"))
    return search("plan text", work, seeds, mutate_text, lambda path, index: [
        pplan, *(["explain", path] if index % 4 == 3 else ["compile", path, "--compile-to", "memory", "-o", work / "out.mlir"])],
        24)


def phase_text(phase, count):
    def case(pplan, models, work):
        model = models / "tiny-mlp.onnx"
        make(pplan, "compile", model, *committed.dims(model), "--devices", 2, "--parallel", "tp=2", "--compile-to", phase, "-o",
             work / "seed.mlir")
        output = ["-o", work / "prog"] if phase == "lower" else ["--compile-to", "lower", "-o", work / "out.mlir"]
        return search(f"{phase} text", work, [((work / "seed.mlir").read_bytes(), ".mlir")], mutate_text, lambda path, index: [
            pplan, "compile", path, "--devices", "2", "--compile-from", phase, *output], count)

    case.__name__ = f"{phase}_text"
    return case


PIPELINES = ["--canonicalize", "--pplan-phase-plan", "--pplan-propagate-shardings", "--pplan-split-dimensions",
             "--pplan-plan-intra-op", "--pplan-phase-import", "--pplan-insert-reshards", "--pplan-partition",
             "--pplan-phase-partition", "--pplan-optimize-collectives", "--pplan-verify-program", "--pplan-convert-ops",
             "--pplan-phase-memory"]


def passes(pplan, models, work):
    """Operations of both dialects through single passes of pplan-opt."""
    opt = pathlib.Path(pplan).with_name("pplan-opt")
    listed = subprocess.run([opt, "--help"], capture_output=True, text=True, timeout=60).stdout
    pipelines = [option for option in PIPELINES if option + " " in listed]
    seeds = chunks(DIALECT / "PPlan" / "ops.mlir", DIALECT / "SPMD" / "ops.mlir", DIALECT / "PPlan" / "canonicalize.mlir",
                   PARTITION / "optimize-collectives.mlir", PARTITION / "verify.mlir", PARTITION / "partition.mlir")
    return search("passes", work, seeds, mutate_text, lambda path, index: [
        opt, path, pipelines[index % len(pipelines)], "-o", work / "out.mlir"], 90, codes=(0, 1))


def clusters(pplan, models, work):
    seeds = [((ROOT / "share" / "clusters" / f"{name}.yaml").read_bytes(), ".yaml") for name in ("cpu-threads", "dgx-a100")]
    model = work / "model.mlir"
    model.write_bytes(next(chunks(PARTITION / "transformer-block.mlir"))[0])
    return search("cluster", work, seeds, mutate_text, lambda path, index: [
        pplan, "plan", model, "--devices", "2", "--timeout", "5", "--cluster", path, "-o", work / "out.mlir"], 60)


def problems(pplan, models, work):
    """Problems for `pplan solve`, as text and as JSON."""
    folder = ROOT / "test" / "Planner" / "Inputs"
    seeds = [(path.read_bytes(), path.suffix) for path in sorted(folder.iterdir())]
    return search("problem", work, seeds, mutate_text, lambda path, index: [pplan, "solve", path, "--timeout", "5"], 60)


def arrays(pplan, models, work):
    """.npy files given to a program."""
    model = models / "tiny-mlp.onnx"
    program = work / "prog"
    make(pplan, "compile", model, *committed.dims(model), "--devices", 2, "-o", program)
    (name,) = [path.stem for path in committed.input_files(model)]
    content = committed.input_files(model)[0].read_bytes()
    return search("arrays", work, [(content, ".npy")], lambda text, generator: mutate_bytes(text, generator, head=128),
                  lambda path, index: [program, "--input", f"{name}={path}", "--output", work / "out"], 80, codes=(0, 1))


WEIGHTS = """func.func @f(%x: tensor<4x8xf32> {pplan.input = "x"},
    %w: tensor<8x16xf32> {pplan.param = "w", pplan.data = #pplan.data<"FILE", offset = OFFSET, size = 512>})
    -> (tensor<4x16xf32> {pplan.output = "y"}) {
  %y = pplan.contract "mk,kn->mn" %x, %w : tensor<4x8xf32>, tensor<8x16xf32> to tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}
"""


def weights(pplan, models, work):
    """A .safetensors that has changed since the program was compiled."""
    header = b'{"w":{"dtype":"F32","shape":[8,16],"data_offsets":[0,512]}}'
    header += b" " * (-len(header) % 8)
    content = struct.pack("<Q", len(header)) + header + np.arange(128, dtype=np.float32).tobytes()
    file, model, program = work / "w.safetensors", work / "model.mlir", work / "prog"
    file.write_bytes(content)
    model.write_text(WEIGHTS.replace("FILE", str(file)).replace("OFFSET", str(8 + len(header))))
    make(pplan, "compile", model, "--devices", 2, "-o", program)
    np.save(work / "x.npy", np.ones((4, 8), np.float32))
    return search("weights", work, [(content, ".safetensors")], mutate_bytes, lambda path, index: [
        program, "--input", f"x={work / 'x.npy'}", "--param-file", f"w.safetensors={path}", "--output", work / "out"], 40,
        codes=(0, 1))


CASES = [model_text, plan_text, phase_text("partition", 16), phase_text("memory", 16), phase_text("lower", 8), passes, clusters,
         problems, arrays, weights]
