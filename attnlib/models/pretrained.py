"""Published parameters in our GPT: the published names of GPT-2 and of Llama, key by key and shape by shape.

Only safetensors files are read: they hold numbers and nothing else, so that opening one runs no code.
"""

import re
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from attnlib import rules
from attnlib.extras import must_be_there
from attnlib.models.gpt import GPT

# Where a published key goes: {0} is the layer. A tensor with three goals is cut in three.
GPT2 = {
    r"wte\.weight": ["embed.weight"],
    r"wpe\.weight": ["places.weight"],
    r"h\.(\d+)\.ln_([12])\.(weight|bias)": ["blocks.{0}.norm_{1}.{2}"],
    r"h\.(\d+)\.attn\.c_attn\.(weight|bias)": [f"blocks.{{0}}.attention.W_{name}.{{1}}" for name in "QKV"],
    r"h\.(\d+)\.attn\.c_proj\.(weight|bias)": ["blocks.{0}.attention.W_O.{1}"],
    r"h\.(\d+)\.mlp\.c_fc\.(weight|bias)": ["blocks.{0}.feed_forward.W_1.{1}"],
    r"h\.(\d+)\.mlp\.c_proj\.(weight|bias)": ["blocks.{0}.feed_forward.W_2.{1}"],
    r"ln_f\.(weight|bias)": ["norm.{0}"],
}
LLAMA = {
    r"embed_tokens\.weight": ["embed.weight"],
    r"layers\.(\d+)\.input_layernorm\.weight": ["blocks.{0}.norm_1.weight"],
    r"layers\.(\d+)\.post_attention_layernorm\.weight": ["blocks.{0}.norm_2.weight"],
    r"layers\.(\d+)\.self_attn\.q_proj\.(weight|bias)": ["blocks.{0}.attention.W_Q.{1}"],
    r"layers\.(\d+)\.self_attn\.k_proj\.(weight|bias)": ["blocks.{0}.attention.W_K.{1}"],
    r"layers\.(\d+)\.self_attn\.v_proj\.(weight|bias)": ["blocks.{0}.attention.W_V.{1}"],
    r"layers\.(\d+)\.self_attn\.o_proj\.(weight|bias)": ["blocks.{0}.attention.W_O.{1}"],
    r"layers\.(\d+)\.self_attn\.q_norm\.weight": ["blocks.{0}.attention.norm_Q.weight"],  # as Qwen3 has them
    r"layers\.(\d+)\.self_attn\.k_norm\.weight": ["blocks.{0}.attention.norm_K.weight"],
    r"layers\.(\d+)\.mlp\.gate_proj\.(weight|bias)": ["blocks.{0}.feed_forward.W_G.{1}"],
    r"layers\.(\d+)\.mlp\.up_proj\.(weight|bias)": ["blocks.{0}.feed_forward.W_1.{1}"],
    r"layers\.(\d+)\.mlp\.down_proj\.(weight|bias)": ["blocks.{0}.feed_forward.W_2.{1}"],
    r"norm\.weight": ["norm.weight"],
    r"lm_head\.weight": ["unembed.weight"],
}
STORED_IN_OUT = re.compile(r"\.c_(attn|proj|fc)\.weight$")  # GPT-2 stores these maps as the book does
NOT_LEARNED = re.compile(r"(\.attn\.(bias|masked_bias)|rotary_emb\.inv_freq)$")  # masks and angles
PREFIX = re.compile(r"^(transformer|model)\.")


class Taken(NamedTuple):
    """What the parameters of a file were taken for."""

    names: str  # "GPT-2" or "Llama": whose names they have
    layout: str | None  # which coordinates their rotary positions pair; None where there are none


def load_published(model: GPT, file: str | Path) -> Taken:
    """Read a safetensors file with the published names of GPT-2 or of Llama into the model; all or nothing."""
    return take_published(model, read(file), str(file))


def read(file: str | Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file; a sentence where it is something else or broken off."""
    must_be_there("load_published", "pretrained", but=("regex",))
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    file = Path(file)
    if not file.is_file():
        raise FileNotFoundError(
            f"load_published: there must be a file of parameters; got {file}, which is none."
        )
    with file.open("rb") as opened:
        start = opened.read(2)
    if start in (b"PK", b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05"):
        raise ValueError(
            "load_published: parameters must be in "
            f"a safetensors file; got {file.name}, a pickle, which could run code. "
            "Take the model's file model.safetensors."
        )
    try:
        return load_file(file)
    except SafetensorError as error:
        raise ValueError(
            "load_published: parameters must be in "
            f"a whole safetensors file; got {file.name} ({error}). Fetch it again."
        ) from None


def take_published(model: GPT, published: dict[str, Tensor], source: str = "parameters") -> Taken:
    """Put published tensors into the model; every key must name a parameter, and every parameter must have a key.

    A file with Llama's names is one of Hugging Face, whose rotary positions pair halves; a model that pairs neighbours
    would compute other numbers from it, and is refused.
    """
    taken = _taken(model, published, source)
    wanted = dict(model.named_parameters())
    given = {
        name: tensor for key in published for name, tensor in _places(key, published[key], source).items()
    }
    if "unembed.weight" in given and "unembed.weight" not in wanted:
        del given["unembed.weight"]  # tied: the file has the same table twice
    for name, parameter in wanted.items():
        if name not in given:
            raise ValueError(f"load_published: the model needs {name}; {source} has nothing for it.")
        if given[name].shape != parameter.shape:
            raise ValueError(
                f"load_published: {name} must be {tuple(parameter.shape)}; got {tuple(given[name].shape)} "
                f"from {source}. Build the model with the config of these parameters."
            )
    for name in given:
        if name not in wanted:
            raise ValueError(f"load_published: {source} has {name}; the model has no such parameter.")
    with torch.no_grad():
        for name, parameter in wanted.items():
            parameter.copy_(given[name])
    return taken


def _taken(model: GPT, published: dict[str, Tensor], source: str) -> Taken:
    """Whose names these are, if the model reads its queries and keys in the layout that comes with them."""
    if not any(PREFIX.sub("", key) == "embed_tokens.weight" for key in published):
        return Taken("GPT-2", None)
    layout = model.config.layout if model.config.positions == "rotary" else None
    then = 'Build it with `layout="halves"`.'
    rules.must(
        layout in (None, "halves"),
        "load_published",
        f"a model must pair halves to take the layout of {source}, which has Llama's names; got {layout=}. {then}",
    )
    return Taken("Llama", layout)


def published_gpt2(model: GPT) -> dict[str, Tensor]:
    """The model's parameters under GPT-2's names and in its shapes: what `take_published` reads."""
    parts = ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj")
    layers = [f"h.{i}.{part}" for i in range(len(model.blocks)) for part in parts]
    keys = [
        "wte.weight",
        "wpe.weight",
        *(f"{one}.{kind}" for one in [*layers, "ln_f"] for kind in ("weight", "bias")),
    ]
    own, published = dict(model.named_parameters()), {}
    for key in keys:
        W = torch.cat([own[name].detach() for name in _names(key)])
        published[key] = (W.T if STORED_IN_OUT.search(key) else W).contiguous()
    return published


def _names(short: str) -> list[str]:
    """The names that a published key has in our model, without its prefix; none if it is unknown."""
    for pattern, goals in (GPT2 | LLAMA).items():
        found = re.fullmatch(pattern, short)
        if found:
            return [goal.format(*found.groups()) for goal in goals]
    return []


def _places(key: str, tensor: Tensor, source: str) -> dict[str, Tensor]:
    """The names that a published tensor has in our model, and what goes there."""
    if NOT_LEARNED.search(key):
        return {}
    names = _names(PREFIX.sub("", key))
    if not names:
        raise ValueError(
            f"load_published: every name must be one of GPT-2's or Llama's; got {key!r} in {source}."
        )
    tensor = tensor.T if STORED_IN_OUT.search(key) else tensor
    return dict(zip(names, tensor.chunk(len(names)), strict=True))
