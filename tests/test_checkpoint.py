"""Checkpoints: what comes back is what was kept, or it is named; nothing that a file brings along is run."""

import errno
import hashlib
import json
import os
import pickle
import re
import subprocess
import sys

import pytest
import torch

from attnlib.train import checkpoint
from attnlib.train.checkpoint import CheckpointError, load_checkpoint, save_checkpoint

SHARED = torch.arange(6.0).reshape(2, 3)
STATE = {
    "model": {
        "W": SHARED,
        "tied": SHARED,
        "turned": SHARED.T,
        "half": torch.tensor([1.5], dtype=torch.bfloat16),
    },
    "optimizer": {"state": {0: {"step": torch.tensor(3.0)}}, "groups": [{"lr": 0.1, "betas": (0.9, 0.98)}]},
    "numbers": [1, 2**100, 0.1 + 0.2, float("inf"), None, True, "ä"],
    "empty": {"list": [], "dict": {}, "tensor": torch.zeros(0)},
    "random": torch.get_rng_state(),
}


def same(one, other):
    """Equal to the last bit, and of the same kinds."""
    assert type(one) is type(other)
    if isinstance(one, torch.Tensor):
        assert one.dtype == other.dtype and torch.equal(one, other)
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same(a, b)
    else:
        assert one == other


def files(folder):
    return sorted(file.name for file in folder.iterdir())


def test_what_comes_back_is_what_was_kept(tmp_path):
    save_checkpoint(tmp_path / "new" / "folder", 7, STATE)
    found = load_checkpoint(tmp_path / "new" / "folder")
    assert found.step == 7
    same(found.state, STATE)


def test_what_is_shared_is_written_once(tmp_path):
    save_checkpoint(tmp_path, 1, {"a": torch.zeros(1000)})
    once = (tmp_path / "step-000000001.safetensors").stat().st_size
    tensor = torch.zeros(1000)
    save_checkpoint(tmp_path, 2, {"a": tensor, "b": tensor})
    assert (tmp_path / "step-000000002.safetensors").stat().st_size == once


def test_an_empty_folder_has_none(tmp_path):
    assert load_checkpoint(tmp_path) is None and load_checkpoint(tmp_path / "nowhere") is None


def test_the_newest_are_kept_and_what_was_begun_is_cleared_away(tmp_path):
    (tmp_path / "step-000000001.safetensors.part").write_bytes(b"half")
    (tmp_path / "step-000000001.safetensors").write_bytes(b"its JSON file never came")
    assert load_checkpoint(tmp_path) is None
    for step in (2, 30, 400):
        save_checkpoint(tmp_path, step, STATE)
    kept = [f"step-{step:09d}.{kind}" for step in (30, 400) for kind in ("json", "safetensors")]
    assert files(tmp_path) == kept


def test_a_damaged_one_goes_when_the_training_has_gone_on_before_it(tmp_path):
    for step in (10, 20, 30):
        save_checkpoint(tmp_path, step, {"step": step})
    (tmp_path / "step-000000030.safetensors").write_bytes(b"")
    save_checkpoint(tmp_path, 25, {"step": 25})
    assert load_checkpoint(tmp_path).state == {"step": 25}  # and no warning: it is not there any more
    assert [name for name in files(tmp_path) if name.endswith("json")] == [
        f"step-{step:09d}.json" for step in (20, 25)
    ]


def cut(data):
    return data[: len(data) // 2]


def flipped(data):
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]


@pytest.mark.parametrize(
    "harm", [cut, flipped, lambda data: b"", None], ids=["cut", "flipped", "empty", "gone"]
)
@pytest.mark.parametrize("kind", ["json", "safetensors"])
def test_a_damaged_file_is_named_and_the_one_before_is_used(harm, kind, tmp_path):
    for step in (1, 2):
        save_checkpoint(tmp_path, step, {"step": step})
    file = tmp_path / f"step-000000002.{kind}"
    if harm is None:
        file.unlink()
    else:
        file.write_bytes(harm(file.read_bytes()))
    if harm is None and kind == "json":
        assert load_checkpoint(tmp_path).state == {"step": 1}  # never finished: nothing to name
        return
    with pytest.warns(UserWarning, match=r"as it was written; got step-000000002.*The one of step 1 is used"):
        assert load_checkpoint(tmp_path).state == {"step": 1}
    (tmp_path / "step-000000001.safetensors").write_bytes(b"")
    with pytest.raises(CheckpointError, match="None is left in .*: choose another folder to begin anew"):
        load_checkpoint(tmp_path)


def test_every_flipped_bit_is_noticed(tmp_path, rng):
    save_checkpoint(tmp_path, 1, STATE)
    for file in list(tmp_path.iterdir()):
        whole = file.read_bytes()
        for place in rng.integers(len(whole), size=40):
            spoilt = bytearray(whole)
            spoilt[place] ^= 1 << int(rng.integers(8))
            file.write_bytes(spoilt)
            with pytest.raises(CheckpointError, match="as it was written"):
                load_checkpoint(tmp_path)
        file.write_bytes(whole)
    same(load_checkpoint(tmp_path).state, STATE)


class Malicious:
    """Who unpickles it runs what it says."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (str(self.trace),)


def test_a_malicious_pickle_does_not_run(tmp_path):
    trace, folder = tmp_path / "it ran", tmp_path / "kept"
    bad = pickle.dumps(Malicious(trace))
    save_checkpoint(folder, 1, {"a": torch.zeros(1)})
    save_checkpoint(folder, 2, {"a": torch.zeros(1)})
    (folder / "step-000000002.safetensors").write_bytes(bad)
    head = folder / "step-000000002.json"
    body = json.loads(json.loads(head.read_text())["body"])
    body |= {"bytes": len(bad), "sha256": hashlib.sha256(bad).hexdigest()}  # its author knows how to count
    text = json.dumps(body)
    head.write_text(json.dumps({"sha256": hashlib.sha256(text.encode()).hexdigest(), "body": text}))
    with pytest.warns(UserWarning, match="step-000000002 is no checkpoint"):
        assert load_checkpoint(folder).step == 1
    head.write_bytes(bad)
    torch.save(Malicious(trace), folder / "step-000000003.json")
    with pytest.warns(UserWarning, match="step-000000003 is no checkpoint; step-000000002 is no checkpoint"):
        assert load_checkpoint(folder).step == 1
    assert not trace.exists()
    pickle.loads(bad)
    assert trace.exists()  # so it was one


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
@pytest.mark.parametrize("writes", [1, 2])
def test_a_disk_that_does_not_take_it_leaves_the_last_one(number, writes, tmp_path, monkeypatch):
    save_checkpoint(tmp_path, 1, STATE)
    before, synced = files(tmp_path), []

    def full(handle):
        synced.append(handle)
        if len(synced) == 2 * writes - 1:  # each file is followed by its folder
            raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    rule = re.escape(
        f"MB must be written to {tmp_path}; got '{os.strerror(number)}'. The state of step 1 is kept."
    )
    with pytest.raises(CheckpointError, match=rule):
        save_checkpoint(tmp_path, 2, STATE)
    monkeypatch.undo()
    assert set(files(tmp_path)) - set(before) <= {
        "step-000000002.safetensors"
    }  # the tensors alone count for nothing
    assert load_checkpoint(tmp_path).step == 1
    save_checkpoint(tmp_path, 3, STATE)
    assert load_checkpoint(tmp_path).step == 3


def test_a_file_that_may_not_grow_is_one_sentence(tmp_path):
    """A real limit of the system: half of the file is written when it says no."""
    code = (
        "import resource, signal, sys, torch; from pathlib import Path; from attnlib.train.checkpoint import *\n"
        "save_checkpoint(Path(sys.argv[1]), 1, {'a': torch.zeros(10)})\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "save_checkpoint(Path(sys.argv[1]), 2, {'a': torch.zeros(1_000_000)})\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert re.search(r"4\.0 MB must be written .*'File too large'. The state of step 1 is kept", done.stderr)
    assert load_checkpoint(tmp_path).step == 1 and not list(tmp_path.glob("*.part"))


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(
        CheckpointError, match="got 'Not a directory'. No state is kept there yet. Make room, or choose"
    ):
        save_checkpoint(tmp_path / "file" / "folder", 1, STATE)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser writes everywhere")
def test_a_read_only_folder_is_one_sentence(tmp_path):
    save_checkpoint(tmp_path, 1, STATE)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(CheckpointError, match="got 'Permission denied'. The state of step 1 is kept"):
            save_checkpoint(tmp_path, 2, STATE)
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.bad_input
def test_what_json_and_safetensors_cannot_hold_is_refused(tmp_path):
    with pytest.raises(TypeError, match="a state must hold tensors, numbers, strings, .*; got function"):
        save_checkpoint(tmp_path, 1, {"schedule": checkpoint.packed})
    with pytest.raises(TypeError, match="save_checkpoint: folder must be a path or an open file; got int"):
        save_checkpoint(1, 1, {})  # pyright: ignore[reportArgumentType]
    assert not files(tmp_path)
