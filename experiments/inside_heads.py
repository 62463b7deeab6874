"""What is inside a layer of too few heads, and of too many? (book: why-several-heads)

One layer of attention must fetch four neighbours at once. A single head, trained for four times the steps, is right
more often than a guess from the four symbols without their order: measured is what is left when its mean weights are
held, or only the average of the positions that it brings home.
Eight heads are more than needed: measured is how many different tables of weights they use, as singular values. Stores
attnlib/data/results/inside-heads.json.

    python experiments/inside_heads.py            # about a minute and a half on one thread
    python experiments/inside_heads.py --quick    # about 10 seconds, prints, stores nothing
"""

import argparse
import time
from collections.abc import Collection
from typing import Any

import numpy as np
import torch

from attnlib.data.offsets import OffsetsTask, retrieve_offsets
from attnlib.data.results import save_result
from attnlib.interpret.capture import capture
from attnlib.metrics.seeds import mean_and_sd
from attnlib.models.config import ModelConfig
from attnlib.models.stack import Stack, stack_config
from attnlib.train.toy import TEST_SEED, examples, train_stack

SYMBOLS, LENGTH, WIDTH, BATCH, STEPS, SIZE = 10, 16, 64, 64, 300, 500
SEEDS = (0, 1, 2, 3, 4)


def config(n_heads: int) -> ModelConfig:
    return stack_config(SYMBOLS, 4 * SYMBOLS, d_model=WIDTH, n_heads=n_heads, context=LENGTH)


def trained(n_heads: int, seed: int, steps: int) -> Stack:
    def batch(batch_seed: int):
        return retrieve_offsets(BATCH, LENGTH, SYMBOLS, seed=batch_seed)

    return train_stack(config(n_heads), batch, steps=steps, seed=seed)


def unseen() -> OffsetsTask:
    """The sequences of the test."""
    return retrieve_offsets(SIZE, LENGTH, SYMBOLS, seed=TEST_SEED)


def attention(model: Stack) -> Any:
    """The model's only layer of attention."""
    return model.blocks[0].attention


def weights_seen(model: Stack) -> np.ndarray:
    """The weights on the test sequences, (sequence, head, query, key)."""
    with torch.no_grad(), capture(model) as seen:
        model(torch.from_numpy(unseen().source))
    return seen["blocks.0.attention.P"].double().numpy()


@torch.no_grad()
def right_answers(model: Stack, hold: Collection[str] = ()) -> float:
    """How often a model of one head is right if it mixes "weights" or only "positions" by its mean weights."""
    data = examples(unseen())
    layer = attention(model)
    symbols = model.embed(data.tokens)
    X = model.places(symbols)
    P = layer.attention_weights(X)[:, 0]
    P_mean = P.mean(dim=0, keepdim=True)
    V_positions = layer.W_V(X) - layer.W_V(symbols)
    P_symbols = P_mean if "weights" in hold else P
    P_positions = P_mean if "positions" in hold else P_symbols
    O = P_symbols @ layer.W_V(symbols) + P_positions @ V_positions
    scores = model.scores(X + layer.W_O(O))[data.counts]
    answers = scores.reshape(-1, SYMBOLS).argmax(dim=-1)
    return float((answers == data.answers).double().mean())


def same_ranking(model: Stack) -> float:
    """Mean weight by symbol, two positions before a query and two after: their least correlation over the queries."""
    task = unseen()
    P = weights_seen(model)[:, 0]

    def by_symbol(i: int, o: int) -> list[float]:
        there = task.source[:, i + o]
        return [P[there == s, i, i + o].mean() for s in range(SYMBOLS)]

    queries = np.flatnonzero(task.mask[0]).tolist()
    return min(np.corrcoef(by_symbol(i, -2), by_symbol(i, 2))[0, 1] for i in queries)


def spectrum(model: Stack, n_heads: int) -> np.ndarray:
    """Singular values of the layer's table for its mean weights, relative to the first (eq-kronecker-rank)."""
    P = weights_seen(model).mean(axis=0)
    layer = attention(model)
    W_V, W_O = (linear.weight.T.detach().double().numpy() for linear in (layer.W_V, layer.W_O))
    M = W_V.reshape(WIDTH, n_heads, -1).swapaxes(0, 1) @ W_O.reshape(n_heads, -1, WIDTH)
    table = P.reshape(n_heads, -1).T @ M.reshape(n_heads, -1)
    values = np.linalg.svd(table, compute_uv=False)[:n_heads]
    return values / values[0]


def patient_head(seed: int, steps: int = 4 * STEPS) -> dict[str, float]:
    """One head with four times the steps: as it is, and with parts of it held."""
    model = trained(1, seed, steps)
    return {
        "as it is": right_answers(model),
        "mean weights held": right_answers(model, ["weights"]),
        "mean positions held": right_answers(model, ["positions"]),
        "same ranking": same_ranking(model),
    }


def eight_heads(seed: int, steps: int = STEPS) -> dict[str, np.ndarray]:
    """The singular values of a layer of eight heads, before training and after."""
    torch.manual_seed(seed)
    return {"untrained": spectrum(Stack(config(8)), 8), "trained": spectrum(trained(8, seed, steps), 8)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few steps, one seed; stores nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    started = time.process_time()
    if arguments.quick:
        print(patient_head(0, steps=300), eight_heads(0, steps=150))
        return

    def measured(trial: Any) -> dict[str, Any]:
        trials = [trial(seed) for seed in SEEDS]
        entries = {name: mean_and_sd([one[name] for one in trials]) for name in trials[0]}
        for name, entry in entries.items():
            print(
                f"{time.process_time() - started:5.0f} s  {name}: {entry['mean']} sd {entry['sd']}",
                flush=True,
            )
        return entries

    data = {
        "question": "what is inside a layer of too few heads, and of too many?",
        "settings": {"symbols": SYMBOLS, "length": LENGTH, "width": WIDTH, "steps": STEPS, "batch": BATCH},
        "patient_head": measured(patient_head),
        "eight_heads": measured(eight_heads),
    }
    command, seconds = "python experiments/inside_heads.py", time.process_time() - started
    save_result("inside-heads", data, seeds=SEEDS, command=command, seconds=seconds)


if __name__ == "__main__":
    main()
