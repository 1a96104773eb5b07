#!/usr/bin/env python3
"""Compiles the committed models under many plans, runs them on CPU ranks and compares with ONNX Runtime's outputs.

Prints a line `ok NAME` or `FAILED NAME: why` for each case. The models, their inputs and the expected outputs in
test/models were made by scripts/export_models.py. workflows.py has cases of several commands, bad_input.py what must be
refused, with its exit code and message, hostile.py input at random, training.py whole training runs.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import bad_input
import compare
import hostile
import model as committed
import training
import workflows

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOLERANCE = 1e-4  # of the output's largest magnitude

PLANS = {
    "1": ["--devices", "1"],
    "2": ["--devices", "2"],
    "3": ["--devices", "3"],
    "4": ["--devices", "4"],
    "8": ["--devices", "8"],
    "dp2": ["--devices", "2", "--parallel", "dp=2"],
    "dp4-over-batch-2": ["--devices", "4", "--parallel", "dp=4"],
    "tp2": ["--devices", "2", "--parallel", "tp=2"],
    "tp3": ["--devices", "3", "--parallel", "tp=3"],
    "tp8": ["--devices", "8", "--parallel", "tp=8"],
    "dp2-tp2": ["--devices", "4", "--parallel", "dp=2,tp=2"],
    "dp2-tp4": ["--devices", "8", "--parallel", "dp=2,tp=4"],
}


def check_model(pplan, model, options, work):
    program = work / "prog"
    command = [pplan, "compile", str(model), *committed.dims(model), *options, "-o", str(program)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if result.returncode:
        return f"compile exits with {result.returncode}: {result.stderr[-400:]}"
    command = [str(program), *committed.inputs(model), "--output", str(work / "out")]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if result.returncode:
        return f"the program exits with {result.returncode}: {result.stderr[-400:]}"
    error, complaints = compare.compare(model.with_suffix(".outputs"), work / "out")
    if complaints:
        return "; ".join(complaints)
    return None if error <= TOLERANCE else f"is off by {error:.3g} of the output's largest magnitude"


def collect(pplan, models, work):
    """(name, function of a directory of its own)"""
    for model in sorted(models.glob("*.onnx")):
        for plan, options in PLANS.items():
            yield f"{model.stem} {plan}", lambda own, m=model, o=options: check_model(pplan, m, o, own)
        yield f"{model.stem} mutants", lambda own, m=model: bad_input.mutants(pplan, m, own)
    for case in workflows.CASES:
        yield case.__name__.replace("_", " "), lambda own, c=case: c(pplan, models, own)
    for case in training.CASES:
        yield case.__name__.replace("_", " "), lambda own, c=case: c(pplan, models, own)
    for case in hostile.CASES:
        yield f"hostile {case.__name__.replace('_', ' ')}", lambda own, c=case: c(pplan, models, own)
    for group in bad_input.GROUPS:
        shared = work / group.__name__
        shared.mkdir()
        for entry in group(pplan, models / "tiny-gpt2.onnx", shared):
            yield entry[0], lambda own, e=entry: bad_input.refused(*e)


def judge(entry, work):
    """(name, what is wrong or nothing)"""
    name, case = entry
    with tempfile.TemporaryDirectory(dir=work) as own:
        try:
            return name, case(pathlib.Path(own))
        except subprocess.TimeoutExpired as late:
            return name, f"no end after {late.timeout} s: {late.cmd}"
        except Exception as error:  # a broken case must not hide the others
            return name, f"{type(error).__name__}: {error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--models", type=pathlib.Path, default=ROOT / "test" / "models")
    parser.add_argument("--only", default="", help="regular expression on the names of cases")
    options = parser.parse_args()
    pplan = str((options.build / "bin" / "pplan").resolve())
    models = options.models.resolve()
    if not any(models.glob("*.onnx")):
        print(f"FAILED models: there is none in {models}")
        return 1
    failures = 0
    with tempfile.TemporaryDirectory(prefix="pplan-integration-") as directory:
        work = pathlib.Path(directory)
        cases = [entry for entry in collect(pplan, models, work) if re.search(options.only, entry[0])]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for name, why in pool.map(lambda entry: judge(entry, work), cases):
                failures += why is not None
                print(f"ok {name}" if why is None else f"FAILED {name}: {why}", flush=True)
    return 1 if failures or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
