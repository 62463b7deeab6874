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


def loosely(x, K, size, room=lambda m, k: m + k - 1, back=True, reach=None):
    y = np.zeros(len(x) + len(K) + size)
    for i in range(0, len(x), size):
        length = room(len(x[i : i + size]), len(K))
        piece = np.fft.rfft(x[i : i + size], length) * np.fft.rfft(K, length)
        part = np.fft.irfft(piece, length if back else None)[:reach]
        y[i : i + len(part)] += part
    return y[: len(x)]


def cases(rng):
    def one(n, k, size):
        return (*drawn(rng, (n,), (k,)), size)

    return {
        "two pieces of three": one(6, 2, 3),
        "three pieces, the last one shorter": one(8, 3, 3),
        "a kernel as long as a piece": one(8, 4, 4),
        "one piece": one(5, 3, 5),
        "a kernel longer than three pieces": one(12, 7, 2),
        "a long kernel, the last piece shorter": one(13, 5, 3),
    }


LENGTH = "length = size + len(K) - 1"
VARIANTS = (without_pieces, keeping_what_is_left)
MISTAKES = (
    Mistake("the convolution wraps around", "The end of a piece comes back at its beginning. A transform needs room "
        "for the whole convolution: zeros after the piece.", transformed_alone, {LENGTH: "length = max(size, len(K))"},
        {LENGTH: "length = size + len(K) - 2"}, {LENGTH: "length = 2 * size"},
        lambda x, K, size: loosely(x, K, size, room=lambda m, k: m + k - 2),
        lambda x, K, size: loosely(x, K, size, room=max, reach=size)),
    Mistake("what runs over the end of a piece is lost", "The first outputs of each later piece lack what the piece "
        "before it adds to them.", lambda x, K, size: loosely(x, K, size, reach=size)),
    Mistake("only the next piece gets what runs over", "With a long kernel a piece reaches more of them.",
        lambda x, K, size: loosely(x, K, size, reach=2 * size)),
    Mistake("the inverse transform has another length", "Without a length it takes an even one. Give it the length of "
        "the transform.", lambda x, K, size: loosely(x, K, size, back=False)),
    Mistake("the last piece is missing", "The last piece may be shorter, and has outputs, too.",
        {"range(0, len(x), size)": "range(0, len(x) - size + 1, size)"}),
    Mistake("longer than the signal", "What runs over the end of the signal belongs to no output.",
        {"return y[: len(x)]": "return y[: len(x) + len(K) - 1]"}),
    Mistake("one token late", "K[0] is the weight of the token itself, but here each output lacks it.",
        lambda x, K, size: np.concatenate([[0.0], np.convolve(x, K)])[: len(x)]),
)  # fmt: skip
