"""Stored experiments carry their provenance and load (book: the-bottleneck and every page that quotes a long run)."""

import importlib.util
import json
import platform
import re
import sys
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from attnlib.data.bilingual import economic_area
from attnlib.data.results import FOLDER, LARGEST, load_result, save_result
from attnlib.train.toy import answer_accuracy, examples

EXPERIMENTS = Path(__file__).parent.parent / "experiments"
sys.path.insert(0, str(EXPERIMENTS))  # where a script that is run finds what it shares with others
STORED = sorted(file.stem for file in FOLDER.glob("*.json"))


def store(folder: Path, name: str = "trial", **data: object) -> Path:
    return save_result(
        name, data, seeds=(0, 1), command="python experiments/trial.py", seconds=1.26, folder=folder
    )


def test_a_result_comes_back_with_its_provenance(tmp_path: Path):
    store(tmp_path, accuracy=[0.5, 1.0], word="été")
    result = load_result("trial", tmp_path)
    assert result["accuracy"] == [0.5, 1.0] and result["word"] == "été"
    told = result["provenance"]
    assert told["seeds"] == [0, 1] and told["command"] == "python experiments/trial.py"
    assert told["versions"]["python"] == platform.python_version()
    assert told["versions"]["numpy"] == np.__version__
    assert told["device"] == "cpu" and told["seconds"] == 1.3
    assert date.fromisoformat(told["date"])


def test_an_unknown_name_lists_what_exists(tmp_path: Path):
    with pytest.raises(ValueError, match=r"no result is called 'lost'; there are: none\."):
        load_result("lost", tmp_path)
    store(tmp_path, "b")
    store(tmp_path, "a")
    with pytest.raises(ValueError, match=r"there are: a, b\."):
        load_result("lost", tmp_path)


def test_a_result_must_be_small_and_may_not_fake_its_provenance(tmp_path: Path):
    with pytest.raises(ValueError, match=f"at most {LARGEST} bytes"):
        store(tmp_path, numbers=[0.123] * LARGEST)
    with pytest.raises(ValueError, match='must not have an entry "provenance"'):
        store(tmp_path, provenance="trust me")
    assert not list(tmp_path.iterdir())


def draws(command: str) -> bool:
    """Whether the script of a command has anything to do with chance; what only counts has no seed."""
    named = command.split()[-1]
    file = EXPERIMENTS.parent / (named if named.endswith(".py") else f"{named.replace('.', '/')}.py")
    return (
        re.search(r"random|manual_seed|default_rng|shuffle|torch\.rand", file.read_text(encoding="utf-8"))
        is not None
    )


@pytest.mark.parametrize("name", STORED)
def test_every_stored_result_says_where_it_comes_from(name: str):
    told = load_result(name)["provenance"]
    assert told["command"].startswith("python ")
    assert told["seeds"] or not draws(told["command"])
    assert {"python", "numpy", "attnlib"} <= told["versions"].keys()
    assert told["seconds"] > 0 and date.fromisoformat(told["date"])
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert len(text.encode()) <= LARGEST
    json.loads(text, parse_constant=lambda constant: pytest.fail(f"{name}.json holds {constant}"))


def script(name: str) -> ModuleType:
    """A script of `experiments/` as a module."""
    spec = importlib.util.spec_from_file_location(name, EXPERIMENTS / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_bottleneck_experiment_measures_what_its_file_holds(monkeypatch: pytest.MonkeyPatch):
    bottleneck = script("bottleneck")
    monkeypatch.setattr(bottleneck, "LENGTHS", (4, 6))
    monkeypatch.setattr(bottleneck, "LOOKS", 1)
    stored = load_result("bottleneck")
    for arm, options in bottleneck.EXPERIMENT.arms["translation"].items():
        one = bottleneck.trial(0, 2, 1e-2, **options, train_size=100, test_size=5)
        assert len(one["token"]) == len(one["exact"]) == 2 and one["curve"]["step"] == [2]
        if arm != "one vector":
            assert 0 < one["error_rate"] < 1 and np.shape(one["map"]) == (14, 13)
        kept = [trial for trial in stored["trials"] if trial["arm"] == arm]
        assert kept and all(one.keys() <= trial.keys() for trial in kept)
        assert all(trial["curve"]["right"][-1] == trial["right"] for trial in kept)


def test_the_wave_experiment_measures_what_its_file_holds():
    wave, stored = script("wave"), load_result("wave")
    assert stored["zero"] == pytest.approx(wave.zero(), abs=1e-4)
    for kind in ("stays", "falls", "rises and falls"):
        kept = {
            (one["arm"], one["seed"]): one
            for one in stored["trials"]
            if one["group"] == kind and one["times"] == 1
        }
        one = wave.trial(3, stored["settings"]["steps"], kind=kind, peak=0.05)
        assert one["error"] == pytest.approx(kept["0.05", 3]["error"], abs=0.02)


def test_the_baselines_of_the_stored_alignment_are_measured_on_the_same_sentences():
    assert script("bottleneck").baselines() == load_result("bottleneck")["baselines"]


def test_stored_maps_are_weights_over_the_documents_sentence():
    stored = load_result("bottleneck")
    source, target = stored["sentence"]["source"], stored["sentence"]["target"]
    assert (tuple(source), tuple(target)) == economic_area()[:2]
    maps = [np.array(trial["map"]) for trial in stored["trials"] if "map" in trial]
    assert len(maps) >= 20
    for P in maps:
        assert P.shape == (len(target) + 1, len(source) + 1)
        np.testing.assert_allclose(P.sum(1), 1, atol=1e-3)  # stored with 4 decimals


def test_who_is_told_no_positions_moves_its_scores_with_the_set():
    """Before training, and in every stored model."""
    sets, stored = script("set_anomaly"), load_result("set_anomaly")
    arms = sets.EXPERIMENT.arms["endless"]
    moved = {name: sets.trial(seed=0, steps=2, lr=1e-2, **arm)["moved"] for name, arm in arms.items()}
    assert moved["none"] < 1e-5 < 1e-2 < min(moved["sinusoid"], moved["learned"])
    assert all((one["moved"] < 1e-3) == (one["arm"] == "none") for one in stored["trials"])


def test_the_inputs_before_training_are_those_of_the_stored_file():
    positions, stored = script("positions"), load_result("positions")
    scale = positions.first_input("index", 0)["scale"]
    np.testing.assert_allclose(stored["first_input"]["index"]["scale"]["trials"][0], scale, rtol=1e-3)


def test_a_batch_of_many_lengths_has_all_lengths_between_the_two_that_are_named():
    positions = script("positions")
    lengths = {positions.batch(seed, many=True).source.shape[1] for seed in range(200)}
    assert lengths == set(range(positions.MANY[0], positions.MANY[1] + 1))
    assert positions.batch(0, many=False).source.shape[1] == positions.LENGTH


def test_the_experiment_inside_heads_measures_what_its_file_holds():
    inside = script("inside_heads")
    model = inside.trained(1, 0, 2)
    assert inside.right_answers(model) == pytest.approx(
        answer_accuracy(model, examples(inside.unseen())), abs=1e-6
    )
    stored = load_result("inside-heads")
    for entry in stored["patient_head"].values():
        assert_spread_is_that_of_the_trials(entry, len(inside.SEEDS))
    assert stored["eight_heads"].keys() == inside.eight_heads(0, steps=2).keys()
    for entry in stored["eight_heads"].values():
        assert_spread_is_that_of_the_trials(entry, len(inside.SEEDS), 8)


def test_heads_look_everywhere_before_training_and_a_stored_model_is_one_to_look_at():
    heads, stored = script("trained_heads"), load_result("trained_heads")
    for task, before in stored["evenness_untrained"].items():
        np.testing.assert_allclose(before[0], heads.untrained(task, 0), atol=1e-3)
        assert np.min(before) > 0.9
    for shown in stored["shown"]:
        P = np.array(shown["hundredths"])
        assert P.shape == (heads.LAYERS, heads.HEADS, heads.LENGTH, heads.LENGTH)
        assert abs(P.sum(-1) - 100).max() <= heads.LENGTH / 2  # rounded to hundredths
        assert (np.triu(P, 1) == 0).all()


def test_how_many_heads_can_go_is_counted_to_the_first_fall():
    heads = script("trained_heads")
    assert heads.can_go([1.0, 0.99, 0.96, 0.94, 1.0]) == 2
    assert heads.can_go([0.5, 0.48, 0.47]) == 1
    for one in load_result("trained_heads")["trials"]:
        curves = {name: curve for name, curve in one["left"].items() if name != "at random"}
        assert all(one["gone"][name] == heads.can_go(curve) for name, curve in curves.items())
        assert all(len(curve) == heads.LAYERS * heads.HEADS + 1 for curve in one["left"].values())


def test_the_block_experiment_knows_who_knows_everything_and_who_knows_frequencies_alone():
    """Who says the true probabilities pays nothing above the least; 8,000 letters, so frequencies are near zero."""
    block = script("block")
    true = torch.from_numpy(block.LANGUAGE.next)
    often = torch.from_numpy(block.LANGUAGE.pairs.sum(axis=0))

    class Says(torch.nn.Module):
        def __init__(self, everything: bool):
            super().__init__()
            self.everything = everything

        def forward(self, symbols: torch.Tensor) -> torch.Tensor:
            if not self.everything:
                return often.log().expand(*symbols.shape, -1)
            before = symbols.roll(1, dims=1)  # the first has none, and is not asked
            return true[before, symbols].log()

    assert abs(block.gap(Says(True))) < 1e-9
    assert abs(block.share(block.gap(Says(False)))) < 0.02


class LooksBack(torch.nn.Module):
    """Says the symbol three places back, but only at the first `places`; then always the first symbol."""

    def __init__(self, places: int) -> None:
        super().__init__()
        self.places = places

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        back = tokens.roll(3, dims=1)
        back[:, self.places :] = 0
        return torch.nn.functional.one_hot(back, 9)[..., :8].float()


def test_the_experiment_on_places_sees_up_to_which_place_a_model_is_right():
    where = script("where_am_i")
    share = where.right_by_place(LooksBack(where.TRAINED))
    assert np.isnan(share[:4]).all() and (share[4:32] == 1).all()
    assert abs(share[32:].mean() - 1 / 8) < 4 * (7 / 64 / where.SIZE / 96) ** 0.5


def test_texts_that_begin_anywhere_are_told_the_places_where_they_stand():
    where = script("where_am_i")
    torch.manual_seed(0)
    model, loss = where.model_of("learned"), where.loss_of(anywhere=True)
    texts = where.texts(2, where.TRAINED, seed=0)
    firsts = set()
    for _ in range(40):
        model.places.weight.grad = None
        loss(model.train(), texts).backward()
        reached = model.places.weight.grad.abs().sum(dim=1).nonzero().flatten()
        assert len(reached) == where.TRAINED and reached[-1] - reached[0] == where.TRAINED - 1
        firsts.add(int(reached[0]))
    assert len(firsts) > 20 and max(firsts) <= where.LONGEST - where.TRAINED
    assert torch.equal(where.answers(model.eval(), texts[0]), model(texts[0], 0)[:, 4:]), (
        "tested from place 0"
    )


def test_rivals_of_the_block_have_as_many_parameters():
    block = script("block")

    def count(**parts: Any) -> int:
        return sum(p.numel() for p in block.model_of(**parts).parameters())

    whole, arms = count(), block.EXPERIMENT.arms
    rivals = ("no feed-forward, 12 layers", "no feed-forward, 56 wide", "no bend")
    assert all(abs(count(**arms["four layers"][arm]) / whole - 1) < 0.04 for arm in rivals)
    assert count(feed_forward="none") < 0.4 * whole


def test_counts_of_a_long_text_come_to_what_they_can_know(monkeypatch):
    """128,000 symbols tell all about the last one and about the two places, and too little about four in a row."""
    floor = script("entropy_floor")
    monkeypatch.setattr(floor, "ORDERS", (1, 2))
    read = floor.text(floor.LANGUAGE, 4000, 33, seed=1)
    found = floor.n_grams(read, floor.text(floor.LANGUAGE, 200, 32, seed=2))
    for order in (1, 2):
        least = floor.floor(floor.LANGUAGE, order - 1) - floor.RATE
        assert found[f"order {order}"] == pytest.approx(least, abs=0.03)
    assert 0 < found["two places"] < 0.01


SMALL = {  # an arm of each experiment on the shared runner, and what makes its trial quick
    "neighbours": ("two", "2", {"size": 20}),
    "positions": ("two layers", "normalised, many lengths", {}),
    "set_anomaly": ("endless", "learned", {}),
    "places": ("one layer", "causal, start token", {"size": 20}),
    "one_head": ("induction", "1 head", {"size": 20}),
    "trained_heads": ("recall", "three layers", {"size": 5, "orders": 2}),
    "agreement": ("next word", "three layers", {"train_size": 100, "test_size": 100}),
    "block": ("four layers", "no norm", {}),
    "circuit": ("a piece returns", "two layers of 2 heads", {"size": 20}),
    "where_am_i": ("positions", "rotary", {}),
    "entropy_floor": ("a known language", "GPT", {}),
    "scaling_curve": ("widths", "16", {"most": 5000}),
    "overfit": ("points", "weights", {}),
    "warmup": ("post-norm", "0.03, clipped", {}),
    "schedules": ("the end", "stays, then falls", {"sentences": 200}),
    "widths": ("by width", "128, 0.01", {}),
    "small_numbers": ("whole steps", "bfloat16 alone", {}),
    "gone_wrong": ("faults", "mean over padding", {}),
    "batch_size": ("rows", "2", {}),
    "activations": ("networks", "neighbours, no attention", {}),
    "positions_compared": ("longer", "divided places", {}),
}


@pytest.mark.parametrize("name", SMALL)
def test_an_experiment_on_the_runner_measures_what_its_file_holds(name: str):
    experiment = script(name).EXPERIMENT
    group, arm, quick = SMALL[name]
    rate = {"lr": 1e-2} if experiment.rates else {}
    one = experiment.trial(seed=0, steps=2, **rate, **experiment.arms[group][arm], **quick)
    least = 0 if experiment.figure == "accuracy" else -np.inf
    assert least <= one[experiment.figure] <= experiment.best
    if experiment.name not in STORED:
        return
    from _runner import Job, stored_trials

    for trial in stored_trials(experiment, FOLDER):  # refuses other settings
        assert trial.keys() == {*Job._fields, *one, "seconds"}
        assert trial["lr"] in experiment.rates_to_try and trial["times"] in (1, 4, 16)


def assert_spread_is_that_of_the_trials(entry: dict, *shape: int):
    trials = np.array(entry["trials"])
    assert trials.shape == shape
    np.testing.assert_allclose(entry["mean"], trials.mean(0), atol=1e-4)
    np.testing.assert_allclose(entry["sd"], trials.std(0, ddof=1), atol=2e-4)


def test_the_calibration_experiment_trains_side_by_side_what_would_be_trained_alone(
    monkeypatch: pytest.MonkeyPatch,
):
    """Two seeds at once take the steps of each alone; an arm measures what the file holds, and its rate is the best."""
    calibration = script("calibration")
    for name, value in {"STEPS": 25, "TESTED": 50, "COUNTED": 20}.items():
        monkeypatch.setattr(calibration, name, value)
    kind = calibration.Kind()
    start = calibration.Networks([3, 4])
    torch.manual_seed(4)
    layers = [torch.nn.Linear(*size) for size in ((2, 32), (32, 32), (32, 4))]
    alone = torch.nn.Sequential(layers[0], torch.nn.ReLU(), layers[1], torch.nn.ReLU(), layers[2])
    X = torch.randn(5, 2)
    torch.testing.assert_close(start(X)[1], alone(X))
    found = calibration.trained("few points", [kind], (3, 4), 1e-2, (1, 2))
    assert {(seed, times) for _, seed, times in found} == {(3, 1), (3, 2), (4, 1), (4, 2)}
    stored = load_result("calibration")
    for use in ("nothing", "mix", "temperature", "stop"):
        one = calibration.measure("few points", 3, use, found[kind, 3, 2])
        kept = next(row for row in stored["trials"] if stored["arms"]["few points"][row["arm"]]["use"] == use)
        assert one.keys() == kept.keys() - {"group", "arm", "seed", "times", "lr"}
    for group, arms in stored["arms"].items():
        for arm in arms:
            rows = [row for row in stored["trials"] if (row["group"], row["arm"]) == (group, arm)]
            by_rate = {
                lr: sum(row["excess"] for row in rows if row["seed"] > 9 and row["lr"] == lr)
                for lr in calibration.RATES
            }
            assert {row["lr"] for row in rows if row["seed"] < 9} == {
                min(by_rate, key=lambda lr: by_rate[lr])
            }
            assert sorted((row["times"], row["seed"]) for row in rows if row["seed"] < 9) == [
                (times, seed) for times in (1, 4, 16) for seed in range(5)
            ]
