"""The experiment on compute, data and size: its language, its models and its law (book: compute-data-size)."""

import math
import sys
from pathlib import Path

import numpy as np
import torch

from attnlib.data import endless
from attnlib.models.config import ModelConfig
from attnlib.models.costs import matrices, multiplications
from attnlib.models.gpt import GPT
from attnlib.testing import assert_close

sys.path.insert(0, str(Path(__file__).parent.parent / "experiments"))
import isoflop  # noqa: E402  # pyright: ignore[reportMissingImports]


def config(d: int) -> ModelConfig:
    return ModelConfig(
        isoflop.VOCAB,
        context=isoflop.N,
        d_model=d,
        n_heads=isoflop.heads(d),
        n_layers=isoflop.N_LAYERS,
        positions="rotary",
        layout="halves",
        norm="rms",
        bias=False,
        tied=False,
    )


def test_the_models_side_by_side_are_two_gpts_of_the_course() -> None:
    models = isoflop.begun((0, 1), 24, "cpu")
    tokens = torch.randint(isoflop.VOCAB, (2, 3, isoflop.N), generator=torch.Generator().manual_seed(0))
    got = isoflop.forward(models, tokens, isoflop.heads(24), isoflop.rotation(8, "cpu"))
    for k in range(2):
        gpt = GPT(config(24)).eval()
        mine = {name: value[k].detach() for name, value in models.items()}
        state = gpt.state_dict()
        filled = {name: torch.ones_like(value) for name, value in state.items() if "norm" in name}
        filled |= {"embed.weight": mine["embed"], "unembed.weight": mine["scores"].T}
        for layer in range(isoflop.N_LAYERS):
            at = f"blocks.{layer}."
            for name, W in zip("QKV", mine["qkv"][layer].chunk(3, -1), strict=True):
                filled[f"{at}attention.W_{name}.weight"] = W.T
            filled[f"{at}attention.W_O.weight"] = mine["out"][layer].T
            filled[f"{at}feed_forward.W_1.weight"] = mine["up"][layer].T
            filled[f"{at}feed_forward.W_2.weight"] = mine["down"][layer].T
        gpt.load_state_dict({**state, **filled})
        assert_close(got[k].view(3, isoflop.N, -1), gpt(tokens[k]), kind="float32")


def test_operations_are_those_that_the_book_counts() -> None:
    """Three times the multiply-adds forward, two operations each (eq-multiplications)."""
    for d in (8, 48, 192):
        assert isoflop.parameters(d) == sum(matrices(config(d)).values())
        assert isoflop.operations(d) * isoflop.N == 6 * multiplications(config(d), isoflop.N)


def test_the_language_is_the_same_in_torch() -> None:
    tokens = isoflop.texts(50, isoflop.generator(0, "cpu"), "cpu")
    follow = isoflop.followers(tokens).numpy()
    prefixes = np.full((50, isoflop.N + 1), endless.START)
    for t in range(isoflop.N):
        prefixes[:, t + 1] = endless.longer(prefixes[:, t], tokens.numpy()[:, t + 1])
    np.testing.assert_array_equal(follow, endless.followers(prefixes[:, :-1]))
    assert (follow == tokens.numpy()[:, 1:, None]).sum(-1).all()


def test_a_text_draws_the_four_as_often_as_they_are_likely() -> None:
    rng = np.random.default_rng(0)
    draws = rng.choice(4, size=(2000, 30), p=endless.P)
    tokens, prefixes = endless.text(draws)
    follow = endless.followers(prefixes[:, :-1])
    np.testing.assert_array_equal((follow == tokens[:, 1:, None]).argmax(-1), draws)
    assert (
        math.isclose(sum(endless.P), 1)
        and (np.sort(follow, -1)[..., 1:] > np.sort(follow, -1)[..., :-1]).all()
    )
    assert math.isclose(endless.ENTROPY, -sum(p * math.log(p) for p in endless.P))


def test_a_model_that_knows_the_language_has_no_excess(monkeypatch) -> None:
    monkeypatch.setattr(isoflop, "ASKED", 64)
    training = isoflop.Training(isoflop.Job("fit", 8, 2000, 1.0), [0], [1e-3], "cpu")

    def true_scores(model, tokens, h, turn):
        rows = torch.cat([tokens[0], tokens[0, :, :1]], dim=1)
        scores = torch.full((*rows[:, :-1].shape, isoflop.VOCAB), -30.0)
        scores.scatter_(
            -1, isoflop.followers(rows), torch.tensor(endless.P).log().expand(*rows[:, :-1].shape, 4)
        )
        return scores.view(1, -1, isoflop.VOCAB)

    monkeypatch.setattr(isoflop, "forward", true_scores)
    assert abs(training.excess(5)[0]) < 1e-6


def test_a_law_is_found_again() -> None:
    known = {"A": 40.0, "a": 0.45, "B": 30.0, "b": 0.35}
    points = [(N, D, 40 * N**-0.45 + 30 * D**-0.35) for N in (1e4, 1e5, 1e6) for D in (1e6, 1e7, 1e8)]
    found = isoflop.law(points)
    assert all(math.isclose(found[name], known[name], rel_tol=1e-4) for name in known), found


def test_repeated_rows_are_passes_over_one_sample() -> None:
    size = 16
    job = isoflop.Job("repeated", 8, size * isoflop.N * 3, 1.0, size * isoflop.N)
    training = isoflop.Training(job, [0, 1], [1e-3, 1e-3], "cpu")
    rows = training.repeated_rows(0, 0, 3 * size)
    passes = [sorted(map(tuple, part.tolist())) for part in rows.split(size)]
    assert passes[0] == passes[1] == passes[2]
    assert not torch.equal(rows[:size], rows[size : 2 * size])
    torch.testing.assert_close(torch.cat([training.repeated_rows(0, k, 8) for k in range(0, 48, 8)]), rows)
