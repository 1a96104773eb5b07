#!/usr/bin/env python3
"""Figures of the path from an ONNX transformer to a sharded program on CPU ranks.

Prints one line per figure: id, value, goal, and "ok" or "short", separated by tabs. What is measured:

  error     largest error against ONNX Runtime, relative to the output's largest magnitude, for three models (GPT-2 small, a
            Llama-style model, a sentence encoder with real weights; batch 4, length 128) on 1, 2, 4 and 8 ranks, with the
            chosen plan and with forced data-parallel, tensor-parallel and mixed ones
  property  cases of the tests that sharded equals unsharded, and how many of the suites fail
  time      milliseconds per iteration on one rank over ONNX Runtime's with one thread, the two taking turns; and one rank over two
  bytes     bytes that a rank sends for a transformer block split over 8 devices, over what JAX's partitioner sends
  memory    peak resident memory over the arena, weights, inputs, outputs and reserve that the program reports
  demo      minutes that scripts/demo takes in a fresh clone (packages installed already)

Models are made by scripts/export_models.py and kept in --models."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "integration"))

import numpy as np

import compare
import model as committed

MODELS = ["gpt2", "llama", "minilm"]
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "pplan" / "models"
FIGURES = ["error", "property", "time", "bytes", "memory", "demo"]


# The shardings of jax_block.py's in_shardings and out_shardings (Megatron-LM's): both partitioners get the same problem.
HEADS = '[{}, {"tensor"}, {}]'
MEGATRON = {"x": '[{"data"}, {}, {}]', "g1": "[{}]", "b1": "[{}]", "wq": HEADS, "wk": HEADS, "wv": HEADS,
            "wo": '[{"tensor"}, {}, {}]', "g2": "[{}]", "b2": "[{}]", "w1": '[{}, {"tensor"}]', "w2": '[{"tensor"}, {}]',
            "y": '[{"data"}, {}, {}]'}


def report(name, value, goal, good):
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    print(f"{name}\t{text}\t{goal}\t{'ok' if good else 'short'}", flush=True)


def run(command, **options):
    """The finished process; its messages are shown when it fails."""
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if result.returncode:
        print(f"{' '.join(map(str, command))}: exit status {result.returncode}\n{result.stderr[-2000:]}", file=sys.stderr)
    return result


class Bench:
    def __init__(self, build, models, work, iterations):
        self.pplan, self.bin = build / "bin" / "pplan", build / "test" / "bin"
        self.models, self.work, self.iterations = models, work, iterations

    def model(self, name):
        """The exported model with ONNX Runtime's outputs; made when missing."""
        path = self.models / f"{name}.onnx"
        if not path.with_suffix(".outputs").exists():
            export = ROOT / "scripts" / "export_models.py"
            subprocess.run([sys.executable, export, "--out", self.models, "--golden", name], check=True, stdout=sys.stderr)
        return path

    def compile(self, model, name, *options):
        """(program, the compiler's report), or nothing when it fails."""
        program = self.work / name
        dims = committed.dims(model) if model.suffix == ".onnx" else []
        result = run([self.pplan, "compile", model, *dims, *options, "--json", "-o", program])
        return (program, json.loads(result.stdout)) if result.returncode == 0 else None

    # --- error -------------------------------------------------------------------------------------------------------

    def error(self):
        for name in MODELS:
            model = self.model(name)
            for ranks in (1, 2, 4, 8):
                plans = {"chosen": [], "data": [f"dp={ranks}"], "tensor": [f"tp={ranks}"], "mixed": [f"dp=2,tp={ranks // 2}"]}
                if ranks == 1:
                    plans = {"chosen": []}
                if ranks == 2:
                    del plans["mixed"]
                for plan, degrees in plans.items():
                    options = ["--devices", ranks] + [word for text in degrees for word in ("--parallel", text)]
                    error = self.measure_error(model, f"{name}-{ranks}-{plan}", options)
                    report(f"error.{name}.{ranks}.{plan}", error, "<= 1e-4", error <= 1e-4)

    def measure_error(self, model, name, options):
        made = self.compile(model, name, *options)
        if not made:
            return float("inf")
        out = self.work / f"{name}-out"
        result = run([made[0], *committed.inputs(model), "--output", out])
        made[0].unlink()
        if result.returncode:
            return float("inf")
        error, complaints = compare.compare(model.with_suffix(".outputs"), out)
        return float("inf") if complaints else error

    # --- property ----------------------------------------------------------------------------------------------------

    def property(self):
        cases = 5000
        tests = {"graphs": ("Graphs.*", cases), "operations": ("Ops.*", None), "reshards": ("Reshard*", None)}
        for name, (pattern, count) in tests.items():
            report_file = self.work / f"{name}.json"
            command = [self.bin / "PartitionTests", f"--gtest_filter={pattern}", f"--gtest_output=json:{report_file}"]
            environment = dict(os.environ, PPLAN_CASES=str(cases)) if count else None
            result = run(command, env=environment)
            content = json.loads(report_file.read_text()) if report_file.exists() else {"tests": 0, "failures": 1}
            failures = max(content["failures"], 1 if result.returncode else 0)
            if count:
                report(f"property.{name}.cases", count if not failures else 0, f">= {count}", not failures)
            report(f"property.{name}.failures", failures, "0", failures == 0 and content["tests"] > 0)

    # --- time --------------------------------------------------------------------------------------------------------

    def program_ms(self, program, model):
        result = run([program, *committed.inputs(model), "--iterations", self.iterations, "--warmup", 1, "--json"])
        return json.loads(result.stdout)["median_ms"] if result.returncode == 0 else float("inf")

    def time(self):
        import onnxruntime

        settings = onnxruntime.SessionOptions()
        settings.intra_op_num_threads = settings.inter_op_num_threads = 1
        for name in MODELS:
            model = self.model(name)
            one, two = (self.compile(model, f"{name}-time-{ranks}", "--devices", ranks) for ranks in (1, 2))
            if not one or not two:
                report(f"time.{name}.over-onnxruntime", float("inf"), "<= 1.25", False)
                continue
            session = onnxruntime.InferenceSession(str(model), settings, providers=["CPUExecutionProvider"])
            wanted = {value.name for value in session.get_inputs()}
            feed = {file.stem: np.load(file) for file in committed.input_files(model) if file.stem in wanted}
            ratios, speedups = [], []
            for _ in range(5):
                ours = self.program_ms(one[0], model)
                times = []
                for index in range(self.iterations + 1):
                    begin = time.perf_counter()
                    session.run(None, feed)
                    times.append((time.perf_counter() - begin) * 1e3)
                theirs = statistics.median(times[1:])
                pair = self.program_ms(two[0], model)
                ratios.append(ours / theirs)
                speedups.append(ours / pair)
                print(f"time.{name}: 1 rank {ours:.2f} ms, ONNX Runtime {theirs:.2f} ms, 2 ranks {pair:.2f} ms", file=sys.stderr)
            ratio, speedup = statistics.median(ratios), statistics.median(speedups)
            report(f"time.{name}.over-onnxruntime", ratio, "<= 1.25", ratio <= 1.25)
            report(f"time.{name}.speedup-on-2-ranks", speedup, ">= 1.5", speedup >= 1.5)

    # --- bytes -------------------------------------------------------------------------------------------------------

    def bytes(self):
        block = ROOT / "benchmarks" / "figures" / "slice" / "block.mlir"
        pins = [word for name, dims in MEGATRON.items() for word in ("--pin", f"{name}={dims}")]
        for data, tensor in ((1, 8), (2, 4)):
            jax = run([sys.executable, ROOT / "benchmarks" / "figures" / "slice" / "jax_block.py", data, tensor])
            theirs = json.loads(jax.stdout) if jax.returncode == 0 else {"bytes_sent_per_rank": 0, "collectives": {}}
            # On GPUs communication costs more than what it saves; threads of one process may trade the other way.
            for cluster in ("dgx-h100", "cpu-threads"):
                name = f"bytes.block.{cluster}.dp{data}-tp{tensor}"
                made = self.compile(block, name, "--devices", data * tensor, "--cluster", cluster,
                                    "--parallel", f"dp={data},tp={tensor}", *pins)
                if not made or not theirs["bytes_sent_per_rank"]:
                    report(name, float("inf"), "<= 1", False)
                    continue
                collectives = made[1]["collectives"]
                ours = sum(entry["bytes_sent_per_rank"] for entry in collectives.values())
                print(f"{name}: pplan {collectives}, JAX {theirs['collectives']}", file=sys.stderr)
                ratio = ours / theirs["bytes_sent_per_rank"]
                report(name, ratio, "<= 1", ratio <= 1)

    # --- memory ------------------------------------------------------------------------------------------------------

    def memory(self):
        for name in MODELS:
            model = self.model(name)
            for ranks in (1, 4):
                made = self.compile(model, f"{name}-memory-{ranks}", "--devices", ranks)
                ratio = self.measure_memory(made[0], model, ranks) if made else float("inf")
                report(f"memory.{name}.{ranks}.peak-over-reported", ratio, "<= 1.1", ratio <= 1.1)

    def measure_memory(self, program, model, ranks):
        listed = run([program, "--memory", "--json"])
        result = run([program, *committed.inputs(model), "--iterations", 2, "--json"])
        if listed.returncode or result.returncode:
            return float("inf")
        return json.loads(result.stdout)["peak_rss_bytes"] / (json.loads(listed.stdout)["total_bytes"] * ranks)

    # --- demo --------------------------------------------------------------------------------------------------------

    def demo(self):
        clone = self.work / "clone"
        subprocess.run(["git", "clone", "-q", ROOT, clone], check=True)
        environment = dict(os.environ, CCACHE_DISABLE="1")
        begin = time.monotonic()
        result = run(["bash", "scripts/demo"], cwd=clone, env=environment)
        minutes = (time.monotonic() - begin) / 60
        print(result.stdout[-3000:], file=sys.stderr)
        report("demo.minutes", minutes, "<= 20", result.returncode == 0 and minutes <= 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--models", type=pathlib.Path, default=CACHE, help="directory of exported models")
    parser.add_argument("--iterations", type=int, default=5, help="per measurement of time")
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=FIGURES)
    args = parser.parse_args()
    args.models.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pplan-figures-") as work:
        bench = Bench(args.build.resolve(), args.models, pathlib.Path(work), args.iterations)
        for figure in args.only:
            getattr(bench, figure)()
    return 0


if __name__ == "__main__":
    sys.exit(main())
