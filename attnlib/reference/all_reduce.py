"""All-reduce on a ring: every worker has a vector and gets the sum of all; each sends less than two vectors.

Chapter 5 derives it in eq-ring-bytes. The workers are simulated: row r of an array is on worker r. The real
operation is `torch.distributed.all_reduce`.
"""

import numpy as np

from attnlib.shapes import Array, Float, Int, Number, checked


@checked
def pieces(n: Number[int, "1.."], p: Number[int, "1.."]) -> list[slice]:
    """n numbers in p pieces, as equal as they can be.

    >>> pieces(7, 3)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 7, None)]
    """
    return [slice(n * i // p, n * (i + 1) // p) for i in range(p)]


@checked
def reduce_scatter(vectors: Float[Array, "p n"]) -> tuple[Float[Array, "p n"], Int[Array, "p"]]:
    """p - 1 rounds, in which each piece goes around the ring and is summed; worker r ends with the sum of piece r + 1.

    The second result is how many numbers each worker has sent.

    >>> held, sent = reduce_scatter(np.array([[1.0, 2.0], [10.0, 20.0]]))
    >>> held[0, 1], held[1, 0], sent
    (np.float64(22.0), np.float64(11.0), array([1, 1]))
    """
    held, p = vectors.copy(), len(vectors)
    cut, sent = pieces(vectors.shape[1], p), np.zeros(p, dtype=np.int64)
    for step in range(p - 1):
        messages = [(r, (r - step) % p) for r in range(p)]
        arriving = [held[r, cut[piece]].copy() for r, piece in messages]  # all workers send at the same time
        for (r, piece), numbers in zip(messages, arriving, strict=True):
            held[(r + 1) % p, cut[piece]] += numbers
            sent[r] += numbers.size
    return held, sent


@checked
def all_gather(held: Float[Array, "p n"]) -> tuple[Float[Array, "p n"], Int[Array, "p"]]:
    """p - 1 rounds, in which each finished piece (r + 1 on worker r) goes around the ring and is copied.

    >>> all_gather(np.array([[0.0, 22.0], [11.0, 0.0]]))
    (array([[11., 22.],
           [11., 22.]]), array([1, 1]))
    """
    held, p = held.copy(), len(held)
    cut, sent = pieces(held.shape[1], p), np.zeros(p, dtype=np.int64)
    for step in range(p - 1):
        messages = [(r, (r + 1 - step) % p) for r in range(p)]
        arriving = [held[r, cut[piece]].copy() for r, piece in messages]
        for (r, piece), numbers in zip(messages, arriving, strict=True):
            held[(r + 1) % p, cut[piece]] = numbers
            sent[r] += numbers.size
    return held, sent


@checked
def ring_all_reduce(vectors: Float[Array, "p n"]) -> tuple[Float[Array, "p n"], Int[Array, "p"]]:
    """The sum, on every worker; each has sent 2 (p - 1) / p of a vector (eq-ring-bytes).

    >>> ring_all_reduce(np.array([[1.0, 2.0], [10.0, 20.0]]))
    (array([[11., 22.],
           [11., 22.]]), array([2, 2]))
    """
    scattered, sent = reduce_scatter(vectors)
    whole, sent_again = all_gather(scattered)
    return whole, sent + sent_again


@checked
def weighted_mean(
    means: Float[Array, "p n"], counts: Int[Array, "p"]
) -> tuple[Float[Array, "p n"], Int[Array, "p"]]:
    """The mean over all tokens, from each worker's mean over the tokens that it has (eq-weighted-mean).

    The mean of the means would be different: tokens of a worker with few tokens would weigh more.

    >>> weighted_mean(np.array([[9.0], [3.0]]), np.array([1, 5]))[0]
    array([[4.],
           [4.]])
    """
    sums, sent = ring_all_reduce(means * counts[:, None])
    return sums / counts.sum(), sent
