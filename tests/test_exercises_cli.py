"""`python -m attnlib.exercises` for those who work in an editor, and the decorator and checks inside a file."""

import os
import re
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


def test_messages_name_commands_and_no_cells(call, tmp_path):
    """Whatever the command line says can be typed there."""
    said = call("show", "foundations.softmax").stdout
    (tmp_path / "start.py").write_text(said, encoding="utf-8")
    texts = [call("check", "start.py").stdout, call("check", str(write(tmp_path / "wrong.py", 0))).stdout]
    texts += [
        call("check", str(write(tmp_path / "right.py", -1))).stdout,
        call("hint", "foundations.entropy").stdout,
    ]
    texts += [call("solution", "foundations.entropy").stdout, call("progress").stdout, call("code").stdout]
    for text in texts:
        assert "attnlib exercises" in text and "cell" not in text, text
        assert not re.search(r"\b(hint|solution|progress_code|load_progress)\(", text), text
    assert "attnlib exercises hint foundations.softmax" in texts[0] and "check the file again" in texts[0]


def test_a_solution_is_shown_after_a_try_or_when_asked_for(call, tmp_path):
    asked = call("solution", "foundations.softmax").stdout
    assert (
        "You have not tried foundations.softmax yet" in asked
        and "solution foundations.softmax --yes" in asked
    )
    assert "def softmax" in call("solution", "foundations.softmax", "--yes").stdout


def test_a_code_carries_progress_to_another_machine(call, tmp_path):
    call("check", str(write(tmp_path / "right.py", -1)))
    code = call("code").stdout.split()[-1]
    (tmp_path / "progress.json").unlink()
    assert "1 exercises added, 1 of them passed" in call("load", code).stdout


def test_the_list_is_cut_down(call, tmp_path):
    call("check", str(write(tmp_path / "right.py", -1)))
    rows = call("list", "--chapter", "foundations", "--kind", "write", "--todo").stdout.splitlines()
    assert len(rows) > 5 and all("  write    foundations." in row for row in rows)
    assert not any("foundations.softmax " in row for row in rows)
    assert any("foundations.softmax " in row for row in call("list", "--kind", "write").stdout.splitlines())


def test_a_watched_answer_that_is_saved_unchanged_is_no_new_try(call, tmp_path):
    file, seen = write(tmp_path / "answer.py", 0), tmp_path / "seen.json"
    seen.write_text("[]")
    guess = 'check("foundations.predict-scale", 64)\n'
    file.write_text(file.read_text() + guess)
    for axis in (0, 0, 1):  # 1 is another wrong answer
        file.write_text(SOFTMAX.replace("AXIS", str(axis)) + f"# saved\n{guess}")
        call("check", str(file), "--seen", str(seen))
    progress = call("progress").stdout
    assert "foundations.softmax  2 tries" in progress and "foundations.predict-scale  1 try" in progress
