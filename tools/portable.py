"""Run the notebooks with other arithmetics, whose sums differ in the last bits, or with trainings that begin elsewhere.

    python tools/portable.py               every notebook under every arithmetic
    python tools/portable.py --sample      four notebooks, each under one arithmetic or nudge, chosen by the commit
    python tools/portable.py --nudge       every notebook that trains, nudged three times

Each arithmetic is a setting of the libraries that compute (PyTorch, MKL, oneDNN, OpenBLAS, NumPy): older instruction
sets, and one or two threads. A nudge (`attnlib.train.nudge`) moves the parameters by a millionth before a training.
The outputs are compared as in `make notebooks`, with the tolerances that cells state.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
ARITHMETICS = {
    "SSE, 1 thread": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4",
        "OMP_NUM_THREADS": "1",
    },
    "SSE 4.2, 2 threads": {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "OPENBLAS_CORETYPE": "Prescott",
        "OMP_NUM_THREADS": "2",
    },
    "AVX2, 2 threads": {
        "ATEN_CPU_CAPABILITY": "avx2",
        "MKL_ENABLE_INSTRUCTIONS": "AVX2",
        "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell",
        "OMP_NUM_THREADS": "2",
    },
}
NUDGES = {f"nudge {seed}": {"ATTNLIB_NUDGE": str(seed), "OMP_NUM_THREADS": "1"} for seed in (1, 2, 3)}
SETTINGS = ARITHMETICS | NUDGES
TRAINS = re.compile(r"\bfit\(|\boptim\b|\btrain_\w+\(|\.step\(\)")  # in the code of a notebook
COMPARE = [
    "--nbval",
    "--nbval-current-env",
    "--nbval-sanitize-with=tests/nbval_sanitize.cfg",
    "--nbval-cell-timeout=300",
]
COUNTS = re.compile(r"(\d+ (?:passed|failed|error)\w*)")


class Run(NamedTuple):
    """Some notebooks under one arithmetic."""

    arithmetic: str
    notebooks: list[Path]


def notebooks(root: Path = ROOT) -> list[Path]:
    return sorted((root / "book").glob("**/*.ipynb"))


def commit(root: Path = ROOT) -> int:
    """The commit as a number; 0 where there is none."""
    told = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True)
    return int(told.stdout[:8], 16) if told.returncode == 0 else 0


def that_train(paths: list[Path]) -> list[Path]:
    """The notebooks whose code has a step of an optimiser, or calls what takes one."""
    read = {path: json.loads(path.read_text(encoding="utf-8"))["cells"] for path in paths}
    code = {
        path: "".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
        for path, cells in read.items()
    }
    return [path for path in paths if TRAINS.search(code[path])]


def sample(paths: list[Path], turn: int, trained: Sequence[Path] = ()) -> list[Run]:
    """One notebook for each arithmetic; over successive turns each notebook gets each. Then one that trains, nudged.

    >>> a, b, c, d = (Path(name) for name in "abcd")
    >>> [(run.arithmetic, str(run.notebooks[0])) for run in sample([a, b, c, d], 2, [b, d])]
    [('SSE, 1 thread', 'c'), ('SSE 4.2, 2 threads', 'd'), ('AVX2, 2 threads', 'a'), ('nudge 3', 'b')]
    """
    runs = [Run(name, [paths[(turn + place) % len(paths)]]) for place, name in enumerate(ARITHMETICS)]
    nudged = [Run(f"nudge {turn % len(NUDGES) + 1}", [trained[turn % len(trained)]])] if trained else []
    return runs + nudged


def execute(run: Run) -> tuple[bool, str]:
    """Compare the outputs with the stored ones; returns whether all agree, and one line of summary."""
    started = time.perf_counter()
    together = ["-n", "2", "--dist", "loadscope"] if len(run.notebooks) > 1 else []
    command = [sys.executable, "-m", "pytest", *together, *COMPARE]
    done = subprocess.run(
        [*command, *map(str, run.notebooks)],
        cwd=ROOT,
        env=os.environ | SETTINGS[run.arithmetic],
        stdout=subprocess.PIPE,
        text=True,
    )
    print(done.stdout, end="", flush=True)
    counts = ", ".join(COUNTS.findall(done.stdout.rstrip().rpartition("\n")[2]))
    names = run.notebooks[0].stem if len(run.notebooks) == 1 else f"{len(run.notebooks)} notebooks"
    seconds = time.perf_counter() - started
    return done.returncode == 0, f"  {run.arithmetic:20}{names:32}{counts:24}{seconds:5.0f} s"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--sample", action="store_true", help="four notebooks, chosen by the commit")
    which.add_argument(
        "--nudge", action="store_true", help="every notebook that trains, begun a millionth away"
    )
    paths, turn, asked = notebooks(), commit(), parser.parse_args(arguments)
    trained = that_train(paths)
    if asked.sample:
        runs = sample(paths, turn, trained)
        print(f"The commit's number {turn} modulo {len(paths)} and {len(trained)} chooses the notebooks.")
    elif asked.nudge:
        runs = [Run(name, trained) for name in NUDGES]
    else:
        runs = [Run(name, paths) for name in ARITHMETICS]
    outcomes = []
    for run in runs:
        print(f"-- {run.arithmetic}: {', '.join(path.stem for path in run.notebooks)}", flush=True)
        outcomes.append(execute(run))
    print("== arithmetics", *(line for _, line in outcomes), sep="\n")
    return 0 if all(passed for passed, _ in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
