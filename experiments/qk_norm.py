"""How large do attention's scores grow, with and without a norm of queries and keys? (book: the-block-of-today)

A small GPT of today's kind (rotary positions, RMS norm before each sublayer, SwiGLU, no biases) reads the course's
English sentences, word by word. The question is which rates a training holds, so the rate belongs to the arm: each
is trained at all rates, a warmup over the first fifth of the steps and a line down to zero after it. Measured are the
largest score on held-out sentences at any time of the training, and the loss on them at the end.

    "plain"      queries and keys as they come out of their maps
    "qk norm"    queries and keys of each head pass an RMS norm
    "clipped"    a control: as "plain", and each gradient is clipped at norm 1, the usual remedy against large steps
"""

import math
from functools import cache
from typing import Any

import numpy as np
import torch
from _runner import Experiment, main
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from attnlib.data.bilingual import corpus, source_vocab
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.nn.scores import scaled_dot_scores
from attnlib.reference.schedules import linear
from attnlib.train.fit import fit

VOCAB = source_vocab()
N, WIDTH, HEADS, LAYERS, BATCH, SENTENCES, HELD_OUT, STEPS = 32, 32, 2, 4, 8, 8000, 100, 150
RATES = (3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0)


@cache
def words(split: str, size: int) -> Tensor:
    """Sentences one after the other, each with an end mark, as one row of numbers."""
    pairs = corpus(size, split=split)
    return torch.tensor([word for pair in pairs for word in VOCAB.encode(pair.source)])


def model(qk_norm: bool) -> GPT:
    """A small GPT of today's kind."""
    return GPT(
        ModelConfig(
            vocab=len(VOCAB), context=N, d_model=WIDTH, n_heads=HEADS, n_layers=LAYERS, d_hidden=88, qk_norm=qk_norm,
            positions="rotary", layout="halves", norm="rms", activation="swish", gated=True, bias=False, tied=False,
        )
    )  # fmt: skip


def loss_of(made: GPT, rows: Tensor) -> Tensor:
    return nn.functional.cross_entropy(made(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())


def asked() -> Tensor:
    """Rows of N + 1 words that were not trained on."""
    text = words("valid", HELD_OUT)
    return text[: len(text) // (N + 1) * (N + 1)].view(-1, N + 1)


@torch.no_grad()
def largest_score(made: GPT) -> float:
    """The largest score of any query with a key that it may attend to, in absolute value, over all heads and layers."""
    found = 0.0

    def note(layer: Any, args: Any, given: dict[str, Any]) -> None:
        nonlocal found
        X, rotate = args[0], given["rotate"]
        Q, K = (W(X).unflatten(-1, (HEADS, -1)).transpose(-2, -3) for W in (layer.W_Q, layer.W_K))
        S = scaled_dot_scores(rotate(layer.norm_Q(Q), 0), rotate(layer.norm_K(K), 0))
        found = max(found, float(S.tril().abs().max()))

    hooks = [block.attention.register_forward_pre_hook(note, with_kwargs=True) for block in made.blocks]
    made(asked()[:, :-1])
    for hook in hooks:
        hook.remove()
    return found


def trial(seed: int, steps: int, *, rate: float, qk_norm: bool, clip: float = math.inf) -> dict[str, Any]:
    """Train one model; the largest score on the way, and the loss on held-out words at the end."""
    torch.manual_seed(seed)
    made, rng, text = model(qk_norm), np.random.default_rng(seed), words("train", SENTENCES)
    optimizer = torch.optim.Adam(made.parameters(), lr=rate, betas=(0.9, 0.95))
    warmup = steps // 5
    schedule = LambdaLR(optimizer, lambda step: linear(step, steps, warmup))
    largest = [largest_score(made)]

    def batches() -> Any:
        step = 0
        while True:
            if step and step % (steps // 10) == 0:
                largest.append(largest_score(made))
            yield text[rng.integers(len(text) - N, size=(BATCH, 1)) + np.arange(N + 1)]
            step += 1

    fit(made, loss_of, batches(), steps=steps, optimizer=optimizer, clip=clip, schedule=schedule)
    largest.append(largest_score(made))
    with torch.no_grad():
        loss = float(loss_of(made.eval(), asked()))
    return {"better": frequencies() - loss, "loss": loss, "largest": max(largest), "last": largest[-1]}


def frequencies() -> float:
    """Nats a word of a model that knows how often each word comes, and nothing else."""
    counts = torch.bincount(words("train", SENTENCES), minlength=len(VOCAB)) + 1
    return float(-(counts / counts.sum()).log()[asked()[:, 1:].flatten()].mean())


def once() -> dict[str, Any]:
    return {"frequencies": round(frequencies(), 4), "log V": round(math.log(len(VOCAB)), 4)}


KINDS: dict[str, dict[str, Any]] = {
    "plain": {"qk_norm": False},
    "qk norm": {"qk_norm": True},
    "clipped": {"qk_norm": False, "clip": 1.0},
}
EXPERIMENT = Experiment(
    name="qk-norm",
    question="Which rates does a training hold, and how large do scores get, with a norm of queries and keys or not?",
    trial=trial,
    arms={
        kind: {f"{kind}, {rate:g}": {**options, "rate": rate} for rate in RATES}
        for kind, options in KINDS.items()
    },
    steps=STEPS,
    figure="better",
    best=math.inf,
    settings={
        "n": N, "width": WIDTH, "heads": HEADS, "layers": LAYERS, "batch": BATCH, "sentences": SENTENCES,
        "held_out": HELD_OUT, "warmup": 0.2, "betas": [0.9, 0.95], "tried": RATES,
    },
    once=once,
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)
