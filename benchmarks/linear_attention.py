"""Linear attention in its three forms beside softmax attention: `python -m benchmarks.linear_attention`.

One head of 64 numbers, float32, causal, forward only, on one thread: PyTorch's fused softmax attention (for tensors of
four axes; with fewer it takes a slower path), the masked sum, the recurrence and the chunked form of `attnlib.nn`. At
each length the contestants take turns; the least processor time counts. The exponent is the slope of a straight line
through the logarithms, from the fourth length on. The recurrence is left out of the longest texts, and so is the masked
sum, whose scores would not fit into memory. Then one token more, after HELD tokens: softmax attention with their keys
and values in a cache, and a state.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # before torch is loaded

import time

import numpy as np
import torch
import torch.nn.functional as F

from attnlib.data.results import save_result
from attnlib.nn import linear_attention as forms
from benchmarks.interleaved import Work, digits, in_turns

WIDTH, CHUNK, ROUNDS, SEED = 64, 64, 7, 0
LENGTHS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
LONGEST = {"softmax": 16384, "sum": 4096, "recurrence": 8192, "chunks": 16384}
HELD, CALLS = (1024, 4096, 16384, 65536), 50
FITTED = 3  # lengths before this one are left out of the exponents: there the overhead decides


def contestants(n: int) -> dict[str, Work]:
    """What is timed for a text of n tokens, each returning its outputs (..., n, WIDTH)."""
    Q, K, V = torch.randn(3, n, WIDTH, generator=torch.Generator().manual_seed(SEED)) / WIDTH**0.25
    ways = {
        "softmax": lambda: F.scaled_dot_product_attention(
            *(A[None, None] for A in (Q, K, V)), is_causal=True
        ),
        "sum": lambda: forms.linear_attention(Q, K, V),
        "recurrence": lambda: forms.linear_attention_recurrent(Q, K, V)[0],
        "chunks": lambda: forms.linear_attention_chunked(Q, K, V, chunk=CHUNK)[0],
    }
    return {name: way for name, way in ways.items() if n <= LONGEST[name]}


def one_token(n: int) -> dict[str, Work]:
    """What is timed for one token after n others, CALLS times."""
    Q, K, V = torch.randn(3, 1, 1, n, WIDTH, generator=torch.Generator().manual_seed(SEED)) / WIDTH**0.25
    q, k, v = Q[0, 0, -1:], K[0, 0, -1:], V[0, 0, -1:]
    S = K[0, 0].mT @ V[0, 0]
    ways = {
        "softmax": lambda: F.scaled_dot_product_attention(Q[:, :, -1:], K, V),
        "state": lambda: q @ S.add_(k.mT @ v),
    }
    return {name: lambda way=way: [way() for _ in range(CALLS)] for name, way in ways.items()}


def exponent(milliseconds: dict[int, float]) -> float:
    """The power of n with which the time grows."""
    n = np.log(list(milliseconds)[FITTED:])
    return float(np.polyfit(n, np.log(list(milliseconds.values())[FITTED:]), 1)[0])


def main() -> None:
    started = time.process_time()
    torch.set_num_threads(1)
    least: dict[str, dict[int, float]] = {name: {} for name in LONGEST}
    with torch.inference_mode():
        for n in LENGTHS:
            for name, taken in in_turns(contestants(n), ROUNDS, time.process_time).items():
                least[name][n] = digits(1e3 * float(np.min(taken)))
        token: dict[str, dict[int, float]] = {"softmax": {}, "state": {}}
        for n in HELD:
            for name, taken in in_turns(one_token(n), ROUNDS, time.process_time).items():
                token[name][n] = digits(1e6 * float(np.min(taken)) / CALLS)
    data = {
        "width chunk": [WIDTH, CHUNK],
        "lengths": LENGTHS,
        "milliseconds": least,
        "microseconds a token": token,
        "exponents": {name: digits(exponent(found)) for name, found in least.items()},
    }
    print(data)
    save_result(
        "linear-attention",
        data,
        seeds=[SEED],
        command="python -m benchmarks.linear_attention",
        seconds=time.process_time() - started,
        device="cpu, 1 thread, processor time",
    )


if __name__ == "__main__":
    main()
