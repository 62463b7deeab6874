"""Larger where there is a GPU, decided in one place and announced (book: how-to-use); the GPU here is pretended."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from attnlib.data.bilingual import corpus
from attnlib.data.results import FOLDER
from attnlib.models.config import ModelConfig
from attnlib.train.device import CPU, Device, device, scale
from attnlib.train.translation import train_translator, weights_of

ROOT = Path(__file__).resolve().parent.parent
T4 = Device("cpu", "T4", 15.8)


@pytest.fixture
def pretended(monkeypatch):
    monkeypatch.setenv("ATTNLIB_DEVICE", "pretend")


def benchmark():
    spec = importlib.util.spec_from_file_location("gpu", ROOT / "benchmarks" / "gpu.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_without_a_gpu_it_is_the_cpu_and_nothing_is_said(monkeypatch, capsys):
    monkeypatch.delenv("ATTNLIB_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert device() == CPU and not CPU.is_gpu
    assert scale("steps", cpu=120, gpu=1200, minutes=2) == 120
    assert capsys.readouterr().out == ""


def test_a_gpu_is_found_by_itself_with_its_name_and_memory(monkeypatch):
    class Properties:
        name, total_memory = "Tesla T4", 15_835_660_288

    monkeypatch.delenv("ATTNLIB_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: Properties)
    assert device() == Device("cuda", "Tesla T4", 15.8) and device().is_gpu
    monkeypatch.setenv("ATTNLIB_DEVICE", "cpu")
    assert device() == CPU


def test_on_a_gpu_the_larger_size_is_announced_with_its_time(pretended, capsys):
    assert scale("training steps", cpu=120, gpu=1200, minutes=2) == 1200
    said = "On the GPU (no GPU, the CPU in its place): training steps 1,200 instead of 120, at most 2 min.\n"
    assert capsys.readouterr().out == said


@pytest.mark.bad_input
def test_an_unknown_wish_is_refused(monkeypatch):
    monkeypatch.setenv("ATTNLIB_DEVICE", "tpu")
    with pytest.raises(ValueError, match='must be "cpu" or "pretend" or not set; got \'tpu\''):
        device()


def test_a_training_moves_to_the_device_and_the_model_comes_back(monkeypatch):
    moves = []
    to = torch.nn.Module.to
    monkeypatch.setattr(torch.nn.Module, "to", lambda model, device: moves.append(device) or to(model, "cpu"))
    monkeypatch.setattr("attnlib.train.translation.device", lambda: Device("cuda", "T4", 15.8))
    pairs = corpus(20, lengths=(3, 4), seed=0)
    model = train_translator(pairs, "dot", steps=1, d_hidden=4, d_embedding=4)
    assert moves == ["cuda", "cpu"]
    assert len(weights_of(model, pairs[:2])) == 2


def test_without_a_gpu_make_gpu_says_so_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLIB_DEVICE", "cpu")
    command = [sys.executable, "benchmarks/gpu.py"]
    before = sorted(FOLDER.glob("*"))
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, benchmark().NONE + "\n", "")
    assert sorted(FOLDER.glob("*")) == before


def test_the_benchmark_of_the_gpu_measures_all_it_promises(tmp_path, pretended, monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda model: model)  # a compiler takes longer than all the rest
    small = ModelConfig(vocab=11, context=5, d_model=8, n_heads=2, n_layers=1)
    gpu = benchmark()
    file = gpu.measure(tmp_path, sizes=(32, 64), steps=2, model=small, texts=3, n=16)
    found = json.loads(file.read_text())
    assert all(row["within"] for row in found["precision"]) and len(found["precision"]) == 9
    assert 0 < found["precision"][0]["largest_error"] < found["precision"][-1]["largest_error"]
    assert [row["n"] for row in found["cost"]] == [32, 64]
    assert all(
        row["fused_ms"] > 0 < row["plain_ms"] and row["tiles_ms"] > 0 and row["fused_mb"] is None
        for row in found["cost"]
    )
    assert [(row["seed"], row["steps"]) for row in found["training"]] == [(0, 2), (1, 2), (2, 2)]
    assert [row["rung"] for row in found["ladder"]] == list(gpu.RUNGS)
    assert all(row["tokens_per_second"] > 0 < row["share_of_matrix_rate"] for row in found["ladder"])
    assert found["provenance"]["device"] == "no GPU, the CPU in its place"
    assert {"seeds", "command", "versions", "date", "seconds"} <= found["provenance"].keys()


def test_an_error_beyond_the_tolerance_is_seen(monkeypatch):
    gpu = benchmark()
    monkeypatch.setattr(gpu, "fused", lambda Q, K, V: gpu.plain(Q, K, V) * 1.02)
    assert not gpu.precision(T4, "float16", 0, shape=(2, 3, 5, 7))["within"]


@pytest.mark.parametrize("file", sorted(FOLDER.glob("gpu*.json")), ids=lambda file: file.stem)
def test_a_stored_figure_of_a_gpu_was_measured_on_one(file):
    found = json.loads(file.read_text())
    assert "CPU" not in found["provenance"]["device"] and found["gpu"]["cuda"] and found["commit"]
    assert all(row["within"] for row in found["precision"])
