"""How well do learned projections of keys and values work for one head? (book: Random features and low rank)

Two heads of the course's own model, one whose weights are spread over the text and one that attends to the tokens just
before. What is computed is the output at the last of 256 tokens, whose query may attend to all of them, so that no mask
is needed. Keys and values are projected from 256 rows to 16 by matrices E and F, learned on training text; the
rest of the model stays as it is. They start as means of blocks of 16 tokens, or as the last 16 tokens. Measured is the
share of the output that is explained, on held-out text; rates are chosen on training text that was not trained on.
"""

import math
from functools import cache
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor
from windows import held_out_rows

from attnlib.data import stdlib
from attnlib.models.course import CONFIG, course_model, course_tokenizer
from attnlib.nn.heads import split_heads
from attnlib.nn.low_rank import low_rank_attention, random_projection

N, R, BATCH, TRAINED, CHOSEN_ON = CONFIG.context, 16, 16, 600, 150
HEADS = {"spread": (1, 3), "near": (2, 0)}  # layer and head


@cache
def rows(split: str) -> Tensor:
    """(number, N) tokens."""
    if split == "held out":
        return held_out_rows()[:, :-1]
    by, text = course_tokenizer(), []
    for i, (_, source) in enumerate(stdlib.texts("train")):
        text += list(by.encode_ordinary(source)) if i % 4 == 0 else []
    begins = np.linspace(0, len(text) - N, TRAINED + CHOSEN_ON).astype(int)
    chosen = np.arange(len(begins)) % 5 == 4
    begins = begins[chosen] if split == "chosen on" else begins[~chosen]
    return torch.tensor(np.stack([text[at : at + N] for at in begins]))


@cache
def read(split: str, name: str) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Of one head the last query, keys and values, and what attention returns: (number, 1 or N, d)."""
    (layer, head), seen, found = HEADS[name], {}, []
    attention = course_model_once().blocks[layer].attention
    hooks = [
        getattr(attention, W).register_forward_hook(lambda module, _, out, W=W: seen.__setitem__(W, out))
        for W in ("W_Q", "W_K", "W_V")
    ]
    for tokens in rows(split).split(25):
        with torch.inference_mode():
            course_model_once()(tokens)
        Q, K, V = (split_heads(seen[W], CONFIG.n_heads)[:, head] for W in ("W_Q", "W_K", "W_V"))
        found.append((Q[:, -1:].clone(), K.clone(), V.clone()))
    for one in hooks:
        one.remove()
    Q, K, V = (torch.cat(parts) for parts in zip(*found, strict=True))
    return Q, K, V, attend(Q, K, V)


@cache
def course_model_once() -> Any:
    return course_model()


def attend(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
    return (Q @ K.mT / math.sqrt(Q.shape[-1])).softmax(dim=-1) @ V


def explained(found: Tensor, O: Tensor) -> float:
    """One for the output itself, zero for zeros."""
    return 1 - ((found - O).square().sum() / O.square().sum()).item()


def block_means() -> Tensor:
    return torch.eye(R).repeat_interleave(N // R, dim=1) * R / N


def last_tokens(k: int = R) -> Tensor:
    return torch.eye(N)[-k:]


STARTS = {"means of blocks": block_means, "last tokens": last_tokens}


def trial(seed: int, steps: int, lr: float, *, head: str, start: str) -> dict[str, Any]:
    """Learn E and F by Adam, with a rate that falls to zero."""
    torch.manual_seed(seed)
    Q, K, V, O = read("train", head)
    E, F = (STARTS[start]().clone().requires_grad_() for _ in range(2))
    optimizer = torch.optim.Adam([E, F], lr=lr)
    size = O.square().sum(dim=-1).mean()
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = lr * (1 - step / steps)
        some = torch.randint(len(Q), (BATCH,))
        loss = (low_rank_attention(Q[some], K[some], V[some], E, F) - O[some]).square().sum(
            dim=-1
        ).mean() / size
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        return {
            name: explained(low_rank_attention(Q, K, V, E, F), O)
            for name, (Q, K, V, O) in {
                "explained": read("held out", head),
                "chosen_on": read("chosen on", head),
                "trained_on": read("train", head),
            }.items()
        }


@cache
@torch.no_grad()
def without_learning() -> dict[str, Any]:
    """The same share for what needs no training, on the same held-out text."""
    found = {}
    for head in HEADS:
        Q, K, V, O = read("held out", head)
        S = Q @ K.mT
        at = S.topk(R, dim=-1).indices[:, 0, :, None]
        largest = attend(Q, *(torch.take_along_dim(X, at, dim=1) for X in (K, V)))
        draws = [random_projection(R, N, torch.Generator().manual_seed(seed)) for seed in range(50)]
        outputs = {
            "last 16 tokens": attend(Q, K[:, -R:], V[:, -R:]),
            "last 32 tokens": attend(Q, K[:, -2 * R :], V[:, -2 * R :]),
            "means of blocks": low_rank_attention(Q, K, V, block_means(), block_means()),
            "mean of all values": V.mean(dim=1, keepdim=True),
            "16 largest scores": largest,
        }
        found[head] = {name: round(explained(one, O), 4) for name, one in outputs.items()}
        random = [explained(low_rank_attention(Q, K, V, R_, R_), O) for R_ in draws]
        found[head]["random, mean of 50"] = round(float(np.mean(random)), 4)
    return {"without learning": found}


EXPERIMENT = Experiment(
    name="low-rank",
    question="how well do learned projections of keys and values work for one head?",
    trial=trial,
    arms={head: {start: {"head": head, "start": start} for start in STARTS} for head in HEADS},
    steps=150,
    rates=(1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1),
    at_each=True,
    chosen_by="chosen_on",
    figure="explained",
    longest=4,
    settings={"n": N, "rows": R, "batch": BATCH, "texts": TRAINED},
    once=without_learning,
)

if __name__ == "__main__":
    main(EXPERIMENT)
