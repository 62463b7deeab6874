"""How close a predicted word alignment is to the true one.

Book: the-bottleneck (eq-aer). A link is a pair (source position, target position); Och and Ney (2003) defined the error
rate for gold alignments with sure links S and possible links P, where S is part of P.
"""

from collections.abc import Hashable, Iterable

from attnlib.shapes import Array, Float

Link = tuple[int, int]


def alignment_error_rate(
    predicted: Iterable[Hashable], sure: Iterable[Hashable], possible: Iterable[Hashable] | None = None
) -> float:
    """1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|): 0 is perfect, 1 means that no link is right (eq-aer).

    Without `possible` links every gold link is sure and this is 1 - F1. For a whole corpus add the number of the
    sentence to each link, so that long sentences count for more, as in the definition.

    >>> alignment_error_rate({(0, 0), (1, 1)}, sure={(0, 0), (1, 1)})
    0.0
    >>> alignment_error_rate({(0, 0), (2, 1)}, sure={(0, 0), (1, 1)})  # one of two is right: 1 - (1 + 1) / (2 + 2)
    0.5
    >>> alignment_error_rate({(0, 0), (2, 1)}, {(0, 0), (1, 1)}, possible={(2, 1)})  # 1 - (1 + 2) / (2 + 2)
    0.25
    """
    A, S = set(predicted), set(sure)
    P = S if possible is None else S | set(possible)
    if not A and not S:
        raise ValueError(
            "alignment_error_rate: there must be a predicted or a sure link; got none of either."
        )
    return 1 - (len(A & S) + len(A & P)) / (len(A) + len(S))


def links_from_weights(P: Float[Array, "m n"], threshold: float | None = None) -> set[Link]:
    """The links that attention weights P (target, source) suggest.

    Each target position is linked to its largest weight, or, with a `threshold`, to every weight at least that large.

    >>> import numpy as np
    >>> P = np.array([[0.1, 0.9], [0.6, 0.4]])
    >>> sorted(links_from_weights(P))
    [(0, 1), (1, 0)]
    >>> sorted(links_from_weights(P, threshold=0.4))
    [(0, 1), (1, 0), (1, 1)]
    """
    if P.ndim != 2:
        raise ValueError(
            f"links_from_weights: P must be one matrix (target, source); got {P.ndim} axes, shape {P.shape}. "
            "Pass one sentence and one head at a time."
        )
    if threshold is None:
        return {(int(j), i) for i, j in enumerate(P.argmax(axis=1))}
    return {(j, i) for i, row in enumerate(P.tolist()) for j, weight in enumerate(row) if weight >= threshold}


def diagonal_links(n_source: int, n_target: int) -> set[Link]:
    """A baseline from the two lengths alone: links along the diagonal of the alignment matrix.

    >>> sorted(diagonal_links(2, 4))
    [(0, 0), (0, 1), (1, 2), (1, 3)]
    """
    return {(int((i + 0.5) * n_source / n_target), i) for i in range(n_target)}
