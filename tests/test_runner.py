"""The runner of the experiments: what it runs, that it goes on where it was stopped, and that it mixes no settings."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attnlib.data.results import budgets, load_result, measured

sys.path.insert(0, str(Path(__file__).parent.parent / "experiments"))
import _runner  # noqa: E402
from _runner import RATE_SEEDS, SEEDS, Experiment, Job, chosen_rate, jobs, run, wants_more  # noqa: E402

AFTER = {"slow": {1: 0.5, 4: 0.8, 16: 0.9}, "quick": {1: 0.9, 4: 1.0}, "far": {1: 0.1, 4: 0.1}}


def trial(seed: int, steps: int, lr: float, *, kind: str) -> dict[str, Any]:
    """A training that can be foretold: worse by 0.2 at a rate that is not its own, and a little different by seed."""
    figure = (
        AFTER[kind][steps // 10] - 0.2 * (lr != (0.2 if kind == "slow" else 0.1)) - 0.001 * (seed % 10) ** 2
    )
    return {"accuracy": 1.0 if kind == "quick" and steps > 10 else figure, "seen": np.arange(2)}


EXPERIMENT = Experiment(
    name="toy", question="which is best?", trial=trial, steps=10, rates=(0.1, 0.2, 0.4), settings={"batch": 8},
    arms={"all": {kind: {"kind": kind} for kind in AFTER}},
)  # fmt: skip


def test_each_arm_gets_its_best_rate_and_the_budgets_that_the_gate_asks_for(tmp_path: Path):
    trials = run(EXPERIMENT, tmp_path)
    assert [chosen_rate(EXPERIMENT, trials, "all", arm) for arm in AFTER] == [0.2, 0.1, 0.1]
    result = load_result("toy", tmp_path)
    assert [budgets(result, "all", arm) for arm in AFTER] == [[1, 4, 16], [1, 4], [1, 4]]
    np.testing.assert_allclose(
        measured(result, "all", "slow", 16), [0.9 - 0.001 * s**2 for s in SEEDS], atol=1e-9
    )
    assert len(trials) == 3 * 3 * len(RATE_SEEDS) + 7 * len(SEEDS)
    assert not jobs(EXPERIMENT, trials)


def test_an_arm_wants_more_where_it_moves_or_another_is_close_unless_it_is_at_best():
    def at(kind: str, times: int, *figures: float) -> list[dict[str, Any]]:
        return [
            {**Job("all", kind, seed, times, 0.1)._asdict(), "accuracy": figure}
            for seed, figure in enumerate(figures)
        ]

    far = at("far", 1, 0.1, 0.11, 0.1, 0.11, 0.1) + at("far", 4, 0.1, 0.11, 0.1, 0.11, 0.1)
    moving = at("slow", 1, 0.5, 0.51, 0.5, 0.52, 0.5) + at("slow", 4, 0.6, 0.61, 0.6, 0.62, 0.6)
    at_best = at("quick", 1, 0.5, 0.51, 0.5, 0.52, 0.5) + at("quick", 4, 1.0, 1.0, 0.999, 1.0, 1.0)
    trials = far + moving + at_best
    assert [wants_more(EXPERIMENT, trials, "all", arm) for arm in AFTER] == [True, False, False]
    close = at("slow", 1, 0.1, 0.13, 0.1, 0.1, 0.12) + at("slow", 4, 0.1, 0.12, 0.1, 0.1, 0.12)
    assert [wants_more(EXPERIMENT, far + close + at_best, "all", arm) for arm in ("slow", "far")] == [
        True,
        True,
    ]


def test_a_run_that_was_stopped_goes_on_with_what_is_missing(tmp_path: Path):
    calls: list[tuple[int, int, float, str]] = []

    def counted(seed: int, steps: int, lr: float, *, kind: str) -> dict[str, Any]:
        if len(calls) == 20:
            calls.append((seed, steps, lr, kind))
            raise KeyboardInterrupt
        calls.append((seed, steps, lr, kind))
        return trial(seed, steps, lr, kind=kind)

    experiment = replace(EXPERIMENT, trial=counted)
    with pytest.raises(KeyboardInterrupt):
        run(experiment, tmp_path)
    assert len(load_result("toy", tmp_path)["trials"]) == 20
    assert not list(tmp_path.glob("*.part"))
    run(experiment, tmp_path)
    assert calls[20] == calls[21], "the one that was cut off is run again, no other"
    del calls[20]
    assert len(set(calls)) == len(calls)
    whole = run(EXPERIMENT, tmp_path / "whole")
    drop = [
        {k: v for k, v in one.items() if k != "seconds"} for one in load_result("toy", tmp_path)["trials"]
    ]
    assert drop == [{k: v for k, v in one.items() if k != "seconds"} for one in whole]


@pytest.mark.parametrize(
    "change, told",
    [
        ({"settings": {"batch": 16}}, "settings were"),
        ({"steps": 20}, "settings were"),
        ({"arms": {"all": {**EXPERIMENT.arms["all"], "far": {"kind": "quick"}}}}, "arms were"),
        ({"arms": {"all": {"slow": {"kind": "slow"}}}}, "arms were"),
    ],
)
def test_changed_settings_are_noticed(tmp_path: Path, change: dict[str, Any], told: str):
    run(EXPERIMENT, tmp_path)
    with pytest.raises(
        ValueError, match=rf"toy: stored trials are continued with the same settings only; {told}"
    ):
        run(replace(EXPERIMENT, **change), tmp_path)


def test_a_training_that_broke_is_stored_as_none_and_its_rate_is_not_chosen(tmp_path: Path):
    def breaks(seed: int, steps: int, lr: float, *, kind: str) -> dict[str, Any]:
        found = trial(seed, steps, lr, kind=kind)
        return {**found, "accuracy": np.float64("nan")} if lr == 0.1 else found

    trials = run(replace(EXPERIMENT, trial=breaks), tmp_path)
    assert {one["accuracy"] for one in trials if one["lr"] == 0.1} == {None}
    assert "NaN" not in (tmp_path / "toy.json").read_text(encoding="utf-8")
    assert all(chosen_rate(EXPERIMENT, trials, "all", arm) != 0.1 for arm in AFTER)


def test_an_arm_may_be_added(tmp_path: Path):
    fewer = {"all": {kind: {"kind": kind} for kind in ("slow", "far")}}
    run(replace(EXPERIMENT, arms=fewer), tmp_path)
    assert {one["arm"] for one in run(EXPERIMENT, tmp_path)} == set(AFTER)


def test_the_command_line_tries_every_arm_and_stores_nothing(tmp_path: Path, capsys: pytest.CaptureFixture):
    quick = replace(EXPERIMENT, trial=lambda seed, steps, lr, kind: {"accuracy": 0.5, "steps": steps})
    _runner.main(quick, ["--quick", "--folder", str(tmp_path)])
    assert capsys.readouterr().out.count("'steps': 2") == len(AFTER) and not list(tmp_path.iterdir())
    _runner.main(EXPERIMENT, ["--only", "all", "--folder", str(tmp_path)])
    assert "53 trials stored, none of this stage to go." in capsys.readouterr().out


def test_of_rates_that_tie_the_smallest_is_taken_and_an_arm_may_always_go_to_the_longest_budget(
    tmp_path: Path,
):
    def alike(seed: int, steps: int, lr: float, *, kind: str) -> dict[str, Any]:
        return {"accuracy": {0.1: 0.5, 0.2: 0.598, 0.4: 0.6}[lr] + 0.0001 * seed}

    arms = {"all": {"one": {"kind": "one"}}}
    plain = replace(EXPERIMENT, trial=alike, arms=arms)
    tied = replace(plain, tie=0.005, always=("one",))
    assert [chosen_rate(one, run(one, tmp_path / name), "all", "one") for name, one in
            (("plain", plain), ("tied", tied))] == [0.4, 0.2]  # fmt: skip
    found = [budgets(load_result("toy", tmp_path / name), "all", "one") for name in ("plain", "tied")]
    assert found == [[1, 4], [1, 4, 16]]
    run(replace(tied, best=0.598), tmp_path / "at best")
    assert budgets(load_result("toy", tmp_path / "at best"), "all", "one") == [1, 4]


def test_an_experiment_without_rates_chooses_none_and_its_result_has_the_form_of_all_others(tmp_path: Path):
    def of_its_own(seed: int, steps: int, *, kind: str) -> dict[str, Any]:
        return trial(seed, steps, 0.1, kind=kind)

    arms = {"all": {kind: {"kind": kind} for kind in ("quick", "far")}}
    experiment = replace(EXPERIMENT, trial=of_its_own, arms=arms, rates=None)
    trials = run(experiment, tmp_path)
    assert {one["lr"] for one in trials} == {1.0}
    assert len(trials) == 2 * len(RATE_SEEDS) + 4 * len(SEEDS)
    assert load_result("toy", tmp_path)["settings"]["rates"] == [1.0, 1.0, 1.0]
    assert (
        not jobs(experiment, trials) and run(experiment, tmp_path) == load_result("toy", tmp_path)["trials"]
    )


def test_a_rate_is_chosen_at_each_budget_off_the_edge_of_what_was_tried_and_by_data_that_is_not_reported(
    tmp_path: Path,
):
    """The best rate halves with each budget; what is reported would choose the largest rate of all."""
    best = {10: 0.8, 40: 0.2, 160: 0.1}

    def own(seed: int, steps: int, lr: float, *, kind: str) -> dict[str, Any]:
        return {"accuracy": lr / 10, "choice": -abs(np.log2(lr / best[steps]))}

    ladder = tuple(0.025 * 2.0**i for i in range(9))
    experiment = replace(
        EXPERIMENT, trial=own, rates=ladder, at_each=True, chosen_by="choice", always=("one",),
        arms={"all": {"one": {"kind": "one"}}},
    )  # fmt: skip
    trials = run(experiment, tmp_path)
    for times, steps in ((1, 10), (4, 40), (16, 160)):
        reported = {one["lr"] for one in trials if one["times"] == times and one["seed"] in SEEDS}
        tried = {one["lr"] for one in trials if one["times"] == times and one["seed"] in RATE_SEEDS}
        assert reported == {best[steps]} and min(tried) < best[steps] < max(tried)
    assert len(tried) == 3 and len(trials) < 60, "no more of the ladder than is needed"
    stored = load_result("toy", tmp_path)["settings"]
    assert stored["at_each"] and stored["chosen_by"] == "choice"


def test_the_command_line_tries_every_arm_of_an_experiment_without_rates(capsys: pytest.CaptureFixture):
    quick = replace(EXPERIMENT, trial=lambda seed, steps, kind: {"accuracy": 0.5, "steps": steps}, rates=None)
    _runner.main(quick, ["--quick"])
    assert capsys.readouterr().out.count("'steps': 2") == len(AFTER)


def test_an_arm_that_brings_its_rate_has_none_to_choose(tmp_path: Path):
    def at_its_own(
        seed: int, steps: int, lr: float, *, kind: str, rate: float | None = None
    ) -> dict[str, Any]:
        return trial(seed, steps, rate or lr, kind=kind)

    arms = {"all": {"far": {"kind": "far"}, "far, at 0.1": {"kind": "far", "rate": 0.1}}}
    trials = run(replace(EXPERIMENT, trial=at_its_own, arms=arms, longest=4), tmp_path)
    tried = [one["lr"] for one in trials if one["arm"] == "far, at 0.1" and one["seed"] in RATE_SEEDS]
    assert tried == [0.1] * len(RATE_SEEDS)
    wide = replace(EXPERIMENT, trial=at_its_own, arms=arms, longest=4, rates=(0.05, 0.1, 0.2, 0.4))
    further = [one for one in run(wide, tmp_path) if one["lr"] == 0.05]
    assert {one["arm"] for one in further} == {"far"} and not jobs(
        wide, load_result("toy", tmp_path)["trials"]
    )


def test_further_rates_may_be_added_and_old_trials_at_another_rate_are_left_out(tmp_path: Path):
    """At three rates the best is the edge; with five it is another, and what was reported is trained again."""
    narrow = replace(EXPERIMENT, rates=(0.2, 0.4, 0.8), arms={"all": {"far": {"kind": "far"}}}, longest=4)
    run(narrow, tmp_path)
    wide = replace(narrow, rates=(0.05, 0.1, 0.2, 0.4, 0.8), at_each=True)
    trials = run(wide, tmp_path)
    assert {one["lr"] for one in trials if one["seed"] in SEEDS} == {0.1}
    assert trials == load_result("toy", tmp_path)["trials"] and not jobs(wide, trials)
    with pytest.raises(ValueError, match="same settings"):
        run(replace(wide, rates=(0.1, 0.2)), tmp_path)
