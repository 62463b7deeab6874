"""Convolution in pieces

write · ★★ · 12 min · 06-efficient-attention/7-state-spaces

x (n,) is a signal, and K (k,) a kernel: output t is the sum of K[s] x[t - s] over all s from 0 to k - 1, where x is
zero before its beginning. The signal arrives in pieces of `size` numbers. Return y (n,), but transform only one piece
at a time, with np.fft. The last piece may be shorter.

1. How many numbers has the full convolution of one piece with the kernel?
2. A transform repeats its signal. How long must it be, so that nothing of that comes back at the beginning?
3. What runs over the end of a piece belongs to the outputs of later ones. Add it there.

Engineers call this *overlap-add*. With it a layer can be run on a stream, a piece at a time, by Fourier transforms.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake
from attnlib.exercises.kit.drawing import drawn


def in_pieces(x, K, size):
    """(n,): x convolved with the kernel, each piece of x by Fourier transforms of its own."""
    length = size + len(K) - 1
    y = np.zeros(len(x) + length)
    spectrum = np.fft.rfft(K, length)
    for start in range(0, len(x), size):
        piece = np.fft.rfft(x[start : start + size], length)
        y[start : start + length] += np.fft.irfft(piece * spectrum, length)
    return y[: len(x)]


def without_pieces(x, K, size):
    return np.convolve(x, K)[: len(x)]


def keeping_what_is_left(x, K, size):
    left, y = np.zeros(len(K) - 1), []
    for start in range(0, len(x), size):
        piece = np.convolve(x[start : start + size], K)
        piece[: len(left)] += left[: len(piece)]
        y.append(piece[:size])
        left = np.concatenate([piece[size:], np.zeros(len(K))])[: len(K) - 1]
    return np.concatenate(y)[: len(x)]


def transformed_alone(x, K, size):
    n = -(-len(x) // size) * size
    pieces = np.append(x, np.zeros(n - len(x))).reshape(-1, size)
    return np.fft.irfft(np.fft.rfft(pieces) * np.fft.rfft(K, size), size).ravel()[: len(x)]


def dropped(x, K, size):
    pieces = [np.convolve(x[i : i + size], K)[: len(x[i : i + size])] for i in range(0, len(x), size)]
    return np.concatenate(pieces)


def cases(rng):
    def one(n, k, size):
        return (*drawn(rng, (n,), (k,)), size)

    return {
        "two pieces of three": one(6, 2, 3),
        "three pieces, the last one shorter": one(8, 3, 3),
        "a kernel as long as a piece": one(8, 4, 4),
        "one piece": one(5, 3, 5),
    }


LENGTH = "length = size + len(K) - 1"
VARIANTS = (without_pieces, keeping_what_is_left)
MISTAKES = (
    Mistake("the convolution wraps around", "The end of a piece comes back at its beginning. A transform needs room "
        "for the whole convolution: zeros after the piece.", transformed_alone, {LENGTH: "length = max(size, len(K))"},
        {LENGTH: "length = size + len(K) - 2"}),
    Mistake("what runs over the end of a piece is lost", "The first outputs of each later piece lack what the piece "
        "before it adds to them.", dropped),
    Mistake("one token late", "K[0] is the weight of the token itself, but here each output lacks it.",
        lambda x, K, size: np.concatenate([[0.0], np.convolve(x, K)])[: len(x)]),
)  # fmt: skip
