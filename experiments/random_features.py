"""What random features make of the course's own attention, without training (book: Random features and low rank).

The softmax attention of the trained model is replaced by an estimate from r random features. Measured are the error of
each head's output, relative to its length, with the model's own queries, keys and values; and the loss in bits a byte
when all layers are estimated at once. Directions are orthogonal unless an arm says otherwise, and drawn for each layer.

    features            as in the formula, independent directions
    orthogonal          the same with orthogonal directions
    with a constant     orthogonal, and 1e-6 added to each feature, as in the published code
    rewritten           orthogonal, after an exact change of queries and keys that makes |q + k| small: both are
                        centred, and multiplied by matrices that leave their dot products as they are

The change is fitted to training text. Rivals: a window of 2 r keys, which costs as many multiplications as r features;
the mean of all values so far; the 2 r keys with the largest scores, for which all scores are needed. Controls: the
whole attention, and elu(x) + 1 as features, another weighting that estimates nothing.
"""

import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from windows import held_out_rows

from attnlib.data import stdlib
from attnlib.data.results import save_result
from attnlib.models.course import CONFIG, course_model, course_tokenizer
from attnlib.models.gpt import GPT
from attnlib.nn.heads import merge_heads, split_heads
from attnlib.nn.linear_attention import elu_plus_one
from attnlib.nn.random_features import iid_directions, orthogonal_directions

ROWS, FIT_ROWS, BATCH, DRAWS = 40, 60, 20, 3
COUNTS = (16, 64, 256, 1024)
N, H, D = CONFIG.context, CONFIG.n_heads, CONFIG.d_model // CONFIG.n_heads
COUNTED, RIDGE, CONSTANT, LEAST = N // 2, 1e-3, 1e-6, 1e-300
PAST = torch.ones(N, N, dtype=torch.bool).tril()
Weights = Callable[[int, Tensor, Tensor], Tensor]  # layer, Q, K (b, h, n, d) -> (b, h, n, n), rows sum to one


def training_rows() -> Tensor:
    """(FIT_ROWS, N) tokens from every fifth module that the model was trained on."""
    by, text = course_tokenizer(), []
    for i, (_, source) in enumerate(stdlib.texts("train")):
        text += list(by.encode_ordinary(source)) if i % 5 == 0 else []
    begins = np.linspace(0, len(text) - N, FIT_ROWS).astype(int)
    return torch.tensor(np.stack([text[at : at + N] for at in begins]))


@torch.inference_mode()
def queries_keys_values(model: GPT, tokens: Tensor) -> list[list[Tensor]]:
    """Of each layer Q, K and V, (b, h, n, d) in float64."""
    seen: dict[tuple[int, str], Tensor] = {}
    hooks = [
        getattr(block.attention, name).register_forward_hook(
            lambda module, _, out, at=(l, name): seen.__setitem__(at, out)
        )
        for l, block in enumerate(model.blocks)
        for name in ("W_Q", "W_K", "W_V")
    ]
    try:
        model(tokens)
    finally:
        for one in hooks:
            one.remove()
    return [
        [split_heads(seen[l, name], H).double() for name in ("W_Q", "W_K", "W_V")]
        for l in range(len(model.blocks))
    ]


class Rewriting(NamedTuple):
    """Of each head the centres of queries and keys, (h, 1, d), and the matrix for the queries, (h, d, d)."""

    of_queries: Tensor
    of_keys: Tensor
    A: Tensor


def root(S: Tensor) -> Tensor:
    """The symmetric root of a positive definite matrix."""
    values, U = torch.linalg.eigh(S)
    return (U * values.sqrt()[..., None, :]) @ U.mT


def rewriting(Q: Tensor, K: Tensor) -> Rewriting:
    """The change that makes the mean of |q + k|^2 least: with M = A^T A it solves M cov(q) M = cov(k)."""
    centres, covariances = [], []
    for X in (Q, K):
        X = X.transpose(0, 1).flatten(1, 2)  # (h, b * n, d)
        centres.append(X.mean(dim=1, keepdim=True))
        X = X - centres[-1]
        S = X.mT @ X / X.shape[1]
        mean = S.diagonal(dim1=-2, dim2=-1).mean(dim=-1)[:, None, None]
        covariances.append(S + RIDGE * mean * torch.eye(D, dtype=S.dtype))
    half = root(covariances[0])
    back = torch.linalg.inv(half)
    M = back @ root(half @ covariances[1] @ half) @ back
    return Rewriting(*centres, root(M))


def estimated(A_Q: Tensor, A_K: Tensor, constant: float = 0.0) -> Tensor:
    """The weights from the logarithms of features."""
    F_Q = (A_Q - A_Q.amax(dim=-1, keepdim=True)).exp() + constant
    F_K = (A_K - A_K.amax(dim=(-2, -1), keepdim=True)).exp().clamp_min(LEAST) + constant
    return normalised(F_Q @ F_K.mT)


def normalised(G: Tensor) -> Tensor:
    G = G * PAST
    return G / G.sum(dim=-1, keepdim=True)


def exponents(X: Tensor, W: Tensor) -> Tensor:
    return X @ W.mT - (X**2).sum(dim=-1, keepdim=True) / 2


def softmax_over(seen: Tensor, Q: Tensor, K: Tensor) -> Tensor:
    return (Q @ K.mT / math.sqrt(D)).masked_fill(~seen, -math.inf).softmax(dim=-1)


def arms(r: int, seed: int, changes: list[Rewriting]) -> dict[str, Weights]:
    """The estimates from r features."""

    def directions(l: int, draw: Any = orthogonal_directions) -> Tensor:
        return draw(r, D, torch.Generator().manual_seed(1000 * seed + l)).double()

    def plain(
        l: int, Q: Tensor, K: Tensor, draw: Any = orthogonal_directions, constant: float = 0.0
    ) -> Tensor:
        W = directions(l, draw)
        return estimated(exponents(Q / D**0.25, W), exponents(K / D**0.25, W), constant)

    def rewritten(l: int, Q: Tensor, K: Tensor) -> Tensor:
        W, (of_queries, of_keys, A) = directions(l), changes[l]
        q, k = Q / D**0.25 - of_queries, K / D**0.25 - of_keys
        gained = (k * of_queries).sum(dim=-1, keepdim=True)  # what centring the queries takes from each score
        return estimated(exponents(q @ A.mT, W), exponents(k @ torch.linalg.inv(A), W) + gained)

    return {
        "features": lambda l, Q, K: plain(l, Q, K, iid_directions),
        "orthogonal": plain,
        "with a constant": lambda l, Q, K: plain(l, Q, K, constant=CONSTANT),
        "rewritten": rewritten,
    }


def rivals(r: int) -> dict[str, Weights]:
    """What costs as much as r features, and the best that as many keys can do."""
    position = torch.arange(N)
    near = PAST & (position[:, None] - position < 2 * r)

    def largest(l: int, Q: Tensor, K: Tensor) -> Tensor:
        S = (Q @ K.mT).masked_fill(~PAST, -math.inf)
        least = S.topk(min(2 * r, N), dim=-1).values[..., -1:]
        return softmax_over(PAST & (least <= S), Q, K)

    return {"window": lambda l, Q, K: softmax_over(near, Q, K), "largest scores": largest}


CONTROLS: dict[str, Weights] = {
    "whole": lambda l, Q, K: softmax_over(PAST, Q, K),
    "mean of values": lambda l, Q, K: normalised(torch.ones_like(Q @ K.mT)),
    "elu + 1": lambda l, Q, K: normalised(elu_plus_one(Q) @ elu_plus_one(K).mT),
}


@torch.inference_mode()
def errors(weights: Weights, layers: list[list[Tensor]]) -> np.ndarray:
    """(layer, head): the root of the mean squared error of the output, over that of the output."""
    found = []
    for l, (Q, K, V) in enumerate(layers):
        O = softmax_over(PAST, Q, K) @ V
        off = ((weights(l, Q, K) @ V - O) ** 2)[..., COUNTED:, :]
        found.append((off.sum(dim=(0, 2, 3)) / (O**2)[..., COUNTED:, :].sum(dim=(0, 2, 3))).sqrt())
    return torch.stack(found).numpy()


@torch.inference_mode()
def bits_a_byte(model: GPT, weights: Weights, rows: Tensor) -> float:
    """Bits per byte of the tokens after COUNTED positions, with all attention replaced by these weights."""
    by, nats, hooks = course_tokenizer(), 0.0, []
    for l, block in enumerate(model.blocks):

        def replace(module: Any, given: Any, _: Tensor, l: int = l) -> Tensor:
            Q, K, V = (split_heads(W(given[0]), H).double() for W in (module.W_Q, module.W_K, module.W_V))
            return module.W_O(merge_heads(weights(l, Q, K) @ V).float())

        hooks.append(block.attention.register_forward_hook(replace))
    try:
        for tokens in rows.split(BATCH):
            L = model(tokens[:, :-1]).log_softmax(-1)
            nats -= L.gather(-1, tokens[:, 1:, None])[:, COUNTED:].sum().item()
    finally:
        for one in hooks:
            one.remove()
    n_bytes = sum(len(by.decode(row[1 + COUNTED :].tolist()).encode()) for row in rows)
    return nats / math.log(2) / n_bytes


def sizes(layers: list[list[Tensor]], changes: list[Rewriting]) -> dict[str, list[list[float]]]:
    """Of each head the median of |q + k|^2 over the pairs that it sees, before and after the change."""
    found: dict[str, list[list[float]]] = {"as they are": [], "rewritten": []}
    for (Q, K, _), (of_queries, of_keys, A) in zip(layers, changes, strict=True):
        q, k = Q / D**0.25, K / D**0.25
        for name, (one, other) in {
            "as they are": (q, k),
            "rewritten": ((q - of_queries) @ A.mT, (k - of_keys) @ torch.linalg.inv(A)),
        }.items():
            squares = (one**2).sum(-1)[..., None] + (other**2).sum(-1)[..., None, :] + 2 * one @ other.mT
            medians = squares[..., PAST].transpose(0, 1).flatten(1).median(dim=-1).values
            found[name].append([round(x, 1) for x in medians.tolist()])
    return found


def rounded(A: Any) -> Any:
    return np.round(A, 4).tolist()


def main() -> None:
    torch.set_num_threads(1)
    began, model = time.perf_counter(), course_model()
    rows = held_out_rows()[:: 200 // ROWS][:ROWS]
    changes = [rewriting(Q / D**0.25, K / D**0.25) for Q, K, _ in queries_keys_values(model, training_rows())]
    layers = queries_keys_values(model, rows[:, :-1])
    data: dict[str, Any] = {
        "settings": {"rows": ROWS, "n": N, "counted from": COUNTED, "draws": DRAWS, "d_k": D},
        "sizes": sizes(layers, changes),
        "errors": {name: rounded(errors(weights, layers)) for name, weights in CONTROLS.items()},
        "bits_per_byte": {name: round(bits_a_byte(model, one, rows), 4) for name, one in CONTROLS.items()},
    }
    print(data, flush=True)
    few = [[A[::6] for A in layer] for layer in layers]
    for r in COUNTS:
        made: dict[str, list[Weights]] = {}
        for seed in range(DRAWS):
            for name, weights in arms(r, seed, changes).items():
                made.setdefault(name, []).append(weights)
        if 2 * r < N:
            made |= {name: [weights] for name, weights in rivals(r).items()}
        for name, draws in made.items():
            per_head = [errors(weights, few if len(draws) > 1 else layers) for weights in draws]
            data["errors"].setdefault(name, {})[r] = rounded(np.mean(per_head, axis=0))
            bits = [bits_a_byte(model, weights, rows) for weights in draws]
            data["bits_per_byte"].setdefault(name, {})[r] = rounded(bits)
            at = np.median(np.mean(per_head, axis=0), axis=1).round(2)
            print(r, name, at, np.round(bits, 3), round(time.perf_counter() - began), flush=True)
    save_result(
        "random-features",
        data,
        seeds=range(DRAWS),
        command="python experiments/random_features.py",
        seconds=time.perf_counter() - began,
    )


if __name__ == "__main__":
    main()
