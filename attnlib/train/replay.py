"""Batches that come in the same order each time, with a position from which a training can be resumed.

Chapter 5's `fit` needs such data for its checkpoints; the experiments use it for batches that a generator makes.
"""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from attnlib import rules

B = TypeVar("B")


class Replay(Iterator[B]):
    """The batches of an iterable; resuming makes those before the position again, and drops them.

    >>> batches, again = Replay("abcd"), Replay("abcd")
    >>> next(batches), next(batches), batches.state_dict()
    ('a', 'b', {'position': 2})
    >>> again.load_state_dict(batches.state_dict()); next(again)
    'c'
    """

    def __init__(self, batches: Iterable[B]) -> None:
        self.batches, self.position = iter(batches), 0

    def __next__(self) -> B:
        batch = next(self.batches)
        self.position += 1
        return batch

    def state_dict(self) -> dict[str, int]:
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, int]) -> None:
        came = f"got one at {self.position} for {state['position']}. Make a new one."
        rules.must(self.position <= state["position"], "Replay", f"it cannot go back to a position; {came}")
        while self.position < state["position"]:
            next(self)
