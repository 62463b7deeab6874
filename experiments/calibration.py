"""Is a network right as often as it says, and what mends it if it is not? (book: calibration)

Points come from four clouds whose true probabilities are known. A small network is trained on a few of them, on many,
or on clouds that hardly touch. For each new point it predicts a cloud with a confidence; the true probability tells how
often that prediction is right, so no chance enters the calibration error. What is compared is the excess: the
cross-entropy of the network beyond that of the true probabilities.

As many points as are trained on are held out. Two arms use them: one divides the scores by the best temperature, one
goes back to the step with the smallest held-out loss. Two rivals show what these points, or a smaller confidence alone,
are worth: "twice the points" trains on both parts, "mixed 0.1" takes the plain network and mixes its probabilities with
equal ones, as label smoothing does with the labels, but after the training.

As in `_runner.py` an arm has the best of the rates for two seeds at 1x, and then five other seeds at 1x, 4x and 16x.
The rate is constant, so that one training, measured three times, is all three. The networks are small and many, so all
with the same rate and the same kind of points are trained side by side, in tensors with one axis more.

    python experiments/calibration.py
"""

import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from _runner import BUDGETS, RATE_SEEDS, SEEDS, rounded
from torch import Tensor, nn

from attnlib.data.clouds import Clouds, best_accuracy, clouds
from attnlib.data.results import save_result
from attnlib.metrics.calibration import (
    best_temperature,
    expected_calibration_error,
    known_calibration_error,
)
from attnlib.shapes import Array
from attnlib.train.callbacks import Callback
from attnlib.train.fit import fit
from attnlib.train.toy import TEST_SEED
from attnlib.train.training import Training

WIDTH, BATCH, STEPS, EVERY = 32, 100, 250, 25
TESTED, COUNTED, BINS = 10_000, 1000, 15
RATES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2)
GROUPS = {  # points to train on, and how far the middles of the clouds are from the axes
    "few points": {"n": 100, "apart": 1.0},
    "many points": {"n": 10_000, "apart": 1.0},
    "far apart": {"n": 1000, "apart": 3.0},
}


class Kind(NamedTuple):
    """How a network is trained: the share of its smoothed labels, and whether on the held-out points, too."""

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


class Networks(nn.Module):
    """Networks side by side, two hidden layers each; each starts from a seed, as `nn.Linear` does."""

    def __init__(self, seeds: list[int]) -> None:
        super().__init__()
        starts = [self.start(seed) for seed in seeds]
        self.layers = nn.ParameterList(torch.stack(part) for part in zip(*starts, strict=True))

    @staticmethod
    def start(seed: int) -> list[Tensor]:
        torch.manual_seed(seed)
        layers = [nn.Linear(*size) for size in ((2, WIDTH), (WIDTH, WIDTH), (WIDTH, 4))]
        return [part for layer in layers for part in (layer.weight.detach().T, layer.bias.detach()[None])]

    def forward(self, X: Tensor) -> Tensor:
        """Scores (networks, points, 4) of points (networks, points, 2), or (points, 2) for all."""
        A, a, B, b, C, c = self.layers
        return ((X @ A + a).relu() @ B + b).relu() @ C + c


def points(group: str, seed: int) -> tuple[Clouds, Clouds]:
    """To train on, and held out."""
    n, apart = GROUPS[group]["n"], GROUPS[group]["apart"]
    whole = clouds(2 * n, apart, seed=TEST_SEED + 1 + seed)
    first, second = (Clouds(*(part[at] for part in whole)) for at in (slice(n), slice(n, None)))
    return first, second


class Data:
    """The points of some jobs, that is of pairs of a kind and a seed: those of the training come first."""

    def __init__(self, group: str, jobs: list[tuple[Kind, int]]) -> None:
        parts = [points(group, seed) for _, seed in jobs]
        both = [[np.concatenate(pair) for pair in zip(own[:2], held[:2], strict=True)] for own, held in parts]
        X, self.y = (torch.from_numpy(np.stack([one[i] for one in both])) for i in (0, 1))
        self.X, self.n = X.float(), GROUPS[group]["n"]
        self.known = torch.tensor([[2 * self.n if kind.twice else self.n] for kind, _ in jobs])
        epsilon = torch.tensor([[[kind.epsilon]] for kind, _ in jobs])
        self.aims = (1 - epsilon) * F.one_hot(self.y, 4) + epsilon / 4

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Points and the probabilities that they are to have, for each job."""
        draws, rows = torch.Generator().manual_seed(0), torch.arange(len(self.X))[:, None]
        while True:
            some = (torch.rand(len(self.X), BATCH, generator=draws) * self.known).long()
            yield self.X[rows, some], self.aims[rows, some]


def loss(networks: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
    """The sum of the networks' mean cross-entropies: each has the gradient that it would have alone."""
    X, aims = batch
    return -(aims * networks(X).log_softmax(-1)).sum(-1).mean(1).sum()


class Looks(Callback):
    """For each job the scores at the end of each budget, and those at the smallest held-out loss up to then."""

    def __init__(
        self, jobs: list[tuple[Kind, int]], data: Data, test: Tensor, budgets: tuple[int, ...]
    ) -> None:
        self.jobs, self.data, self.test, self.budgets = jobs, data, test, budgets
        self.best = {job: (np.inf, 0, np.empty(0)) for job in jobs}  # loss, step, scores of the test
        self.found: dict[tuple[Kind, int, int], dict[str, Any]] = {}

    @torch.no_grad()
    def on_step_end(self, training: Training) -> None:
        if training.step % EVERY:
            return
        networks, step = training.model, training.step
        S_held = networks(self.data.X[:, self.data.n :])
        y = self.data.y[:, self.data.n :]
        losses = F.cross_entropy(S_held.transpose(1, 2), y, reduction="none").mean(1).tolist()
        better = [one < self.best[job][0] for one, job in zip(losses, self.jobs, strict=True)]
        ends = step in [STEPS * times for times in self.budgets]
        S = networks(self.test).double().numpy() if ends or any(better) else np.empty(0)
        for i, job in enumerate(self.jobs):
            if better[i]:
                self.best[job] = losses[i], step, S[i].copy()
            if ends:
                _, stopped, S_best = self.best[job]
                self.found[*job, step // STEPS] = {
                    "S": S[i], "S_held": S_held[i].double().numpy(), "stopped": stopped, "S_best": S_best,
                }  # fmt: skip


def trained(
    group: str, kinds: list[Kind], seeds: tuple[int, ...], lr: float, budgets: tuple[int, ...]
) -> dict[tuple[Kind, int, int], dict[str, Any]]:
    """For each kind, seed and budget: scores of the test and of the held-out points, at the end and at the best."""
    jobs = [(kind, seed) for kind in kinds for seed in seeds]
    data, test = Data(group, jobs), clouds(TESTED, GROUPS[group]["apart"], seed=TEST_SEED).X
    looks = Looks(jobs, data, torch.from_numpy(test).float(), budgets)
    networks = Networks([seed for _, seed in jobs])
    fit(
        networks, loss, data.batches(), steps=STEPS * max(budgets), clip=math.inf, callbacks=[looks],
        optimizer=torch.optim.Adam(networks.parameters(), lr=lr),
    )  # fmt: skip
    return looks.found


def judged(log_P: Array, test: Clouds) -> dict[str, float]:
    """Log-probabilities of new points against the true probabilities."""
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
    """What one arm predicts: by its scores, divided by a temperature, mixed, or by those of the best step."""
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
