"""Packages that `attnlib` uses and does not install by itself: one sentence for each that is missing.

`pip install "attnlib[train]"` brings an extra; the names of the extras and their packages are those of pyproject.toml.
"""

import importlib
import importlib.util
import sys
from collections.abc import Sequence

EXTRAS = {
    "torch": ("torch",),
    "viz": ("matplotlib", "anywidget"),
    "pretrained": ("regex", "safetensors"),
    "train": ("torch", "regex", "safetensors"),
}
ADDRESS = "git+https://github.com/attention-executed/attention-executed"
CPU_BUILD = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
INTERRUPTED = 130  # the exit code of a command that Ctrl-C ended


def missing(extra: str) -> list[str]:
    """The packages of an extra that are not installed."""
    return [name for name in EXTRAS[extra] if importlib.util.find_spec(name) is None]


def sentence(who: str, extra: str, names: Sequence[str]) -> str:
    """Who needs what, and the line to type.

    >>> print(sentence("attnlib.viz", "viz", ["matplotlib"]))
    attnlib.viz: matplotlib must be installed; it is not. Type: pip install "attnlib[viz] @ git+https://github.com/attention-executed/attention-executed"
    """
    are = "it is not" if len(names) == 1 else "they are not"
    line = f'pip install "attnlib[{extra}] @ {ADDRESS}"'
    first = f" (On Linux without a GPU first: {CPU_BUILD})" if "torch" in names else ""
    return f"{who}: {' and '.join(names)} must be installed; {are}. Type: {line}{first}"


def must_be_there(who: str, extra: str, but: Sequence[str] = ()) -> None:
    """What a package calls that works with an extra alone; it can do without the packages of `but`."""
    if names := [name for name in missing(extra) if name not in but]:
        raise ModuleNotFoundError(sentence(who, extra, names), name=names[0])


def run(extra: str, module: str, arguments: Sequence[str] | None) -> int:
    """The `main` of a command that needs an extra, or the sentence that says what to type."""
    if names := missing(extra):
        print(sentence(module.removesuffix(".command"), extra, names), file=sys.stderr)
        return 2
    try:
        command = importlib.import_module(module)  # some seconds, where PyTorch is loaded for the first time
    except KeyboardInterrupt:
        print("Stopped before it began.", file=sys.stderr)
        return INTERRUPTED
    return command.main(arguments)
