"""How many layers apart?

write · ★★★ · 20 min · 02-self-attention/7-waiting-and-distance · after self-attention.layers-to-reach,
self-attention.causal-mean

reads (n, n) describes which inputs one layer reads: reads[i, j] is True if output i depends on input j. Return a table
of integers with the smallest number of such layers through which input j reaches output i: 0 for a token and itself,
-1 where it never does.

1. `reads` holds which output depends on which input after one layer. Which product holds it after two?
2. Start with the identity, for no layers. Multiply by `reads` once for each layer, as a boolean product.
3. Keep a table of -1. In each round, write the number of layers wherever something is reached that had no
   number before.

This is the path length of the documents' tables, n for a recurrent layer, 1 for self-attention, and the
supports of gradients measure exactly this.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def shortest_paths(reads):
    """(n, n): through how many layers input j first reaches output i; -1 where it never does."""
    n = len(reads)
    steps = np.full((n, n), -1)
    seen = np.eye(n, dtype=bool)
    for layers in range(n + 1):
        steps[seen & (steps < 0)] = layers
        seen = reads @ seen
    return steps


def cases(rng):
    band = abs(np.subtract.outer(np.arange(5), np.arange(5))) <= 1
    recurrent = np.eye(4, dtype=bool) | np.eye(4, k=-1, dtype=bool)
    hop = np.eye(5, dtype=bool)
    hop[4, 2] = hop[2, 0] = True
    ring = np.eye(4, k=1, dtype=bool)
    ring[3, 0] = True
    return {
        "neighbours": (band,),
        "the previous state": (recurrent,),
        "everything": (np.ones((3, 3), dtype=bool),),
        "two jumps": (hop,),
        "a ring that forgets": (ring,),
    }


def paths_by_search(reads):
    n = len(reads)
    steps = np.full((n, n), -1)
    for i in range(n):
        front, depth, seen = {i}, 0, set()
        while front:
            for j in front:
                steps[i, j] = depth
            seen |= front
            front = {int(j) for k in front for j in np.flatnonzero(reads[k])} - seen
            depth += 1
    return steps


VARIANTS = (paths_by_search, {"seen = reads @ seen": "seen = (reads.astype(int) @ seen.astype(int)) > 0"})
MISTAKES = (
    Mistake("the table is transposed", "Row i belongs to output i, and column j to input j.",
        {"reads @ seen": "reads.T @ seen"}),
    Mistake("the longest way was kept", "A later, longer way overwrote a shorter one. Write a number only where there "
        "is none.", {"seen & (steps < 0)": "seen"}),
    Mistake("a token is one layer away from itself", "No layer is needed for a token to reach itself: all ways are "
        "too long by one.", {"= layers\n": "= layers + 1\n"}),
    Mistake("started with one layer", "No layer is needed for a token to reach itself: the diagonal is 0, whatever "
        "`reads` holds there.", {"np.eye(n, dtype=bool)": "reads", "range(n + 1)": "range(1, n + 1)"}),
    Mistake("stopped too early", "The longest shortest way among n tokens takes n - 1 layers.",
        {"range(n + 1)": "range(n // 2)"}, {"range(n + 1)": "range(n - 1)"}),
    Mistake("zero where there is no way", "What is never reached was given 0, which is the distance of a token to "
        "itself.", {"return steps": "return np.maximum(steps, 0)"}),
    Mistake("only one layer was tried", "What takes two layers or more was not found.", {"range(n + 1)": "range(2)"}),
)  # fmt: skip
