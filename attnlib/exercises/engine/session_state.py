"""What the session has set does not reach the engine, and what an answer sets does not stay.

`pristine` is for the engine's own code: expected values are computed with the NumPy that was imported, no trap for
floating point errors, and gradients on. `restored` is for a learner's code: whatever it changes is put back.
"""

import contextlib
import math
import os
import random
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

MODULES: tuple[ModuleType, ...] = (np, np.linalg, np.random, math)
ORIGINAL = {module: dict(vars(module)) for module in MODULES}


def put_back(module: ModuleType, names: dict[str, Any]) -> None:
    """Give a module these names again, where one of them is another thing by now."""
    now = vars(module)
    for name, value in names.items():
        if now.get(name) is not value:
            setattr(module, name, value)


@contextlib.contextmanager
def pristine() -> Iterator[None]:
    """NumPy as it was imported, and floating point errors and warnings in silence."""
    session = {module: dict(vars(module)) for module in MODULES}
    for module, names in ORIGINAL.items():
        put_back(module, names)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings(), gradients_on():
            warnings.simplefilter("ignore")
            yield
    finally:
        for module, names in session.items():
            put_back(module, names)


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """A fixed random state inside; afterwards NumPy, random states, settings and folder are as they were."""
    names = {module: dict(vars(module)) for module in MODULES}
    python, numpy, torch = random.getstate(), np.random.get_state(), sys.modules.get("torch")
    errors, printing, depth, here = np.geterr(), np.get_printoptions(), sys.getrecursionlimit(), os.getcwd()
    environment = dict(os.environ)
    settings = (torch.get_rng_state(), torch.get_default_dtype()) if torch else None
    random.seed(0)
    np.random.seed(0)
    if torch:
        torch.manual_seed(0)
    try:
        with warnings.catch_warnings(), gradients_on():
            warnings.simplefilter("ignore")
            yield
    finally:
        for module, was in names.items():
            put_back(module, was)
        random.setstate(python)
        np.random.set_state(numpy)
        np.seterr(**errors)
        np.set_printoptions(**printing)
        sys.setrecursionlimit(depth)
        os.chdir(here)
        if environment != os.environ:
            os.environ.clear()
            os.environ.update(environment)
        if torch and settings:
            torch.set_rng_state(settings[0])
            torch.set_default_dtype(settings[1])


@contextlib.contextmanager
def gradients_on() -> Iterator[None]:
    """Gradients are recorded inside, whatever the session has set; nothing where torch is not loaded."""
    torch = sys.modules.get("torch")
    if torch is None:
        yield
        return
    was = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    try:
        yield
    finally:
        torch.set_grad_enabled(was)
