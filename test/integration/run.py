#!/usr/bin/env python3
"""Compiles the committed models under many plans, runs them on CPU ranks and compares with ONNX Runtime's outputs.

Prints a line `ok NAME` or `FAILED NAME: why` for each case. The models, their inputs and the expected outputs in
test/models were made by scripts/export_models.py. Bad input is tested for its exit code and message.
"""
import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import compare
import model as committed

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = ROOT / "test" / "models"
TOLERANCE = 1e-4  # of the output's largest magnitude

PLANS = [
    ("1", ["--devices", "1"]),
    ("2", ["--devices", "2"]),
    ("4", ["--devices", "4"]),
    ("8", ["--devices", "8"]),
    ("3", ["--devices", "3"]),
    ("dp2", ["--devices", "2", "--parallel", "dp=2"]),
    ("dp4-over-batch-2", ["--devices", "4", "--parallel", "dp=4"]),
    ("tp2", ["--devices", "2", "--parallel", "tp=2"]),
    ("tp3", ["--devices", "3", "--parallel", "tp=3"]),
    ("tp8", ["--devices", "8", "--parallel", "tp=8"]),
    ("dp2-tp2", ["--devices", "4", "--parallel", "dp=2,tp=2"]),
    ("dp2-tp4", ["--devices", "8", "--parallel", "dp=2,tp=4"]),
]


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def check_model(pplan, model, plan, options, work):
    program = work / f"{model.stem}-{plan}"
    result = run([pplan, "compile", str(model), *committed.dims(model), *options, "-o", str(program)])
    if result.returncode:
        return f"compile exits with {result.returncode}: {result.stderr[-400:]}"
    out = work / f"{program.name}-out"
    result = run([str(program), *committed.inputs(model), "--output", str(out)])
    program.unlink()
    if result.returncode:
        return f"the program exits with {result.returncode}: {result.stderr[-400:]}"
    error, complaints = compare.compare(model.with_suffix(".outputs"), out)
    if complaints:
        return "; ".join(complaints)
    return None if error <= TOLERANCE else f"is off by {error:.3g} of the output's largest magnitude"


def bad_inputs(pplan, models, work):
    """(name, command, exit code, text that the message must have)"""
    gpt2 = models / "tiny-gpt2.onnx"
    dims = committed.dims(gpt2)
    program = str(work / "bad")
    truncated = work / "truncated.onnx"
    truncated.write_bytes(gpt2.read_bytes()[: gpt2.stat().st_size // 2])
    typo = work / "typo.yaml"
    typo.write_text((ROOT / "share/clusters/cpu-threads.yaml").read_text().replace("peak_flops", "peak_flop"))
    shape = work / "wrong.npy"
    np.save(shape, np.zeros((3, 8), np.int64))
    compile_ = [pplan, "compile", str(gpt2)]
    good = [*compile_, *dims, "-o", program]
    yield "truncated model", [pplan, "compile", str(truncated), *dims, "-o", program], 1, "truncated.onnx"
    yield "missing model", [pplan, "compile", str(work / "none.onnx"), "-o", program], 1, "none.onnx"
    yield "unbound dimension", [*compile_, "--dim", "batch=2", "-o", program], 1, "seq"
    yield "unknown dimension", [*compile_, *dims, "--dim", "sequence=4", "-o", program], 1, "sequence"
    yield "mesh larger than the machine", [*good, "--devices", "1000"], 1, "1000"
    yield "cluster file with a typo", [*good, "--cluster", str(typo)], 1, "peak_flop"
    yield "unknown cluster", [*good, "--cluster", "dgx-x"], 1, "cpu-threads"
    yield "degrees that do not divide", [*good, "--devices", "4", "--parallel", "dp=3"], 1, "dp=3"
    yield "unknown degree", [*good, "--devices", "4", "--parallel", "xp=3"], 2, "xp=3"
    yield "unknown option", [*good, "--device", "4"], 2, "device"
    yield "unknown phase", [*good, "--compile-to", "magic"], 2, "magic"
    yield "missing output", [*compile_, *dims], 2, "-o"
    program = str(work / "good")
    run([*compile_, *dims, "-o", program])
    yield "input of the wrong shape", [program, "--input", f"input_ids={shape}", "--output", str(work)], 1, "input_ids"
    yield "missing input", [program, "--output", str(work)], 1, "input_ids"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--models", type=pathlib.Path, default=MODELS)
    options = parser.parse_args()
    pplan = str((options.build / "bin" / "pplan").resolve())
    if not any(options.models.glob("*.onnx")):
        print(f"FAILED models: there is none in {options.models}")
        return 1
    failures = 0
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        cases = []
        for model in sorted(options.models.glob("*.onnx")):
            for plan, arguments in PLANS:
                case = lambda m=model, p=plan, a=arguments: check_model(pplan, m, p, a, work)
                cases.append((f"{model.stem} {plan}", case))
        for name, command, code, text in bad_inputs(pplan, options.models, work):
            def case(command=command, code=code, text=text):
                result = run(command)
                if result.returncode != code:
                    return f"exits with {result.returncode} instead of {code}: {result.stderr[-300:]}"
                return None if text in result.stderr else f"does not say {text!r}: {result.stderr[-300:]}"
            cases.append((name, case))

        def judge(entry):
            try:
                return entry[0], entry[1]()
            except subprocess.TimeoutExpired as late:
                return entry[0], f"no end after {late.timeout} s: {late.cmd}"

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, why in pool.map(judge, cases):
                failures += why is not None
                print(f"ok {name}" if why is None else f"FAILED {name}: {why}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
