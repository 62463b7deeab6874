"""Token after token with a cache, beside Hugging Face's `generate`: `python -m benchmarks.generation`.

One GPT of 4 layers, 256 wide, with the same parameters in both; float32, batch 1, greedy. In each turn both, at every
context, go on from a text that they hold in their caches already, for TOKENS tokens, so that the last one is the
context's last. The cost of a token at a context is the time of a turn over TOKENS; the exponent is the slope of a
straight line through the logarithms. Processor time on one thread, which other work on the machine disturbs less.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded

import time
from typing import Any

import numpy as np
import torch

from attnlib import decode
from attnlib.data.results import save_result
from attnlib.models.gpt import GPT
from benchmarks.gpt_peers import HEADS, LAYERS, SEED, WIDTH, peers
from benchmarks.interleaved import Work, digits, in_turns, ratio

CONTEXTS = (128, 256, 512, 1024)
VOCABS = (512, 50257)
TOKENS, ROUNDS = 32, 20
OURS, THEIRS = "attnlib", "Hugging Face"


def of_attnlib(model: GPT, text: torch.Tensor) -> Work:
    cache = model.new_kv_cache(capacity=model.config.context)
    speak = model.predictor(cache)
    speak(text)

    def work() -> torch.Tensor:
        for layer in cache:
            layer.crop(text.shape[1] - 1)
        return decode.tokens(speak, text, max_new_tokens=TOKENS)

    return work


def of_hugging_face(model: Any, text: torch.Tensor) -> Work:
    import transformers

    cache = transformers.DynamicCache(config=model.config)
    with torch.no_grad():
        model(text, past_key_values=cache, use_cache=True)
    options = {"max_new_tokens": TOKENS, "do_sample": False, "use_cache": True, "pad_token_id": 0}
    seen = torch.ones_like(text)

    def work() -> torch.Tensor:
        cache.crop(text.shape[1] - 1 - cache.get_seq_length())
        return model.generate(text, attention_mask=seen, past_key_values=cache, **options)[:, text.shape[1] :]

    return work


def contestants(ours: GPT, theirs: Any) -> dict[str, Work]:
    """Both at every context: all meet the same noise."""
    found = {}
    for context in CONTEXTS:
        text = torch.randint(ours.config.vocab, (1, context - TOKENS))
        found[f"{OURS} {context}"] = of_attnlib(ours, text)
        found[f"{THEIRS} {context}"] = of_hugging_face(theirs, text)
    return found


def exponent(cost: list[float]) -> float:
    """p in cost ~ context^p."""
    slope, _ = np.polyfit(np.log(CONTEXTS), np.log(cost), 1)
    return round(float(slope), 3)


def measured(vocab: int) -> dict[str, Any]:
    ours, theirs = (model.eval() for model in peers(vocab, longest=max(CONTEXTS)))
    seconds = in_turns(contestants(ours, theirs), ROUNDS, time.process_time)
    least = {
        name: [min(seconds[f"{name} {context}"]) / TOKENS for context in CONTEXTS] for name in (OURS, THEIRS)
    }
    return {
        "times_as_fast": [ratio(seconds, f"{THEIRS} {n}", f"{OURS} {n}") for n in CONTEXTS],
        "ms_per_token": {name: [digits(1e3 * cost) for cost in costs] for name, costs in least.items()},
        "exponent": {name: exponent(costs) for name, costs in least.items()},
    }


def main() -> None:
    started = time.perf_counter()
    torch.set_num_threads(1)
    result = {
        "layers d_model h": (LAYERS, WIDTH, HEADS),
        "contexts": CONTEXTS,
        "tokens": TOKENS,
        "rounds": ROUNDS,
        "vocab": {str(vocab): measured(vocab) for vocab in VOCABS},
    }
    file = save_result(
        "generation",
        result,
        seeds=[SEED],
        command="python -m benchmarks.generation",
        seconds=time.perf_counter() - started,
        device="cpu, 1 thread, processor time",
    )
    print(file.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
