"""A stored figure of a training has a stated tolerance; everything else of an output is compared to the letter."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
BOOK = ROOT / "book"
STORED = "softmax: 0.03 (sd 0.01) after 200 steps\n"

# each cell: its tags, what it prints when it is run, what is stored under it, and what the comparison must say
CELLS = {
    "the same": ([], STORED, STORED, "passed"),
    "near": (["tolerance-0.05"], STORED.replace("0.03 (sd 0.01)", "0.05 (sd 0.02)"), STORED, "passed"),
    "near, and no tolerance": ([], STORED.replace("0.03", "0.05"), STORED, "failed"),
    "beyond the tolerance": (["tolerance-0.05"], STORED.replace("0.03", "0.09"), STORED, "failed"),
    "another whole number": (["tolerance-0.05"], STORED.replace("200", "201"), STORED, "failed"),
    "another sign": (["tolerance-0.05"], STORED.replace("0.03", "-0.03"), STORED, "failed"),
    "not a number": (["tolerance-0.05"], STORED.replace("0.03", "nan"), STORED, "failed"),
    "another word": (["tolerance-0.05"], STORED.replace("softmax", "entmax"), STORED, "failed"),
    "a number more": (["tolerance-0.05"], STORED.replace("\n", " 0.03\n"), STORED, "failed"),
    "a line less": (["tolerance-0.05"], STORED, STORED * 2, "failed"),
    "nothing printed": (["tolerance-0.05"], "", STORED, "failed"),
    "nothing stored": (["tolerance-0.05"], STORED, "", "failed"),
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What the comparison of the notebooks says of each cell."""
    folder = tmp_path_factory.mktemp("book")
    cells = []
    for count, (tags, printed, stored, _) in enumerate(CELLS.values(), start=1):
        outputs = [nbformat.v4.new_output("stream", name="stdout", text=stored)] if stored else []
        cell = nbformat.v4.new_code_cell(
            f"print({printed!r}, end='')", outputs=outputs, execution_count=count
        )
        cell.metadata["tags"] = tags
        cells.append(cell)
    nbformat.write(nbformat.v4.new_notebook(cells=cells), folder / "planted.ipynb")
    shutil.copy(BOOK / "conftest.py", folder)
    shutil.copy(ROOT / "conftest.py", folder.parent)
    (folder.parent / "tools").symlink_to(ROOT / "tools")  # its plugins
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-rA",
        "-p",
        "no:cacheprovider",
        "--nbval",
        "--nbval-current-env",
    ]
    ran = subprocess.run(
        [*command, "--rootdir", folder.parent, folder], capture_output=True, text=True, cwd=folder
    )
    assert "planted, cell 1 (tolerance 0.05): softmax: 0.05 (sd 0.02)" in ran.stdout, "what moved is shown"
    told = re.findall(r"^(PASSED|FAILED).*::Cell (\d+)", ran.stdout, re.M)
    return {list(CELLS)[int(number)]: outcome.lower() for outcome, number in told}


@pytest.mark.parametrize("name", CELLS)
def test_the_comparison_sees_every_planted_fault_and_nothing_else(name, outcomes):
    assert outcomes[name] == CELLS[name][3]


def tagged() -> list:
    """The cells of the book that state a tolerance."""
    found = []
    for path in sorted(BOOK.glob("**/*.ipynb")):
        for cell in nbformat.read(path, as_version=4).cells:
            stated = [tag for tag in cell.metadata.get("tags", []) if tag.startswith("tolerance")]
            found += [pytest.param(cell, tag, id=f"{path.stem}-{cell.id}") for tag in stated]
    return found


@pytest.mark.parametrize(("cell", "tag"), tagged())
def test_a_tolerance_is_no_wider_than_the_spread_over_seeds_allows(cell, tag):
    """The cell's metadata say the standard deviation over seeds of what it prints; four of them are the most."""
    tolerance = float(re.fullmatch(r"tolerance-(\d+(?:\.\d+)?)", tag)[1])
    assert 0 < tolerance <= 4 * cell.metadata["spread"]
    reasons = ("seed", "trained", "the Python that runs")  # whose library the page reads
    assert any(reason in cell.source for reason in reasons), (
        "only what a training amplifies may differ, or a text"
    )
    assert "nbval-ignore-output" not in cell.metadata["tags"]
