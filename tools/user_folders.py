"""Keep tests out of the user's own folders: progress, histories and settings go into a temporary folder.

Programs that a test starts inherit these variables. Caches (`~/.cache`, npm's) are shared: they have no
data of the user, and without them pip would fetch PyTorch again. The settings of pip and git are used, through a link.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

MARK = "ATTENTION_EXECUTED_TESTS"  # the temporary folder; child processes use the same
OURS = {
    "XDG_DATA_HOME": "data",
    "XDG_STATE_HOME": "state",
    "IPYTHONDIR": "ipython",
    "JUPYTER_RUNTIME_DIR": "jupyter/runtime",
    "JUPYTER_DATA_DIR": "jupyter",
    "XDG_CONFIG_HOME": "config",
}
if sys.platform == "darwin":  # where XDG's variables mean nothing
    OURS["ATTNLIB_PROGRESS"] = "data/attnlib/progress.json"
READ = ("pip", "git")
LOOKED_AT = (
    ".config",
    ".local",
    ".ipython",
    ".jupyter",
    ".matplotlib",
    "Library/Application Support/attnlib",
)


def keep_out(config: Any) -> None:
    """For a session of pytest and all that it starts; the folder is removed when the session that made it ends."""
    if MARK in os.environ:
        return
    folder = Path(tempfile.mkdtemp(prefix="attention-executed-"))
    os.environ[MARK] = str(folder)
    settings = Path(os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser())
    (folder / "config").mkdir()
    for name in READ:
        (folder / "config" / name).symlink_to(settings / name)
    os.environ.update({name: str(folder / inside) for name, inside in OURS.items()})
    config.add_cleanup(lambda: forget(folder))


def forget(folder: Path) -> None:
    for name in (MARK, *OURS):
        os.environ.pop(name, None)
    shutil.rmtree(folder, ignore_errors=True)


def touched(since: float, home: Path) -> list[Path]:
    """The files of the user that were written after that time."""
    files = [file for name in LOOKED_AT for file in (home / name).rglob("*")]
    return sorted(file for file in files if file.is_file() and file.lstat().st_mtime >= since)


def inside(environment: Mapping[str, str]) -> bool:
    """Whether all these variables point into the temporary folder."""
    folder = environment.get(MARK, "/nowhere")
    return all(environment.get(name, "").startswith(folder) for name in OURS)
