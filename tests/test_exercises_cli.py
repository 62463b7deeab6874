"""`python -m attnlib.exercises` for those who work in an editor, and the decorator and checks inside a file."""

import os
import signal
import subprocess
import sys
import time

import pytest

SOFTMAX = """import numpy as np

from attnlib.exercises import check, exercise


@exercise("foundations.softmax")
def softmax(S):
    E = np.exp(S - S.max(axis=AXIS, keepdims=True))
    return E / E.sum(axis=AXIS, keepdims=True)
"""


@pytest.fixture
def environment(tmp_path):
    return {**os.environ, "ATTNLIB_PROGRESS": str(tmp_path / "progress.json"), "PYTHONIOENCODING": "utf-8"}


@pytest.fixture
def call(environment, tmp_path):
    def run(*arguments):
        command = [sys.executable, "-m", "attnlib.exercises", *arguments]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=environment,
            cwd=tmp_path,
            timeout=60,
        )

    return run


def write(path, axis):
    path.write_text(SOFTMAX.replace("AXIS", str(axis)), encoding="utf-8")
    return path


def test_list_shows_every_exercise_once(call):
    from attnlib.exercises.engine.registry import exercises

    lines = call("list").stdout.splitlines()
    assert len(lines) == len(exercises())
    assert any("★     8 min  write    foundations.softmax" in line for line in lines)


def test_check_runs_the_file_and_its_return_code_tells(call, tmp_path):
    right = call("check", str(write(tmp_path / "right.py", -1)))
    assert right.returncode == 0 and "✓ foundations.softmax · right" in right.stdout
    assert "1 of 1 passed" in right.stdout
    wrong = call("check", str(write(tmp_path / "wrong.py", 0)))
    assert wrong.returncode == 1 and "wrong axis" in wrong.stdout and "▸" in wrong.stdout
    assert wrong.stdout.count("✗") == 1, "each result is printed once"
    assert "✓ ★     8 min" in call("list").stdout
    assert "foundations.softmax  2 tries" in call("progress").stdout


def test_check_also_hears_plain_calls(call, tmp_path):
    file = tmp_path / "guess.py"
    file.write_text('from attnlib.exercises import check\ncheck("foundations.predict-scale", 64)\n')
    assert "the variance" in call("check", str(file)).stdout


def test_the_file_to_start_from_is_not_attempted(call, tmp_path):
    for id in ("foundations.softmax", "foundations.predict-scale", "foundations.scale-repair"):
        file = tmp_path / "start.py"
        file.write_text(call("show", id).stdout, encoding="utf-8")
        found = call("check", str(file))
        assert f"○ {id} · not attempted yet" in found.stdout and found.returncode == 1, found.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("x = 1\n", "no exercise found. Put @exercise("),
        ("def f(:\n", "SyntaxError"),
        ("def f():\n    return 1 / 0\n\n\nf()\n", "return 1 / 0"),
        (
            'from attnlib.exercises import check\ncheck("foundations.sofmax", 1)\n',
            "Did you mean foundations.softmax",
        ),
    ],
)
def test_files_that_cannot_be_checked_say_why(call, tmp_path, content, words):
    file = tmp_path / "answer.py"
    file.write_text(content)
    found = call("check", str(file))
    assert found.returncode == 2 and words in found.stdout
    assert "runpy" not in found.stdout and "Traceback" not in found.stderr


def test_a_missing_file_and_an_unknown_id_say_so(call):
    found = call("check", "nowhere.py")
    assert found.returncode == 2 and "nowhere.py does not exist" in found.stdout
    found = call("hint", "foundations.sofmax")
    assert found.returncode == 2 and "Did you mean foundations.softmax" in found.stderr


def test_hints_climb_from_call_to_call(call):
    assert "Hint 1 of 3" in call("hint", "foundations.softmax").stdout
    assert "Hint 2 of 3" in call("hint", "foundations.softmax").stdout
    assert "Next, of" in call("todo").stdout


def test_a_plain_script_prints_what_the_decorator_found(environment, tmp_path):
    file = write(tmp_path / "right.py", -1)
    found = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, encoding="utf-8", env=environment
    )
    assert "✓ foundations.softmax" in found.stdout


def test_watch_checks_again_after_a_save(environment, tmp_path):
    file, log = write(tmp_path / "answer.py", 0), tmp_path / "log"
    command = [sys.executable, "-m", "attnlib.exercises", "check", str(file), "--watch"]

    def wait_for(words):
        end = time.monotonic() + 30
        while words not in log.read_text(encoding="utf-8") and time.monotonic() < end:
            time.sleep(0.1)
        assert words in log.read_text(encoding="utf-8")

    with log.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environment)
        try:
            wait_for("✗ foundations.softmax")
            wait_for("Waiting for the next save")
            write(file, -1)
            wait_for("✓ foundations.softmax")
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 0
    assert "Traceback" not in log.read_text(encoding="utf-8")
