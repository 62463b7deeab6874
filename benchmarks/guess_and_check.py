"""What a pass over several tokens costs beside a pass over one: `python -m benchmarks.guess_and_check`.

Behind a text of CONTEXT tokens in the cache, a pass over k new ones: by the course's model, and by one of GPT-2 small's
size with random numbers, whose parameters no processor keeps near. Then the whole: tokens in a second, drawn one by one
and drafted by n-grams, both by passes of one kind (`generate` has a faster one, for a single token alone). Processor
time on one thread, float32, medians of turns.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded

import time
from collections.abc import Callable

import numpy as np
import torch

from attnlib import decode
from attnlib.data import stdlib
from attnlib.data.results import save_result
from attnlib.models.course import course_model, course_tokenizer
from attnlib.models.gpt import GPT, gpt2_small
from attnlib.models.ngrams import NGrams
from attnlib.speculative import drawn_by, speculate

CONTEXT, ROUNDS, TOKENS, SEEDS = 64, 15, 96, (0, 1, 2, 3, 4)
NEW, GUESSES = (1, 2, 3, 5, 9), (1, 2, 4)
DRAFT_TOKENS, ORDER = 300_000, 3


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def one_by_one(model: GPT) -> Callable[[torch.Tensor], torch.Tensor]:
    """What comes after a prefix, by the pass that also checks several tokens."""
    predictor = model.predictor()
    return lambda prefix: predictor.after_each(prefix)[:, -1]


def passes(model: GPT) -> dict[str, float]:
    """Milliseconds of a pass over k new tokens."""
    predictor = model.predictor(model.new_kv_cache(capacity=CONTEXT + max(NEW)))
    text = torch.randint(
        model.config.vocab, (1, CONTEXT + max(NEW)), generator=torch.Generator().manual_seed(0)
    )
    predictor(text[:, :CONTEXT])
    taken: dict[int, list[float]] = {k: [] for k in NEW}
    for _ in range(ROUNDS):
        for k in NEW:
            taken[k].append(seconds(lambda k=k: predictor.after_each(text[:, : CONTEXT + k])))
            predictor.crop(CONTEXT)
    return {str(k): round(1e3 * float(np.median(times)), 3) for k, times in taken.items()}


def texts() -> tuple[np.ndarray, list[torch.Tensor]]:
    """Tokens to count n-grams in, and beginnings from modules that nobody has read."""
    tokenizer, read = course_tokenizer(), []
    for _, source in stdlib.texts("train"):
        read += tokenizer.encode_ordinary(source)
        if len(read) > DRAFT_TOKENS:
            break
    held = [tokenizer.encode_ordinary(source) for _, source in stdlib.texts("held out")]
    return np.array(read), [torch.tensor([one[200 : 200 + CONTEXT]]) for one in held[: len(SEEDS)]]


def main() -> None:
    started = time.process_time()
    torch.set_num_threads(1)
    model, (read, begun) = course_model(), texts()
    draft = NGrams(read, vocab=model.config.vocab, order=ORDER)
    rates: dict[str, list[float]] = {}
    for seed, text in zip(SEEDS, begun, strict=True):
        ways = {
            "one by one": lambda t=text, s=seed: decode.tokens(
                one_by_one(model), t, decode.sampler(np.random.default_rng(s)), max_new_tokens=TOKENS
            )
        }
        for k in GUESSES:
            ways[str(k)] = lambda k=k, t=text, s=seed: list(
                speculate(
                    model.predictor(),
                    draft,
                    t,
                    drawn_by(np.random.default_rng(s)),
                    max_new_tokens=TOKENS,
                    n_drafted=k,
                )
            )
        for name, way in ways.items():
            way()
            rates.setdefault(name, []).append(round(TOKENS / seconds(way), 1))
    torch.manual_seed(0)
    data = {
        "settings": {
            "context": CONTEXT,
            "tokens": TOKENS,
            "n-grams of": ORDER,
            "counted in": len(read),
            "threads": 1,
        },
        "milliseconds": {
            "the course's model": passes(model),
            "GPT-2 small's size": passes(GPT(gpt2_small())),
        },
        "a guess": round(1e3 * seconds(lambda: [draft(begun[0]) for _ in range(100)]) / 100, 4),
        "tokens in a second": rates,
    }
    print(data)
    save_result(
        "guess-and-check",
        data,
        seeds=SEEDS,
        command="python -m benchmarks.guess_and_check",
        seconds=time.process_time() - started,
    )


if __name__ == "__main__":
    main()
