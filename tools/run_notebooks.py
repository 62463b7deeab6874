"""Re-execute notebooks into reproducible bytes: `python tools/run_notebooks.py [notebook ...]`, by default all.

A second run leaves no difference: no timestamps, no kernel version, widget ids in order of use, cell ids kept.
A notebook whose cells raise is left as it was, and its name and error are printed.
"""

import argparse
import json
import os
import re
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parent.parent
CELL_TIMEOUT = 300


def tidy(notebook: Any) -> None:
    """Remove from an executed notebook all that differs between two equal runs; its own metadata are kept."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
        **{key: notebook.metadata[key] for key in ("course", "widgets") if key in notebook.metadata},
    }
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = merge_streams(cell.outputs)


def merge_streams(outputs: list[Any]) -> list[Any]:
    """Printed text as one block per run of lines, independent of when the kernel flushed it."""
    merged: list[Any] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if (
            output.output_type == "stream"
            and last
            and last.output_type == "stream"
            and last.name == output.name
        ):
            last.text += output.text
        else:
            merged.append(output)
    return merged


def name_widgets_in_order(text: str) -> str:
    """Replace the random ids of widget models by numbers: first those that are shown, then those they refer to."""
    order: dict[str, str] = {}
    names = re.findall(r'"model_id": "([0-9a-f]{32})"', text)
    notebook = json.loads(text)
    stored = notebook["metadata"].get("widgets", {})
    models = {id: model for kind in stored.values() for id, model in kind.get("state", {}).items()}
    for id in names:
        names += re.findall(r'"IPY_MODEL_([0-9a-f]{32})"', json.dumps(models.get(id, {}), sort_keys=True))
        order.setdefault(id, f"{len(order):032x}")
    for old, new in order.items():
        text = text.replace(old, new)
    return nbformat.writes(nbformat.from_dict(json.loads(text)), indent=1)  # in the order of the new names


def run(path: Path) -> float:
    """Execute one notebook in its own folder and write it back; returns the seconds it took."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.pop("widgets", None)
    client = NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        store_widget_state=True,
        resources={"metadata": {"path": str(path.parent)}},
    )
    started = time.perf_counter()
    client.execute()
    tidy(notebook)
    text = name_widgets_in_order(nbformat.writes(notebook, indent=1))
    path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
    return time.perf_counter() - started


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("notebooks", nargs="*", type=Path, help="notebooks to run (default: all of book/)")
    paths = parser.parse_args(arguments).notebooks or sorted((ROOT / "book").glob("**/*.ipynb"))
    # The kernel must be the interpreter that runs this, whatever kernels the user has installed.
    os.environ["JUPYTER_PATH"] = str(Path(sys.prefix) / "share" / "jupyter")
    failures = 0
    for path in paths:
        try:
            print(f"{path}: {run(path):.1f} s")
        except CellExecutionError as error:
            failures += 1
            print(f"{path}: left as it was, because a cell raised.\n{error}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
