"""Training steps under many plans: the loss of each of 100 steps against one rank, and of one rank against PyTorch.

The models, their data and PyTorch's curves in test/models/training were made by scripts/train_reference.py. Each case is a
function of (pplan, models, directory) that returns what is wrong, or nothing."""
import json
import pathlib
import subprocess

import numpy as np

from workflows import run

AGAINST_TORCH = 1e-3
AGAINST_ONE_RANK = 1e-4

PLANS = {
    "dp2": ["--devices", 2, "--parallel", "dp=2"],
    "dp4 over a batch of 6": ["--devices", 4, "--parallel", "dp=4"],
    "tp2": ["--devices", 2, "--parallel", "tp=2"],
    "tp3": ["--devices", 3, "--parallel", "tp=3"],
    "dp2-tp2": ["--devices", 4, "--parallel", "dp=2,tp=2"],
    "dp2-tp4": ["--devices", 8, "--parallel", "dp=2,tp=4"],
    "dp2-zero0": ["--devices", 2, "--parallel", "dp=2,zero=0"],
    "dp4-zero1": ["--devices", 4, "--parallel", "dp=4,zero=1"],
    "dp3-zero2": ["--devices", 3, "--parallel", "dp=3,zero=2"],
    "dp4-zero3": ["--devices", 4, "--parallel", "dp=4,zero=3"],
    "dp2-tp2-zero3": ["--devices", 4, "--parallel", "dp=2,tp=2,zero=3"],
    "chosen on 4": ["--devices", 4],
}


def load(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


def train(pplan, folder, name, work, *options, optimizer=None, steps=100, timeout=2):
    """The log of a run."""
    settings = load(folder, name)["settings"]
    program, log = work / "prog", work / "log.json"
    adamw = f"adamw,lr={settings['lr']},weight-decay={settings['weight_decay']},clip-norm={settings['clip_norm']}"
    run(pplan, "compile", folder / f"{name}.onnx", "--dim", f"batch={settings['batch']}", "--dim", f"seq={settings['seq']}",
        f"--train={optimizer or adamw}", "--timeout", timeout, *options, "-o", program)
    run(program, "--data", folder / "tokens.bin", "--steps", steps, "--log", log, "--save", work / "saved")
    return [json.loads(line) for line in log.read_text().splitlines()]


def largest(found, expected, key):
    return max(abs(float(a[key]) - b[key]) / abs(b[key]) for a, b in zip(found, expected, strict=True))


def curve_case(name, plan):
    def case(pplan, models, work):
        folder = models / "training"
        curve = train(pplan, folder, name, work, *PLANS[plan])
        # One rank is compared with PyTorch in a case of its own, so that this bounds the distance to one rank.
        error = largest(curve, load(folder, name)["steps"], "loss")
        return None if error <= AGAINST_ONE_RANK else f"the loss is off by {error:.3g} from one rank's"
    case.__name__ = f"train_{name}_{plan}"
    return case


def torch_case(name):
    def case(pplan, models, work):
        folder = models / "training"
        curve, expected = train(pplan, folder, name, work), load(folder, name)["steps"]
        loss, norm = (largest(curve, expected, key) for key in ("loss", "gradient_norm"))
        return None if max(loss, norm) <= AGAINST_TORCH else f"the loss is off by {loss:.3g}, the gradient norm by {norm:.3g}"
    case.__name__ = f"train_{name}_against_pytorch"
    return case


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    types = {"F32": np.float32, "F64": np.float64, "I64": np.int64}
    return {name: np.frombuffer(data[8 + size:][slice(*entry["data_offsets"])], types[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in json.loads(data[8:8 + size]).items()}


def train_saved_state(pplan, models, work):
    """What is saved does not depend on the plan, and holds every parameter with its moments."""
    folder = models / "training"
    saved = {}
    for plan, options in (("1", []), ("8", PLANS["dp2-tp4"])):
        own = work / plan
        own.mkdir()
        train(pplan, folder, "gpt2", own, *options, steps=3)
        saved[plan] = read_safetensors(own / "saved" / "checkpoint.safetensors")
    one, eight = saved["1"], saved["8"]
    if one.keys() != eight.keys() or int(one["step"]) != 3:
        return "different tensors are saved"
    parameters = [name for name in one if name + ".m" in one and name + ".v" in one]
    if len(one) != 3 * len(parameters) + 1:
        return f"{len(one)} tensors are saved for {len(parameters)} parameters"
    for name in one:
        scale = max(np.abs(one[name]).max(), 1e-30)
        error = np.abs(one[name] - eight[name]).max() / scale
        if error > 1e-3:
            return f"'{name}' is off by {error:.3g}"
    return None


def train_resumed(pplan, models, work):
    """A run that stops and goes on under another plan has the curve of one that does not stop."""
    folder = models / "training"
    whole = train(pplan, folder, "gpt2", work, steps=8)
    first, second = work / "first", work / "second"
    first.mkdir(), second.mkdir()
    train(pplan, folder, "gpt2", first, *PLANS["dp2-tp2"], steps=5)
    train(pplan, folder, "gpt2", second, *PLANS["tp3"], steps=1)
    log = second / "resumed.json"
    run(second / "prog", "--data", folder / "tokens.bin", "--steps", 3, "--load", first / "saved", "--log", log)
    resumed = [json.loads(line) for line in log.read_text().splitlines()]
    if [line["step"] for line in resumed] != [6, 7, 8]:
        return f"the steps are {[line['step'] for line in resumed]}"
    error = largest(resumed, whole[5:], "loss")
    return None if error <= 1e-5 else f"the loss is off by {error:.3g}"


def train_repeats(pplan, models, work):
    """The same plan gives the same bits."""
    folder = models / "training"
    train(pplan, folder, "llama", work, *PLANS["dp2-tp4"], steps=20)
    first = (work / "saved" / "checkpoint.safetensors").read_bytes()
    run(work / "prog", "--data", folder / "tokens.bin", "--steps", 20, "--save", work / "saved")
    return None if first == (work / "saved" / "checkpoint.safetensors").read_bytes() else "two runs save different bits"


def train_bad_input(pplan, models, work):
    """What is wrong with data or a checkpoint is named; what was saved before stays."""
    folder = models / "training"
    train(pplan, folder, "gpt2", work, *PLANS["dp2"], steps=1)
    program, saved = work / "prog", work / "saved" / "checkpoint.safetensors"
    whole = saved.read_bytes()
    tokens = np.fromfile(folder / "tokens.bin", np.uint16)
    beyond = tokens.copy()
    beyond[::5] = 99
    beyond.tofile(work / "beyond.bin")
    tokens[:144].tofile(work / "short.bin")
    (work / "odd.bin").write_bytes(b"abc" * 999)
    np.save(work / "float.npy", tokens.astype(np.float32))
    np.save(work / "negative.npy", tokens.astype(np.int64) - 90)
    other, cut, wrong = work / "other", work / "cut", work / "wrong"
    for path in (other, cut, wrong):
        path.mkdir()
    train(pplan, folder, "llama", other, steps=1)
    (cut / "checkpoint.safetensors").write_bytes(whole[:-1])
    (wrong / "checkpoint.safetensors").write_bytes(whole.replace(b'"F32"', b'"F16"', 1))
    good = ["--data", folder / "tokens.bin", "--steps", 2]
    cases = [
        (["--data", work / "beyond.bin"], "is 99, but the model takes values of"),
        (["--data", work / "short.bin"], "too few for a batch of 6 times 24"),
        (["--data", work / "odd.bin"], "--token-bytes"),
        (["--data", work / "float.npy"], "needs integers"),
        (["--data", work / "negative.npy", "--steps", 20], "which is no token"),
        (["--data", work / "none.bin"], "none.bin"),
        ([*good, "--load", work / "none"], "none"),
        ([*good, "--load", other / "saved"], "is it a checkpoint of this model and optimizer?"),
        ([*good, "--load", cut], "no usable .safetensors file"),
        ([*good, "--load", wrong], "not those of its shape"),
        ([*good, "--save", work / "beyond.bin"], "beyond.bin"),
        ([*good, "--log", work / "none" / "log"], "cannot write the log"),
    ]
    for options, expected in cases:
        result = subprocess.run([str(word) for word in (program, *options, "--save", work / "saved")] if "--save" not in options else
                                [str(word) for word in (program, *options)], capture_output=True, text=True, timeout=60)
        if result.returncode != 1 or expected not in result.stderr:
            return f"{options}: exit status {result.returncode}, {result.stderr[-300:]}"
        if saved.read_bytes() != whole:
            return f"{options} touched what was saved before"
    return None


def train_zero_memory(pplan, models, work):
    """ZeRO-3 keeps a parameter gathered no longer than a phase needs it: its step needs less than that of ZeRO-1."""
    folder = models / "training"
    need = []
    for zero in (1, 3):
        text = run(pplan, "compile", folder / "gpt2.onnx", "--dim", "batch=4", "--dim", "seq=4", "--train=adamw,lr=1e-3", "--devices", 4,
                   "--parallel", f"dp=4,zero={zero}", "--timeout", 5, "--json", "-o", work / "prog")
        need.append(json.loads(text)["memory"])
    parameters = 68581 * 4
    if not need[1]["states"] <= need[0]["states"] - parameters * 0.7:
        return f"state: {need[0]['states']} with ZeRO-1, {need[1]['states']} with ZeRO-3"
    if not need[1]["arena"] < need[0]["arena"] + parameters / 2:
        return f"arena: {need[0]['arena']} with ZeRO-1, {need[1]['arena']} with ZeRO-3, with parameters of {parameters}"
    return None


def train_frozen(pplan, models, work):
    """A frozen parameter is no state, and the rest is trained."""
    folder = models / "training"
    curve = train(pplan, folder, "llama", work, "--frozen", "model.model.embed_tokens.weight", steps=5)
    saved = read_safetensors(work / "saved" / "checkpoint.safetensors")
    if any(name.startswith("model.model.embed_tokens") for name in saved):
        return "a frozen parameter is saved as state"
    return None if curve[-1]["loss"] < curve[0]["loss"] else "the loss does not fall"


def train_optimizers(pplan, models, work):
    """Every optimizer gives the curve of one rank on four."""
    folder = models / "training"
    for optimizer in ("sgd,lr=0.1,beta1=0.9", "adam,lr=1e-3,schedule=cosine,warmup=3,steps=10", "lion,lr=1e-4", "adafactor,lr=1e-2"):
        curves = []
        for plan in ([], PLANS["dp2-tp2"]):
            own = work / f"{optimizer.split(',')[0]}-{len(plan)}"
            own.mkdir()
            curves.append(train(pplan, folder, "llama", own, *plan, optimizer=optimizer, steps=10))
        error = largest(curves[1], curves[0], "loss")
        if error > AGAINST_ONE_RANK:
            return f"{optimizer}: the loss is off by {error:.3g}"
        if not curves[0][-1]["loss"] < curves[0][0]["loss"]:
            return f"{optimizer}: the loss does not fall"
    return None


CASES = [torch_case("gpt2"), torch_case("llama"), *(curve_case("gpt2", plan) for plan in PLANS),
         *(curve_case("llama", plan) for plan in ("tp2", "dp2-tp2", "dp2-tp2-zero3")), train_saved_state, train_resumed, train_repeats, train_bad_input, train_zero_memory, train_frozen, train_optimizers]
