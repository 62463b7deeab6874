"""What a session and an answer cannot do to each other, and how progress survives many writers."""

import _thread
import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest

from attnlib.exercises import check, progress
from attnlib.exercises.engine import store
from attnlib.exercises.engine.cases import cases_of
from attnlib.exercises.engine.naming import naming_of
from attnlib.exercises.engine.registry import loaded

ID = "foundations.softmax"


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    path = tmp_path / "data" / "progress.json"
    monkeypatch.setenv("ATTNLIB_PROGRESS", str(path))
    for known in (store._memory, store._notices, store._shown):
        known.clear()
    return path


def right(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def columns(S):
    E = np.exp(S - S.max(axis=0, keepdims=True))
    return E / E.sum(axis=0, keepdims=True)


# The session does not reach the engine


def forget_values():
    cases_of.cache_clear()
    naming_of.cache_clear()


def test_a_patched_numpy_changes_no_expected_value(monkeypatch):
    true_exp = np.exp
    forget_values()
    monkeypatch.setattr(np, "exp", lambda x: true_exp(x) + 1)
    found = check(ID, lambda S: true_exp(S - np.logaddexp.reduce(S, axis=-1, keepdims=True)))
    assert found.passed


def test_strict_floating_point_errors_change_nothing():
    forget_values()
    with np.errstate(all="raise"):
        assert check(ID, right).passed
        assert check(ID, columns).named == ("wrong axis",)
        assert np.geterr()["over"] == "raise"


def test_gradients_switched_off_change_nothing():
    torch = pytest.importorskip("torch")
    forget_values()
    one = loaded("foundations.straight-through")
    with torch.no_grad():
        assert check(one.id, one.solution).passed
        assert not torch.is_grad_enabled()


# Nothing that an answer does stays behind


def messy(S):
    os.chdir("/")
    np.set_printoptions(precision=1)
    np.seterr(all="raise")
    sys.setrecursionlimit(500)
    np.exp = np.log
    os.environ["ATTNLIB_LEFT"] = "1"
    return S


@pytest.mark.parametrize("child", [True, False], ids=["in a child process", "in a thread"])
def test_nothing_stays_behind(child, monkeypatch):
    monkeypatch.setattr(
        "attnlib.exercises.engine.child_process.available", lambda needs: child and hasattr(os, "fork")
    )
    before = (
        os.getcwd(),
        np.get_printoptions(),
        np.geterr(),
        sys.getrecursionlimit(),
        np.exp,
        dict(os.environ),
    )
    check(ID, messy)
    assert before == (
        os.getcwd(), np.get_printoptions(), np.geterr(), sys.getrecursionlimit(), np.exp, dict(os.environ)
    )  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="needs a child process")
def test_one_call_that_never_comes_back_is_ended():
    started = time.monotonic()
    found = check(ID, lambda S: sum(range(10**15)), seconds=0.3)
    assert found.status == "stopped" and time.monotonic() - started < 30
    assert "restart the kernel" not in found.message


@pytest.mark.skipif(sys.platform != "linux", reason="needs a child process")
def test_stop_ends_the_child():
    def endless(S):
        while True:
            pass

    before = set(psutil.Process().children())  # other tests may have children of their own
    threading.Timer(0.3, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        check(ID, endless)
    assert set(psutil.Process().children()) <= before


@pytest.mark.skipif(sys.platform != "linux", reason="needs a child process")
def test_an_answer_that_ends_python_ends_nothing():
    assert "ended Python itself" in check(ID, lambda S: os._exit(0)).message


# A result speaks where its line throws it away


SCRIPT = """
from attnlib.exercises import check, progress
def f(S):
    return S
for _ in range(2):
    check("foundations.softmax", f)
kept = check("foundations.softmax", f)
progress()
"""


def test_check_and_progress_speak_in_a_script(tmp_path):
    file = tmp_path / "a.py"
    file.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    said = subprocess.run(
        [sys.executable, file], capture_output=True, encoding="utf-8", env=environment, check=True
    )
    assert said.stdout.count("foundations.softmax · not yet") == 2
    assert "3 tries" in said.stdout


def test_they_speak_in_the_middle_of_a_cell_and_once():
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell()
    shell.run_cell("from attnlib.exercises import check, progress", silent=True)
    for cell, times in (("progress()\n1", 1), ("progress()", 1), ("kept = progress()", 0)):
        with pytest.MonkeyPatch.context() as patch:
            shown = []
            patch.setattr("attnlib.exercises.engine.showing.show", shown.append)
            patch.setattr(shell.displayhook, "__call__", shown.append, raising=False)
            code = shell.run_cell(cell, store_history=False)
            result = [code.result] if type(code.result).__name__ == "Note" else []
            assert len(shown) + len(result) == times, cell


# Progress


WRITER = """
import sys
from attnlib.exercises.engine import store
from attnlib.exercises.engine.cases import cases_of
from attnlib.exercises.engine.naming import naming_of
for i in range(5):
    store.attempted(f"foundations.of-{sys.argv[1]}-{i}", True)
    store.attempted("foundations.softmax", False)
"""


def test_many_writers_lose_nothing(own_progress):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(k)]) for k in range(6)]
    assert [writer.wait() for writer in writers] == [0] * 6
    records = json.loads(own_progress.read_text())["exercises"]
    assert len(records) == 31 and records[ID]["attempts"] == 30
    assert [path.name for path in own_progress.parent.iterdir()] == ["progress.json"]


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"version": 1, "exercises": {"a": {"attempts": 1e999}}}',
        b'{"version": "x"}',
    ],
)
def test_any_malformed_file_is_set_aside(own_progress, content):
    own_progress.parent.mkdir()
    own_progress.write_bytes(content)
    assert "set aside" in check(ID, right).message
    assert own_progress.with_name("progress.json.unreadable-1").read_bytes() == content


def test_what_a_crash_left_is_written_over(own_progress):
    own_progress.parent.mkdir()
    own_progress.with_name("progress.json.tmp").write_text("half")
    check(ID, right)
    assert [path.name for path in own_progress.parent.iterdir()] == ["progress.json"]


def test_a_link_is_followed_and_stays(own_progress, tmp_path):
    target = tmp_path / "elsewhere" / "mine.json"
    target.parent.mkdir()
    target.write_text('{"version": 1, "exercises": {}}')
    own_progress.parent.mkdir()
    own_progress.symlink_to(target)
    check(ID, right)
    assert own_progress.is_symlink() and ID in json.loads(target.read_text())["exercises"]


def test_an_unwritable_place_is_said_once(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ATTNLIB_PROGRESS", str(tmp_path / "file" / "progress.json"))
    assert "cannot be written" in check(ID, right).message
    assert "cannot be written" not in check(ID, right).message + progress().message
