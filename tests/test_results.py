"""Stored experiments carry their provenance and load (book: the-bottleneck and every page that quotes a long run)."""

import json
import platform
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from attnlib.data.results import FOLDER, LARGEST, load_result, save_result

STORED = sorted(file.stem for file in FOLDER.glob("*.json"))


def store(folder: Path, name: str = "trial", **data: object) -> Path:
    return save_result(
        name, data, seeds=(0, 1), command="python -m experiments.trial", seconds=1.26, folder=folder
    )


def test_a_result_comes_back_with_its_provenance(tmp_path: Path):
    store(tmp_path, accuracy=[0.5, 1.0], word="été")
    result = load_result("trial", tmp_path)
    assert result["accuracy"] == [0.5, 1.0] and result["word"] == "été"
    told = result["provenance"]
    assert told["seeds"] == [0, 1] and told["command"] == "python -m experiments.trial"
    assert told["versions"]["python"] == platform.python_version()
    assert told["versions"]["numpy"] == np.__version__
    assert told["device"] == "cpu" and told["seconds"] == 1.3
    assert date.fromisoformat(told["date"])


def test_an_unknown_name_lists_what_exists(tmp_path: Path):
    with pytest.raises(ValueError, match=r"no result is called 'lost'; there are: none\."):
        load_result("lost", tmp_path)
    store(tmp_path, "b")
    store(tmp_path, "a")
    with pytest.raises(ValueError, match=r"there are: a, b\."):
        load_result("lost", tmp_path)


def test_a_result_must_be_small_and_may_not_fake_its_provenance(tmp_path: Path):
    with pytest.raises(ValueError, match=f"at most {LARGEST} bytes"):
        store(tmp_path, numbers=[0.123] * LARGEST)
    with pytest.raises(ValueError, match='must not have an entry "provenance"'):
        store(tmp_path, provenance="trust me")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", STORED)
def test_every_stored_result_says_where_it_comes_from(name: str):
    told = load_result(name)["provenance"]
    assert told["seeds"] and told["command"].startswith("python -m ")
    assert {"python", "numpy", "attnlib"} <= told["versions"].keys()
    assert told["seconds"] > 0 and date.fromisoformat(told["date"])
    text = (FOLDER / f"{name}.json").read_text(encoding="utf-8")
    assert len(text.encode()) <= LARGEST
    json.loads(text, parse_constant=lambda constant: pytest.fail(f"{name}.json holds {constant}"))
