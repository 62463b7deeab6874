"""A backward pass that forgets a term: does the loss still fall, and how far? (book: a-transformer-in-numpy-trained)

A transformer in NumPy learns a small language, whose verbs agree with the first noun of their sentence, however many
other nouns stand between. The bits of each word under the true rules are known; a gap is the cross-entropy of the model
beyond them. One arm does not move the table of words at all: a rival for those that forget half of its gradient.

The best rate of 100 steps may be too large for 1,600. So the arms whose best was the largest are also trained at 0.01,
the best of the arm that forgets nothing.

It keeps a loop of its own, because its model and its backward pass are NumPy, which `fit` cannot train.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _runner import Experiment, main

from attnlib.reference.block import BlockCache, BlockParameters
from attnlib.reference.embedding import embed_backward, tied_scores_backward
from attnlib.reference.gpt import (
    GPTCache,
    GPTParameters,
    all_arrays,
    first_parameters,
    language_model,
    with_arrays,
)
from attnlib.reference.losses import cross_entropy, cross_entropy_backward
from attnlib.reference.multihead import MultiHeadCache, multi_head_attention_backward
from attnlib.reference.norm import NormCache
from attnlib.reference.ops import softmax
from attnlib.reference.optim import BROWN_2020, adam, adam_state
from attnlib.reference.projections import MultiHeadParameters
from attnlib.reference.transformer import NormParameters, ResidualCache, feed_forward_backward
from attnlib.shapes import Array

NOUNS = (("king", "friend", "cat", "tree"), ("kings", "friends", "cats", "trees"))
VERBS = (("sees", "sleeps", "falls", "sings"), ("see", "sleep", "fall", "sing"))
WORDS = (".", "the", "of", "near", *NOUNS[0], *NOUNS[1], *VERBS[0], *VERBS[1])
NUMBER = {word: i for i, word in enumerate(WORDS)}
N, BATCH, HEADS, SPREAD, STEPS, RATES = 16, 16, 2, 0.1, 100, (0.001, 0.003, 0.01, 0.03, 0.1)
SIZES = {"vocab": len(WORDS), "context": N, "d_model": 24, "d_hidden": 96, "n_layers": 2}
TEST, TEST_SEED, VERB = 400, 10**6, NUMBER["sees"]
Keep = Callable[[str, Array], Array]  # what the backward pass does with a term of this name


def sentence(rng: np.random.Generator) -> list[tuple[str, int]]:
    """Words, and the bits of each under the true rules; the verb agrees with the first noun."""
    many = rng.integers(2)
    said = [("the", 0), (NOUNS[many][rng.integers(4)], 3)]
    while rng.random() < 0.5:
        noun = NOUNS[rng.integers(2)][rng.integers(4)]
        said += [(("of", "near")[rng.integers(2)], 2), ("the", 0), (noun, 3)]
    return [*said, (VERBS[many][rng.integers(4)], 3), (".", 0)]


def draw(rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows of n + 1 words that begin after a full stop, and the bits of each."""
    words, bits = np.zeros((2, rows, N + 1), dtype=int)
    for i in range(rows):
        said = [(".", 0)]
        while len(said) < N + 1:
            said += sentence(rng)
        words[i] = [NUMBER[word] for word, _ in said[: N + 1]]
        bits[i] = [bit for _, bit in said[: N + 1]]
    return words, bits


def norm_backward(dO: Array, cache: NormCache, keep: Keep) -> tuple[Array, NormParameters]:
    Y, size, gain = cache
    G = dO * gain
    along = Y * (G * Y).mean(axis=-1, keepdims=True)
    stopped = G.mean(axis=-1, keepdims=True) + along
    dX = (G - keep("what a norm stops", stopped)) / size
    return dX, NormParameters((dO * Y).sum(axis=(0, 1)), dO.sum(axis=(0, 1)))


def residual_backward(
    dY: Array, cache: ResidualCache, part_backward: Callable[..., tuple[Array, Any]], keep: Keep
) -> tuple[Array, NormParameters, Any]:
    dZ, d_part = part_backward(dY, cache.sublayer)
    dX, d_norm = norm_backward(dZ, cache.norm, keep)
    return keep("the copies", dY) + dX, d_norm, d_part


def block_backward(dY: Array, cache: BlockCache, keep: Keep) -> tuple[Array, BlockParameters]:
    def attention_backward(dY: Array, cache: MultiHeadCache) -> tuple[Array, MultiHeadParameters]:
        asks, read, d_maps = multi_head_attention_backward(dY, cache)
        return asks + keep("who is read", read), d_maps

    attended, thought = cache.residuals
    dZ, d_norm_2, d_network = residual_backward(dY, thought, feed_forward_backward, keep)
    dX, d_norm_1, d_maps = residual_backward(dZ, attended, attention_backward, keep)
    return dX, BlockParameters(d_norm_1, d_maps, d_norm_2, d_network)


def backward(dS: Array, cache: GPTCache, keep: Keep) -> GPTParameters:
    """The gradients of all parameters."""
    normed, scored = cache.ends
    dY, from_scores = tied_scores_backward(dS, scored)
    dX, d_norm = norm_backward(dY, normed, keep)
    d_blocks = []
    for block in reversed(cache.blocks):
        dX, d_block = block_backward(dX, block, keep)
        d_blocks.insert(0, d_block)
    from_vectors = embed_backward(dX, cache.tokens)
    dE = keep("the table as scores", from_scores) + keep("the table as vectors", from_vectors)
    return GPTParameters(dE, dX.sum(axis=0), tuple(d_blocks), d_norm)


def loss_and_slopes(words: Array, parameters: GPTParameters, keep: Keep) -> tuple[float, GPTParameters]:
    S, cache = language_model(words[:, :-1], parameters, HEADS)
    L, said = cross_entropy(S, words[:, 1:])
    dS = cross_entropy_backward(np.full_like(L, 1 / L.size), said)
    return float(np.mean(L)), backward(dS, cache, keep)


def without(forgotten: list[str], name: str, term: Array) -> Array:
    return 0 * term if name in forgotten else term


def trained(keep: Keep, seed: int, steps: int, rate: float) -> tuple[GPTParameters, list[float]]:
    """A model, and its loss at each step; the rate falls to zero in the second half."""
    parameters = first_parameters(np.random.default_rng(seed), **SIZES, spread=SPREAD)
    memory = [adam_state(W) for W in all_arrays(parameters)]
    rng, losses = np.random.default_rng(1000 + seed), []
    for step in range(steps):
        loss, slopes = loss_and_slopes(draw(BATCH, rng)[0], parameters, keep)
        now = rate * min(1.0, 2 - 2 * step / steps)
        each = zip(all_arrays(parameters), all_arrays(slopes), memory, strict=True)
        moved = [adam(W, dW, state, now, BROWN_2020) for W, dW, state in each]
        parameters, memory = with_arrays(parameters, [W for W, _ in moved]), [state for _, state in moved]
        losses.append(loss)
    return parameters, losses


def judged(parameters: GPTParameters) -> dict[str, float]:
    """Bits a word beyond the truth; and where another noun misleads, how much of a verb goes to the right number."""
    words, bits = draw(TEST, np.random.default_rng(TEST_SEED))
    S, _ = language_model(words[:, :-1], parameters, HEADS)
    L, _ = cross_entropy(S, words[:, 1:])
    P = softmax(S)
    plural, verb = (words - 4) // 4 % 2, words[:, 1:] >= VERB
    misled = verb & (plural[:, :-1] != plural[:, 1:])  # the noun before the verb has the other number
    singulars, plurals = P[..., VERB : VERB + 4].sum(-1), P[..., VERB + 4 :].sum(-1)
    right = np.where(plural[:, 1:] == 1, plurals, singulars) / (singulars + plurals)
    gap = float(np.mean(L)) / math.log(2) - float(bits[:, 1:].mean())
    return {"gap": gap, "agrees": float(right[misled].mean())}


def trial(
    seed: int, steps: int, lr: float, *, forgets: list[str], rate: float | None = None
) -> dict[str, Any]:
    parameters, losses = trained(partial(without, forgets), seed, steps, rate or lr)
    found = judged(parameters)
    return {**found, "less": -found["gap"], "last losses": float(np.mean(losses[-20:]))}


TABLE = ["the table as vectors", "the table as scores"]
FORGETS = {
    "nothing": [],
    **{one: [one] for one in TABLE},
    "the whole table": TABLE,
    **{one: [one] for one in ("who is read", "what a norm stops", "the copies")},
}
LARGEST = ("the table as scores", "the whole table", "what a norm stops")  # rate, at 100 steps
EXPERIMENT = Experiment(
    name="wrong_slopes",
    question="Does a transformer train with a backward pass that forgets a term?",
    trial=trial,
    arms={
        "forgets": {name: {"forgets": terms} for name, terms in FORGETS.items()},
        "at 0.01": {name: {"forgets": FORGETS[name], "rate": 0.01} for name in LARGEST},
    },
    steps=STEPS,
    rates=RATES,
    settings={
        **{"longest" if name == "context" else name: size for name, size in SIZES.items()},  # as it is stored
        "n_heads": HEADS, "n": N, "batch": BATCH, "spread": SPREAD, "test": TEST,
    },
    figure="less",
    best=0.0,
    always=LARGEST,
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)
