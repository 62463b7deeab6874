"""The course's own model, and what it is compared with."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "experiments"))

from course_baselines import compressed, kneser_ney

from attnlib.data import stdlib
from attnlib.data.results import load_result
from attnlib.models.course import CONFIG, END, FOLDER, course_model, course_tokenizer
from attnlib.models.gpt import n_parameters


@pytest.mark.parametrize("order", [1, 2, 3])
def test_an_n_gram_model_shares_out_all_probability(order):
    rng = np.random.default_rng(0)
    train = rng.choice(5, size=400, p=[0.4, 0.3, 0.15, 0.1, 0.05])

    def bits(text):
        return len(text) * kneser_ney(train, np.array(text), range(1, order + 1), 5)[str(order)]

    for history in ([0, 1], [4, 4], [2, 0]):
        assert sum(2 ** (bits(history) - bits([*history, x])) for x in range(5)) == pytest.approx(1)


def test_an_n_gram_model_knows_what_it_has_counted():
    train = np.tile([0, 1, 2], 200)
    bits = kneser_ney(train, np.tile([0, 1, 2], 20), range(1, 3), 3)
    assert bits["1"] == pytest.approx(np.log2(3), abs=1e-3) and bits["2"] < 0.1


def test_a_compressor_gains_by_what_it_has_read():
    words = b"".join(bytes([i, 255 - i, i // 2]) for i in range(256))
    bits = compressed(words * 3, words)
    assert bits["lzma, after training's text"] < bits["lzma, alone"]


def test_the_stored_rivals_stand_in_their_order():
    stored = load_result("course_baselines")
    tokens = list(stored["n-grams of tokens"].values())
    assert tokens == sorted(tokens, reverse=True), "more context never hurts this smoothing here"


# ---- The model itself ----------------------------------------------------------------------------------------------


def held_out_sample(every: int) -> torch.Tensor:
    """Some rows of the held-out text, over all of it."""
    by = course_tokenizer()
    end = by.encode(END)
    tokens = [number for _, text in stdlib.texts("held out") for number in end + by.encode_ordinary(text)]
    rows = [tokens[i : i + 257] for i in range(0, len(tokens) - 257, 256)]
    return torch.tensor(rows[::every])


def test_it_is_as_small_as_its_card_says():
    assert n_parameters(CONFIG) == 3_749_376 <= 4_500_000
    assert (FOLDER / "model.safetensors").stat().st_size <= 10_000_000
    assert f"{n_parameters(CONFIG):,}" in (FOLDER / "MODEL_CARD.md").read_text()


def test_its_tokens_are_those_that_its_table_has():
    assert len(course_tokenizer()) == CONFIG.vocab
    assert course_tokenizer().encode(END) == [CONFIG.vocab - 1]


def test_it_is_loaded_whole_and_tied():
    model = course_model()
    assert model.unembed.weight is model.embed.weight and model.embed.weight.dtype == torch.float32
    assert all(torch.equal(p, p.bfloat16().float()) for p in model.parameters()), "stored in bfloat16"


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the held-out text is that of CPython 3.11")
def test_the_stored_parameters_reach_the_stored_loss_and_beat_every_rival():
    stored, rivals = load_result("course_model"), load_result("course_baselines")
    rows = held_out_sample(every=16)
    with torch.no_grad():
        Z = course_model()(rows[:, :-1]).flatten(0, 1)
    nats = torch.nn.functional.cross_entropy(Z, rows[:, 1:].flatten()).item()
    counts = stored["counts"]["held out"]
    bits = nats / math.log(2) * counts["tokens"] / counts["bytes"]
    assert bits == pytest.approx(stored["held_out_bits_per_byte"], abs=0.1), "a sixteenth of the text"
    best = min(
        *rivals["n-grams of tokens"].values(),
        *rivals["n-grams of bytes"].values(),
        *rivals["compressors"].values(),
    )
    assert stored["held_out_bits_per_byte"] < best


def test_its_curve_falls_from_log_v_and_its_training_fits_in_150_minutes():
    stored = load_result("course_model")
    curve = [one["bits_per_byte"] for one in stored["curve"]]
    a_byte = stored["counts"]["held out"]["tokens"] / stored["counts"]["held out"]["bytes"]
    assert curve[0] == pytest.approx(math.log2(CONFIG.vocab) * a_byte, abs=0.05)
    assert curve[-1] < curve[len(curve) // 2] < curve[0]
    assert stored["provenance"]["seconds"] <= 150 * 60
