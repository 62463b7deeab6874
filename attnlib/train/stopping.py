"""Stopping a training from outside: after Ctrl-C or SIGTERM the step is finished, kept, and the training ends.

A second signal ends the process at once. A signal that the process ignores from its start stays ignored.
"""

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

from attnlib.train.callbacks import Callback
from attnlib.train.training import Training

SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class StopWhenAsked(Callback):
    """Ends the training after the step in which a signal came; `number` is the signal's. All workers stop together."""

    def __init__(self, patient: bool = False) -> None:
        """patient: a second signal changes nothing, as a worker needs, which gets the keyboard's and its starter's."""
        self.number, self.patient = 0, patient

    def on_step_end(self, training: Training) -> None:
        if training.workers.mean(float(self.number > 0))[0] > 0:
            training.should_stop = True

    def note(self, number: int, frame: FrameType | None) -> None:
        """What a signal calls."""
        if self.number and self.patient:
            return
        if self.number:
            raise KeyboardInterrupt
        self.number = number
        with contextlib.suppress(OSError):
            os.write(2, b"\nStopping after this step ...\n")  # `print` may have been interrupted

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Signals are noted inside; afterwards they mean what they meant before."""
        before = {one: signal.getsignal(one) for one in SIGNALS}
        heard = [one for one, was in before.items() if was not in (signal.SIG_IGN, None)]
        for one in heard:
            signal.signal(one, self.note)
        try:
            yield
        finally:
            for one in heard:
                signal.signal(one, before[one])
