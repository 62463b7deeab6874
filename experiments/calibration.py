"""Is a network right as often as it says, and what mends it if it is not? (book: calibration)

Points come from four clouds whose true probabilities are known. A small network is trained on a few of them, on many,
or on clouds that hardly touch. For each new point it says how sure it is of its answer; the true probability tells how
often that answer is right, so the calibration error has no luck in it. What is compared is the excess: how much more
the right answer surprises the network than it surprises who knows the truth.

As many points as are trained on are held out. Two arms use them: one divides the scores by the best temperature, one
goes back to the step at which they surprised least. Two rivals show what these points, or a smaller confidence alone,
are worth: "twice the points" trains on both parts, "mixed 0.1" takes the plain network and mixes what it says with
equal probabilities, as the smoothed labels are, but after the training.

The rules are those of `_runner.py`: the best of three rates for two seeds at 1x, then five other seeds at 1x, 4x and
16x. The rate stays level, so that one training, looked at three times, is all three. The networks are small and many,
so all that have the same rate and the same kind of points are trained side by side, in tensors with an axis more.

    python experiments/calibration.py
"""

import time
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from _runner import BUDGETS, RATE_SEEDS, SEEDS, rounded
from torch import Tensor

from attnlib.data.clouds import Clouds, best_accuracy, clouds
from attnlib.data.results import save_result
from attnlib.metrics.calibration import (
    best_temperature,
    expected_calibration_error,
    known_calibration_error,
)
from attnlib.shapes import Array
from attnlib.train.toy import TEST_SEED

WIDTH, BATCH, STEPS, EVERY = 32, 100, 250, 25
TESTED, COUNTED, BINS = 10_000, 1000, 15
RATES = (1e-3, 3e-3, 1e-2)
GROUPS = {  # points to train on, and how far the middles of the clouds are from the axes
    "few points": {"n": 100, "apart": 1.0},
    "many points": {"n": 10_000, "apart": 1.0},
    "far apart": {"n": 1000, "apart": 3.0},
}


class Kind(NamedTuple):
    """How a network is trained: the share of its smoothed labels, and whether on what is held out, too."""

    epsilon: float = 0.0
    twice: bool = False


ARMS = {  # what is trained, and what is done with it
    "plain": (Kind(), "nothing"),
    "smoothed 0.1": (Kind(epsilon=0.1), "nothing"),
    "smoothed 0.3": (Kind(epsilon=0.3), "nothing"),
    "mixed 0.1": (Kind(), "mix"),
    "temperature": (Kind(), "temperature"),
    "early stop": (Kind(), "stop"),
    "twice the points": (Kind(twice=True), "nothing"),
}


class Networks:
    """Networks side by side, two hidden layers each; each starts from a seed, as `nn.Linear` does."""

    def __init__(self, seeds: list[int]) -> None:
        starts = [self.start(seed) for seed in seeds]
        self.parameters = [torch.stack(part).requires_grad_() for part in zip(*starts, strict=True)]

    @staticmethod
    def start(seed: int) -> list[Tensor]:
        torch.manual_seed(seed)
        layers = [torch.nn.Linear(*size) for size in ((2, WIDTH), (WIDTH, WIDTH), (WIDTH, 4))]
        return [part for layer in layers for part in (layer.weight.detach().T, layer.bias.detach()[None])]

    def __call__(self, X: Tensor) -> Tensor:
        """Scores (networks, points, 4) of points (networks, points, 2), or (points, 2) for all."""
        A, a, B, b, C, c = self.parameters
        return ((X @ A + a).relu() @ B + b).relu() @ C + c


def points(group: str, seed: int) -> tuple[Clouds, Clouds]:
    """To train on, and held out."""
    n, apart = GROUPS[group]["n"], GROUPS[group]["apart"]
    whole = clouds(2 * n, apart, seed=TEST_SEED + 1 + seed)
    first, second = (Clouds(*(part[at] for part in whole)) for at in (slice(n), slice(n, None)))
    return first, second


def trained(
    group: str, kinds: list[Kind], seeds: tuple[int, ...], lr: float, budgets: tuple[int, ...]
) -> dict[tuple[Kind, int, int], dict[str, Any]]:
    """For each kind, seed and budget: scores of the test and of what is held out, at the end and at the best look."""
    jobs = [(kind, seed) for kind in kinds for seed in seeds]
    parts = [points(group, seed) for _, seed in jobs]
    both = [[np.concatenate(pair) for pair in zip(own[:2], held[:2], strict=True)] for own, held in parts]
    X, y = (torch.from_numpy(np.stack([one[i] for one in both])) for i in (0, 1))
    n = GROUPS[group]["n"]
    known = torch.tensor([[2 * n if kind.twice else n] for kind, _ in jobs])
    epsilon = torch.tensor([[[kind.epsilon]] for kind, _ in jobs])
    X, aims = X.float(), (1 - epsilon) * F.one_hot(y, 4) + epsilon / 4
    test = torch.from_numpy(clouds(TESTED, GROUPS[group]["apart"], seed=TEST_SEED).X).float()
    networks, draws = Networks([seed for _, seed in jobs]), torch.Generator().manual_seed(0)
    optimizer, rows = torch.optim.Adam(networks.parameters, lr=lr), torch.arange(len(jobs))[:, None]
    best = {job: (np.inf, 0, np.empty(0)) for job in jobs}
    found = {}
    for step in range(1, STEPS * max(budgets) + 1):
        some = (torch.rand(len(jobs), BATCH, generator=draws) * known).long()
        surprise = -(aims[rows, some] * networks(X[rows, some]).log_softmax(-1)).sum(-1)
        optimizer.zero_grad()
        surprise.mean(1).sum().backward()
        optimizer.step()
        if step % EVERY:
            continue
        with torch.no_grad():
            S_held = networks(X[:, n:])
            losses = F.cross_entropy(S_held.transpose(1, 2), y[:, n:], reduction="none").mean(1).tolist()
            better = [loss < best[job][0] for loss, job in zip(losses, jobs, strict=True)]
            ends = step in [STEPS * times for times in budgets]
            S = networks(test).double().numpy() if ends or any(better) else np.empty(0)
        for i, job in enumerate(jobs):
            if better[i]:
                best[job] = losses[i], step, S[i].copy()
            if ends:
                found[*job, step // STEPS] = {
                    "S": S[i], "S_held": S_held[i].double().numpy(), "stopped": best[job][1], "S_best": best[job][2],
                }  # fmt: skip
    return found


def judged(log_P: Array, test: Clouds) -> dict[str, float]:
    """What is said of new points against the truth; nats and probabilities."""
    P, k = np.exp(log_P), log_P.argmax(axis=1)
    said, chance = P.max(axis=1), test.true[np.arange(len(k)), k]
    few = slice(COUNTED)
    return {
        "excess": (test.true * (np.log(test.true) - log_P)).sum(axis=1).mean(),
        "brier": ((P - test.true) ** 2).sum(axis=1).mean(),
        "accuracy": chance.mean(),
        "confidence": said.mean(),
        "ece": known_calibration_error(said, chance, BINS),
        "counted": expected_calibration_error(said[few], k[few] == test.cloud[few], BINS),
        "off": abs(said - chance).mean(),  # point by point
    }


def measure(group: str, seed: int, use: str, one: dict[str, Any]) -> dict[str, Any]:
    """What one arm says in the end: the scores as they are, cooled, mixed, or those of the best look."""
    test = clouds(TESTED, GROUPS[group]["apart"], seed=TEST_SEED)
    T = best_temperature(one["S_held"], points(group, seed)[1].cloud) if use == "temperature" else 1.0
    S = one["S_best"] if use == "stop" else one["S"] / T
    log_P = torch.from_numpy(S).log_softmax(-1).numpy()
    if use == "mix":
        log_P = np.log(0.9 * np.exp(log_P) + 0.1 / 4)
    more = (
        {"temperature": T} if use == "temperature" else {"stopped": one["stopped"]} if use == "stop" else {}
    )
    return {**judged(log_P, test), **more}


def trials(group: str) -> list[dict[str, Any]]:
    """The rates first, then the five seeds at each arm's own."""
    kinds = list(dict.fromkeys(kind for kind, _ in ARMS.values()))

    def of(arm: str, seed: int, times: int, lr: float, found: dict[Any, Any]) -> dict[str, Any]:
        kind, use = ARMS[arm]
        job = {"group": group, "arm": arm, "seed": seed, "times": times, "lr": lr}
        return {**job, **rounded(measure(group, seed, use, found[kind, seed, times]))}

    rows = []
    for lr in RATES:
        found = trained(group, kinds, RATE_SEEDS, lr, BUDGETS[:1])
        rows += [of(arm, seed, 1, lr, found) for arm in ARMS for seed in RATE_SEEDS]
    chosen = {
        arm: min(
            RATES, key=lambda lr: sum(row["excess"] for row in rows if (row["arm"], row["lr"]) == (arm, lr))
        )
        for arm in ARMS
    }
    for lr in sorted(set(chosen.values())):
        arms = [arm for arm in ARMS if chosen[arm] == lr]
        found = trained(group, list(dict.fromkeys(ARMS[arm][0] for arm in arms)), SEEDS, lr, BUDGETS)
        rows += [of(arm, seed, times, lr, found) for arm in arms for times in BUDGETS for seed in SEEDS]
        print(f"{group}: {', '.join(arms)} at the rate {lr:g}", flush=True)
    return rows


def truth(apart: float) -> dict[str, float]:
    """What needs no training."""
    true = clouds(TESTED, apart, seed=TEST_SEED).true
    return {"accuracy": best_accuracy(apart), "entropy": -(true * np.log(true)).sum(axis=1).mean()}


if __name__ == "__main__":
    torch.set_num_threads(1)
    started = time.process_time()
    rows = [row for group in GROUPS for row in trials(group)]
    settings = {
        "steps": STEPS, "rates": RATES, "seeds": SEEDS, "rate_seeds": RATE_SEEDS, "figure": "excess", "width": WIDTH,
        "batch": BATCH, "every": EVERY, "tested": TESTED, "counted": COUNTED, "bins": BINS,
    }  # fmt: skip
    data = {
        "question": "is a network right as often as it says, and what mends it?",
        "settings": settings,
        "arms": {
            group: {arm: {**kind._asdict(), "use": use} for arm, (kind, use) in ARMS.items()}
            for group in GROUPS
        },
        "groups": GROUPS,
        "truth": {group: rounded(truth(one["apart"])) for group, one in GROUPS.items()},
        "trials": rows,
    }
    seconds = time.process_time() - started
    save_result(
        "calibration", data, seeds=SEEDS, command="python experiments/calibration.py", seconds=seconds
    )
