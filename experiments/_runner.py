"""One way to run an experiment: each arm at its own learning rate, for 1, 4 and 16 times the steps, trial by trial.

An `Experiment` names its arms, in groups of arms that are compared, and a function `trial` that trains one model and
measures it. The learning rate of an arm is the best of its rates, for two seeds that serve this choice only, at 1x. An
experiment may set a `tie`: of rates whose figures differ by less, the smallest is taken, because it suits a longer
training better. An experiment without `rates` has none to choose; its arms bring theirs. So does an arm that has an
option `rate`.

With `at_each`, an arm's rate is chosen anew at each budget, among `rates` that rise by a factor: the search starts from
the rate of the budget before and goes on until both neighbours of the best have been tried, so no chosen rate is
the edge of what was tried. `chosen_by` names a number other than the figure, measured on data that is not reported.

Every arm is trained at 1x and 4x with five other seeds. It is also trained at 16x if four times the steps moved its
figure by more than two standard deviations, if another arm of the group is that close, or if the experiment lists it
under `always`; but not if it has reached the best possible figure with every seed.

Every trial is stored at once; the same command goes on where it was stopped, and refuses to mix settings. Further
rates may be added: then arms whose best rate is another one now are trained again, and the old trials are left out.

    python experiments/neighbours.py               # everything that is missing
    python experiments/neighbours.py --hours 0.5   # starts no trial after half an hour of processor time
    python experiments/neighbours.py --quick       # a few steps of each arm; prints, stores nothing
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from attnlib.data.results import FOLDER, load_result, save_result

SEEDS, RATE_SEEDS = (0, 1, 2, 3, 4), (10, 11)
BUDGETS = (1, 4, 16)  # times the steps
AT_BEST = 0.005  # so near to the best possible figure, more steps change nothing
NO_RATE = 1.0  # what a result holds as the rate of a trial whose experiment has no rates
Trials = list[dict[str, Any]]


@dataclass(frozen=True)
class Experiment:
    """The question, the arms that are compared, and how one is trained and measured."""

    name: str  # of the stored result
    question: str
    trial: Callable[
        ..., dict[str, Any]
    ]  # trial(seed=, steps=, lr=, **options of the arm) -> what was measured
    arms: Mapping[str, Mapping[str, Mapping[str, Any]]]  # group -> arm -> options
    steps: int  # at 1x
    settings: Mapping[str, Any]  # what else fixes the numbers
    rates: tuple[float, ...] | None = None  # to choose from; None: the arms bring theirs, `trial` takes no lr
    at_each: bool = False  # the rate is chosen at every budget, and not at 1x for all
    chosen_by: str = ""  # the measured number by which the rate is chosen; by default the figure
    figure: str = "accuracy"  # the measured number that is compared; more is better
    best: float = 1.0  # the largest figure that is possible
    always: tuple[str, ...] = ()  # arms that are trained for 16x unless they are at the best
    longest: int = BUDGETS[-1]  # times the steps; with 4, no arm is trained at 16x
    tie: float = 0.0  # of rates whose figures at 1x differ by less, the smallest is taken
    once: Callable[[], Mapping[str, Any]] = dict  # what needs no training: baselines, controls, chance
    seeds: tuple[int, ...] = SEEDS  # that are reported
    rate_seeds: tuple[int, ...] = RATE_SEEDS  # that serve the choice of rates only
    # several trials that differ in seed and rate: together(seeds=, rates=, steps=, device=, **options), see `_many`
    together: Callable[..., list[dict[str, Any]]] | None = None

    @property
    def rates_to_try(self) -> tuple[float, ...]:
        return self.rates or (NO_RATE,)


class Job(NamedTuple):
    """One trial that is to be run."""

    group: str
    arm: str
    seed: int
    times: int
    lr: float


def figures(experiment: Experiment, trials: Trials, group: str, arm: str, times: int) -> np.ndarray:
    """The figure of each of the compared seeds that has been run at the rate that was chosen."""
    mine = [one for one in trials if (one["group"], one["arm"], one["times"]) == (group, arm, times)]
    mine = [one for one in reported(experiment, trials, mine) if one["seed"] in experiment.seeds]
    return np.array([one[experiment.figure] for one in mine], dtype=float)


def scores(experiment: Experiment, trials: Trials, group: str, arm: str, times: int) -> dict[float, float]:
    """The mean figure over the seeds that choose rates, of each rate that all of them have tried."""
    found: dict[float, list[Any]] = {}
    for one in trials:
        mine = (one["group"], one["arm"], one["times"]) == (group, arm, times)
        if mine and one["seed"] in experiment.rate_seeds:
            found.setdefault(one["lr"], []).append(one[experiment.chosen_by or experiment.figure])
    return {
        lr: -math.inf if None in seen else float(np.mean(seen))
        for lr, seen in found.items()
        if len(seen) == len(experiment.rate_seeds)
    }


def chosen_rate(experiment: Experiment, trials: Trials, group: str, arm: str, times: int = 1) -> float:
    """The rate with the best mean figure over `RATE_SEEDS`; of several that tie, the smallest."""
    score = scores(experiment, trials, group, arm, times if experiment.at_each else 1)
    return min(lr for lr, found in score.items() if found >= max(score.values()) - experiment.tie)


def reported(experiment: Experiment, trials: Trials, among: Trials | None = None) -> Trials:
    """The trials without those of a rate that was chosen before further rates were tried."""

    def stays(one: dict[str, Any]) -> bool:
        group, arm, times = one["group"], one["arm"], one["times"]
        if one["seed"] in experiment.rate_seeds or not scores(
            experiment, trials, group, arm, times if experiment.at_each else 1
        ):
            return True
        return one["lr"] == chosen_rate(experiment, trials, group, arm, times)

    return [one for one in (trials if among is None else among) if stays(one)]


def rates_to_try(experiment: Experiment, trials: Trials, group: str, arm: str, times: int) -> Sequence[float]:
    """All rates; or, where they are chosen at each budget, the best until now and its two neighbours."""
    score = scores(experiment, trials, group, arm, times)
    if "rate" in experiment.arms[group][arm]:  # the arm brings its own, and uses none of these
        return (sorted(score) or experiment.rates_to_try[:1]) if times == 1 else ()
    if not experiment.at_each or experiment.rates is None:
        return experiment.rates_to_try if times == 1 else ()
    ladder = experiment.rates
    if score:
        first = max(score, key=lambda lr: score[lr])
    elif times > 1:
        first = chosen_rate(experiment, trials, group, arm, times // BUDGETS[1])
    else:
        first = ladder[len(ladder) // 2]
    return sorted({*score, *around(ladder, first)})


def around(ladder: Sequence[float], rate: float) -> list[float]:
    """A rate of a rising ladder and its neighbours."""
    at = ladder.index(rate)
    return list(ladder[max(0, at - 1) : at + 2])


def differ(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two means differ by more than two standard deviations of one seed."""
    return bool(abs(a.mean() - b.mean()) > 2 * np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / 2))


def wants_more(experiment: Experiment, trials: Trials, group: str, arm: str) -> bool:
    """Whether an arm is trained at 16x: it is not at the best, and it still moves, or another is close, or always."""
    four = {other: figures(experiment, trials, group, other, 4) for other in experiment.arms[group]}
    mine = four.pop(arm)
    if experiment.longest < BUDGETS[-1] or mine.min() > experiment.best - AT_BEST:
        return False
    if arm in experiment.always:
        return True
    moved = differ(figures(experiment, trials, group, arm, 1), mine)
    return moved or any(not differ(mine, other) for other in four.values())


def jobs(experiment: Experiment, trials: Trials, only: str | None = None) -> list[Job]:
    """The trials that the present stage still lacks; the groups come one after the other."""
    done = {Job(*(one[key] for key in Job._fields)) for one in trials}
    for group in [only] if only else experiment.arms:
        for stage in stages(experiment, trials, group):
            if missing := [job for job in stage if job not in done]:
                return missing
    return []


def stages(experiment: Experiment, trials: Trials, group: str) -> Iterator[list[Job]]:
    """A group's trials, stage by stage; each stage needs those before it: rates, 1x and 4x, 16x."""

    def sweep(times: int, arms: Sequence[str]) -> list[Job]:
        return [
            Job(group, arm, seed, times, lr)
            for arm in arms
            for lr in rates_to_try(experiment, trials, group, arm, times)
            for seed in experiment.rate_seeds
        ]

    def compare(times: int, arms: Sequence[str]) -> list[Job]:
        rate = {arm: chosen_rate(experiment, trials, group, arm, times) for arm in arms}
        return [Job(group, arm, seed, times, rate[arm]) for arm in arms for seed in experiment.seeds]

    arms = list(experiment.arms[group])
    for times in BUDGETS[:2]:
        yield sweep(times, arms)
        yield compare(times, arms)
    longest = [arm for arm in arms if wants_more(experiment, trials, group, arm)]
    yield sweep(BUDGETS[2], longest)
    yield compare(BUDGETS[2], longest)


def settings(experiment: Experiment) -> dict[str, Any]:
    """Everything that fixes the numbers, as it is stored."""
    rates = experiment.rates or (NO_RATE,) * 3  # three, as in the results that are stored
    fixed = {
        "steps": experiment.steps,
        "rates": rates,
        "seeds": experiment.seeds,
        "rate_seeds": experiment.rate_seeds,
    }
    chosen = {"at_each": experiment.at_each, "chosen_by": experiment.chosen_by}
    chosen = {key: value for key, value in chosen.items() if value}  # as in the results that are stored
    return json.loads(json.dumps({**fixed, **chosen, "figure": experiment.figure, **experiment.settings}))


def stored_trials(experiment: Experiment, folder: Path) -> Trials:
    """The trials of an earlier run, if these were made with the present settings."""
    if not (folder / f"{experiment.name}.json").is_file():
        return []
    stored = load_result(experiment.name, folder)
    now = {"settings": settings(experiment), "arms": json.loads(json.dumps(experiment.arms))}
    was = {"settings": stored["settings"], "arms": stored["arms"]}
    for group, members in now["arms"].items():  # an arm may be added, not changed
        was["arms"].setdefault(group, {})
        was["arms"][group] = {**members, **was["arms"][group]}
    if widened(was["settings"], now["settings"]):
        was["settings"] = now["settings"]
    if changed := [key for key in now if now[key] != was[key]]:
        raise ValueError(
            f"{experiment.name}: stored trials are continued with the same settings only; {changed[0]} were "
            f"{was[changed[0]]} and are {now[changed[0]]}. Put them back, or move the stored result away."
        )
    return stored["trials"]


def widened(was: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether settings differ in how rates are chosen only, from all that were tried and further ones."""
    choice = ("rates", "at_each", "chosen_by", "figure")
    same = {key: value for key, value in was.items() if key not in choice} == {
        key: value for key, value in now.items() if key not in choice
    }
    return same and set(was["rates"]) <= set(now["rates"])


def run_one(experiment: Experiment, job: Job, steps: int) -> dict[str, Any]:
    """Train and measure one model."""
    started = time.process_time()
    options = experiment.arms[job.group][job.arm]
    rate = {} if experiment.rates is None else {"lr": job.lr}
    measured = experiment.trial(seed=job.seed, steps=steps, **rate, **options)
    seconds = time.process_time() - started
    return {
        **job._asdict(),
        **{key: rounded(value) for key, value in measured.items()},
        "seconds": round(seconds, 1),
    }


def rounded(value: Any) -> Any:
    """Numbers to four decimals, arrays as lists, infinity and NaN as None; anything else as it is."""
    if isinstance(value, Mapping):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    array = np.asarray(value)
    if array.dtype.kind == "f" and not array.ndim and not np.isfinite(array):
        return None  # a training that broke
    return np.round(array, 4).tolist() if array.dtype.kind == "f" else array.tolist()


def store(experiment: Experiment, trials: Trials, folder: Path, device: str = "cpu", **more: Any) -> None:
    """All trials until now in one result, with what needs no training, and `more`."""
    save_result(
        experiment.name,
        {
            "question": experiment.question,
            "settings": settings(experiment),
            "arms": experiment.arms,
            **experiment.once(),
            **more,
            "trials": trials,
        },
        seeds=experiment.seeds,
        command=f"python experiments/{Path(sys.argv[0]).name}",
        seconds=sum(one["seconds"] for one in trials),
        device=device,
        folder=folder,
    )


def run(
    experiment: Experiment, folder: Path = FOLDER, hours: float = math.inf, only: str | None = None
) -> Trials:
    """Run what is missing, one trial after the other, each stored when it is done."""
    trials, started = stored_trials(experiment, folder), time.process_time()
    while (waiting := jobs(experiment, trials, only)) and time.process_time() - started < 3600 * hours:
        job = waiting[0]
        trials.append(run_one(experiment, job, job.times * experiment.steps))
        store(experiment, trials, folder)
        bar(experiment, job, trials, len(waiting) - 1)
    if not waiting and len(kept := reported(experiment, trials)) < len(trials):
        trials = kept
        store(experiment, trials, folder)
    return trials


def bar(experiment: Experiment, job: Job, trials: Trials, left: int) -> None:
    """One line: how far the present stage is, and the last trial."""
    done = len(trials)
    full = 20 * done // (done + left)
    print(
        f"{experiment.name} [{'#' * full}{'.' * (20 - full)}] {done}, {left} of this stage to go: {job.group}, "
        f"{job.arm}, seed {job.seed}, {job.times}x, rate {job.lr:g}: {trials[-1][experiment.figure]}, "
        f"{trials[-1]['seconds']} s",
        flush=True,
    )


def main(experiment: Experiment, argv: Sequence[str] | None = None) -> None:
    """The command line that all experiments share."""
    parser = argparse.ArgumentParser(description=experiment.question)
    parser.add_argument("--quick", action="store_true", help="a few steps of each arm; stores nothing")
    parser.add_argument("--hours", type=float, default=math.inf, help="processor time to stay within")
    parser.add_argument("--only", metavar="GROUP", help="one group of arms; the others wait for another time")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the result is stored")
    asked = parser.parse_args(argv)
    torch.set_num_threads(1)
    if asked.quick:
        for group, members in experiment.arms.items():
            for arm in members:
                rates = experiment.rates_to_try
                job = Job(group, arm, RATE_SEEDS[0], 1, rates[len(rates) // 2])
                print(run_one(experiment, job, max(experiment.steps // 20, 2)))
        return
    trials = run(experiment, asked.folder, asked.hours, asked.only)
    left = len(jobs(experiment, trials, asked.only))
    print(f"{experiment.name}: {len(trials)} trials stored, {left or 'none'} of this stage to go.")
