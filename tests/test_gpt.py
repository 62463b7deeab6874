"""A GPT of ours is GPT-2 and is Llama: layer by layer, forward and gradients, with a cache and without."""

import dataclasses
import math
import pickle

import numpy as np
import pytest
import torch

from attnlib.models import gpt
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.models.pretrained import load_published, published_gpt2, take_published
from attnlib.nn.positional import LAYOUTS, Rotary
from attnlib.testing import assert_close

VOCAB, LONGEST, D, HEADS, KV, LAYERS, HIDDEN, B, N = 61, 32, 24, 4, 2, 3, 40, 2, 11


def hugging_face(kind):
    """A small model of theirs with random parameters, and our config of the same."""
    import transformers

    if kind == "gpt2":
        theirs = transformers.GPT2LMHeadModel(
            transformers.GPT2Config(
                vocab_size=VOCAB, n_positions=LONGEST, n_embd=D, n_layer=LAYERS, n_head=HEADS,
                resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, initializer_range=0.2, bos_token_id=0, eos_token_id=0,
            )
        )  # fmt: skip
        ours = ModelConfig(vocab=VOCAB, context=LONGEST, d_model=D, n_heads=HEADS, n_layers=LAYERS)
    else:
        shared = {
            "vocab_size": VOCAB, "max_position_embeddings": LONGEST, "hidden_size": D, "intermediate_size": HIDDEN,
            "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "num_key_value_heads": KV,
            "initializer_range": 0.2, "pad_token_id": None, "bos_token_id": 0, "eos_token_id": 0,
            "tie_word_embeddings": False,
        }  # fmt: skip
        if kind == "qwen3":  # Llama's form with a norm of queries and keys
            theirs = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(head_dim=D // HEADS, **shared))
        else:
            theirs = transformers.LlamaForCausalLM(transformers.LlamaConfig(**shared))
        ours = ModelConfig(
            vocab=VOCAB, context=LONGEST, d_model=D, n_heads=HEADS, n_kv_heads=KV, n_layers=LAYERS, d_hidden=HIDDEN,
            positions="rotary", layout="halves", norm="rms", eps=1e-6, activation="swish", gated=True, bias=False,
            tied=False, qk_norm=kind == "qwen3",
        )  # fmt: skip
    return theirs.eval(), ours


@pytest.fixture(params=["gpt2", "llama", "qwen3"])
def pair(request):
    torch.manual_seed(0)
    theirs, config = hugging_face(request.param)
    ours = GPT(config)
    take_published(ours, {name: W.detach() for name, W in theirs.named_parameters()})
    return ours, theirs


def test_loading_says_which_layout_it_took_and_refuses_the_other(pair):
    ours, theirs = pair
    published = {name: W.detach() for name, W in theirs.named_parameters()}
    if ours.config.positions != "rotary":
        assert take_published(ours, published) == ("GPT-2", None)
        return
    assert take_published(ours, published) == ("Llama", "halves")
    neighbours = GPT(dataclasses.replace(ours.config, layout="neighbours"))
    with pytest.raises(
        ValueError, match="must pair halves to take the layout of .*; got layout='neighbours'. Build"
    ):
        take_published(neighbours, published)


@pytest.mark.bad_input
def test_the_layout_of_rotary_positions_is_named_where_it_is_used():
    """The wrong one gives wrong numbers and no error, so neither the module nor the config chooses one."""
    with pytest.raises(TypeError, match="layout"):
        Rotary(4, context=3)
    with pytest.raises(
        ValueError, match="layout of rotary positions must be one of neighbours, halves; got None"
    ):
        ModelConfig(vocab=VOCAB, positions="rotary")
    for layout in LAYOUTS:
        model = GPT(ModelConfig(vocab=VOCAB, d_model=D, n_heads=HEADS, positions="rotary", layout=layout))
        assert model.blocks.rotate.rotated is LAYOUTS[layout]


def test_every_layer_says_what_the_published_model_says(pair):
    ours, theirs = pair
    tokens = torch.randint(VOCAB, (B, N))
    heard = []
    for block in ours.blocks:
        block.register_forward_hook(lambda module, args, out: heard.append(out))
    scores = ours(tokens)
    said = theirs(tokens, output_hidden_states=True)
    for i in range(LAYERS - 1):  # the last of theirs stands behind the norm
        assert_close(heard[i], said.hidden_states[i + 1], "float32")
    assert_close(ours.hidden(tokens), said.hidden_states[-1], "float32")
    assert_close(scores, said.logits, "float32")


def test_every_gradient_is_that_of_the_published_model(pair):
    ours, theirs = (model.double() for model in pair)
    tokens = torch.randint(VOCAB, (B, N))
    for model, scores in ((ours, ours(tokens)), (theirs, theirs(tokens).logits)):
        loss = torch.nn.functional.cross_entropy(scores[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        model.zero_grad()
        loss.backward()
    expected = GPT(ours.config).double()
    take_published(expected, {name: W.grad for name, W in theirs.named_parameters()})
    for (name, W), dW in zip(ours.named_parameters(), expected.parameters(), strict=True):
        np.testing.assert_allclose(W.grad, dW.detach(), rtol=1e-5, atol=1e-6, err_msg=name)


def test_with_a_cache_token_by_token_is_all_at_once(pair):
    ours, _ = pair
    tokens = torch.randint(VOCAB, (B, N))
    cache = ours.new_kv_cache()
    with torch.no_grad():
        whole = ours(tokens)
        parts = [ours(part, cache) for part in tokens.split([4, 1, 1, 3, 2], dim=1)]
        assert_close(torch.cat(parts, dim=1), whole, "float32")
        assert_close(ours.next_scores(tokens), whole[:, -1], "float32")


@pytest.mark.parametrize("positions", ("learned", "rotary", "none"))
def test_what_comes_later_is_not_seen_and_one_text_does_not_hear_another(positions):
    model = GPT(
        ModelConfig(
            vocab=VOCAB,
            context=LONGEST,
            d_model=D,
            n_layers=2,
            positions=positions,
            layout="halves",
            qk_norm=True,
        )
    )
    tokens = torch.randint(VOCAB, (B, N))
    other = tokens.clone()
    other[0, 6:] = (other[0, 6:] + 1) % VOCAB
    before, after = model(tokens), model(other)
    assert torch.equal(before[1], after[1]) and torch.equal(before[0, :6], after[0, :6])
    assert (before[0, 6:] - after[0, 6:]).abs().max() > 1e-4


def test_before_training_all_tokens_are_equally_likely_and_the_stream_does_not_grow_with_depth():
    spreads = []
    for n_layers in (2, 16):
        torch.manual_seed(1)
        model = GPT(ModelConfig(vocab=VOCAB, d_model=64, n_layers=n_layers))
        tokens = torch.randint(VOCAB, (8, 64))
        loss = torch.nn.functional.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        assert abs(loss.item() - gpt.first_loss(model.config)) < 0.05
        X = model.embed(tokens) + model.places.weight[:64]
        for block in model.blocks:
            X = block(X)
        spreads.append(X.std().item())
    assert 0.8 < spreads[1] / spreads[0] < 1.25


@pytest.mark.parametrize(
    ("config", "published"),
    [
        (gpt.gpt2_small(), 124_439_808),
        (gpt.gpt2_medium(), 354_823_168),
        (gpt.gpt2_large(), 774_030_080),
        (gpt.gpt2_xl(), 1_557_611_200),
        (gpt.llama_7b(), 6_738_415_616),
    ],
)
def test_the_presets_have_the_published_sizes(config, published):
    assert gpt.n_parameters(config) == published


@pytest.mark.parametrize(
    ("config", "published", "unit"),
    [
        (gpt.gpt3(), 175, 1e9),
        (gpt.megatron_8b(), 8.3, 1e9),
        (gpt.turing_nlg(), 17, 1e9),
        (gpt.gpt2_xl(), 1.6, 1e9),
    ],
)
def test_the_large_presets_have_the_sizes_that_are_told_of_them(config, published, unit):
    digits = 0 if published > 10 else 1
    assert round(gpt.n_parameters(config) / unit, digits) == published


@pytest.mark.parametrize(
    ("config", "vocab", "context", "d_model", "n_layers", "n_heads", "d_k"),
    [
        (gpt.gpt2_small(), 50_257, 1024, 768, 12, 12, 64),
        (gpt.gpt2_medium(), 50_257, 1024, 1024, 24, 16, 64),
        (gpt.gpt2_large(), 50_257, 1024, 1280, 36, 20, 64),
        (gpt.gpt2_xl(), 50_257, 1024, 1600, 48, 25, 64),
        (gpt.gpt3(), 50_257, 2048, 12_288, 96, 96, 128),
        (gpt.megatron_8b(), 128 * 8 * 50, 1024, 3072, 72, 32, 96),
        (gpt.turing_nlg(), 50_257, 1024, 4256, 78, 28, 152),
        (gpt.llama_7b(), 32_000, 2048, 4096, 32, 32, 128),
    ],
)
def test_the_presets_have_the_published_shapes(config, vocab, context, d_model, n_layers, n_heads, d_k):
    assert (config.vocab, config.context, config.d_model) == (vocab, context, d_model)
    assert (config.n_layers, config.n_heads, d_model / n_heads) == (n_layers, n_heads, d_k)
    assert config.eps == (1e-6 if config.norm == "rms" else 1e-5)


def test_tied_scores_are_products_with_the_embedding():
    model = GPT(ModelConfig(vocab=VOCAB, d_model=D, n_layers=1))
    tokens = torch.randint(VOCAB, (1, 3))
    assert_close(model(tokens), model.hidden(tokens) @ model.embed.weight.T, "float32")
    assert math.isclose(sum(p.numel() for p in model.parameters()), gpt.n_parameters(model.config))


# ---- Files ----------------------------------------------------------------------------------------------------------


def saved(theirs, file):
    from safetensors.torch import save_file

    save_file({name: W.detach().contiguous() for name, W in theirs.named_parameters()}, file)
    return file


def test_a_file_with_the_published_names_is_read(pair, tmp_path):
    ours, theirs = pair
    fresh = GPT(ours.config)
    load_published(fresh, saved(theirs, tmp_path / "model.safetensors"))
    for W, loaded in zip(ours.parameters(), fresh.parameters(), strict=True):
        assert torch.equal(W, loaded)


def test_our_parameters_under_the_published_names_are_read_back_as_they_were(tmp_path):
    torch.manual_seed(0)
    theirs, config = hugging_face("gpt2")
    model, fresh = GPT(config), GPT(config)
    published = published_gpt2(model)
    expected = {name.removeprefix("transformer."): W.shape for name, W in theirs.named_parameters()}
    assert {name: W.shape for name, W in published.items()} == expected
    take_published(fresh, published)
    for W, back in zip(model.parameters(), fresh.parameters(), strict=True):
        assert torch.equal(W, back)


def broken_off(theirs, folder):
    file = saved(theirs, folder / "model.safetensors")
    file.write_bytes(file.read_bytes()[:-100])
    return file


def pickled(theirs, folder):
    torch.save(theirs.state_dict(), folder / "pytorch_model.bin")
    return folder / "pytorch_model.bin"


def without_a_layer(theirs, folder):
    del theirs.transformer.h[2]
    return saved(theirs, folder / "model.safetensors")


def narrower(theirs, folder):
    theirs.transformer.wpe = torch.nn.Embedding(LONGEST - 1, D)
    return saved(theirs, folder / "model.safetensors")


def another_model(theirs, folder):
    theirs.extra = torch.nn.Linear(2, 2)
    return saved(theirs, folder / "model.safetensors")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (broken_off, "whole safetensors file; got model.safetensors"),
        (pickled, "a pickle, which could run code"),
        (without_a_layer, "the model needs blocks.2"),
        (narrower, "places.weight must be (32, 24); got (31, 24)"),
        (another_model, "got 'extra."),
        (lambda theirs, folder: folder / "none", "there must be a file of parameters"),
    ],
)
def test_a_wrong_file_gets_one_sentence_and_leaves_the_model_as_it_was(spoil, sentence, tmp_path):
    theirs, config = hugging_face("gpt2")
    model = GPT(config)
    before = [W.clone() for W in model.parameters()]
    with pytest.raises((ValueError, FileNotFoundError)) as raised:
        load_published(model, spoil(theirs, tmp_path))
    assert sentence in str(raised.value) and "\n" not in str(raised.value)
    assert all(torch.equal(W, old) for W, old in zip(model.parameters(), before, strict=True))


class Runs:
    """What a pickle may do when it is read: here it makes a file."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return self.mark.touch, ()


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_of_any_age_is_refused_and_runs_no_code(protocol, tmp_path):
    mark, file = tmp_path / "ran", tmp_path / "model.safetensors"
    file.write_bytes(pickle.dumps(Runs(mark), protocol))
    with pytest.raises(ValueError, match="load_published: parameters must be in a"):
        load_published(GPT(ModelConfig(vocab=VOCAB, d_model=D, n_layers=1)), file)
    assert not mark.exists()
    pickle.loads(file.read_bytes())
    assert mark.exists()


@pytest.mark.parametrize("bytes_", [b"", b"not a file of numbers", b"\xff" * 40, b"\x02" + b"\0" * 7 + b"{}"])
def test_what_is_no_table_gets_a_sentence(bytes_, tmp_path):
    file = tmp_path / "model.safetensors"
    file.write_bytes(bytes_)
    with pytest.raises(ValueError, match="load_published: "):
        load_published(GPT(ModelConfig(vocab=VOCAB, d_model=D, n_layers=1)), file)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"positions": "clock"}, "positions must be one of learned, rotary, none"),
        ({"norm": "batch"}, "norm must be one of"),
    ],
)
def test_a_config_that_cannot_be_built_says_so(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        ModelConfig(vocab=VOCAB, **change)


def test_a_text_that_is_too_long_is_refused_before_anything_is_remembered():
    model = GPT(ModelConfig(vocab=VOCAB, context=4, d_model=D, n_layers=1))
    cache = model.new_kv_cache()
    model(torch.zeros(1, 3, dtype=torch.long), cache)
    with pytest.raises(ValueError, match="got 5 tokens for context=4"):
        model(torch.zeros(1, 2, dtype=torch.long), cache)
    assert len(cache[0]) == 3


@pytest.mark.parametrize("n_layers", [1, 3])
def test_a_predictor_says_what_the_model_says_and_reads_only_what_is_new(n_layers):
    model = GPT(ModelConfig(vocab=VOCAB, d_model=D, n_layers=n_layers)).double()
    text = torch.randint(VOCAB, (2, 7))
    with torch.no_grad():
        said = model(text).log_softmax(-1)
    predictor = model.predictor()
    assert_close(predictor(text[:, :3]), said[:, 2], "float64")
    assert_close(predictor.after_each(text), said[:, 3:], "float64")
    predictor.crop(2)
    assert {layer.length for layer in predictor.kv_cache} == {2}
    assert_close(predictor(text[:, :5]), said[:, 4], "float64")
