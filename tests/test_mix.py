"""Trainings that run together are those that run alone, many processes lose no trial, and the tasks are right."""

import math
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from attnlib.data.results import budgets, load_result, measured
from attnlib.models import costs
from attnlib.models.gpt import GPT

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "experiments"))
sys.path.insert(0, str(ROOT / "tools"))
import _many  # noqa: E402
import mix  # noqa: E402
from _runner import SEEDS, Experiment  # noqa: E402
from _together import CLIP, Together, schedule  # noqa: E402
from fair import choices  # noqa: E402

# --- together -------------------------------------------------------------------------------------------------------


def a_model(arm="delta and full"):
    return mix.Answers(mix.config_of(11, 24, 16, 3, mix.ARMS[arm]["mixer"]), True).double()


def by_pytorch(seed, rate, tokens, steps):
    """One model, trained by PyTorch's own AdamW and clipping."""
    torch.manual_seed(seed)
    model = a_model()
    model.answers = 5
    wide = [W for W in model.parameters() if W.ndim > 1]
    thin = [W for W in model.parameters() if W.ndim == 1]
    adam = torch.optim.AdamW(
        [{"params": wide, "weight_decay": 0.1}, {"params": thin, "weight_decay": 0.0}], betas=(0.9, 0.95)
    )
    for step in range(steps):
        for group in adam.param_groups:
            group["lr"] = rate * schedule(step / steps)
        adam.zero_grad()
        mix.loss(model(tokens[..., :-1]), tokens[..., -5:]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        adam.step()
    return model


def test_models_that_are_trained_together_are_those_that_are_trained_alone():
    torch.manual_seed(9)
    tokens = torch.randint(11, (2, 3, 20))
    seeds, rates, steps = [0, 1, 0], [1e-2, 1e-2, 3e-2], 6
    rows = tokens[[0, 1, 0]]
    models = Together(a_model, seeds, rates, decay=0.1)
    models.model.answers = 5
    for step in range(steps):
        models.train(rows[..., :-1], rows[..., -5:], mix.loss, step / steps)
    found = models.parameters()
    for i, (seed, rate) in enumerate(zip(seeds, rates, strict=True)):
        alone = by_pytorch(seed, rate, tokens[seed], steps)
        for name, W in alone.named_parameters():
            torch.testing.assert_close(found[name][i], W, rtol=1e-6, atol=1e-8)
    alone = by_pytorch(1, 1e-2, tokens[1], steps)
    with torch.no_grad():
        assert torch.allclose(models.scores(rows[..., :-1])[1], alone(rows[1, :, :-1]))


def test_a_model_that_breaks_leaves_the_others_as_they_were():
    tokens = torch.randint(11, (3, 20), generator=torch.Generator().manual_seed(0)).expand(2, -1, -1)
    both = []
    for rates in ([1e-2, 1e-2], [1e-2, math.nan]):
        models = Together(lambda: a_model("full"), [0, 1], rates)
        models.model.answers = 5
        for step in range(1, 4):
            models.train(tokens[..., :-1], tokens[..., -5:], mix.loss, step / 4)
        both.append(models.numbers)
    assert torch.equal(both[0][0], both[1][0]) and both[1][1].isnan().any()


# --- many -----------------------------------------------------------------------------------------------------------

AFTER = {"slow": {1: 0.5, 4: 0.8, 16: 0.9}, "quick": {1: 0.9, 4: 1.0}, "far": {1: 0.1, 4: 0.1, 16: 0.1}}
LAST = {"last": {1: 0.2, 4: 0.3, 16: 0.4}}
BEST = {"slow": 0.8, "quick": 0.1, "far": 0.1, "last": 0.4}


def one(seed: int, steps: int, lr: float, *, kind: str) -> dict[str, Any]:
    """A training that can be foretold, with another best rate for each arm."""
    figure = (
        {**AFTER, **LAST}[kind][steps // 10]
        - 0.1 * abs(math.log2(lr / BEST[kind]))
        - 0.001 * (seed % 10) ** 2
    )
    return {"accuracy": 1.0 if kind == "quick" and steps > 10 else figure, "choice": figure}


def several(seeds, rates, steps, *, kind: str, device: str, ended=None) -> list[dict[str, Any]]:
    assert device == "cpu"
    return [one(seed, steps, lr, kind=kind) for seed, lr in zip(seeds, rates, strict=True)]


TOY = Experiment(
    name="toy", question="which is best?", trial=one, together=several, steps=10, settings={"batch": 8},
    rates=(0.05, 0.1, 0.2, 0.4, 0.8, 1.6), at_each=True, chosen_by="choice", always=(*AFTER, *LAST),
    arms={"all": {kind: {"kind": kind} for kind in AFTER}, "again": {"last": {"kind": "last"}}},
)  # fmt: skip


@pytest.mark.parametrize("workers", [0, 2])
def test_every_arm_gets_its_best_rate_at_each_budget_off_the_edge_of_what_was_tried(tmp_path, workers):
    trials = _many.run_many([TOY], workers=workers, folder=tmp_path)["toy"]
    result = load_result("toy", tmp_path)
    assert result["trials"] == trials and not _many.ready(TOY, trials)
    assert [budgets(result, "all", arm) for arm in AFTER] == [[1, 4, 16], [1, 4], [1, 4, 16]]
    assert {(found.arm, found.used) for found in choices("toy", result)} == set(BEST.items())
    assert not any(found.end for found in choices("toy", result) if found.times == 1)
    expected = [0.9 - 0.001 * seed**2 for seed in SEEDS]
    np.testing.assert_allclose(measured(result, "all", "slow", 16), expected, atol=1e-4)
    told = result["chosen"]["all"]["slow"]["16"]
    assert told["rate"] == 0.8 and set(told["tried"]) == {"0.4", "0.8", "1.6"} and len(told["figures"]) == 5
    assert result["provenance"]["device"].startswith("cpu, ") and result["provenance"]["seeds"] == list(SEEDS)


def test_a_run_that_was_stopped_goes_on_with_what_is_missing(tmp_path):
    calls = []

    def stopped(seeds, rates, steps, *, kind, device):
        if len(calls) == 5:
            calls.append("stopped")
            raise KeyboardInterrupt
        calls.append((kind, steps, tuple(seeds), tuple(rates)))
        return several(seeds, rates, steps, kind=kind, device=device)

    toy = replace(TOY, together=stopped)
    with pytest.raises(KeyboardInterrupt):
        _many.run_many([toy], workers=0, folder=tmp_path)
    before = load_result("toy", tmp_path)["trials"]
    _many.run_many([toy], workers=0, folder=tmp_path, only="all")
    assert load_result("toy", tmp_path)["trials"][: len(before)] == before
    assert "again" not in {trial["group"] for trial in load_result("toy", tmp_path)["trials"][len(before) :]}
    _many.run_many([toy], workers=0, folder=tmp_path)
    assert len(set(calls)) == len(calls), "no ensemble is run twice"
    _many.run_many([TOY], workers=0, folder=tmp_path / "whole")
    key = lambda trial: str({name: value for name, value in trial.items() if name != "seconds"})  # noqa: E731
    whole, again = (
        sorted(map(key, load_result("toy", at)["trials"])) for at in (tmp_path / "whole", tmp_path)
    )
    assert whole == again


def test_an_arm_that_fails_is_named_and_the_others_go_on(tmp_path, capsys):
    def fails(seeds, rates, steps, *, kind, device):
        if kind == "far":
            raise RuntimeError("out of memory")
        return several(seeds, rates, steps, kind=kind, device=device)

    trials = _many.run_many([replace(TOY, together=fails)], workers=0, folder=tmp_path)["toy"]
    assert "toy, all, far: RuntimeError: out of memory" in capsys.readouterr().out
    assert {trial["arm"] for trial in trials if trial["times"] == 4} == {"slow", "quick", "last"}


@pytest.mark.parametrize("experiment", [mix.MIX, mix.TEXT], ids=lambda one: one.name)
def test_what_another_process_is_given_can_be_sent_to_it(experiment):
    for arms in experiment.arms.values():
        for options in arms.values():
            work, given = pickle.loads(pickle.dumps((experiment.together, options)))
            assert work is experiment.together and given == options


def test_when_the_time_is_up_nothing_begins(tmp_path):
    assert _many.run_many([TOY], workers=0, folder=tmp_path, minutes=0) == {"toy": []}
    assert not list(tmp_path.iterdir())


def test_the_command_line_knows_a_longest_budget_and_measures_speeds(tmp_path, capsys, monkeypatch):
    _many.main([TOY], ["--folder", str(tmp_path), "--longest", "4"])
    assert "toy: " in capsys.readouterr().out
    assert {trial["times"] for trial in load_result("toy", tmp_path)["trials"]} == {1, 4}

    def slow(seeds, rates, steps, *, kind, device, ended):
        next(step for step in range(steps) if ended(step))
        return []

    monkeypatch.setattr(_many, "CHECKED", (1, 2))
    _many.budget_check([replace(TOY, together=slow)], workers=0, device="cpu", seconds=0.0)
    shown = capsys.readouterr().out
    assert shown.count("toy, ") == 4 and "minutes of one process" in shown
    assert _many.planned(TOY) == 2 * 10 * 21


# --- the tasks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("task", mix.TASKS)
def test_a_size_has_the_tokens_that_are_counted_and_draws_are_repeated(task):
    one = mix.TASKS[task]
    for size in (*one.sizes, *one.tests):
        tokens, targets = one.example([3, 1], 5, size)
        assert tokens.shape == (5, one.tokens(size)) and targets.shape == (5, size)
        assert tokens.max() < one.vocab and tokens.shape[1] <= one.context
        again, _ = one.example([3, 1], 5, size)
        other, _ = one.example([3, 2], 5, size)
        assert np.array_equal(tokens, again) and not np.array_equal(tokens, other)


def test_every_key_of_a_recall_is_asked_for_once_and_has_one_value():
    tokens, targets = mix.recall([0], 20, 32)
    for row, answers in zip(tokens, targets, strict=True):
        held = dict(zip(row[:64:2].tolist(), row[1:64:2].tolist(), strict=True))
        assert len(held) == 32 and sorted(row[64:].tolist()) == sorted(held)
        assert [held[key] for key in row[64:].tolist()] == answers.tolist()
        assert min(held.values()) >= mix.KEYS > max(held)


def test_a_copy_predicts_the_string_from_its_mark_on():
    tokens, targets = mix.copying([0], 4, 8)
    assert (tokens[:, 8] == mix.SYMBOLS).all() and np.array_equal(tokens[:, 9:], targets[:, :-1])
    assert np.array_equal(tokens[:, :8], targets)


@pytest.mark.parametrize(
    ("experiment", "group"), [(mix.MIX, "recall"), (mix.MIX, "copy"), (mix.TEXT, "text")]
)
def test_the_stacks_of_a_comparison_have_equally_many_parameters(experiment, group):
    found = {}
    for arm, options in experiment.arms[group].items():
        config = mix.text_config(**options) if group == "text" else mix.config_of_task(**options)
        told = mix.costs_of(config, group != "text")
        with torch.device("meta"):
            model = mix.Answers(config, group != "text")
        assert told["parameters"] == sum(W.numel() for W in model.parameters())
        assert (
            told["bytes a token"]
            == costs.bytes_a_token(config)
            == 1024 * (config.d_model // 64) // 4 * sum(word == "full" for word in config.mixers)
        )
        found[arm] = told["parameters"]
    assert max(found.values()) < 1.02 * min(found.values()) and len(found) >= 4


def test_stacks_with_windows_see_no_further_than_their_windows():
    config = mix.config_of_task("recall", mixer="window")
    assert config.window == 15 and config.n_layers * config.window < 2 * mix.PAIRS[-1]


@pytest.mark.parametrize("arm", mix.MIX.arms["copy"])
def test_every_arm_trains_and_is_measured(arm):
    """A few steps on a few tokens; that the training learns is left to the experiment."""
    tokens, judged = mix.TOKENS, mix.JUDGED
    mix.TOKENS, mix.JUDGED = 128, 256
    try:
        found = mix.of_a_task([0, 1], [1e-3, 3e-3], 2, **mix.MIX.arms["copy"][arm])
    finally:
        mix.TOKENS, mix.JUDGED = tokens, judged
    assert len(found) == 2 and all(0 <= one["accuracy"] <= 1 for one in found)
    assert set(found[0]["by size"]) == {"64", "128"} and found[0]["by size"]["64"] == found[0]["accuracy"]


def test_bits_a_byte_of_an_untrained_model_are_those_of_equally_likely_tokens(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "train.npy", rng.integers(mix.VOCAB, size=2000).astype(np.uint16))
    np.save(tmp_path / "held.npy", rng.integers(mix.VOCAB, size=700).astype(np.uint16))
    (tmp_path / "about.json").write_text('{"a_byte": 0.25, "digest": "none"}')
    found = mix.text(tmp_path)
    monkeypatch.setattr(mix, "text", lambda: found)
    (one,) = mix.of_text([0], [1e-3], 1, mixer=("delta", "full"))
    assert one["bits a byte"] == pytest.approx(0.25 * math.log2(mix.VOCAB), rel=0.02)
    assert one["score"] == -one["bits a byte"] and one["choice"] != one["score"]
    assert mix.costs_of_text()["text"] == {"digest": "none", "tokens": [2000, 700], "a byte": 0.25}


def test_before_the_tokens_of_a_task_stand_no_positions_but_the_token_before():
    model = mix.Answers(mix.config_of(11, 24, 16, 3, "full"), True)
    assert isinstance(model.model, GPT) and model.model.places.before.shape == (16,)
    X = torch.randn(2, 5, 16)
    shifted = F.pad(X, (0, 0, 1, 0))[:, :-1]
    assert torch.allclose(model.model.places(X), X + model.model.places.before * shifted)


def test_the_result_has_all_that_a_page_asks_for(tmp_path, monkeypatch):
    """Two arms at one step: rates, their scores, figures, bytes, parameters and seconds of each arm and budget."""
    monkeypatch.setattr(mix, "TOKENS", 128)
    monkeypatch.setattr(mix, "JUDGED", 128)
    arms = {"copy": {arm: mix.MIX.arms["copy"][arm] for arm in ("window", "full")}}
    small = replace(mix.MIX, steps=1, arms=arms, longest=4, rates=mix.MIX.rates[:3])
    _many.run_many([small], workers=0, folder=tmp_path)
    result = load_result("mix", tmp_path)
    assert set(result["costs"]["copy"]) == set(mix.MIX.arms["copy"])
    assert result["costs"]["copy"]["full"]["bytes a token"] == 1024
    for arm in arms["copy"]:
        for times in (1, 4):
            told = result["chosen"]["copy"][arm][str(times)]
            assert (
                str(f"{told['rate']:g}") in told["tried"]
                and len(told["figures"]) == 5
                and told["seconds"] > 0
            )
            assert list(measured(result, "copy", arm, times)) == told["figures"]
    assert {"by size", "choice", "accuracy", "lr", "seed", "times", "seconds"} <= set(result["trials"][0])
