"""Elastic workers: when one dies, that is reported and all are restarted, to resume from their checkpoint.

Chapter 5 uses it. It is torchrun's elastic agent, started from Python; its log is reduced to one sentence.
"""

import logging
import signal
import uuid
from collections.abc import Callable
from typing import Any

from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

REPORTS = "torch.distributed.elastic.multiprocessing.api"
SILENT = ("torch.distributed.elastic", "torch.multiprocessing.spawn")


class WorkersDied(RuntimeError):
    """More workers have died than restarts are allowed."""


def how(exit_code: int) -> str:
    """The exit code of a process, in words.

    >>> how(-9), how(1)
    ('killed by SIGKILL', 'ended with code 1')
    """
    return f"killed by {signal.Signals(-exit_code).name}" if exit_code < 0 else f"ended with code {exit_code}"


class OneSentence(logging.Filter):
    """Prints which worker has died, and drops the record itself."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def filter(self, record: logging.LogRecord) -> bool:
        if str(record.msg).startswith("failed (exitcode") and isinstance(record.args, tuple):
            code, rank = record.args[:2]
            print(f"\nWorker {int(str(rank)) + 1} of {self.n} died: {how(int(str(code)))}.", flush=True)
        return False


def watched(n: int, work: Callable[..., Any], *arguments: Any, restarts: int = 3) -> list[Any]:
    """Call `work(*arguments)` in n processes, as torchrun does on one machine, and return what each returns.

    restarts    how often all are restarted when one has died; `TORCHELASTIC_RESTART_COUNT` counts it for them
    """
    only = OneSentence(n)
    logging.getLogger(REPORTS).addFilter(only)
    levels = {name: logging.getLogger(name).level for name in SILENT}
    for name in SILENT:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    logging.getLogger(REPORTS).setLevel(logging.ERROR)
    config = LaunchConfig(
        min_nodes=1, max_nodes=1, nproc_per_node=n, run_id=uuid.uuid4().hex, max_restarts=restarts,
        rdzv_backend="c10d", rdzv_endpoint="localhost:0", local_addr="localhost", shutdown_timeout=20,
    )  # fmt: skip
    try:
        found = elastic_launch(config, work)(*arguments)
    except ChildFailedError as error:
        came = f"got {restarts + 1} deaths, one after the other."
        raise WorkersDied(
            f"train: {n} workers must stay alive; {came} What was kept is kept: the same command goes on."
        ) from error
    except SignalException as error:
        raise KeyboardInterrupt from error
    finally:
        logging.getLogger(REPORTS).removeFilter(only)
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
    return [found[rank] for rank in range(n)]
