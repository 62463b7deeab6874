"""A stand-in for a fresh Colab machine: `python tools/colab.py` sets up .venv-colab, `make colab` runs notebooks in it.

.venv-colab holds the packages of tests/colab-requirements.txt and a link to the torch of .venv; `attnlib` is not there.
A `Machine` is an empty environment that has access to those packages: what a notebook installs goes into the machine,
and is deleted with it. It has a stub of `google.colab` that notes each call of `enable_custom_widget_manager`.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from contextlib import suppress
from datetime import datetime
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parent.parent
BASE = ROOT / ".venv-colab"
TOO_NEW = sys.version_info >= (3, 14)  # Colab's packages have no wheels for it
REQUIREMENTS = ROOT / "tests" / "colab-requirements.txt"
WIDGET = "application/vnd.jupyter.widget-view+json"
# Colab's own module keeps the address of its widget manager where anywidget looks for it.
STUB = """import os, types
_widgets = types.SimpleNamespace(_installed_url=None)
def enable_custom_widget_manager():
    _widgets._installed_url = "https://colab.example/manager.js"
    with open(os.environ["COLAB_CALLS"], "a") as calls: calls.write("enable_custom_widget_manager\\n")
"""
# The version of each package that is imported: the first on the path.
LIST = """import importlib.metadata as m
seen = {}
for d in m.distributions(): seen.setdefault(d.name.lower().replace("_", "-"), d.version)
print(*(f"{name}=={version}" for name, version in sorted(seen.items())))
"""
ARGUMENTS = ["-m", "ipykernel_launcher", "-f", "{connection_file}"]
HIDDEN = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "COLAB_CALLS", "ATTNLIB_SOURCE", "JUPYTER_PATH"}


def packages_folder(environment: Path) -> Path:
    """The folder of an environment's packages."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return environment / "lib" / version / "site-packages"


def set_up(environment: Path = BASE) -> None:
    """Colab's packages in a new environment, and torch as a link: a second copy would take gigabytes."""
    venv.create(environment, clear=True, with_pip=True)
    pip = [environment / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "-r", REQUIREMENTS], check=True)
    ours = Path(sysconfig.get_path("purelib"))
    packages = (metadata.distribution("torch").read_text("top_level.txt") or "torch").split()
    for part in (*(ours / name for name in packages), *ours.glob("torch-*.dist-info")):
        (packages_folder(environment) / part.name).symlink_to(part)


def snapshot(folder: Path) -> str:
    """A repository with the working tree as it is now, as an address that pip installs from."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file() and not name.endswith(".ipynb"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    author = ["-c", "user.name=colab", "-c", "user.email=colab@example.org"]
    for command in (["init", "-q"], ["add", "-A"], [*author, "commit", "-q", "-m", "The working tree"]):
        subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)
    return f"git+{folder.as_uri()}"


class Ran(NamedTuple):
    """The result of running a notebook on a machine."""

    notebook: Any
    error: str  # error of the first cell that failed, or ""
    setup_seconds: float
    seconds: float


class Machine:
    """An empty Colab machine in `folder`, which must not exist yet; `source` is where attnlib is installed from."""

    def __init__(self, folder: Path, source: str) -> None:
        self.home, self.calls = folder / "content", folder / "calls.txt"
        self.python = folder / "machine" / "bin" / "python"
        venv.create(folder / "machine", with_pip=False)
        self.home.mkdir()
        self.packages_at = packages_folder(folder / "machine")
        (self.packages_at / "google" / "colab").mkdir(parents=True)
        (self.packages_at / "google" / "colab" / "__init__.py").touch()
        (self.packages_at / "google" / "colab" / "output.py").write_text(STUB)
        (self.packages_at / "colab.pth").write_text(f"{packages_folder(BASE)}\nimport google.colab.output\n")
        (folder / "kernels" / "colab").mkdir(parents=True)
        kernel = {"display_name": "Colab", "language": "python", "argv": [str(self.python), *ARGUMENTS]}
        (folder / "kernels" / "colab" / "kernel.json").write_text(json.dumps(kernel))
        self.kernels = KernelSpecManager(kernel_dirs=[str(folder / "kernels")])
        kept = {name: value for name, value in os.environ.items() if name not in HIDDEN}
        backend = {
            "MPLBACKEND": "module://matplotlib_inline.backend_inline",
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        }
        data = {"XDG_DATA_HOME": str(folder), "COLAB_CALLS": str(self.calls), "COLAB_RELEASE_TAG": "stub"}
        self.environment = kept | backend | data | {"ATTNLIB_SOURCE": source}

    def packages(self) -> list[str]:
        """Every package the machine sees, with its version."""
        command = [str(self.python), "-c", LIST]
        told = subprocess.run(command, env=self.environment, check=True, capture_output=True, text=True)
        return told.stdout.split()

    def widget_calls(self) -> int:
        """How often `enable_custom_widget_manager` was called."""
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0

    def run(self, notebook: Any) -> Ran:
        """Run a copy of a notebook from top to bottom, in the machine's empty folder."""
        notebook = nbformat.from_dict(notebook)
        for cell in notebook.cells:
            cell.update({"outputs": [], "execution_count": None} if cell.cell_type == "code" else {})
        manager = AsyncKernelManager(kernel_name="colab", kernel_spec_manager=self.kernels)
        place = {"metadata": {"path": str(self.home)}}
        client = NotebookClient(notebook, km=manager, timeout=300, resources=place)
        with suppress(CellExecutionError):  # the error is read from the outputs below
            client.execute(env=self.environment)
        failed = (o for c in code_cells(notebook) for o in c.outputs if o.output_type == "error")
        error = next((f"{o.ename}: {o.evalue}" for o in failed), "")
        each = [seconds(cell) for cell in code_cells(notebook)]
        return Ran(notebook, error, each[0], sum(each))


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def seconds(cell: Any) -> float:
    """How long a cell took; 0 for one that did not run."""
    told = cell.metadata.get("execution", {})
    if "shell.execute_reply" not in told:
        return 0.0
    began, ended = told["iopub.execute_input"], told["shell.execute_reply"]
    return (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds()


def widgets(notebook: Any) -> list[Any]:
    """The outputs that show a widget."""
    return [o for c in code_cells(notebook) for o in c.outputs if WIDGET in o.get("data", {})]


if __name__ == "__main__":
    if not TOO_NEW:
        set_up()
