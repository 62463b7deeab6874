"""How long a test waits for a condition: longer on a busy machine, and with a sentence when it does not come."""

import os
from typing import Any

from playwright.sync_api import Error, expect
from playwright.sync_api import TimeoutError as TooLong

QUIET, CEILING = 30, 240  # seconds


def limit() -> int:
    """Milliseconds that a condition may take now: as many times longer as more work waits than there are cores."""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    return 1000 * round(min(QUIET * max(1, busy), CEILING))


def patient(opened: Any) -> Any:
    """A page or a context whose waits all have this limit; so have the expectations that follow."""
    opened.set_default_timeout(limit())
    expect.set_options(timeout=limit())
    return opened


def until(page: Any, what: str, condition: str, arg: Any = None) -> None:
    """Wait until a condition in JavaScript holds; `what` is said if it does not."""
    longest = limit()
    try:
        page.wait_for_function(condition, arg=arg, timeout=longest)
    except TooLong as late:
        load = os.getloadavg()[0]
        message = f"{page.url}: {longest // 1000} s went by, at a load of {load:.1f}, without this: {what}"
        raise AssertionError(message) from late


def loaded(page: Any) -> None:
    """Wait until the page has loaded and asks for nothing more."""
    longest = limit()
    try:
        page.wait_for_load_state("networkidle", timeout=longest)
    except Error as late:
        raise AssertionError(f"{page.url}: it still asks for files after {longest // 1000} s") from late
