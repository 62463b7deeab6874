"""A run of the tests writes nothing into the folders of whoever runs it."""

import os
import subprocess
import sys
import time
from pathlib import Path

import parts
import pytest
import user_folders

from attnlib.exercises.engine import store


def test_the_tests_and_what_they_start_work_in_a_temporary_folder():
    assert user_folders.inside(os.environ)
    shown = [sys.executable, "-c", "from attnlib.exercises.engine.store import place; print(place())"]
    environment = {name: value for name, value in os.environ.items() if name != "ATTNLIB_PROGRESS"}
    place = subprocess.run(shown, env=environment, capture_output=True, text=True).stdout
    assert sys.platform == "darwin" or place.startswith(os.environ[user_folders.MARK])


@pytest.mark.skipif(sys.platform == "darwin", reason="there the progress is named by a variable of its own")
def test_progress_that_no_test_has_named_is_not_the_users(monkeypatch):
    monkeypatch.delenv("ATTNLIB_PROGRESS", raising=False)
    kept = store.data_directory()
    assert Path.home() / ".local" not in [kept, *kept.parents]


def test_a_file_that_a_run_writes_is_seen(tmp_path):
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config/old").write_text("")
    os.utime(tmp_path / ".config/old", (1, 1))
    before = time.time() - 1
    assert user_folders.touched(before, tmp_path) == []
    (tmp_path / ".local/share").mkdir(parents=True)
    (tmp_path / ".local/share/new").write_text("")
    assert user_folders.touched(before, tmp_path) == [tmp_path / ".local/share/new"]


@pytest.mark.parametrize("ci", ["true", ""])
def test_a_run_that_writes_there_fails_on_a_machine_of_continuous_integration(
    tmp_path, monkeypatch, capsys, ci
):
    maker = tmp_path / "make"
    maker.write_text(f"#!/bin/sh\nmkdir -p {tmp_path}/.ipython\necho > {tmp_path}/.ipython/history\n")
    maker.chmod(0o755)
    monkeypatch.setitem(os.environ, "MAKE", str(maker))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CI", ci)
    assert parts.main(["unit"]) == (1 if ci else 0)
    assert (".ipython/history" in capsys.readouterr().out) == bool(ci)
