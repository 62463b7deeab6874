"""When does arithmetic take longer than memory?

write · ★★ · 8 min · 04-transformer/9-what-it-costs

A machine makes `flops` floating-point operations a second and reads `bandwidth` bytes a second from its memory; a
number takes `bytes_each` bytes. m tokens are multiplied with one large matrix, whose numbers are read once for all of
them; reading the tokens themselves may be neglected. For how many tokens m does the arithmetic take as long as the
reading? Return m, which need not be whole. (A multiplication and an addition are two operations.)

1. For one number of the matrix: how long does it take to be read? How long do its m multiply-adds take?
2. A multiply-add is two operations.
3. Set bytes_each / bandwidth equal to 2 m / flops.

Below this number a machine waits for its memory, and more tokens take no more time. So a server computes many requests
at once, and a prompt is read much faster than a text is generated.
"""

from attnlib.exercises.engine.model import Mistake


def ridge(flops, bandwidth, bytes_each):
    """Tokens at which arithmetic takes as long as reading the matrix."""
    return flops * bytes_each / (2 * bandwidth)


def by_times(flops, bandwidth, bytes_each):
    reading = bytes_each / bandwidth
    multiplying = 2 / flops
    return reading / multiplying


def cases(rng):
    return {
        "round numbers": (120.0, 3.0, 4.0),
        "half precision": (120.0, 3.0, 2.0),
        "not whole": (100.0, 7.0, 2.0),
        "nearer to the number above": (200.0, 6.0, 1.0),
        "a GPU": (312e12, 2.0e12, 2.0),
        "a processor": (1.5e11, 2.5e10, 4.0),
    }


VARIANTS = (by_times, {"flops * bytes_each / (2 * bandwidth)": "(flops / 2) / (bandwidth / bytes_each)"})
MISTAKES = (
    Mistake("rounded to a whole number", "m need not be whole: return it as it comes out.",
        {"return flops": "return np.ceil(flops", "(2 * bandwidth)": "(2 * bandwidth))"},
        {"return flops": "return np.floor(flops", "(2 * bandwidth)": "(2 * bandwidth))"},
        {"return flops": "return np.round(flops", "(2 * bandwidth)": "(2 * bandwidth))"}),
    Mistake("the two on the wrong side", "The two operations make the arithmetic longer, so fewer tokens are enough.",
        {"/ (2 * bandwidth)": "* 2 / bandwidth"}),
    Mistake("a multiply-add is one operation", "Each number costs a multiplication and an addition for each token: "
        "two operations.", {"/ (2 * bandwidth)": "/ bandwidth"}),
    Mistake("a number takes one byte", "`bandwidth` is in bytes; a number takes bytes_each of them.",
        {"flops * bytes_each": "flops"}),
    Mistake("more bytes, fewer tokens", "A number of more bytes takes longer to be read, so more tokens can be "
        "multiplied meanwhile.", {"flops * bytes_each / (2 * bandwidth)": "flops / (2 * bandwidth * bytes_each)"}),
)  # fmt: skip
