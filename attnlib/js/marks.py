"""Where each position would attend to if it looked for one thing, such as the bracket that is still open.

Book: Inside a GPT. `marks.js` is the twin that the page runs. How much of a head's weight lies there is
`attnlib.interpret.patterns.mass_on`.
"""

from collections.abc import Sequence

import numpy as np

from attnlib.shapes import Array, Bool

KINDS = ("previous token", "first token", "same token before", "opening bracket", "line start")


def marks(tokens: Sequence[int], pieces: Sequence[str]) -> dict[str, Bool[Array, "n n"]]:
    """For each kind a matrix: may row t, looking for this, attend to column j? No position marks itself.

    tokens    their numbers
    pieces    the text of each

    >>> M = marks([5, 7, 9, 7], ["f", "(", "x", "("])
    >>> M["opening bracket"].astype(int).tolist()
    [[0, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
    >>> M["same token before"][3].astype(int).tolist()
    [0, 1, 0, 0]
    """
    n = len(tokens)
    found = {kind: np.zeros((n, n), dtype=bool) for kind in KINDS}
    opened, line = open_brackets(pieces), line_starts(pieces)
    for t in range(1, n):
        found["previous token"][t, t - 1] = True
        found["first token"][t, 0] = True
        found["same token before"][t, :t] = [other == tokens[t] for other in tokens[:t]]
        for kind, j in (("opening bracket", opened[t]), ("line start", line[t])):
            if 0 <= j < t:
                found[kind][t, j] = True
    return found


def open_brackets(pieces: Sequence[str]) -> list[int]:
    """After each token, the position of the innermost bracket that is still open; -1 if there is none.

    >>> open_brackets(["f(", "x", "[", "0", "])"])
    [0, 0, 2, 2, -1]
    """
    opened: list[int] = []
    after = []
    for t, piece in enumerate(pieces):
        for character in piece:
            if character in "([{":
                opened.append(t)
            elif character in ")]}" and opened:
                opened.pop()
        after.append(opened[-1] if opened else -1)
    return after


def line_starts(pieces: Sequence[str]) -> list[int]:
    """Before each token, the position of the last one with a line's end, and so with the next line's indentation."""
    ends = [t for t, piece in enumerate(pieces) if "\n" in piece]
    return [max((end for end in ends if end < t), default=-1) for t in range(len(pieces))]
