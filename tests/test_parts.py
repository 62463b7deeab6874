"""`make test` counts every process, names what is slow, and tells a broken test from a disturbed one."""

import os
import subprocess
import sys
from pathlib import Path

import counted
import parts
import pytest
import recorder

TOOLS = Path(parts.__file__).parent
ORPHAN = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', {!r}])"
BUSY = "import time\nwhile time.process_time() < 0.5: pass"


@pytest.fixture
def maker(tmp_path, monkeypatch):
    """A stand-in for make, whose body is given."""

    def write(body: str) -> None:
        file = tmp_path / "make"
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
        monkeypatch.setitem(os.environ, "MAKE", str(file))

    return write


def test_all_parts_run_and_a_failing_one_is_named(tmp_path, maker, capsys):
    maker('[ "$2" != unit ]')
    assert parts.main(["lint", "unit", "book"], tmp_path / "record") == 1
    said = capsys.readouterr().out
    named = [line.split()[0] for line in said.splitlines()[3:-1]]
    assert named == ["lint", "unit", "book", "together"]
    assert said.count("FAILED") == 1 and said.endswith(
        "make test: unit failed; what and why is printed above.\n"
    )
    assert parts.main(["lint"], tmp_path / "record") == 0


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans a new parent")
def test_processes_that_outlive_their_parent_are_counted(tmp_path):
    counted = [sys.executable, str(TOOLS / "counted.py"), str(tmp_path / "seconds")]
    done = subprocess.run([*counted, sys.executable, "-c", ORPHAN.format(BUSY)])
    assert done.returncode == 0
    assert float((tmp_path / "seconds").read_text()) > 0.5


def test_the_end_of_a_command_is_passed_on(tmp_path):
    counted = [sys.executable, str(TOOLS / "counted.py"), str(tmp_path / "seconds")]
    assert subprocess.run([*counted, "sh", "-c", "exit 7"]).returncode == 7


def recorded(tmp_path: Path, body: str) -> list[recorder.Went]:
    """How the tests of one small file go, as two workers tell it."""
    (tmp_path / "conftest.py").write_text(f"import sys\nsys.path.insert(0, {str(TOOLS)!r})\n" + CONFTEST)
    (tmp_path / "test_some.py").write_text(body)
    record = tmp_path / "record"
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "--rootdir", str(tmp_path), str(tmp_path)]
    environment = os.environ | {recorder.VARIABLE: str(record)}
    subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True)
    return recorder.read(record)


CONFTEST = "import recorder\ndef pytest_configure(config): recorder.register(config)\n"
SOME = f"""
import subprocess, sys, time, pytest
BUSY = {BUSY!r}
@pytest.fixture
def slow(): time.sleep(0.3)
@pytest.fixture
def broken():
    yield
    raise ValueError
def test_a(slow): pass
def test_busy(): subprocess.run([sys.executable, "-c", BUSY], check=True)
def test_b(): assert False
def test_c(broken): pass
"""


def test_a_record_has_each_test_once_with_its_preparation(tmp_path):
    went = {test.name.rpartition("::")[2]: test for test in recorded(tmp_path, SOME)}
    assert {name: test.passed for name, test in went.items()} == {
        "test_a": True,
        "test_busy": True,
        "test_b": False,
        "test_c": False,
    }
    assert went["test_a"].seconds >= 0.3 and went["test_a"].processor < 0.2
    assert went["test_busy"].processor >= 0.5, "what it started counts"


def test_processes_that_still_run_are_metered(tmp_path):
    meter = counted.Meter(every=0)
    before = meter.read()
    running = subprocess.Popen(
        [sys.executable, "-c", f"{BUSY}\nprint('done', flush=True)\ninput()"], stdin=-1, stdout=-1
    )
    running.stdout.readline()
    assert meter.read() - before > 0.45, "a clock of hundredths"
    running.communicate(b"\n")
    assert meter.read() - before > 0.45


def test_a_test_that_fails_only_beside_others_is_named_and_the_run_fails(
    tmp_path, maker, monkeypatch, capsys
):
    (tmp_path / "test_some.py").write_text(
        "import os\ndef test_it(): assert 'BESIDE' not in os.environ\ndef test_no(): assert False\n"
    )
    names = ["test_some.py::test_it", "test_some.py::test_no"]
    lines = "".join(f'echo \'["{name}", 1.0, 2.0, false]\' >> "$TEST_RECORD"\n' for name in names)
    maker(lines + "exit 1")
    monkeypatch.setattr(parts, "ROOT", tmp_path)
    assert parts.main(["unit"], tmp_path / "record") == 1
    said = capsys.readouterr().out
    assert "disturbed them\ntest_some.py::test_it\nmake test: unit failed" in said
