"""A model writes, and lies in a folder, by methods of its own."""

import json

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from attnlib import decode
from attnlib.models import gpt
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT

VOCAB, D, N = 11, 8, 5
KINDS = {
    "tied": {},
    "a Llama": {"positions": "rotary", "layout": "neighbours", "norm": "rms", "tied": False, "n_kv_heads": 1},
    "with dropout": {"dropout": 0.5},
}


def model_of(kind):
    torch.manual_seed(0)
    model = GPT(ModelConfig(VOCAB, context=32, d_model=D, n_heads=2, n_layers=2, **KINDS[kind]))
    gpt.initialise(model, spread=0.5)
    return model


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_saved_model_comes_back_to_the_last_bit(kind, dtype, tmp_path):
    model, tokens = model_of(kind).to(dtype), torch.randint(VOCAB, (2, N))
    model.save(str(tmp_path / "here"))
    again = GPT.load(tmp_path / "here")
    assert again.config == model.config and not again.training
    assert torch.equal(again(tokens), model.eval()(tokens)) and again(tokens).dtype == dtype
    assert {file.name for file in (tmp_path / "here").iterdir()} == {"model.safetensors", "config.json"}
    stored = load_file(tmp_path / "here" / "model.safetensors")
    assert sum(one.numel() for one in stored.values()) == sum(one.numel() for one in model.parameters())


@pytest.mark.bad_input
def test_a_folder_without_a_model_or_with_another_one_is_named(tmp_path):
    with pytest.raises(ValueError, match="load: the folder must have config.json, which `save` writes; got"):
        GPT.load(tmp_path)
    model_of("tied").save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"tied": False}))
    with pytest.raises(ValueError, match="they differ in unembed.weight"):
        GPT.load(tmp_path)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_generates_what_decoding_it_gives(kind):
    model, prefix = model_of(kind), torch.randint(VOCAB, (2, N))
    assert model.training
    told = model.generate(prefix, max_new_tokens=6)
    assert model.training  # as it was
    assert torch.equal(told, decode.tokens(model.eval().predictor(), prefix, max_new_tokens=6))
    with torch.no_grad():
        slow = prefix
        for _ in range(6):
            slow = torch.cat([slow, model(slow)[:, -1:].argmax(-1)], dim=1)
    assert torch.equal(told, slow[:, N:])
    drawn = [
        model.generate(prefix, max_new_tokens=6, choose=decode.sampler(np.random.default_rng(3)))
        for _ in range(2)
    ]
    assert torch.equal(*drawn)
