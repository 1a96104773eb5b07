#!/usr/bin/env python3
"""Figures of training steps on CPU ranks.

Prints one line per figure: id, value, goal, and "ok" or "short", separated by tabs. What is measured:

  exactness  largest relative error of the loss over 100 steps: of one rank against PyTorch, of each plan against one rank
  gradients  random training graphs under random shardings whose gradients differ from the unsharded ones'
  bytes      bytes that a rank sends in a step, over the least that the method needs (Rajbhandari et al., "ZeRO", 2020, section 7)
  memory     bytes of state that the program keeps, over those that the method's paper says
  speed      time of a step on one rank over PyTorch's with one thread, in turns

Models and PyTorch's curves are those of test/models/training (scripts/train_reference.py)."""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "integration"))
sys.path.insert(0, str(ROOT / "scripts"))

import training

MODELS = ["gpt2", "llama"]
FIGURES = ["exactness", "gradients", "bytes", "memory", "speed"]
PLANS = [("dp2", 2, "dp=2"), ("dp3", 3, "dp=3"), ("dp4", 4, "dp=4"), ("dp6", 6, "dp=6"), ("dp8", 8, "dp=8"),
         ("tp2", 2, "tp=2"), ("tp3", 3, "tp=3"), ("tp4", 4, "tp=4"), ("tp8", 8, "tp=8"),
         ("dp2-tp2", 4, "dp=2,tp=2"), ("dp2-tp3", 6, "dp=2,tp=3"), ("dp3-tp2", 6, "dp=3,tp=2"), ("dp2-tp4", 8, "dp=2,tp=4"),
         ("dp4-tp2", 8, "dp=4,tp=2"), *((f"dp2-zero{z}", 2, f"dp=2,zero={z}") for z in range(4)),
         *((f"dp4-zero{z}", 4, f"dp=4,zero={z}") for z in range(4)), ("dp3-zero3", 3, "dp=3,zero=3"),
         ("dp2-tp2-zero1", 4, "dp=2,tp=2,zero=1"), ("dp2-tp2-zero3", 4, "dp=2,tp=2,zero=3"), ("dp4-tp2-zero2", 8, "dp=4,tp=2,zero=2"),
         ("chosen2", 2, ""), ("chosen3", 3, ""), ("chosen4", 4, ""), ("chosen8", 8, "")]


def report(name, value, goal, good):
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    print(f"{name}\t{text}\t{goal}\t{'ok' if good else 'short'}", flush=True)


class Bench:
    def __init__(self, build, work):
        self.pplan, self.tests, self.work = build / "bin" / "pplan", build / "test" / "bin", work
        self.folder = ROOT / "test" / "models" / "training"

    def own(self, name):
        path = self.work / name
        path.mkdir(exist_ok=True)
        return path

    def train(self, model, name, devices, parallel, steps=100):
        options = ["--devices", devices, *(["--parallel", parallel] if parallel else [])]
        return training.train(self.pplan, self.folder, model, self.own(f"{model}-{name}"), *options, steps=steps)

    def exactness(self):
        for model in MODELS:
            torch = training.load(self.folder, model)["steps"]
            one = self.train(model, "1", 1, "")
            error = training.largest(one, torch, "loss")
            report(f"exactness.{model}.1.over-pytorch", error, "<= 1e-3", error <= 1e-3)
            for name, devices, parallel in PLANS:
                try:
                    error = training.largest(self.train(model, name, devices, parallel), one, "loss")
                except (AssertionError, subprocess.TimeoutExpired) as failure:
                    print(f"exactness.{model}.{name}: {failure}", file=sys.stderr)
                    error = math.inf
                report(f"exactness.{model}.{name}", error, "<= 1e-4", error <= 1e-4)

    def gradients(self):
        cases = 3000
        result = subprocess.run([self.tests / "TrainingTests", "--gtest_filter=GraphGradients.*"], capture_output=True, text=True,
                                env=dict(os.environ, PPLAN_CASES=str(cases)))
        good = result.returncode == 0 and "1 test from 1 test suite ran" in result.stdout
        report("gradients.graphs", cases if good else 0, f">= {cases}", good)

    def compiled(self, devices, parallel):
        """The compiler's report of the GPT-2-like model with a batch that the ranks divide, and the bytes of its parameters."""
        settings = training.load(self.folder, "gpt2")["settings"]
        own = self.own(f"compiled-{parallel.replace(',', '-')}")
        text = training.run(self.pplan, "compile", self.folder / "gpt2.onnx", "--dim", "batch=8", "--dim",
                            f"seq={settings['seq']}", "--train=adamw,lr=1e-3", "--timeout", 10, "--devices", devices, "--parallel", parallel,
                            "--json", "-o", own / "prog")
        listed = json.loads(training.run(own / "prog", "--list-io", "--json"))["states"]
        moments = {state["name"] for state in listed}
        parameters = sum(4 * math.prod(state["shape"]) for state in listed if state["name"] + ".m" in moments)
        return json.loads(text), parameters

    def bytes(self):
        for ranks in (2, 4):
            for zero, share in ((0, 2), (1, 2), (2, 2), (3, 3)):
                made, parameters = self.compiled(ranks, f"dp={ranks},zero={zero}")
                sent = sum(entry["bytes_sent_per_rank"] for entry in made["collectives"].values())
                least = share * parameters * (ranks - 1) / ranks
                report(f"bytes.dp{ranks}-zero{zero}", sent / least, "<= 1.05", sent <= 1.05 * least)

    def memory(self):
        for ranks in (2, 4):
            for zero, split in ((0, 0), (1, 2), (2, 2), (3, 3)):
                made, parameters = self.compiled(ranks, f"dp={ranks},zero={zero}")
                wanted = parameters * (3 - split + split / ranks)
                ratio = made["memory"]["states"] / wanted
                report(f"memory.dp{ranks}-zero{zero}.states", ratio, "<= 1.05", ratio <= 1.05)

    def speed(self):
        import torch

        import train_reference

        torch.set_num_threads(1)
        for model in MODELS:
            make, size, length = train_reference.MODELS[model]
            torch.manual_seed(0)
            network = make()
            tokens = training.np.fromfile(self.folder / "tokens.bin", training.np.uint16)
            self.train(model, "speed", 1, "", steps=1)
            program = self.own(f"{model}-speed") / "prog"
            ratios = []
            for _ in range(5):
                ours = json.loads(training.run(program, "--data", self.folder / "tokens.bin", "--steps", train_reference.STEPS, "--json"))["median_ms"]
                begin = time.perf_counter()
                train_reference.train(network, tokens, size, length)
                theirs = (time.perf_counter() - begin) * 1e3 / train_reference.STEPS
                ratios.append(ours / theirs)
                print(f"speed.{model}: {ours:.2f} ms a step, PyTorch {theirs:.2f} ms", file=sys.stderr)
            ratio = statistics.median(ratios)
            report(f"speed.{model}.over-pytorch", ratio, "<= 1", ratio <= 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=FIGURES)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="pplan-figures-") as work:
        bench = Bench(args.build.resolve(), pathlib.Path(work))
        for figure in args.only:
            getattr(bench, figure)()
    return 0


if __name__ == "__main__":
    sys.exit(main())
