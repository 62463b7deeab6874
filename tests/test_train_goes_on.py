"""A training that is stopped, begun wrongly, met by another one, prolonged, or started from a model that is there."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
import torch
from own_text import QUICK, TEXT, as_a_user  # noqa: F401  (the fixture is used by itself)

from attnlib.data.bpe.files import save_tokenizer
from attnlib.generate import command as generate
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.models.pretrained import published_gpt2
from attnlib.train import command as train
from attnlib.train import pretraining, state
from attnlib.train.checkpoint import load_checkpoint
from attnlib.train.lock import locked
from attnlib.train.sources import load_model


def checkpoint(folder):
    found = load_checkpoint(folder / "checkpoints")
    return (0, None) if found is None else found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_the_step_where_it_comes(number, capsys, monkeypatch, tmp_path):
    """Of 40 steps the checkpoints come every second; the signal comes in the seventh."""
    assert train.main([*QUICK, "40", "--folder", "whole"]) == 0
    steps, real = [], pretraining.loss

    def interrupted(model, rows):
        steps.extend([1] * model.training)
        if len(steps) == 7 and model.training:
            signal.raise_signal(number)
        return real(model, rows)

    before = signal.getsignal(number)
    monkeypatch.setattr(pretraining, "loss", interrupted)
    assert train.main([*QUICK, "40"]) == 128 + number
    assert "Stopped. Step 7 is kept; the same command goes on from it." in capsys.readouterr().err
    assert checkpoint(tmp_path / "my-model")[0] == 7 and signal.getsignal(number) == before
    assert load_model(tmp_path / "my-model" / "model.safetensors")
    monkeypatch.setattr(pretraining, "loss", real)
    assert train.main([*QUICK, "40"]) == 0
    assert "It goes on from step 7." in capsys.readouterr().out
    one, other = (checkpoint(tmp_path / name)[1] for name in ("whole", "my-model"))
    assert one["losses"] == other["losses"]
    assert all(torch.equal(tensor, other["model"][name]) for name, tensor in one["model"].items())
    logs = [(tmp_path / name / "log.csv").read_text().splitlines() for name in ("whole", "my-model")]
    assert [row.split(",")[0] for row in logs[0]] == [row.split(",")[0] for row in logs[1]]
    assert len({(tmp_path / name / "samples.txt").read_text() for name in ("whole", "my-model")}) == 1


def test_a_killed_one_loses_a_minute_at_most(monkeypatch, tmp_path):
    clock = [0.0]
    monkeypatch.setattr(state.time, "monotonic", lambda: clock[0])
    real = pretraining.loss

    def slow(model, rows):
        clock[0] += 25.0 * model.training
        if clock[0] > 200:
            raise MemoryError  # it dies without a word
        return real(model, rows)

    monkeypatch.setattr(pretraining, "loss", slow)
    with pytest.raises(MemoryError):
        train.main([*QUICK, "1000"])  # a checkpoint by steps would come at 50
    assert checkpoint(tmp_path / "my-model")[0] == 6


def test_a_folder_in_which_nothing_was_trained_binds_nobody(monkeypatch, tmp_path):
    real = pretraining.train
    monkeypatch.setattr(pretraining, "train", lambda *arguments, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        train.main([*QUICK, "3", "--vocab", "300"])
    assert (tmp_path / "my-model/settings.json").is_file()
    monkeypatch.setattr(pretraining, "train", real)
    assert train.main([*QUICK, "2"]) == 0
    assert json.loads((tmp_path / "my-model/settings.json").read_text())["plan"]["vocab"] == 2048


def test_two_in_one_folder_are_one_too_many_and_a_dead_one_is_none(capsys, tmp_path):
    hold = "import sys; from attnlib.train.lock import locked\nwith locked('my-model'):\n"
    hold += "    print('held', flush=True); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", hold], stdin=-1, stdout=-1, text=True) as other:
        assert other.stdout and other.stdout.readline() == "held\n"
        assert train.main([*QUICK, "2"]) == 2
        sentence = "one training at a time works in a folder; got my-model, where another one is running"
        assert sentence in capsys.readouterr().err
        os.kill(other.pid, signal.SIGKILL)
    assert (tmp_path / "my-model/lock").is_file()
    assert train.main([*QUICK, "2"]) == 0


def test_a_folder_that_gets_nothing_is_not_left_behind(tmp_path):
    with pytest.raises(KeyError), locked(tmp_path / "a/b"):
        raise KeyError
    assert not (tmp_path / "a/b").exists()


def test_more_steps_go_on_and_fewer_than_were_made_are_refused(capsys, tmp_path):
    assert train.main([*QUICK, "4"]) == 0
    assert train.main([*QUICK, "6"]) == 0
    assert "It goes on from step 4." in capsys.readouterr().out and checkpoint(tmp_path / "my-model")[0] == 6
    assert train.main([*QUICK, "3"]) == 2
    assert "--steps must not be fewer than were made; got 3 where 6 are done" in capsys.readouterr().err


def test_from_a_model_to_another_text(capsys, tmp_path):
    assert train.main([*QUICK, "4"]) == 0
    (tmp_path / "new.txt").write_text(TEXT.replace("f_", "g_"))
    command = ["new.txt", "--steps", "2", "--batch", "2", "--rate", "1e-9", "--from"]
    for source in ("my-model", "my-model/model.safetensors"):
        assert train.main([*command, source, "--folder", f"from-{source.count('/')}"]) == 0
        capsys.readouterr()
        model, by = load_model(tmp_path / f"from-{source.count('/')}")
        was, known = load_model(tmp_path / "my-model")
        assert by.numbers == known.numbers and model.config == was.config
        assert torch.allclose(model.embed.weight, was.embed.weight, atol=1e-6)
    assert train.main([*command, "my-model", "--folder", "from-0"]) == 0  # the same command goes on
    assert train.main([*command, "my-model", "--depth", "3"]) == 2
    assert "with --from the sizes must be the model's; got --depth or --vocab" in capsys.readouterr().err
    assert train.main([*command, "nowhere"]) == 2
    assert "there must be a folder with a trained model; got nowhere" in capsys.readouterr().err


@pytest.fixture
def tokenizer(tmp_path):
    plan = pretraining.prepare(tmp_path / "my.txt", tmp_path / "made", 1, 2, context=16, batch=2)
    assert plan.context == 16
    from attnlib.data.bpe.files import load_tokenizer

    return load_tokenizer(tmp_path / "made")


def test_from_gpt2_as_it_is_published(tokenizer, tmp_path):
    from safetensors.torch import save_file

    config = ModelConfig(len(tokenizer), context=16, d_model=24, n_heads=3, n_layers=2)
    published = tmp_path / "gpt2"
    save_tokenizer(tokenizer, published)
    save_file(published_gpt2(GPT(config)), published / "model.safetensors")
    (published / "config.json").write_text(json.dumps({"n_head": 3}))
    command = [
        "my.txt",
        "--steps",
        "2",
        "--batch",
        "2",
        "--rate",
        "1e-9",
        "--from",
        "gpt2",
        "--folder",
        "tuned",
    ]
    assert train.main(command) == 0
    one, other = load_model(published)[0], load_model(tmp_path / "tuned")[0]
    tokens = torch.tensor([[1, 2, 3]])
    assert one.config.n_heads == 3 and torch.allclose(one(tokens), other(tokens), atol=1e-5)


def test_from_a_llama_as_it_is_published(tokenizer, tmp_path):
    """The numbers are those of transformers, which wrote the folder."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=24, intermediate_size=40, num_hidden_layers=2,
        num_attention_heads=6, num_key_value_heads=2, max_position_embeddings=16, rope_theta=500.0,
    )  # fmt: skip
    theirs = LlamaForCausalLM(config).eval()
    theirs.save_pretrained(tmp_path / "llama")
    save_tokenizer(tokenizer, tmp_path / "llama")
    tokens = torch.tensor([[1, 2, 3, 4]])
    assert torch.allclose(load_model(tmp_path / "llama")[0](tokens), theirs(tokens).logits, atol=1e-5)
    command = [
        "my.txt",
        "--steps",
        "2",
        "--batch",
        "2",
        "--rate",
        "1e-9",
        "--from",
        "llama",
        "--folder",
        "tuned",
    ]
    assert train.main(command) == 0
    assert torch.allclose(load_model(tmp_path / "tuned")[0](tokens), theirs(tokens).logits, atol=1e-4)


def test_the_model_alone_is_one_file(capsys, tmp_path):
    assert train.main([*QUICK, "3"]) == 0
    capsys.readouterr()
    (tmp_path / "my-model/model.safetensors").rename(tmp_path / "alone")
    texts = []
    for source in ("my-model", "alone"):
        assert generate.main([source, "def ", "--tokens", "9"]) == 0
        texts.append(capsys.readouterr().out)
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        ("my-model/settings.json", r"my-model/settings.json must be the settings that a training wrote"),
        ("folder", r"--folder must be a folder; got a-file, which is a file"),
    ],
)
def test_what_is_in_the_way_is_named(damage, sentence, capsys, tmp_path):
    assert train.main([*QUICK, "2"]) == 0
    (tmp_path / "a-file").write_text("mine")
    if damage == "folder":
        assert train.main([*QUICK, "2", "--folder", "a-file"]) == 2
        assert (tmp_path / "a-file").read_text() == "mine"
    else:
        (tmp_path / damage).write_text("{")
        assert train.main([*QUICK, "2"]) == 2
    assert re.search(sentence, capsys.readouterr().err)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is full")
def test_a_full_disk_is_one_sentence_that_names_the_folder(capsys, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pretraining, "write_tokens", full)
    assert train.main([*QUICK, "2"]) == 2
    assert "my-model must take the text's tokens; got 'No space left on device'" in capsys.readouterr().err
