"""What should a fixed number of operations be spent on: a larger model or more text? (book: compute-data-size)

Small GPTs read an endless language whose entropy rate is known (`attnlib.data.endless`). For each budget of operations
several widths are trained, each on as much text as the budget then pays for, with a schedule of that length. A trial
is one width at one budget: learning rates times two seeds, trained side by side in one batch of models; the rates are
moved until the best of them is not the edge. Each seed is reported at the rate that the *other* seed chose, on text
that served no choice. Three stages, each of which needs those before it:

    fit        four budgets, each three times the one before
    predict    a law is fitted to them and stored, with bands; only then a larger budget is trained
    repeated   one width reads a finite sample up to 16 times, or as much fresh text

Compute is counted: 3 times the multiply-adds of a forward pass, twice that in operations. All widths have three layers.
Every trial is stored at once, and the same command goes on where it was stopped.

    python experiments/isoflop.py                             # everything that is missing; hours
    python experiments/isoflop.py --stage fit --budgets 1e10 --name mine   # the smallest budget, in some minutes
    python experiments/isoflop.py --stage fit --part 0/2 --name a          # every second trial, beside --part 1/2
    python experiments/isoflop.py --merge a.json b.json       # into attnlib/data/results/isoflop.json
"""

import argparse
import json
import math
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from attnlib.data.endless import ENTROPY, SPACE, START, VOCAB, P, letter, longer
from attnlib.data.results import FOLDER, load_result, save_result

N_LAYERS, N, SEEDS = 3, 32, (0, 1)
LADDER = tuple(2.0**k * 1e-3 for k in range(-4, 10))  # of learning rates, each twice the one before
BUDGETS = (1e10, 3e10, 1e11, 3e11)
LATER = 1e12  # not fitted: predicted
WIDTHS = {
    1e10: (8, 12, 6, 16, 4, 24),
    3e10: (12, 8, 16, 6, 24, 32),
    1e11: (16, 12, 24, 8, 32, 48),
    3e11: (24, 16, 32, 12, 48, 64),
}
SAMPLE, PASSES, REPEATED_WIDTH = 2**16, (1, 2, 4, 8, 16), 48
BETAS, EPS, DECAY, WARMUP = (0.9, 0.95), 1e-8, 0.1, 0.05
ASKED = 2**13  # texts on which a rate is chosen, and as many others on which it is reported


class Job(NamedTuple):
    """A width, how many tokens it reads, and how many of them are different."""

    stage: str
    d: int
    tokens: int
    budget: float
    sample: int = 0  # 0: no token is read twice


def heads(d: int) -> int:
    return max(1, d // (16 if d >= 64 else 8))


def parameters(d: int) -> int:
    """Numbers in the matrices with which each token is multiplied: those of the blocks, and the scores."""
    return N_LAYERS * 12 * d * d + VOCAB * d


def operations(d: int) -> float:
    """Of training on one token: 6 for each parameter, and those of attention."""
    return 6.0 * (parameters(d) + 2 * N_LAYERS * N * d)


def batch_of(tokens: int) -> int:
    """Texts a step: as the root of what is read, so that longer trainings have more steps and larger batches."""
    return max(16, round(32 * math.sqrt(tokens / 1e6)))


def steps_of(tokens: int) -> int:
    return max(1, round(tokens / (batch_of(tokens) * N)))


def first_rate(d: int, tokens: int) -> int:
    """Where on the ladder the search begins: narrower models take larger steps."""
    return round(math.log2(FIRST * (64 / d) ** POWER / LADDER[0]))


FIRST, POWER = 8e-3, 0.5  # of the width 64, and how it falls with the width


# The language on the device, many texts at a time.


@torch.no_grad()
def texts(many: int, by: torch.Generator, device: str) -> Tensor:
    bounds = torch.tensor(P[:3], device=device).cumsum(0)
    draws = torch.bucketize(torch.rand(many, N, generator=by, device=device), bounds, right=True)
    tokens = torch.full((many, N + 1), SPACE, device=device, dtype=torch.int64)
    prefix = torch.full((many,), START, device=device, dtype=torch.int64)
    for t in range(N):
        follows = torch.stack([*(letter(prefix, j) for j in range(3)), tokens[:, 0]], dim=1)
        tokens[:, t + 1] = follows.gather(1, draws[:, t : t + 1])[:, 0]
        prefix = longer(prefix, tokens[:, t + 1])
    return tokens


def followers(tokens: Tensor) -> Tensor:
    """The four tokens that may follow each of the first N, in the order of P."""
    prefix, found = torch.full_like(tokens[:, 0], START), []
    for t in range(N):
        found.append(torch.stack([*(letter(prefix, j) for j in range(3)), tokens[:, 0]], dim=1))
        prefix = longer(prefix, tokens[:, t + 1])
    return torch.stack(found, dim=1)


def generator(seed: int, device: str) -> torch.Generator:
    return torch.Generator(device).manual_seed(seed)


# Several GPTs of one shape, side by side: the first axis of each parameter is the model's.


def begun(seeds: Sequence[int], d: int, device: str) -> dict[str, Tensor]:
    """Pre-norm blocks with rotary positions, RMS norm without gains, GELU, no biases, scores with their own table."""
    shapes = {
        "embed": (VOCAB, d),
        "qkv": (N_LAYERS, d, 3 * d),
        "out": (N_LAYERS, d, d),
        "up": (N_LAYERS, d, 4 * d),
        "down": (N_LAYERS, 4 * d, d),
        "scores": (d, VOCAB),
    }
    small = math.sqrt(2 * N_LAYERS)
    spread = {
        "embed": 1.0,
        "qkv": d**-0.5,
        "out": d**-0.5 / small,
        "up": d**-0.5,
        "down": (4 * d) ** -0.5 / small,
        "scores": 0.3 * d**-0.5,
    }
    made: dict[str, Tensor] = {}
    for name, shape in shapes.items():
        each = {}
        for seed in set(seeds):
            by = torch.Generator().manual_seed(1000 * seed + len(made))
            each[seed] = torch.randn(shape, generator=by) * spread[name]
        made[name] = torch.stack([each[seed] for seed in seeds]).to(device).requires_grad_()
    return made


def rotation(d_k: int, device: str) -> tuple[Tensor, Tensor]:
    angles = torch.arange(N)[:, None] * 10_000.0 ** (-torch.arange(0, d_k, 2) / d_k)
    return angles.cos().repeat(1, 2).to(device), angles.sin().repeat(1, 2).to(device)


def rotated(X: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    a, b = X.chunk(2, -1)
    return X * cos + torch.cat((-b, a), -1) * sin


def forward(model: dict[str, Tensor], tokens: Tensor, h: int, turn: tuple[Tensor, Tensor]) -> Tensor:
    """Scores (models, b n, vocab) for tokens (models, b, n)."""
    m, b, n = tokens.shape
    d = model["embed"].shape[-1]
    which = tokens.reshape(m, b * n, 1) == torch.arange(VOCAB, device=tokens.device)
    X = torch.bmm(which.to(model["embed"].dtype), model["embed"])
    maps = [model[name].unbind(1) for name in ("qkv", "out", "up", "down")]
    for qkv, out, up, down in zip(*maps, strict=True):
        Y = torch.bmm(F.rms_norm(X, (d,), eps=1e-5), qkv).view(m * b, n, 3, h, d // h).permute(2, 0, 3, 1, 4)
        Y = F.scaled_dot_product_attention(rotated(Y[0], *turn), rotated(Y[1], *turn), Y[2], is_causal=True)
        X = torch.baddbmm(X, Y.transpose(1, 2).reshape(m, b * n, d), out)
        X = torch.baddbmm(X, F.gelu(torch.bmm(F.rms_norm(X, (d,), eps=1e-5), up), approximate="tanh"), down)
    return torch.bmm(F.rms_norm(X, (d,), eps=1e-5), model["scores"])


class Training:
    """AdamW for all models at once, each with its own rate."""

    def __init__(self, job: Job, seeds: Sequence[int], rates: Sequence[float], device: str) -> None:
        self.job, self.seeds, self.device = job, seeds, device
        self.model = begun(seeds, job.d, device)
        self.turn = rotation(job.d // heads(job.d), device)
        self.mean = [torch.zeros_like(p) for p in self.model.values()]
        self.square = [torch.zeros_like(p) for p in self.model.values()]
        self.rates = torch.tensor(rates, device=device)
        self.done = torch.zeros((), device=device)
        self.batch = torch.zeros(
            len(set(seeds)), batch_of(job.tokens), N + 1, dtype=torch.int64, device=device
        )
        order = sorted(set(seeds))
        self.whose = torch.tensor([order.index(seed) for seed in seeds], device=device)

    def step(self) -> None:
        rows = self.batch[self.whose]
        scores = forward(self.model, rows[..., :-1], heads(self.job.d), self.turn)
        loss = F.cross_entropy(scores.reshape(-1, VOCAB), rows[..., 1:].reshape(-1), reduction="sum")
        grads = torch.autograd.grad(loss / (rows.shape[1] * N), list(self.model.values()))
        with torch.no_grad():
            self.update(grads)

    def update(self, grads: Sequence[Tensor]) -> None:
        norm = sum(g.flatten(1).square().sum(1) for g in grads).sqrt()  # type: ignore[union-attr]
        clip = (1.0 / norm.clamp(min=1.0)).nan_to_num(0.0)
        self.done += 1
        steps = steps_of(self.job.tokens)
        warmup = max(1.0, WARMUP * steps)
        share = torch.minimum(self.done / warmup, (steps - self.done + 1) / (steps - warmup + 1))
        lr = self.rates * share
        fix = (1 - BETAS[1] ** self.done).sqrt() / (1 - BETAS[0] ** self.done)
        for p, g, mean, square in zip(self.model.values(), grads, self.mean, self.square, strict=True):
            wide = (-1,) + (1,) * (p.dim() - 1)
            g = g * clip.view(wide)
            mean.lerp_(g, 1 - BETAS[0])
            square.mul_(BETAS[1]).addcmul_(g, g, value=1 - BETAS[1])
            p.mul_(1 - DECAY * lr.view(wide)).sub_(lr.view(wide) * fix * mean / (square.sqrt() + EPS))

    def some_rows(self, first: int, steps: int) -> Tensor:
        """The rows of some steps, (steps, seeds, b, N + 1)."""
        b, each = self.batch.shape[1], []
        for seed in sorted(set(self.seeds)):
            if not self.job.sample:
                by = generator(10**8 * (seed + 1) + first, self.device)
                rows = texts(steps * b, by, self.device)
            else:
                rows = self.repeated_rows(seed, first * b, steps * b)
            each.append(rows.view(steps, b, N + 1))
        return torch.stack(each, dim=1)

    def repeated_rows(self, seed: int, first: int, many: int) -> Tensor:
        """A finite sample, pass after pass, each in an order of its own."""
        size = self.job.sample // N
        sample = texts(size, generator(77_000 + seed, self.device), self.device)
        index = torch.arange(first, first + many, device=self.device)
        turns = {int(k): None for k in (first // size, (first + many - 1) // size)}
        turns = dict.fromkeys(range(min(turns), max(turns) + 1))
        orders = torch.stack(
            [
                torch.randperm(size, generator=generator(seed + 131 * k, self.device), device=self.device)
                for k in turns
            ]
        )
        return sample[orders[index // size - min(turns), index % size]]

    def run(self, until: float) -> bool:
        """Train; False if it was stopped because time was up."""
        steps, b = steps_of(self.job.tokens), self.batch.shape[1]
        chunk, began, i = max(1, min(steps, 2**16 // b)), time.monotonic(), 0
        while i < steps:
            for rows in self.some_rows(i, min(chunk, steps - i)):
                self.batch.copy_(rows)
                self.step()
                i += 1
            now = time.monotonic()
            if now + (now - began) * (steps - i) / i > until:
                return False
        return True

    @torch.no_grad()
    def excess(self, seed: int) -> list[float]:
        """Nats a token above the entropy rate, on fresh texts: the divergence from the true probabilities."""
        rows = texts(ASKED, generator(seed, self.device), self.device)
        true, follow = torch.tensor(P, device=self.device), followers(rows)
        total = torch.zeros(len(self.seeds), device=self.device, dtype=torch.float64)
        some = max(64, min(ASKED, 2**22 // (self.job.d * len(self.seeds)), 2**15 // len(self.seeds)))
        for part, next_ in zip(rows.split(some), follow.split(some), strict=True):
            many = len(part)
            shown = part[:, :-1].expand(len(self.seeds), -1, -1)
            scores = forward(self.model, shown, heads(self.job.d), self.turn).log_softmax(-1)
            asked = next_.view(1, many * N, 4).expand(len(self.seeds), -1, -1)
            total -= (scores.gather(-1, asked) * true).sum((1, 2), dtype=torch.float64)
        return (total / (ASKED * N) - ENTROPY).tolist()


def best_at(rates: Iterable[float], found: dict[tuple[float, int], list[float]], seed: int) -> float:
    """The rate at which one seed is best, on the texts that serve this choice."""
    known = {r: found[r, seed][0] for r in rates if math.isfinite(found[r, seed][0])}
    return min(known, key=lambda r: known[r]) if known else min(rates)


def trial(
    job: Job, device: str, until: float, start: int | None = None, many: int = 3
) -> dict[str, Any] | None:
    """One width at one budget: every rate and seed; wider until no chosen rate is the edge. None: out of time."""
    began, found = time.monotonic(), {}
    low = min(
        max((first_rate(job.d, job.tokens) if start is None else start) - many // 2, 0), len(LADDER) - many
    )
    wanted = list(range(low, low + many))
    while wanted:
        grid = [(LADDER[k], seed) for k in wanted for seed in SEEDS]
        training = Training(job, [seed for _, seed in grid], [rate for rate, _ in grid], device)
        if not training.run(until):
            return None
        measured = zip(training.excess(5), training.excess(6), strict=True)
        found.update({key: [round(a, 6), round(b, 6)] for key, (a, b) in zip(grid, measured, strict=True)})
        del training
        tried = sorted({LADDER.index(rate) for rate, _ in found})
        best = {LADDER.index(best_at([LADDER[k] for k in tried], found, seed)) for seed in SEEDS}
        wanted = []
        if min(best) == tried[0] > 0:
            wanted += range(max(0, tried[0] - 2), tried[0])
        if max(best) == tried[-1] < len(LADDER) - 1:
            wanted += range(tried[-1] + 1, min(len(LADDER), tried[-1] + 3))
    rates = sorted({rate for rate, _ in found})
    chosen = {seed: best_at(rates, found, seed) for seed in SEEDS}
    return {
        **job._asdict(),
        "parameters": parameters(job.d),
        "steps": steps_of(job.tokens),
        "rates": rates,
        "chosen": [chosen[seed] for seed in SEEDS],
        "off_edge": all(rates[0] < rate < rates[-1] for rate in chosen.values()),
        "excess": [found[chosen[SEEDS[1 - SEEDS.index(seed)]], seed][1] for seed in SEEDS],
        "all": [[found[rate, seed] for seed in SEEDS] for rate in rates],
        "seconds": round(time.monotonic() - began, 2),
    }


# What is trained, most important first.


def at_budget(stage: str, budget: float, d: int) -> Job:
    return Job(stage, d, round(budget / operations(d)), budget)


def fit_jobs(budgets: Sequence[float]) -> list[Job]:
    """Around the size that is expected to be best, then further out; all budgets at each distance."""
    return [at_budget("fit", C, WIDTHS[C][k]) for k in range(6) for C in sorted(budgets, reverse=True)]


def repeated_jobs() -> list[Job]:
    per = operations(REPEATED_WIDTH)
    jobs = []
    for times in sorted(PASSES, reverse=True):
        tokens = SAMPLE * times
        jobs.append(Job("repeated", REPEATED_WIDTH, tokens, per * tokens, SAMPLE))
        if times > 1:
            jobs.append(Job("repeated", REPEATED_WIDTH, tokens, per * tokens))
    return jobs


# The law, and what it says of a budget that was not trained.


def law(points: Sequence[tuple[float, float, float]], tries: int = 40, seed: int = 0) -> dict[str, float]:
    """A, a, B, b of excess = A / N^a + B / D^b, by least squares of logarithms from several starts."""
    N_, D_, y = (np.log(np.array(column)) for column in zip(*points, strict=True))
    by, best = np.random.default_rng(seed), (math.inf, np.zeros(4))
    for _ in range(tries):
        x = np.array([by.uniform(0, 8), by.uniform(0.1, 1), by.uniform(0, 8), by.uniform(0.1, 1)])
        damp = 1e-2
        error, slopes = residuals(x, N_, D_, y)
        for _ in range(200):  # Levenberg and Marquardt
            H = slopes.T @ slopes
            move = np.linalg.solve(H + damp * np.diag(np.diag(H) + 1e-9), -slopes.T @ error)
            new, grown = residuals(x + move, N_, D_, y)
            if new @ new < error @ error:
                x, error, slopes, damp = x + move, new, grown, damp / 3
            else:
                damp *= 4
            if damp > 1e9:
                break
        if error @ error < best[0]:
            best = (float(error @ error), x)
    lnA, a, lnB, b = best[1]
    return {"A": math.exp(lnA), "a": a, "B": math.exp(lnB), "b": b, "rms": math.sqrt(best[0] / len(y))}


def residuals(x: np.ndarray, N_: np.ndarray, D_: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, second = x[0] - x[1] * N_, x[2] - x[3] * D_
    said = np.logaddexp(first, second)
    share = np.exp(first - said)
    return said - y, np.stack([share, -N_ * share, 1 - share, -D_ * (1 - share)], axis=1)


def best_size(at: dict[str, float], budget: float) -> tuple[int, float]:
    """Of the widths that are multiples of 8, the best by the law, and its excess."""
    sizes = range(8, 1025, 8)
    excess = [
        at["A"] / parameters(d) ** at["a"] + at["B"] / (budget / operations(d)) ** at["b"] for d in sizes
    ]
    k = int(np.argmin(excess))
    return sizes[k], excess[k]


def prediction(trials: Sequence[dict[str, Any]], budget: float, again: int = 200) -> dict[str, Any]:
    """The law through the fitted trials, and a bootstrap: trials are drawn again, one of their seeds each."""
    fitted = [one for one in trials if one["stage"] == "fit" and one["off_edge"]]
    by = np.random.default_rng(0)
    found = law([(one["parameters"], one["tokens"], float(np.mean(one["excess"]))) for one in fitted])
    laws = []
    for _ in range(again):
        drawn = [fitted[k] for k in by.integers(len(fitted), size=len(fitted))]
        points = [(one["parameters"], one["tokens"], one["excess"][by.integers(2)]) for one in drawn]
        laws.append(law(points, tries=4))
    sizes, excess = zip(*(best_size(one, budget) for one in laws), strict=True)
    band = [2.5, 97.5]
    return {
        "budget": budget,
        "fitted": len(fitted),
        "law": found,
        "laws": [[round(one[key], 5) for key in ("A", "a", "B", "b")] for one in laws],
        "width": best_size(found, budget)[0],
        "width_band": [int(v) for v in np.percentile(sizes, band)],
        "excess": best_size(found, budget)[1],
        "excess_band": [float(v) for v in np.percentile(excess, band)],
        "written": time.strftime("%Y-%m-%dT%H:%M:%S"),
    }


# Storing.


class Store:
    """The trials of one process, rewritten after each."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        self.trials: list[dict[str, Any]] = []
        self.prediction: dict[str, Any] | None = None
        if (folder / f"{name}.json").is_file():
            stored = load_result(name, folder)
            if stored["settings"] != settings():
                raise ValueError(
                    f"{name}: trials are continued with the same settings only. Move the result away."
                )
            self.trials, self.prediction = stored["trials"], stored["prediction"]

    def add(self, *trials: dict[str, Any]) -> None:
        self.trials += trials
        save_result(
            self.name,
            {
                "question": "what should a fixed number of operations be spent on: a larger model or more text?",
                "settings": settings(),
                "trials": [without_nan(one) for one in self.trials],
                "prediction": self.prediction,
            },
            seeds=SEEDS,
            command="python experiments/isoflop.py",
            seconds=max(1.0, sum(one["seconds"] for one in self.trials)),
            folder=self.folder,
        )


def settings() -> dict[str, Any]:
    """What fixes the numbers, and what the page needs."""
    return {
        "layers": N_LAYERS,
        "context": N,
        "vocab": VOCAB,
        "entropy": ENTROPY,
        "budgets": list(BUDGETS),
        "later": LATER,
        "sample": SAMPLE,
        "passes": list(PASSES),
        "seeds": list(SEEDS),
    }


def without_nan(value: Any) -> Any:
    """A training that broke has None for its figure."""
    if isinstance(value, dict):
        return {key: without_nan(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def key_of(one: dict[str, Any]) -> tuple[Any, ...]:
    return one["stage"], one["d"], one["tokens"], one["sample"]


def go(jobs: Sequence[Job], store: Store, device: str, until: float, **more: Any) -> None:
    known = {key_of(one) for one in store.trials}
    for job in jobs:
        if key_of(job._asdict()) in known or time.monotonic() > until:
            continue
        one = trial(job, device, until, **more)
        if one is not None:
            store.add(one)
        told = "no time" if one is None else f"{one['excess']} at {one['chosen']}, {one['seconds']} s"
        print(f"{job.stage}, {job.budget:.0e}, width {job.d}, {job.tokens:,} tokens: {told}", flush=True)


def predict_and_train(
    store: Store, fitted: Sequence[dict[str, Any]], device: str, until: float, k: int, n: int
) -> None:
    """The prediction is stored before anything is trained at that budget."""
    if store.prediction is None:
        store.prediction = prediction(fitted, LATER)
        store.add()
    middle, rate = store.prediction["width"], start_rate(fitted)
    for d in [middle, *(8 * round(middle * times / 8) for times in (2**-0.5, 2**0.5))][k::n]:
        job = at_budget("predict", LATER, d)
        go([job], store, device, until, start=rate(job.d, job.tokens))


def merged(files: Sequence[Path], into: Store) -> None:
    """The trials of several processes in one result."""
    for file in files:
        stored = json.loads(file.read_text(encoding="utf-8"))
        into.prediction = into.prediction or stored["prediction"]
        into.trials += stored["trials"]
    order = {"fit": 0, "predict": 1, "repeated": 2}
    into.trials.sort(key=lambda one: (order[one["stage"]], one["budget"], one["sample"], one["d"]))
    into.add()


def start_rate(trials: Sequence[dict[str, Any]]) -> Any:
    """The best rate as a plane over the logarithms of width and tokens, from the fitted trials."""
    fitted = [one for one in trials if one["stage"] == "fit" and one["off_edge"]]
    rows = np.array([[1.0, math.log2(one["d"]), math.log2(one["tokens"])] for one in fitted])
    best = np.array([np.mean([math.log2(rate) for rate in one["chosen"]]) for one in fitted])
    plane = np.linalg.lstsq(rows, best, rcond=None)[0]

    def at(d: int, tokens: int) -> int:
        wanted = float(plane @ [1.0, math.log2(d), math.log2(tokens)]) - math.log2(LADDER[0])
        return int(np.clip(round(wanted), 1, len(LADDER) - 2))

    return at


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stage", choices=("fit", "predict", "repeated"), help="this one alone")
    parser.add_argument("--budgets", type=float, nargs="*", default=BUDGETS, help="fit these alone")
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="begin nothing that ends after so long"
    )
    parser.add_argument("--part", default="0/1", metavar="K/N", help="every n-th trial, from the k-th on")
    parser.add_argument("--name", default="isoflop", help="of the result")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where it is stored")
    parser.add_argument(
        "--read", type=Path, nargs="*", help="files with the fitted trials, for --stage predict"
    )
    parser.add_argument("--merge", type=Path, nargs="*", help="files of several processes, into one result")
    asked = parser.parse_args(argv)
    store, until = Store(asked.name, asked.folder), time.monotonic() + asked.seconds
    if asked.merge:
        merged(asked.merge, store)
        return
    k, n = (int(part) for part in asked.part.split("/"))
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if asked.stage in (None, "fit"):
        go(fit_jobs(asked.budgets)[k::n], store, device, until)
    if asked.stage in (None, "predict"):
        files = asked.read or [asked.folder / f"{asked.name}.json"]
        fitted = [one for file in files for one in json.loads(file.read_text(encoding="utf-8"))["trials"]]
        predict_and_train(store, fitted, device, until, k, n)
    if asked.stage in (None, "repeated"):
        go(repeated_jobs()[k::n], store, device, until)


if __name__ == "__main__":
    main()
