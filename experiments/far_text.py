"""What the course's model loses when far tokens are replaced by summaries, or chosen by them (book: Hierarchies).

Nothing is trained. Rows of held-out text; only positions from half of the context on count. Each query attends to the
tokens of its own chunk and of the one before it. What it gets of the chunks before those is the arm:

    near alone         nothing
    summaries          for each chunk the mean of its keys and values, which counts as all of its tokens, or as one
    chosen             the tokens of CHOSEN chunks: chosen by the means of keys, by bounds of scores, at random, or by
                       the weight that they really have, which only full attention knows
    chosen, summaries  the tokens of the chosen chunks, and the summaries of the others
    first and one      the tokens of the first chunk of the text, and of one less that are chosen
    window             instead of all that, the nearest tokens: for each query as many keys as it has in the arms
                       above, scores of chunks included; or these less four, and the first four tokens of the text

Each arm is measured with this in the first two layers, in the last two and in all four; the others stay full. Stored
beside it: for each layer and head how often each rule chooses the first chunk, with full attention.
"""

import itertools
import math
import time
from collections.abc import Callable
from unittest.mock import patch

import torch
from torch import Tensor
from windows import COUNTED, N, bits_a_byte, held_out_rows

from attnlib.data.results import save_result
from attnlib.interpret.capture import capture
from attnlib.models.course import CONFIG, course_model
from attnlib.models.gpt import GPT
from attnlib.nn.attention import attend, scaled_dot_product_attention
from attnlib.nn.hierarchical import far_chunks, near_tokens, pool_chunks, score_bounds
from attnlib.nn.patterns import dense_mask, first
from attnlib.nn.scores import scaled_dot_scores
from attnlib.nn.sparse import top_k_mask

CHUNK, NEAR, CHOSEN, SINKS = 16, 2, 2, 4
EVERY, SEED, DRAWS = 2, 0, 3  # every second one of the rows; each draw draws for each query of each head
LAYERS = {"first two": (0, 1), "last two": (2, 3), "all": (0, 1, 2, 3)}
HERE, TOKENS, PIECES = torch.arange(N)[:, None], torch.arange(N), torch.arange(N // CHUNK)
PAST, NEAR_BY, FAR = (
    TOKENS <= HERE,
    near_tokens(CHUNK, NEAR)(HERE, TOKENS),
    far_chunks(CHUNK, NEAR)(HERE, PIECES),
)
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]
Rule = Callable[[Tensor, Tensor], Tensor]  # queries, keys -> a score of each chunk


def by_means(Q: Tensor, K: Tensor) -> Tensor:
    return scaled_dot_scores(Q, pool_chunks(K, None, CHUNK))


def by_bounds(Q: Tensor, K: Tensor) -> Tensor:
    return score_bounds(Q, K, CHUNK)


def by_weight(Q: Tensor, K: Tensor) -> Tensor:
    return scaled_dot_scores(Q, K).unflatten(-1, (-1, CHUNK)).logsumexp(dim=-1)


def at_random(Q: Tensor, K: Tensor) -> Tensor:
    return torch.rand(*Q.shape[:-1], N // CHUNK)


def always_first(rule: Rule) -> Rule:
    def scores(Q: Tensor, K: Tensor) -> Tensor:
        return rule(Q, K).masked_fill(PIECES == 0, math.inf)

    return scores


def chosen(rule: Rule, Q: Tensor, K: Tensor) -> Tensor:
    """True for the chunks that a rule chooses, for each query CHOSEN of those far from it."""
    return top_k_mask(torch.where(FAR, rule(Q, K), -math.inf), CHOSEN) & FAR


def far(rule: Rule | None = None, summaries: bool = False, counts_as: float = CHUNK) -> Attention:
    """Near tokens, the tokens of the chunks that a rule chooses, and summaries of the other chunks before them."""

    def attention(Q: Tensor, K: Tensor, V: Tensor) -> Tensor:
        S_far = by_means(Q, K) + math.log(counts_as)
        best = torch.zeros_like(S_far, dtype=torch.bool)
        if rule is not None:
            best = chosen(rule, Q, K)
        tokens = NEAR_BY | best.repeat_interleave(CHUNK, dim=-1)
        rest = FAR & ~best if summaries else torch.zeros_like(best)
        S = torch.cat([scaled_dot_scores(Q, K), S_far], dim=-1)
        return attend(S, torch.cat([V, pool_chunks(V, None, CHUNK)], dim=-2), torch.cat([tokens, rest], -1))

    return attention


def window(keys: Tensor, sinks: int = 0) -> Attention:
    """The nearest tokens and the first `sinks`, for each query as many keys as `keys` (N,) says."""
    near = PAST.sum(dim=-1)[:, None] - TOKENS <= (keys - sinks)[:, None]
    seen = PAST & (near | dense_mask(first(sinks), N))
    return lambda Q, K, V: scaled_dot_product_attention(Q, K, V, seen)


def spread(model: GPT, rows: Tensor) -> list[float]:
    """For each layer over how many keys a head spreads its weight: exp(entropy), a mean over heads and positions."""
    with torch.inference_mode(), capture(model) as seen:
        model(rows[:20, :-1])
    P = [seen[f"blocks.{l}.attention.P"][:, :, COUNTED:].double() for l in range(CONFIG.n_layers)]
    return [round(one.log().mul(one).nan_to_num().sum(dim=-1).neg().exp().mean().item(), 1) for one in P]


RULES = {"means": by_means, "bounds": by_bounds, "weight": by_weight}


def first_chunk(model: GPT, rows: Tensor) -> dict[str, list[list[float]]]:
    """For each rule, layer and head the share of queries whose chosen chunks include the first one of the text."""
    found: dict[str, list[list[float]]] = {name: [] for name in RULES}

    def one_layer(Q: Tensor, K: Tensor, V: Tensor, *_: object) -> Tensor:
        for name, rule in RULES.items():
            share = chosen(rule, Q, K)[:, :, COUNTED:, 0].double().mean(dim=(0, 2))
            found[name].append([round(one, 3) for one in share.tolist()])
        return scaled_dot_product_attention(Q, K, V, PAST)

    with torch.inference_mode(), patch("attnlib.nn.multihead.fused_attention", one_layer):
        model(rows[:20, :-1])
    return found


def main() -> None:
    began, model, rows = time.process_time(), course_model(), held_out_rows()[::EVERY]
    torch.manual_seed(SEED)
    torch.set_num_threads(1)

    def bits(attention: Attention, layers: tuple[int, ...]) -> float:
        turn = itertools.cycle(range(CONFIG.n_layers))

        def one_layer(Q: Tensor, K: Tensor, V: Tensor, *_: object) -> Tensor:
            here = attention if next(turn) in layers else lambda *A: scaled_dot_product_attention(*A, PAST)
            return here(Q, K, V)

        with patch("attnlib.nn.multihead.fused_attention", one_layer):
            return bits_a_byte(model, rows, PAST)

    few = NEAR_BY.sum(dim=-1) + FAR.sum(dim=-1)
    more = few + CHOSEN * CHUNK
    arms = {
        "few": {
            "near alone": far(),
            "summaries": far(summaries=True),
            "summaries, counted once": far(summaries=True, counts_as=1),
            "window": window(few),
            "window and the first four": window(few, SINKS),
        },
        "more": {
            "chosen by means": far(by_means),
            "chosen by bounds": far(by_bounds),
            "chosen by weight": far(by_weight),
            "chosen at random": far(at_random),
            "chosen by means, summaries": far(by_means, summaries=True),
            "chosen at random, summaries": far(at_random, summaries=True),
            "window": window(more),
            "window and the first four": window(more, SINKS),
            "first and one by means": far(always_first(by_means)),
            "first and one by bounds": far(always_first(by_bounds)),
            "first and one by weight": far(always_first(by_weight)),
        },
    }
    found: dict[str, dict[str, dict[str, float]]] = {}
    for keys, members in arms.items():
        for arm, attention in members.items():
            times = DRAWS if "random" in arm else 1
            found.setdefault(keys, {})[arm] = {
                name: round(sum(bits(attention, layers) for _ in range(times)) / times, 4)
                for name, layers in LAYERS.items()
            }
            print(keys, arm, found[keys][arm], flush=True)
    data = {
        "settings": {
            "rows": len(rows),
            "n": N,
            "counted from": COUNTED,
            "chunk": CHUNK,
            "near": NEAR,
            "chosen": CHOSEN,
        },
        "full attention": bits_a_byte(model, rows, PAST),
        "keys": {
            name: keys[COUNTED:].double().mean().item() for name, keys in {"few": few, "more": more}.items()
        },
        "spread": spread(model, rows),
        "first chunk chosen": first_chunk(model, rows),
        "near keys": NEAR_BY[COUNTED:].sum(dim=-1).double().mean().item(),
        "bits_per_byte": found,
    }
    print({key: data[key] for key in ("full attention", "keys", "near keys", "spread", "first chunk chosen")})
    seconds = time.process_time() - began
    save_result("far-text", data, seeds=[SEED], command="python experiments/far_text.py", seconds=seconds)


if __name__ == "__main__":
    main()
