"""How many heads does it take to fetch several neighbours, and how many steps? (book: why-several-heads, memory)

One layer of attention must predict the neighbours at two, four or eight offsets at once. Its heads number 1 to 64, each
64 / h wide, so that all have the same number of parameters. The rival that knows nothing of order is a guess from the
bag of the neighbours; the page computes it. In the group "shared" eight heads of width four have keys and values of
their own, or all those of one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from _runner import Experiment, main

from attnlib.data.offsets import retrieve_offsets
from attnlib.interpret.capture import capture
from attnlib.interpret.patterns import offset_histogram
from attnlib.models.stack import stack_config
from attnlib.train.toy import TEST_SEED, answer_accuracy, examples, train_stack

SYMBOLS, LENGTH, WIDTH, BATCH, SIZE = 10, 16, 64, 64, 500
OFFSETS = {"two": (-1, 1), "four": (-2, -1, 1, 2), "eight": (-4, -3, -2, -1, 1, 2, 3, 4)}
SHARED = {"8": 8, "1": 1}  # heads of keys and values
HEADS = {"two": (1, 2, 4), "four": (1, 2, 4, 8, 16, 64), "eight": (1, 2, 4, 8, 16)}


def trial(
    seed: int,
    steps: int,
    lr: float,
    *,
    offsets: Sequence[int],
    n_heads: int,
    size: int = SIZE,
    **options: Any,
) -> dict[str, Any]:
    """Train one layer; how often it is right, and for each head the offset that gets most, and how much."""
    sizes: dict[str, Any] = {"d_model": WIDTH, "n_heads": n_heads, **options}
    config = stack_config(SYMBOLS, SYMBOLS * len(offsets), context=LENGTH, **sizes)

    def batch(batch_seed: int):
        return retrieve_offsets(BATCH, LENGTH, SYMBOLS, offsets, seed=batch_seed)

    model = train_stack(config, batch, steps=steps, seed=seed, lr=lr)
    task = retrieve_offsets(size, LENGTH, SYMBOLS, offsets, seed=TEST_SEED)
    with capture(model) as seen:
        accuracy = answer_accuracy(model, examples(task))
    P = (
        seen["blocks.0.attention.P"].double().numpy().mean(axis=0) * task.mask[0, :, None]
    )  # the rows that count
    share = offset_histogram(P)
    return {
        "accuracy": accuracy,
        "parameters": sum(p.numel() for p in model.parameters()),
        "offset": share.argmax(axis=1) - LENGTH + 1,
        "at_offset": np.round(share.max(axis=1), 2),
    }


EXPERIMENT = Experiment(
    name="neighbours",
    question="how many heads does it take to fetch several neighbours, and how many steps?",
    trial=trial,
    arms={
        name: {str(h): {"offsets": OFFSETS[name], "n_heads": h} for h in heads}
        for name, heads in HEADS.items()
    }
    | {
        "shared": {
            name: {"offsets": OFFSETS["eight"], "n_heads": 8, "n_kv_heads": g, "d_model": 32}
            for name, g in SHARED.items()
        },
    },
    steps=300,
    rates=(2.5e-3, 5e-3, 1e-2),
    always=("2",),
    settings={"symbols": SYMBOLS, "length": LENGTH, "width": WIDTH, "batch": BATCH, "tested": SIZE},
    once=lambda: {"chance": retrieve_offsets(1, LENGTH, SYMBOLS).chance},
)

if __name__ == "__main__":
    main(EXPERIMENT)
