#!/usr/bin/env python3
"""Exports the models of the training tests and trains them with PyTorch, to compare with.

Writes NAME.onnx and NAME.json (loss and gradient norm of each step) for each model, and tokens.bin, the characters of a licence
text as uint16. The order of the data is that of the program's --data with --seed 0 (runtime/core/tokens.cpp).
Needs torch and transformers (benchmarks/requirements.txt).

    scripts/train_reference.py --out test/models/training
"""
import argparse
import json
import pathlib

import numpy as np
import torch

import export_models

TEXT = pathlib.Path("/usr/share/common-licenses/GPL-3")
STEPS = 100
SETTINGS = {"lr": 1e-3, "weight_decay": 0.1, "clip_norm": 1.0}
# Sizes that two, three and four ranks do not all divide.
MODELS = {
    "gpt2": (lambda: export_models.gpt2(n_layer=4, n_embd=36, n_head=3, vocab_size=99, n_positions=24, resid_pdrop=0.0,
                                        embd_pdrop=0.0, attn_pdrop=0.0), 6, 24),
    "llama": (lambda: export_models.llama(num_hidden_layers=4, hidden_size=40, intermediate_size=56, num_attention_heads=4,
                                          num_key_value_heads=2, vocab_size=99, max_position_embeddings=32), 6, 20),
}
MASK = (1 << 64) - 1


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def permute(index, size, key):
    half = 1
    while (1 << (2 * half)) < size:
        half += 1
    mask = (1 << half) - 1
    x = index
    while True:
        left, right = x >> half, x & mask
        for turn in range(4):
            left, right = right, left ^ (mix((key + turn * 0x51ED2701 + mix(right)) & MASK) & mask)
        x = left << half | right
        if x < size:
            return x


def batch(tokens, step, size, length, seed=0):
    windows = (len(tokens) - 1) // length
    in_pass = windows // size * size
    rows = []
    for sample in range(step * size, step * size + size):
        window = permute(sample % in_pass, windows, mix(seed ^ mix(sample // in_pass)))
        rows.append(tokens[window * length: window * length + length + 1])
    rows = torch.tensor(np.stack(rows).astype(np.int64))
    return rows[:, :-1], rows[:, 1:]


def train(model, tokens, size, length):
    decayed = [p for p in model.parameters() if p.dim() >= 2]
    others = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": SETTINGS["weight_decay"]},
                                   {"params": others, "weight_decay": 0.0}], lr=SETTINGS["lr"])
    curve = []
    for step in range(STEPS):
        inputs, targets = batch(tokens, step, size, length)
        optimizer.zero_grad()
        logits = model(inputs)
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), SETTINGS["clip_norm"])
        optimizer.step()
        curve.append({"loss": loss.item(), "gradient_norm": norm.item()})
    return curve


def export(model, path, size, length):
    dims = {0: torch.export.Dim("batch", min=1, max=1024), 1: torch.export.Dim("seq", min=2, max=length)}
    inputs = {"input_ids": torch.zeros(size, length, dtype=torch.int64)}
    torch.onnx.export(model, (), str(path), kwargs=inputs, dynamo=True, dynamic_shapes={"input_ids": dims}, external_data=False,
                      verbose=False, input_names=["input_ids"], output_names=["logits"], opset_version=18)
    export_models.strip(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    text = TEXT.read_bytes()[:24000]
    alphabet = sorted(set(text))
    tokens = np.array([alphabet.index(byte) for byte in text], dtype=np.uint16)
    tokens.tofile(args.out / "tokens.bin")
    torch.set_num_threads(1)
    for name, (make, size, length) in MODELS.items():
        torch.manual_seed(0)
        model = make()
        export(model, args.out / f"{name}.onnx", size, length)
        curve = train(model, tokens, size, length)
        settings = {"batch": size, "seq": length, **SETTINGS, "torch": torch.__version__}
        (args.out / f"{name}.json").write_text(json.dumps({"settings": settings, "steps": curve}, indent=1) + "\n")
        print(name, curve[0], curve[-1])


if __name__ == "__main__":
    main()
