"""How many heads can go, and in which order? (book: heads-at-work)

Models of three layers with four heads each have learned one of two tasks. Then heads go one by one, nothing is trained
again, and unseen examples say what is left: the least important first, by removal or by gradient; ranked again after
each removal; at random, the mean of many orders; and the most important first.
"""

from typing import Any

import numpy as np
from _deep import BATCH, DEEP, HEADS, LAYERS, LENGTH, SYMBOLS, WIDTH, config
from _runner import Experiment, main
from trained_heads import KEPT, can_go, pruned, ranked_again

from attnlib.interpret.importance import importance_by_ablation, importance_by_gradient
from attnlib.train.toy import TEST_SEED, answer_loss, examples, train_stack

SIZE, RANDOM_ORDERS = 300, 60


def trial(
    seed: int, steps: int, lr: float, *, task: str, size: int = SIZE, orders: int = RANDOM_ORDERS
) -> dict[str, Any]:
    """Train one model; accuracy with 0, 1, 2 ... heads gone in each order, and how many can go."""
    make = DEEP[task]
    model = train_stack(config(), lambda s: make(BATCH, s), steps=steps, seed=seed, lr=lr).eval()
    valid, test = (examples(make(size, TEST_SEED + i)) for i in range(2))
    removal = importance_by_ablation(model, lambda: answer_loss(model, valid)).numpy()
    slope = importance_by_gradient(model, lambda: answer_loss(model, valid), size).numpy()
    rng = np.random.default_rng(seed)
    chance = [pruned(model, test, rng.permutation(LAYERS * HEADS)) for _ in range(orders)]
    left = {
        "by removal": pruned(model, test, removal.ravel().argsort()),
        "by gradient": pruned(model, test, slope.ravel().argsort()),
        "ranked again": pruned(model, test, ranked_again(model, valid)),
        "at random": np.mean(chance, axis=0),
        "most important first": pruned(model, test, removal.ravel().argsort()[::-1]),
    }
    gone = {name: can_go(curve) for name, curve in left.items()}
    return {
        "accuracy": left["by removal"][0],
        "removal": removal.ravel(),
        "left": left,
        "gone": {**gone, "at random": np.mean([can_go(curve) for curve in chance])},
    }


EXPERIMENT = Experiment(
    name="pruning",
    question="how many heads can go, and in which order?",
    trial=trial,
    arms={task: {"three layers": {"task": task}} for task in ("recall", "induction")},
    steps=800,
    rates=(2.5e-3, 5e-3, 1e-2),
    settings={
        "length": LENGTH, "symbols": SYMBOLS, "width": WIDTH, "batch": BATCH, "layers": LAYERS, "heads": HEADS,
        "tested": SIZE, "random_orders": RANDOM_ORDERS, "kept": KEPT,
    },
)  # fmt: skip

if __name__ == "__main__":
    main(EXPERIMENT)
