"""Experiments of `_runner` on one machine with many cores and a GPU: trials that differ in seed and rate run together.

Each process trains the models of one arm at one budget, all seeds and rates that the present stage asks for, by the
function `together` of the experiment (`_together`). Arms do not wait for each other: an arm goes on to the next budget
as soon as its rate is chosen. Budgets come first that are small. What is done is stored at once, and the same command
goes on where it was stopped.

    python experiments/mix.py --workers 14 --device cuda                   # everything that is missing
    python experiments/mix.py --workers 14 --device cuda --minutes 8.5     # ends then, whatever is running
    python experiments/mix.py --workers 14 --device cuda --budget-check    # steps a second of each arm; stores nothing
"""

import argparse
import multiprocessing
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from _runner import (
    BUDGETS,
    Experiment,
    Job,
    Trials,
    chosen_rate,
    figures,
    rates_to_try,
    reported,
    rounded,
    scores,
    store,
    stored_trials,
    wants_more,
)

from attnlib.data.results import FOLDER

CHECKED = (30, 8)  # steps of a speed check: before the clock starts and on it, at least
Together = Callable[..., list[dict[str, Any]]]


class Ensemble(NamedTuple):
    """Trials of one arm at one budget that run together."""

    experiment: str
    group: str
    arm: str
    times: int
    jobs: tuple[Job, ...]


def arm_stages(experiment: Experiment, trials: Trials, group: str, arm: str) -> Iterator[list[Job]]:
    """The stages of one arm: at each budget its rates, which may become more, and then the seeds that are reported."""
    others = [figures(experiment, trials, group, other, BUDGETS[1]) for other in experiment.arms[group]]
    for times in BUDGETS:
        if times == BUDGETS[2] and (
            any(len(found) < len(experiment.seeds) for found in others)
            or not wants_more(experiment, trials, group, arm)
        ):
            return
        yield [
            Job(group, arm, seed, times, lr)
            for lr in rates_to_try(experiment, trials, group, arm, times)
            for seed in experiment.rate_seeds
        ]
        rate = chosen_rate(experiment, trials, group, arm, times)
        yield [Job(group, arm, seed, times, rate) for seed in experiment.seeds]


def ready(experiment: Experiment, trials: Trials) -> list[Ensemble]:
    """What each arm lacks next; nothing of an arm that waits for others or has all."""
    done, found = {Job(*(one[key] for key in Job._fields)) for one in trials}, []
    for group, arms in experiment.arms.items():
        for arm in arms:
            for stage in arm_stages(experiment, trials, group, arm):
                if missing := tuple(job for job in stage if job not in done):
                    found.append(Ensemble(experiment.name, group, arm, missing[0].times, missing))
                    break
    return found


def run_ensemble(
    together: Together, options: Mapping[str, Any], steps: int, jobs: Sequence[Job], device: str
) -> Trials:
    """Train and measure all models of an ensemble, in a process of its own."""
    started = time.perf_counter()
    measured = together(
        seeds=[job.seed for job in jobs],
        rates=[job.lr for job in jobs],
        steps=steps,
        device=device,
        **options,
    )
    seconds = (time.perf_counter() - started) / len(jobs)
    return [
        {
            **job._asdict(),
            **{key: rounded(value) for key, value in one.items()},
            "seconds": round(seconds, 2),
        }
        for job, one in zip(jobs, measured, strict=True)
    ]


def begin(device: str) -> None:
    """One thread a process; on a GPU products of matrices may round their factors to TF32."""
    torch.set_num_threads(1)
    if device == "cuda":
        torch.set_float32_matmul_precision("high")


class Here:
    """An executor without processes, for a test or a machine with one core."""

    def submit(self, work: Callable[..., Any], *given: Any) -> Future:
        done: Future = Future()
        try:
            done.set_result(work(*given))
        except Exception as error:
            done.set_exception(error)
        return done

    def shutdown(self, **_: Any) -> None:
        """Nothing is running."""


def executor(workers: int, device: str) -> Any:
    if workers == 0:
        begin(device)
        return Here()
    context = multiprocessing.get_context("spawn")  # a GPU does not survive a fork
    return ProcessPoolExecutor(workers, mp_context=context, initializer=begin, initargs=(device,))


def run_many(
    experiments: Sequence[Experiment],
    *,
    workers: int,
    device: str = "cpu",
    folder: Path = FOLDER,
    minutes: float = float("inf"),
    only: str | None = None,
) -> dict[str, Trials]:
    """Run what is missing of all experiments; what is running when the time is up is lost, all else is stored."""
    ends = time.monotonic() + 60 * minutes
    named = {one.name: one for one in experiments}
    trials = {name: stored_trials(one, folder) for name, one in named.items()}
    pool, running, broken = executor(workers, device), {}, set()
    try:
        while time.monotonic() < ends:
            busy = {one[:3] for one in running.values()} | broken
            waiting = [
                one
                for name, experiment in named.items()
                for one in ready(experiment, trials[name])
                if one[:3] not in busy and only in (None, one.experiment, one.group)
            ]
            for one in sorted(waiting, key=lambda one: one.times)[: max(workers, 1) - len(running)]:
                experiment = named[one.experiment]
                options, steps = experiment.arms[one.group][one.arm], one.times * experiment.steps
                future = pool.submit(run_ensemble, experiment.together, options, steps, one.jobs, device)
                running[future] = one
            if not running:
                break
            left = None if minutes == float("inf") else max(0.0, ends - time.monotonic())
            finished, _ = wait(running, timeout=left, return_when=FIRST_COMPLETED)
            for future in finished:
                one = running.pop(future)
                if error := future.exception():
                    broken.add(one[:3])  # the other arms go on
                    print(
                        f"{one.experiment}, {one.group}, {one.arm}: {type(error).__name__}: {error}",
                        flush=True,
                    )
                    continue
                trials[one.experiment] += future.result()
                save(named[one.experiment], trials[one.experiment], folder, device)
                report(named[one.experiment], one, trials[one.experiment], len(running))
    finally:
        stop(pool)
    for name, experiment in named.items():
        if not ready(experiment, trials[name]) and trials[name]:
            trials[name] = reported(experiment, trials[name])
            save(experiment, trials[name], folder, device)
    return trials


def stop(pool: Any) -> None:
    """End the processes of the pool, and what they are running."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


def save(experiment: Experiment, trials: Trials, folder: Path, device: str) -> None:
    """Store the trials with a table of what was chosen, on which machine."""
    name = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    store(experiment, trials, folder, f"{device}, {name}", chosen=chosen(experiment, trials))


def chosen(experiment: Experiment, trials: Trials) -> dict[str, Any]:
    """For each arm and budget the rate, the rates that were tried with their scores, and the figure of each seed."""
    return {
        group: {
            arm: {
                str(times): {
                    "rate": chosen_rate(experiment, trials, group, arm, times),
                    "tried": {f"{lr:g}": rounded(score) for lr, score in sorted(found.items())},
                    "figures": rounded(figures(experiment, trials, group, arm, times)),
                    "seconds": round(sum(one["seconds"] for one in of(trials, group, arm, times)), 1),
                }
                for times in BUDGETS
                if (found := scores(experiment, trials, group, arm, times))
            }
            for arm in arms
        }
        for group, arms in experiment.arms.items()
    }


def of(trials: Trials, group: str, arm: str, times: int) -> Trials:
    """The trials of one arm at one budget."""
    return [one for one in trials if (one["group"], one["arm"], one["times"]) == (group, arm, times)]


def report(experiment: Experiment, one: Ensemble, trials: Trials, running: int) -> None:
    """One line: what was done, and the mean figure of each rate."""
    mine = trials[-len(one.jobs) :]
    rates = sorted({trial["lr"] for trial in mine})
    means = {
        rate: [trial[experiment.figure] for trial in mine if trial["lr"] == rate] for rate in rates
    }  # fmt: skip
    shown = ", ".join(
        f"{rate:g}: {'broke' if None in found else round(float(np.mean(found)), 3)}"
        for rate, found in means.items()
    )
    seconds = sum(trial["seconds"] for trial in mine)
    print(
        f"{one.experiment}, {one.group}, {one.arm}, {one.times}x, {len(mine)} models: {shown} "
        f"({seconds:.0f} s; {len(trials)} trials, {running} ensembles running)",
        flush=True,
    )


# ---- How long it would take ------------------------------------------------------------------------------------------


def speed(together: Together, options: Mapping[str, Any], models: int, device: str, seconds: float) -> float:
    """Steps a second of so many models of an arm together, once they run."""
    clock: list[float] = []

    def ended(step: int) -> bool:
        """Called before each step: the clock starts after the first ones."""
        if device == "cuda":
            torch.cuda.synchronize()
        clock.append(time.perf_counter())
        return len(clock) > sum(CHECKED) and clock[-1] - clock[CHECKED[0]] > seconds

    together(
        seeds=list(range(models)), rates=[1e-3] * models, steps=10**6, device=device, ended=ended, **options
    )
    return (len(clock) - 1 - CHECKED[0]) / (clock[-1] - clock[CHECKED[0]])


def planned(experiment: Experiment) -> int:
    """Steps of ensembles of one arm, if no further rate is tried: at each budget one of rates, one that is reported."""
    return 2 * experiment.steps * sum(times for times in BUDGETS if times <= experiment.longest)


def budget_check(experiments: Sequence[Experiment], workers: int, device: str, seconds: float) -> None:
    """Print the steps a second of each arm, with all processes at work, and the time that everything would take."""
    pool = executor(workers, device)
    asked = {
        pool.submit(speed, one.together, options, 3 * len(one.rate_seeds), device, seconds): (one, group, arm)
        for one in experiments
        for group, arms in one.arms.items()
        for arm, options in arms.items()
    }
    total, longest = 0.0, 0.0
    print("experiment, group, arm | steps a second | minutes for all its steps")
    for future, (one, group, arm) in asked.items():
        if error := future.exception():
            print(f"{one.name}, {group}, {arm}: {type(error).__name__}: {error}", flush=True)
            continue
        rate = future.result()
        needed = planned(one) / rate / 60
        total, longest = total + needed, max(longest, needed)
        print(f"{one.name}, {group}, {arm} | {rate:.1f} | {needed:.1f}", flush=True)
    pool.shutdown()
    least = max(total / max(workers, 1), longest)
    print(
        f"all: {total:.1f} minutes of one process, so {least:.1f} with {workers}, as many as ran side by side;"
    )
    print("arms that are at the best figure at 4x are not trained at 16x, which saves most of their time")


def main(experiments: Sequence[Experiment], argv: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=0, help="processes; 0: none but this one")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="where results are stored and gone on with"
    )
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="time on the clock to stay within"
    )
    parser.add_argument("--only", metavar="NAME", help="one of the experiments, or one of its groups")
    parser.add_argument(
        "--longest", type=int, choices=BUDGETS, help="no arm is trained for more times the steps"
    )
    parser.add_argument("--budget-check", action="store_true", help="measures speeds, stores nothing")
    asked = parser.parse_args(argv)
    experiments = [
        replace(one, longest=min(one.longest, asked.longest or one.longest)) for one in experiments
    ]
    if asked.budget_check:
        budget_check(experiments, asked.workers, asked.device, seconds=4.0)
        return
    trials = run_many(
        experiments, workers=asked.workers, device=asked.device, folder=asked.folder, minutes=asked.minutes,
        only=asked.only,
    )  # fmt: skip
    for one in experiments:
        left = len(ready(one, trials[one.name]))
        print(f"{one.name}: {len(trials[one.name])} trials stored, {left or 'no'} arms to go on with.")
