"""The layers that are timed are the layers that are counted (book: what-it-costs)."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from test_results import script
from torch.utils.flop_counter import FlopCounterMode

from attnlib.data.results import load_result, save_result
from attnlib.reference.attention import AttentionParameters
from attnlib.reference.layers import self_attention
from attnlib.testing import assert_close

costs = script("layer_costs")
N, D = 7, 5
COUNTED = {  # multiply-adds as in the book
    "projections": 4 * N * D**2,
    "mixing": 2 * N**2 * D,
    "attention": 4 * N * D**2 + 2 * N**2 * D,
    "rnn": 2 * N * D**2,
    "lstm": 8 * N * D**2,
    "convolution": 3 * N * D**2,
}
SPARED = {"rnn": D**2, "lstm": 4 * D**2}  # going back: nobody asks for the gradient of the first state


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", COUNTED)
def test_a_timed_layer_does_the_work_that_the_book_counts(name: str):
    layer = costs.layers(D)[name].to("meta")
    X = torch.empty(1, N, D, device="meta", requires_grad=True)
    with FlopCounterMode(display=False) as counter:
        Y = layer(X)
    assert counter.get_total_flops() == 2 * COUNTED[name] and Y.shape == X.shape
    with FlopCounterMode(display=False) as counter:
        Y.backward(torch.empty_like(Y))
    assert counter.get_total_flops() == 4 * COUNTED[name] - 2 * SPARED.get(name, 0)


def test_the_timed_attention_is_the_reference_layer():
    layer = costs.layers(D)["attention"].double()
    X = torch.randn(N, D, dtype=torch.float64)
    W_Q, W_K, W_V, W_O = (linear.weight.detach().numpy().T for linear in layer.maps)
    O, _ = self_attention(X.numpy(), AttentionParameters(W_Q, W_K, W_V))
    assert_close(layer(X).detach().numpy(), O @ W_O, "float64")


def test_the_layer_costs_experiment_measures_what_its_file_holds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, threads: None, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(costs, "LENGTHS", (2, 3))
    monkeypatch.setattr(costs, "ROUNDS", 1)
    monkeypatch.setattr(costs, "WIDTH", 4)
    monkeypatch.setattr(
        costs, "save_result", lambda *data, **told: save_result(*data, folder=tmp_path, **told)
    )
    costs.main()
    small = load_result("layer-costs", tmp_path)
    assert json.loads(capsys.readouterr().out) == small
    stored = load_result("layer-costs")
    assert stored.keys() == small.keys() and stored["seconds"].keys() == small["seconds"].keys()
    for result in (small, stored):
        for layers in result["seconds"].values():
            assert layers.keys() == COUNTED.keys()
            for kinds in layers.values():
                times = np.array([kinds["forward"], kinds["both"]])
                assert times.shape == (2, len(result["n"]), result["rounds"]) and (times > 0).all()
