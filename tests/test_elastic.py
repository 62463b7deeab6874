"""Several workers of the command line: one is killed, it is said in a sentence, and the end is as if it never was."""

import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
import torch

from attnlib.train.checkpoint import load_checkpoint
from attnlib.train.elastic import how
from attnlib.train.worker_group import WorkerRows

TEXT = "".join(f"def f_{i % 7}(x):\n    return x + {i % 5}\n\n" for i in range(2500))
KILLS = 5 if os.environ.get("EVERY_KILL") else 1
COMMAND = [
    sys.executable,
    "-m",
    "attnlib.train",
    "my.txt",
    "--depth",
    "1",
    "--steps",
    "120",
    "--workers",
    "2",
]


def begun(folder):
    (folder / "my.txt").write_text(TEXT)
    return subprocess.Popen(COMMAND, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(process):
    """What it has said, without what it says of its progress."""
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said
    return re.sub(r"\r.*", "", said)


def state(folder):
    return load_checkpoint(folder / "my-model" / "checkpoints").state


def workers_of(process):
    """The processes that it has started, but not what keeps its books."""
    asked = ["ps", "-ww", "-A", "-o", "pid=,ppid=,args="]
    found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    lines = [line.split(None, 2) for line in found.splitlines()]
    return [int(pid) for pid, parent, said in lines if int(parent) == process.pid and "spawn_main" in said]


@pytest.fixture(scope="module")
def never_stopped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    said = ended(begun(folder))
    assert "died" not in said and "bits a byte" in said
    return state(folder)


@pytest.mark.training
@pytest.mark.parametrize("i", range(KILLS))
def test_a_worker_that_is_killed_is_reported_and_all_end_where_they_would_have(i, tmp_path, never_stopped):
    drawn = random.Random(i)
    process, moment = begun(tmp_path), drawn.randint(1, 60)  # a checkpoint comes every 6 steps
    kept, victims = tmp_path / "my-model" / "checkpoints", []
    while not any(int(one.stem[5:]) >= moment for one in kept.glob("step-*.json")):
        assert process.poll() is None, process.communicate()[0]
        victims = victims if len(victims) == 2 else workers_of(process)
        time.sleep(0.002)
    os.kill(drawn.choice(victims), signal.SIGKILL)
    said = ended(process)
    assert len(re.findall(r"^Worker [12] of 2 died: killed by SIGKILL\.$", said, re.M)) == 1
    again = re.search(r"^All 2 go on from step (\d+)\.$", said, re.M)
    assert again and int(again[1]) >= moment
    assert "Traceback" not in said and "torch/" not in said
    now = state(tmp_path)
    assert now["losses"] == never_stopped["losses"] and len(now["losses"]) > 60
    assert all(torch.equal(one, now["model"][name]) for name, one in never_stopped["model"].items())


@pytest.mark.training
def test_stopped_by_the_keyboard_all_workers_keep_the_step_where_it_comes(tmp_path):
    (tmp_path / "my.txt").write_text(TEXT)
    process = subprocess.Popen(
        COMMAND,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    kept = tmp_path / "my-model" / "checkpoints"
    while not any(kept.glob("step-*.json")):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C does: to all of them
    shown, _ = process.communicate(timeout=120)
    step = re.search(r"^Stopped. Step (\d+) is kept; the same command goes on from it\.$", shown, re.M)
    assert process.returncode == 130 and step and "Traceback" not in shown, shown
    assert load_checkpoint(kept).step == int(step[1]) == len(state(tmp_path)["losses"])
    assert (tmp_path / "my-model" / "model.safetensors").is_file()  # written after the last step alone


@pytest.mark.training
def test_each_worker_drops_something_else(never_stopped):
    one, other = never_stopped["random"]
    assert not torch.equal(one["torch"], other["torch"])


def test_of_a_batch_each_worker_has_rows_of_its_own():
    rows = WorkerRows(iter([torch.arange(8)[:, None]]), rank=1, world_size=3)
    assert next(rows)[:, 0].tolist() == [1, 4, 7]


def test_a_batch_with_fewer_rows_than_workers_is_one_sentence():
    with pytest.raises(ValueError, match="a batch must have a row for each worker; got 2 for 3. Take fewer"):
        next(WorkerRows(iter([torch.zeros(2, 1)]), rank=1, world_size=3))


def test_the_end_of_a_process_is_said_in_words():
    assert how(-15) == "killed by SIGTERM"
