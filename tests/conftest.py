"""Random numbers come from a seeded generator, and generated cases are the same in every run on a CI machine."""

import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from results import checked_result

from attnlib import shapes

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

settings.register_profile("ci", derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("ci" if os.environ.get("CI") else "local")

# A run that was started in the background ignores Ctrl-C, and so would the programs whose Ctrl-C is tested here.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def everything_is_checked(request, monkeypatch):
    """Results and inner calls keep their annotations too, but where times are compared."""
    around = None if request.node.get_closest_marker("timing") else checked_result
    monkeypatch.setattr(shapes, "INTERCEPT", around)


@pytest.fixture
def rng():
    return np.random.default_rng(20170612)


@pytest.fixture
def checked_values():
    """Inside such a test the functions of attnlib.nn look at values too, as those of attnlib.reference always do."""
    from attnlib.nn.debug import checked_values

    with checked_values():
        yield


@pytest.fixture(scope="session")
def playwright():
    """What drives browsers: there can be one in a process, so all modules share it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        yield running
