"""The command line, as somebody with a text uses it: trained, stopped, gone on; and what it says to what is no text."""

import hashlib
import re
from functools import partial

import numpy as np
import pytest
import torch

from attnlib.data.bpe.counting import blocks_of
from attnlib.data.bpe.files import load_tokenizer
from attnlib.generate import command as generate
from attnlib.train import command as train
from attnlib.train import pretraining, texts
from attnlib.train.checkpoint import load_checkpoint
from attnlib.train.rows import load_tokens, packed_tokens

TEXT = "".join(f"def f_{i % 7}(x):\n    return x + {i % 5}\n\n" for i in range(500))
QUICK = [
    "--depth",
    "1",
    "--context",
    "16",
    "--batch",
    "2",
    "--steps",
]  # rows so short that a step takes no time
SMALL = {"context": 16, "batch": 2}


@pytest.fixture(autouse=True)
def as_a_user(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.txt").write_text(TEXT)


def text_in(path):
    return ["".join(texts.pieces_of(file)) for file in texts.texts_of(path).files]


def said(capsys):
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_from_a_text_to_what_a_model_writes(capsys):
    assert train.main(["my.txt", *QUICK, "12"]) == 0
    shown = said(capsys)
    assert re.search(
        r"step 12 of 12: loss [\d.]+, held out [\d.]+ \(nats a token\), [\d,]+ tokens/s, 0 s to go", shown
    )
    assert (
        re.search(r"perplexity [\d.]+, \d\.\d\d bits a byte", shown)
        and 'attnlib generate my-model "def"' in shown
    )
    assert generate.main(["my-model", "def ", "--tokens", "9"]) == 0
    text = said(capsys)
    assert text.startswith("def ") and len(text) > 6
    assert generate.main(["my-model", "def ", "--tokens", "9"]) == 0 and said(capsys) == text
    assert generate.main(["my-model", "def ", "--tokens", "9", "--seed", "1"]) == 0 and said(capsys) != text
    assert generate.main(["my-model", "x" * 1000]) == 0  # more than it can place: it reads the end


@pytest.mark.training
def test_stopped_and_asked_again_it_goes_on(capsys, monkeypatch, tmp_path):
    assert train.main(["my.txt", *QUICK, "8", "--folder", "whole"]) == 0
    steps, real = [], pretraining.loss

    def interrupted(model, rows):
        if model.training and len(steps) == 5:
            raise KeyboardInterrupt
        steps.extend([1] * model.training)
        return real(model, rows)

    monkeypatch.setattr(pretraining, "loss", interrupted)
    assert train.main(["my.txt", *QUICK, "8"]) == 130
    assert "the same command goes on" in said(capsys)
    monkeypatch.setattr(pretraining, "loss", real)
    assert train.main(["my.txt", *QUICK, "8"]) == 0
    one, other = (load_checkpoint(tmp_path / name / "checkpoints").state for name in ("whole", "my-model"))
    assert one["losses"] == other["losses"] and len(one["losses"]) == 8
    assert all(torch.equal(tensor, other["model"][name]) for name, tensor in one["model"].items())


@pytest.mark.training
def test_it_learns(tmp_path):
    plan = pretraining.prepare(tmp_path / "my.txt", tmp_path / "folder", 1, 40, **SMALL)
    held_out = pretraining.train(tmp_path / "folder", plan, progress=False)
    assert held_out.curve[-1][1] < 0.8 * held_out.curve[0][1]


def test_a_folder_of_programs_is_a_text_too(tmp_path):
    for i in range(3):
        (tmp_path / "code" / str(i)).mkdir(parents=True)
        (tmp_path / "code" / str(i) / "a.py").write_text(TEXT)
        (tmp_path / "code" / str(i) / "picture.png").write_bytes(b"\x89PNG\0")
    (tmp_path / "code" / "empty.py").write_text("")
    assert text_in(tmp_path / "code") == [TEXT] * 3


def test_a_text_is_read_piece_by_piece_and_comes_to_what_it_is_at_once(tmp_path, monkeypatch):
    """The checksum by which a training goes on, and the tokens that are stored."""
    monkeypatch.setattr(texts, "blocks_of", partial(blocks_of, size=1000))
    both = [TEXT + "é <|endoftext|> é  \n", TEXT[::-1]]
    (tmp_path / "two").mkdir()
    for name, text in zip("ab", both, strict=True):
        (tmp_path / "two" / f"{name}.txt").write_text(text, encoding="utf-8")
    plan = pretraining.prepare(tmp_path / "two", tmp_path / "folder", 1, 40, **SMALL)
    assert plan.text == hashlib.sha256("\0".join(both).encode()).hexdigest()
    by = load_tokenizer(tmp_path / "folder")
    expected = packed_tokens([by.encode_ordinary(text) for text in both], end=by.numbers[texts.END])
    found = [load_tokens(tmp_path / "folder" / name) for name in ("train.npy", "held-out.npy")]
    assert np.array_equal(np.concatenate(found), expected) and found[0].dtype == expected.dtype


@pytest.mark.parametrize(
    ("name", "data", "sentence"),
    [
        ("empty.txt", b"", "train: a text must not be empty; got empty.txt"),
        (
            "picture.txt",
            b"\x89PNG\x0d\x0a\xff" * 5000,
            "train: a text must be UTF-8; got picture.txt.*Is it binary?",
        ),
        ("zeros.txt", b"a\0" * 9000, "Is it binary?"),
        ("windows.txt", ("a text " * 2000).encode("utf-16"), "Else save it as UTF-8."),
        (
            "one-letter.txt",
            b"a" * 10_000,
            "there must be 512 tokens or more; got 2 of one-letter.txt. Take more text, or one that repeats",
        ),
        (
            "short.txt",
            b"too short",
            "there must be 10,000 bytes of text or more; got 9 in short.txt. Take more text",
        ),
        (None, b"", "there must be a file or a folder; got nowhere.txt, which is not there"),
    ],
)
def test_what_is_no_text_is_one_sentence(name, data, sentence, capsys, tmp_path):
    if name:
        (tmp_path / name).write_bytes(data)
    assert train.main([name or "nowhere.txt"]) == 2
    assert re.search(sentence, said(capsys)) and not list(tmp_path.glob("*-model"))


def test_the_words_of_a_large_text_are_counted_on_all_cores_with_the_same_result(tmp_path, monkeypatch):
    plans, asked, real = [], [], pretraining.train_tokenizer_of_files

    def watched(*arguments, processes):
        asked.append(processes)
        return real(*arguments, processes=processes)

    monkeypatch.setattr(pretraining, "train_tokenizer_of_files", watched)
    monkeypatch.setattr(pretraining.os, "cpu_count", lambda: 3)
    for name, large in (("one", 20_000_000), ("several", 10_000)):
        monkeypatch.setattr(pretraining, "LARGE", large)
        plans.append(pretraining.prepare(tmp_path / "my.txt", tmp_path / name, 1, 2, **SMALL))
    assert asked == [1, 3] and plans[0] == plans[1]
    for file in ("merges.txt", "vocab.json", "train.npy"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "several" / file).read_bytes()


def test_the_command_multiplies_by_onednn_and_a_call_only_where_it_is_told_to(tmp_path, monkeypatch):
    changed = []
    monkeypatch.setattr(pretraining, "multiply_by_onednn", changed.append)
    for intels in (True, False):  # on Intel's processors MKL is faster
        monkeypatch.setattr(train, "is_intels", lambda intels=intels: intels)
        assert train.main(["my.txt", *QUICK, "2", "--folder", f"{intels}"]) == 0
        assert len(changed) == (not intels)
    plan = pretraining.prepare(tmp_path / "my.txt", tmp_path / "folder", 1, 2, **SMALL)
    pretraining.train(tmp_path / "folder", plan, progress=False)
    assert len(changed) == 1


def test_a_folder_goes_on_as_it_was_begun(capsys, tmp_path):
    assert train.main(["my.txt", *QUICK, "2"]) == 0
    assert train.main(["my.txt", *QUICK, "2", "--seed", "1"]) == 2
    sentence = (
        "my-model must go on as it was begun; got another seed 1 after 0. Repeat what it was begun with"
    )
    assert sentence in said(capsys)
    (tmp_path / "my.txt").write_text(TEXT + "more")
    assert train.main(["my.txt", *QUICK, "2"]) == 2 and "got another text" in said(capsys)
    (tmp_path / "folder").mkdir()
    assert train.main(["folder"]) == 2 and "a folder must have files that end in .txt, .md, .py" in said(
        capsys
    )


def test_a_folder_that_holds_its_own_model_goes_on(capsys, tmp_path, monkeypatch):
    """Asked for the folder in which one is, the model's own files are no text, and hidden ones are none either."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "a.py").write_text(TEXT)
    (home / ".venv").mkdir()
    (home / ".venv" / "b.py").write_text("not mine")
    monkeypatch.chdir(home)
    for _ in range(2):
        assert train.main([".", *QUICK, "2"]) == 0
    assert (home / "home-model" / "merges.txt").is_file() and text_in(home) == [TEXT]


@pytest.mark.training
def test_who_stops_early_is_told(capsys, monkeypatch):
    monkeypatch.setattr(pretraining, "mean_loss", lambda model, **options: 1.0)
    assert train.main(["my.txt", *QUICK, "40"]) == 0
    shown = said(capsys)
    assert "Step 12 was the last, because the held-out loss no longer fell. The best model is kept." in shown


def test_without_a_model_nothing_is_written(capsys):
    assert generate.main(["nowhere", "def "]) == 2
    assert "def generate: there must" not in said(capsys), "no half of a text before the sentence"
    assert generate.main(["nowhere", "def "]) == 2
    assert "there must be a folder with a trained model; got nowhere. `attnlib train TEXT`" in said(capsys)


@pytest.mark.parametrize("command", [train, generate], ids=["train", "generate"])
def test_there_is_help(command, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(["--help"])
    assert ended.value.code == 0 and "attnlib generate my-model" in said(capsys)


@pytest.mark.parametrize("steps", ["0", "-1", "many"])
def test_a_number_that_is_none_is_one_line(steps, capsys):
    with pytest.raises(SystemExit):
        train.main(["my.txt", "--steps", steps])
    assert "it must be a whole number above zero" in said(capsys)
