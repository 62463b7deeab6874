"""An optimiser whose state is split over workers: each keeps that of its share of the parameters.

Chapter 5 counts in eq-held what it saves: of Adam's two averages each of p workers holds a p-th. The workers are
simulated: row r of an array is on worker r. The real one is `torch.distributed.optim.ZeroRedundancyOptimizer`.
"""

from typing import NamedTuple

from attnlib import rules
from attnlib.reference.all_reduce import all_gather, pieces, reduce_scatter
from attnlib.reference.optim import KINGMA_BA_2014, AdamSettings, AdamState, adam, adam_state
from attnlib.shapes import Array, Float, Int, Number, checked


class ShardedStep(NamedTuple):
    """The parameters after a step, the state of each worker, and how many numbers each has sent."""

    W: Float[Array, "p n"]
    states: list[AdamState]
    sent: Int[Array, "p"]


@checked
def share_of(r: Number[int, "0.."], n: Number[int, "1.."], p: Number[int, "1.."]) -> slice:
    """The share of worker r of p: the piece that it has summed after `reduce_scatter`.

    >>> [share_of(r, 7, 3) for r in range(3)]
    [slice(2, 4, None), slice(4, 7, None), slice(0, 2, None)]
    """
    return pieces(n, p)[(r + 1) % p]


@checked
def sharded_adam_state(W: Float[Array, "p n"]) -> list[AdamState]:
    """The state of each worker before the first step: zeros, for its share alone.

    >>> import numpy as np
    >>> [len(state.m) for state in sharded_adam_state(np.zeros((2, 6)))]
    [3, 3]
    """
    p, n = W.shape
    rules.must(n >= p, "sharded_adam_state", f"each worker must have a number; got {n} for {p} workers.")
    return [adam_state(W[r, share_of(r, n, p)]) for r in range(p)]


@checked
def sharded_adam(
    W: Float[Array, "p n"],
    dW: Float[Array, "p n"],
    states: list[AdamState],
    rate: Number[float, "0.."],
    settings: AdamSettings = KINGMA_BA_2014,
) -> ShardedStep:
    """A step of Adam in three parts: sum the gradients by shares, step with one's share, gather all shares (eq-held).

    It sends what an all-reduce of the gradients sends, because that has the same first part, and then gathers gradients
    where this gathers parameters. Adam treats each number alone, so the parameters are those of one process.

    W         the parameters, the same on each worker
    dW        the gradient of each worker's rows; the step is by their mean
    states    from `sharded_adam_state`, or of the step before

    >>> import numpy as np
    >>> W, dW = np.ones((2, 4)), np.array([[1.0, 2.0, 3.0, 4.0], [3.0, 2.0, 1.0, 0.0]])
    >>> step = sharded_adam(W, dW, sharded_adam_state(W), rate=0.1)
    >>> step.W.round(4), step.sent
    (array([[0.9, 0.9, 0.9, 0.9],
           [0.9, 0.9, 0.9, 0.9]]), array([4, 4]))
    """
    p, n = W.shape
    came = f"got {len(states)} for {p} workers. `sharded_adam_state` makes them."
    rules.must(len(states) == p, "sharded_adam", f"there must be one state for each worker; {came}")
    summed, sent = reduce_scatter(dW)
    held, after = W.copy(), []
    for r in range(p):  # on each worker at the same time
        mine = share_of(r, n, p)
        held[r, mine], state = adam(W[r, mine], summed[r, mine] / p, states[r], rate, settings)
        after.append(state)
    gathered, sent_again = all_gather(held)
    return ShardedStep(gathered, after, sent + sent_again)
