"""Cases that take several commands: plans as files, phases one by one, pins, JSON, memory to the byte.

Each case is a function of (pplan, models, directory) that returns what is wrong, or nothing."""
import json
import pathlib
import re
import subprocess

import numpy as np

import compare
import model as committed

ROOT = pathlib.Path(__file__).resolve().parents[2]
PHASES = ["import", "train", "plan", "partition", "memory", "lower"]


def run(*command):
    result = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    if result.returncode:
        raise AssertionError(f"{' '.join(map(str, command))} exits with {result.returncode}: {result.stderr[-400:]}")
    return result.stdout


def output_error(program, model, out):
    """Why the program does not compute what ONNX Runtime did, or nothing."""
    run(program, *committed.inputs(model), "--output", out)
    error, complaints = compare.compare(model.with_suffix(".outputs"), out)
    if complaints:
        return "; ".join(complaints)
    return None if error <= 1e-4 else f"{program.name} is off by {error:.3g}"


def plan_as_a_file(pplan, models, work):
    """import, plan, explain and compile through files gives the same program as one command."""
    model = models / "tiny-llama.onnx"
    imported, plan, program = work / "model.mlir", work / "plan.mlir", work / "prog"
    run(pplan, "import", model, *committed.dims(model), "-o", imported)
    run(pplan, "plan", imported, "--devices", 4, "-o", plan)
    explained = json.loads(run(pplan, "explain", plan, "--json"))
    if not explained["choices"] or any(not choice["chosen"] for choice in explained["choices"]):
        return "explain --json lists no choices"
    run(pplan, "compile", plan, "-o", program)
    return output_error(program, model, work / "out")


def phase_by_phase(pplan, models, work):
    """Stopping after each phase and going on from its text gives a program that is right."""
    model = models / "tiny-gpt2.onnx"
    for phase in PHASES:
        text, program = work / f"{phase}.mlir", work / phase
        run(pplan, "compile", model, *committed.dims(model), "--devices", 2, "--compile-to", phase, "-o", text)
        run(pplan, "compile", text, "--devices", 2, "--compile-from", phase, "-o", program)
        why = output_error(program, model, work / f"{phase}-out")
        if why:
            return f"from phase {phase}: {why}"
    return None


def dumped_phases(pplan, models, work):
    """--dump-phases-to writes one numbered file per phase, each of which parses again."""
    model = models / "tiny-mlp.onnx"
    run(pplan, "compile", model, *committed.dims(model), "--devices", 2, "--dump-phases-to", work / "phases", "-o", work / "prog")
    found = sorted(path.name for path in (work / "phases").iterdir())
    expected = [f"{index:02d}-{phase}.mlir" for index, phase in enumerate(PHASES)]
    if found != expected:
        return f"found {found}, expected {expected}"
    for phase in PHASES[:-1]:
        path = work / "phases" / f"{PHASES.index(phase):02d}-{phase}.mlir"
        run(pplan, "compile", path, "--devices", 2, "--compile-from", phase, "-o", work / "again")
    return None


def pin_is_kept(pplan, models, work):
    """A pinned input has the pinned sharding in the plan and in the program."""
    model = models / "tiny-gpt2.onnx"
    for pin, listed in (('[{}, {"tensor"}]', '[[], ["tensor"]]'), ('[{"tensor"}, {"data"}]', '[["tensor"], ["data"]]')):
        program = work / "prog"
        run(pplan, "compile", model, *committed.dims(model), "--devices", 4, "--parallel", "dp=2,tp=2",
            "--pin", f"input_ids={pin}", "-o", program)
        inputs = json.loads(run(program, "--list-io", "--json"))["inputs"]
        if inputs[0]["sharding"] != json.loads(listed):
            return f"pinned {pin}, but the program has {inputs[0]['sharding']}"
        why = output_error(program, model, work / "out")
        if why:
            return why
    return None


def pinned_outputs(pplan, models, work):
    """Outputs may be pinned, also an argument and a constant that are returned and a value that is returned twice."""
    model = work / "model.mlir"
    model.write_text("""func.func @f(%x: tensor<8x6xf32> {pplan.input = "x"}, %p: tensor<8x6xf32> {pplan.input = "p"})
    -> (tensor<8x6xf32> {pplan.output = "sum"}, tensor<8x6xf32> {pplan.output = "same"},
        tensor<8x6xf32> {pplan.output = "ones"}, tensor<8x6xf32> {pplan.output = "again"}) {
  %c = pplan.constant dense<1.0> : tensor<8x6xf32>
  %y = pplan.add %x, %p : tensor<8x6xf32>
  return %y, %x, %c, %y : tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>, tensor<8x6xf32>
}
""")
    pins = {"sum": ('[{"tensor"}, {}]', [["tensor"], []]), "same": ('[{}, {"tensor"}]', [[], ["tensor"]]),
            "ones": ('[{}, {"data"}]', [[], ["data"]]), "again": ('[{"data", "tensor"}, {}]', [["data", "tensor"], []])}
    program = work / "prog"
    run(pplan, "compile", model, "--devices", 4, "--parallel", "dp=2,tp=2", "-o", program,
        *[word for name, (pin, _) in pins.items() for word in ("--pin", f"{name}={pin}")])
    for entry in json.loads(run(program, "--list-io", "--json"))["outputs"]:
        if entry["sharding"] != pins[entry["name"]][1]:
            return f"{entry['name']} is pinned to {pins[entry['name']][0]}, but the program has {entry['sharding']}"
    x, p = (np.random.default_rng(i).normal(size=(8, 6)).astype(np.float32) for i in (1, 2))
    np.save(work / "x.npy", x)
    np.save(work / "p.npy", p)
    run(program, "--input", f"x={work / 'x.npy'}", "--input", f"p={work / 'p.npy'}", "--output", work / "out")
    for name, value in {"sum": x + p, "same": x, "ones": np.ones((8, 6)), "again": x + p}.items():
        if not np.array_equal(np.load(work / "out" / f"{name}.npy"), value):
            return f"{name} is wrong"
    return None


def misfit_and_remedy(pplan, models, work):
    """What does not fit is told with its largest values and a number of devices, with which it does fit."""
    text = (ROOT / "share" / "clusters" / "cpu-threads.yaml").read_text()
    cluster, limit = work / "small.yaml", 110_000
    cluster.write_text(re.sub(r"\n  memory:.*", f"\n  memory: {limit} B", text))
    model = models / "tiny-gpt2.onnx"
    command = [pplan, "plan", model, *committed.dims(model), "--cluster", cluster, "--json", "-o", work / "plan.mlir"]
    failed = subprocess.run([str(word) for word in [*command, "--devices", 1]], capture_output=True, text=True)
    if failed.returncode != 3:
        return f"exit status {failed.returncode} for a model that does not fit, expected 3: {failed.stderr}"
    largest = re.search(r"parameter '(\S+)' takes at least (\d+) bytes", failed.stderr)
    remedy = re.search(r"with --devices (\d+) there is a plan that fits", failed.stderr)
    if not largest or not remedy:
        return f"no parameter or no remedy in: {failed.stderr}"
    made = json.loads(run(*command, "--devices", remedy[1]))
    peak = made["peak_memory_bytes"][0]
    return None if peak <= limit else f"the plan for {remedy[1]} devices needs {peak} bytes, the limit is {limit}"


def dear_reshards(pplan, models, work):
    """A dear change of sharding is told with its operation, its time and what the alternative costs."""
    model, plan = models / "tiny-gpt2.onnx", work / "plan.mlir"
    run(pplan, "plan", model, *committed.dims(model), "--devices", 4, "--parallel", "tp=4", "-o", plan)
    told = json.loads(run(pplan, "explain", plan, "--json"))
    times = [reshard["seconds"] for reshard in told["reshards"]]
    if not times or times != sorted(times, reverse=True) or not all(r["location"] and r["op"] for r in told["reshards"]):
        return f"reshards are {told['reshards']}"
    if not np.isclose(sum(times), told["time"]["exposed_communication_s"], rtol=1e-2):
        return f"reshards take {sum(times)}, communication {told['time']['exposed_communication_s']}"
    text = run(pplan, "explain", plan)
    return None if "the best plan that runs it otherwise" in text else text


def pinned_parameter(pplan, models, work):
    """Every parameter may be pinned; here one whose size the axis does not divide."""
    model = models / "tiny-llama.onnx"
    text = run(pplan, "import", model, *committed.dims(model), "-o", "-")
    names = re.findall(r'tensor<(\d+)x(\d+)xf32> \{[^}]*pplan\.param = "([^"]+)"', text)
    if not names:
        return "the imported model has no parameter of rank 2"
    name = names[0][2]
    program = work / "prog"
    run(pplan, "compile", model, *committed.dims(model), "--devices", 3, "--parallel", "tp=3",
        "--pin", f'{name}=[{{"tensor"}}, {{}}]', "-o", program)
    return output_error(program, model, work / "out")


def memory_is_what_was_said(pplan, models, work):
    """The bytes that the compiler reports are those that the program lists."""
    for name in ("tiny-gpt2", "tiny-bert"):
        model = models / f"{name}.onnx"
        for devices in (1, 3, 4):
            program = work / f"{name}-{devices}"
            options = [*committed.dims(model), "--devices", devices, "--json", "-o", program]
            said = json.loads(run(pplan, "compile", model, *options))["memory"]
            listed = json.loads(run(program, "--memory", "--json"))
            for kind in ("arena", "params", "inputs", "outputs"):
                if said[kind] != listed[f"{kind}_bytes"]:
                    return f"{name} on {devices}: {kind} is {said[kind]} in the plan, {listed[f'{kind}_bytes']} in the program"
    return None


def tensor_parallel_minimum(pplan, models, work):
    """A transformer block over the tensor axis needs two all-reduces, or two pairs of reduce-scatter and all-gather."""
    block = models.parents[1] / "benchmarks" / "figures" / "slice" / "block.mlir"
    report = json.loads(run(pplan, "compile", block, "--devices", 8, "--parallel", "tp=8", "--json", "-o", work / "prog"))
    sent = sum(entry["bytes_sent_per_rank"] for entry in report["collectives"].values())
    size = 4 * 128 * 512 * 4
    minimum = 2 * 2 * 7 / 8 * size
    return None if sent <= minimum else f"{sent:.0f} bytes are sent per rank, {minimum:.0f} suffice: {report['collectives']}"


def iterations_repeat(pplan, models, work):
    """Running several times gives the same output as running once; the report is JSON."""
    model = models / "tiny-gpt2.onnx"
    program = work / "prog"
    run(pplan, "compile", model, *committed.dims(model), "--devices", 4, "-o", program)
    report = json.loads(run(program, *committed.inputs(model), "--iterations", 20, "--warmup", 2, "--profile", "--json",
                            "--output", work / "out"))
    if report["iterations"] != 20 or not report["profile"] or report["num_ranks"] != 4:
        return f"the report has {report['iterations']} iterations, {len(report['profile'])} profile rows"
    error, complaints = compare.compare(model.with_suffix(".outputs"), work / "out")
    return "; ".join(complaints) or (None if error <= 1e-4 else f"is off by {error:.3g}")


def no_elements(pplan, models, work):
    """Inputs and outputs without elements go through files and any number of ranks like others; so do unused inputs."""
    text = """func.func @forward(%a: tensor<4x0xf32> {pplan.input = "a"}, %x: tensor<4x3xf32> {pplan.input = "x"},
                   %u: tensor<5xf32> {pplan.input = "u"})
    -> (tensor<4xf32> {pplan.output = "sum"}, tensor<0x4xf32> {pplan.output = "turned"}, tensor<4x3xf32> {pplan.output = "joined"}) {
  %sum = pplan.reduce sum %a dims [1] : tensor<4x0xf32> to tensor<4xf32>
  %turned = pplan.transpose %a [1, 0] : tensor<4x0xf32>
  %joined = pplan.concat %a, %x dim 1 : tensor<4x0xf32>, tensor<4x3xf32> to tensor<4x3xf32>
  return %sum, %turned, %joined : tensor<4xf32>, tensor<0x4xf32>, tensor<4x3xf32>
}
"""
    model, x = work / "model.mlir", np.arange(12, dtype=np.float32).reshape(4, 3)
    model.write_text(text)
    given = {"a": np.zeros((4, 0), np.float32), "x": x, "u": np.zeros(5, np.float32)}
    wanted = {"sum": np.zeros(4), "turned": np.zeros((0, 4)), "joined": x}
    for name, value in given.items():
        np.save(work / f"{name}.npy", value)
    inputs = [word for name in given for word in ("--input", f"{name}={work / name}.npy")]
    for devices in (1, 2, 3):
        program = work / f"prog-{devices}"
        run(pplan, "compile", model, "--devices", devices, "-o", program)
        run(program, *inputs, "--output", work / "out")
        for name, value in wanted.items():
            found = np.load(work / "out" / f"{name}.npy")
            if found.shape != value.shape or not np.array_equal(found, value):
                return f"{name} on {devices} ranks is {found.tolist()}, expected {value.tolist()}"
    return None


CASES = [plan_as_a_file, phase_by_phase, dumped_phases, pin_is_kept, pinned_outputs, pinned_parameter, memory_is_what_was_said,
         misfit_and_remedy, dear_reshards, tensor_parallel_minimum, iterations_repeat, no_elements]
