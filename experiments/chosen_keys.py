"""What the course's model loses when each query attends to k chosen keys (book: Chosen keys).

The model is not trained again. Every layer attends to k of up to 256 keys, and the loss is measured on the rows of
held-out text of `windows.py`, from half of the context on. Choices that need no training:

    "each head its own"     for each head and query the k keys with the largest weights
    "the same for all"      for each query the k keys with the largest weight on average over the heads of the layer
    "window"                the k latest
    "window, first"         the k - 1 latest and the first token; "window, first four" likewise
    "heavy hitters"         k / 2 latest, and those with the largest sum of weights until now, for each head (as in H2O)
    "random"                k of the earlier keys, drawn anew for each row, layer and query

With ", first" the first token is always one of the k. "blocks" are four of the blocks of 8 keys, among them the first
and the query's own, as in NSA: by Quest's bound, by the mean key as in MoBA, by the weight that a block really has.

The trained choice is an indexer for each layer (`LightningIndexer`), whose softmax is brought near to the layer's
weights, averaged over its heads, on text that the model was trained on. The arms:

    "2 heads of 32"    the form of DeepSeek-V3.2: half as many heads as the layer, half of a key rotated by position
    "2 heads of 8"     the same with narrow heads
    "one product"      the cheap rival: a single product of width 32, without a ReLU and without weights
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch
from _runner import RATE_SEEDS, Experiment, main
from torch import Tensor, nn
from windows import BATCH, COUNTED, N, held_out_rows

from attnlib.data import stdlib
from attnlib.models.course import CONFIG, course_model, course_tokenizer
from attnlib.nn.indexer import LightningIndexer, index_loss, index_mask, kept_mass
from attnlib.nn.patterns import both, causal, dense_mask, either, first, window
from attnlib.nn.positional import PartlyRotary
from attnlib.nn.scores import scaled_dot_scores
from attnlib.nn.sparse import top_k_mask

KS, BLOCK, STEPS = (8, 16, 32, 64), 8, 100
ROWS, VALID, TEXTS = 400, 40, 4  # texts to train on, to choose a rate by, and in a step
RATES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1)
SEEN = torch.ones(N, N, dtype=torch.bool).tril()
KEYS = torch.arange(N)


class Layer(NamedTuple):
    """What a choice may look at: of some rows of text, in one layer."""

    number: int
    X: Tensor  # (b, n, d_model), what the layer reads
    Q: Tensor  # (b, h, n, d_k)
    K: Tensor
    P: Tensor  # (b, h, n, n), the weights of full attention


Choice = Callable[[Layer], Tensor]  # a mask that broadcasts to (b, h, n, n)


# ---- The model, with a choice in each layer -------------------------------------------------------------------------


@cache
def parts() -> tuple[Any, Tensor, int]:
    """The model, the rows that are reported, and the bytes that are predicted in them."""
    by, rows = course_tokenizer(), held_out_rows()
    return (
        course_model(),
        rows,
        sum(len(by.decode(row[1 + COUNTED :].tolist()).encode()) for row in rows),
    )


def layer_by_layer(tokens: Tensor, choice: Choice, each: Callable[[Layer], None] = lambda _: None) -> Tensor:
    """The residual stream after the last block; `each` is shown every layer before its keys are chosen."""
    model, *_ = parts()
    X = model.places(model.embed(tokens), 0)
    for number, block in enumerate(model.blocks):
        normed, attention = block.norm_1(X), block.attention
        Q, K, V = (
            W(normed).unflatten(-1, (CONFIG.n_heads, -1)).transpose(1, 2)
            for W in (attention.W_Q, attention.W_K, attention.W_V)
        )
        P = torch.where(SEEN, scaled_dot_scores(Q, K), -math.inf).softmax(-1)
        layer = Layer(number, normed, Q, K, P)
        each(layer)
        P = torch.where(choice(layer), P, 0)
        Z = (P / P.sum(-1, keepdim=True).clamp_min(1e-30)) @ V
        X = X + attention.W_O(Z.transpose(1, 2).flatten(-2))
        X = X + block.feed_forward(block.norm_2(X))
    return X


@torch.inference_mode()
def bits_a_byte(choice: Choice, every: int = 1) -> float:
    """Bits per byte from COUNTED positions on; every: 4 takes each fourth row."""
    model, rows, n_bytes = parts()
    rows, nats = rows[::every], 0.0
    if every > 1:
        by = course_tokenizer()
        n_bytes = sum(len(by.decode(row[1 + COUNTED :].tolist()).encode()) for row in rows)
    for at in range(0, len(rows), BATCH):
        tokens = rows[at : at + BATCH]
        X = layer_by_layer(tokens[:, :-1], choice)[:, COUNTED:]
        L = model.unembed(model.norm(X)).log_softmax(-1)
        nats -= L.gather(-1, tokens[:, 1 + COUNTED :, None]).sum().item()
    return round(nats / math.log(2) / n_bytes, 4)


def everything(layer: Layer) -> Tensor:
    return SEEN


@torch.inference_mode()
def masses(choices: dict[str, Choice]) -> dict[str, list[float]]:
    """For each choice the kept mass in each layer of the uncut model: a mean over heads, queries and 50 rows."""
    _, rows, _ = parts()
    rows = rows[::4]
    found = {name: [0.0] * CONFIG.n_layers for name in choices}

    def each(layer: Layer) -> None:
        for name, choice in choices.items():
            chosen = (choice(layer) & SEEN)[..., COUNTED:, :]
            mass = kept_mass(layer.P[..., COUNTED:, :], chosen.expand_as(layer.P[..., COUNTED:, :]))
            found[name][layer.number] += mass.mean().item() * len(layer.X) / len(rows)

    for at in range(0, len(rows), 10):
        layer_by_layer(rows[at : at + 10, :-1], everything, each)
    return {name: [round(one, 4) for one in layers] for name, layers in found.items()}


# ---- Choices without training ---------------------------------------------------------------------------------------


def best(scores: Tensor, k: int, sink: bool = False) -> Tensor:
    """The k visible keys with the largest scores; with `sink` the first token is always one of them."""
    if sink:
        scores = torch.where(KEYS == 0, math.inf, scores)
    return index_mask(scores, k, SEEN)


def latest(k: int, beginning: int = 0) -> Choice:
    """k keys: the latest, and the first `beginning` of the text."""
    mask = dense_mask(either(window(k - beginning), both(causal(), first(beginning))), N)
    return lambda layer: mask


def heavy_hitters(k: int) -> Choice:
    near = dense_mask(window(k // 2), N)
    return lambda layer: near | best(torch.where(near, -1.0, layer.P.cumsum(-2)), k - k // 2)


def random_keys(k: int) -> Choice:
    generator = torch.Generator().manual_seed(k)
    return lambda layer: best(torch.rand(len(layer.X), 1, N, N, generator=generator), k)


def blocks(k: int, by: str) -> Choice:
    """k / BLOCK blocks for each head: the first, the query's own, and those with the largest score."""

    def choice(layer: Layer) -> Tensor:
        pages, Q = layer.K.unflatten(-2, (-1, BLOCK)), layer.Q
        if by == "bound":
            score = Q.clamp(min=0) @ pages.amax(-2).mT + Q.clamp(max=0) @ pages.amin(-2).mT
        elif by == "mean key":
            score = Q @ pages.mean(-2).mT
        else:
            score = layer.P.unflatten(-1, (-1, BLOCK)).sum(-1)
        at, of = torch.arange(N // BLOCK), KEYS[:, None] // BLOCK
        score = torch.where((at == 0) | (at == of), math.inf, torch.where(at > of, -math.inf, score))
        return top_k_mask(score, k // BLOCK).repeat_interleave(BLOCK, dim=-1) & SEEN

    return choice


def choices(k: int) -> dict[str, Choice]:
    return {
        "each head its own": lambda layer: best(layer.P, k),
        "the same for all": lambda layer: best(layer.P.mean(1, keepdim=True), k),
        "the same for all, first": lambda layer: best(layer.P.mean(1, keepdim=True), k, sink=True),
        "window": latest(k),
        "window, first": latest(k, 1),
        "window, first four": latest(k, 4),
        "heavy hitters": heavy_hitters(k),
        "random": random_keys(k),
    }


def only_in(number: int, choice: Choice) -> Choice:
    return lambda layer: choice(layer) if layer.number == number else SEEN


def without_the_first(k: int) -> Choice:
    return lambda layer: best(torch.where(KEYS == 0, -1.0, layer.P.mean(1, keepdim=True)), k)


@cache
def once() -> dict[str, Any]:
    """All that is not trained."""
    data: dict[str, Any] = {"full attention": bits_a_byte(everything)}
    print(data, flush=True)
    data["bits_per_byte"], data["kept"] = {}, {}
    for k in KS:
        for name, choice in choices(k).items():
            data["bits_per_byte"].setdefault(name, {})[str(k)] = bits_a_byte(choice)
        for name, kept in masses(choices(k)).items():
            data["kept"].setdefault(name, {})[str(k)] = kept
        print(k, {name: found[str(k)] for name, found in data["bits_per_byte"].items()}, flush=True)
    by = ("bound", "mean key", "weight")
    data["blocks of 8, 32 keys"] = {one: bits_a_byte(blocks(32, one)) for one in by}
    one_layer = ("each head its own", "the same for all", "window", "random")
    data["one layer, 16 keys, each fourth row"] = {"nothing cut": bits_a_byte(everything, 4)} | {
        name: [bits_a_byte(only_in(number, choices(16)[name]), 4) for number in range(CONFIG.n_layers)]
        for name in one_layer
    }
    second = {"always": choices(16)["the same for all, first"], "never": without_the_first(16)}
    data["second layer, 16 keys for all heads, the first token"] = {
        name: bits_a_byte(only_in(1, choice), 4) for name, choice in second.items()
    }
    print({key: data[key] for key in list(data)[3:]}, flush=True)
    return data


# ---- The indexer ----------------------------------------------------------------------------------------------------


class OneProduct(nn.Module):
    """The cheap rival: one product of a query and a key of width d_k."""

    def __init__(self, d_model: int, d_k: int) -> None:
        super().__init__()
        self.W_Q, self.W_K = nn.Linear(d_model, d_k, bias=False), nn.Linear(d_model, d_k, bias=False)
        self.norm_K = nn.LayerNorm(d_k, eps=1e-6)

    def forward(self, X: Tensor, rotate: Any) -> Tensor:
        Q, K = rotate(self.W_Q(X), 0), rotate(self.norm_K(self.W_K(X)), 0)
        return Q @ K.mT / math.sqrt(K.shape[-1])


def made(heads: int, width: int) -> nn.Module:
    if not heads:
        return OneProduct(CONFIG.d_model, width)
    return LightningIndexer(d_model=CONFIG.d_model, n_heads=heads, d_k=width)


@torch.inference_mode()
def _read(rows: Tensor) -> list[tuple[Tensor, Tensor]]:
    """For each layer what it reads, and its weights averaged over the heads, in half precision."""
    found: list[list[tuple[Tensor, Tensor]]] = [[] for _ in range(CONFIG.n_layers)]

    def each(layer: Layer) -> None:
        found[layer.number].append((layer.X.half(), layer.P.mean(1).half()))

    for at in range(0, len(rows), BATCH):
        layer_by_layer(rows[at : at + BATCH, :-1], everything, each)
    return [(torch.cat([x for x, _ in layer]), torch.cat([p for _, p in layer])) for layer in found]


@cache
def material() -> tuple[list[tuple[Tensor, Tensor]], list[tuple[Tensor, Tensor]]]:
    """What indexers are trained on, and what their rate is chosen by: rows of text that the model was trained on."""
    by, rng = course_tokenizer(), np.random.default_rng(0)
    text = np.concatenate([by.encode_ordinary(source) for _, source in stdlib.texts("train")]).astype(int)
    begins = rng.choice((len(text) - 1) // N, ROWS + VALID, replace=False) * N  # no two rows overlap
    rows = torch.tensor(np.stack([text[at : at + N + 1] for at in begins]))
    return _read(rows[:ROWS]), _read(rows[ROWS:])


def trained(number: int, heads: int, width: int, lr: float, steps: int, seed: int) -> tuple[nn.Module, Any]:
    """The indexer of one layer."""
    torch.manual_seed(seed)
    generator = torch.Generator().manual_seed(seed)
    X, P = material()[0][number]
    layer, rotate = made(heads, width), PartlyRotary(width // 2, context=N, layout="halves")
    optimiser = torch.optim.Adam(layer.parameters(), lr)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / steps)
    for _ in range(steps):
        texts = torch.randint(len(X), (TEXTS,), generator=generator)
        loss = index_loss(layer(X[texts].float(), rotate=rotate), P[texts].float(), SEEN).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    return layer, rotate


def by_index(indexers: list[tuple[nn.Module, Any]], k: int, sink: bool = False) -> Choice:
    def choice(layer: Layer) -> Tensor:
        indexer, rotate = indexers[layer.number]
        return best(indexer(layer.X, rotate=rotate)[:, None], k, sink)

    return choice


def trial(*, seed: int, steps: int, lr: float, heads: int, width: int) -> dict[str, Any]:
    """Train an indexer for each layer. The rate is chosen by its divergence, on text that is not reported."""
    indexers = [trained(number, heads, width, lr, steps, seed) for number in range(CONFIG.n_layers)]
    with torch.inference_mode():
        losses = [
            index_loss(layer(X.float(), rotate=rotate), P.float(), SEEN).mean().item()
            for (layer, rotate), (X, P) in zip(indexers, material()[1], strict=True)
        ]
    found: dict[str, Any] = {"agreement": -float(np.mean(losses)), "divergence": losses}
    if seed in RATE_SEEDS:
        return found | {"kept": 0.0}
    kept = masses({str(k): by_index(indexers, k) for k in KS})
    found |= {"kept": float(np.mean(kept["32"])), "kept_in_layers": kept}
    if steps > STEPS:
        whole = (heads, width) == (2, 32)  # the others at one k only
        ks = KS if whole else (32,)
        found["bits_first"] = {str(k): bits_a_byte(by_index(indexers, k, sink=True)) for k in ks}
        found["bits"] = {str(k): bits_a_byte(by_index(indexers, k)) for k in ks if whole}
    return found


EXPERIMENT = Experiment(
    name="chosen_keys",
    question=(__doc__ or "").splitlines()[0],
    trial=trial,
    arms={
        "indexer": {
            "2 heads of 32": {"heads": 2, "width": 32},
            "2 heads of 8": {"heads": 2, "width": 8},
            "one product": {"heads": 0, "width": 32},
        }
    },
    steps=STEPS,
    rates=RATES,
    at_each=True,
    chosen_by="agreement",
    figure="kept",
    longest=4,
    settings={
        "rows": 200,
        "n": N,
        "counted from": COUNTED,
        "trained on rows": ROWS,
        "rate chosen on rows": VALID,
    },
    once=once,
)

if __name__ == "__main__":
    main(EXPERIMENT)
