"""`attnlib train` says first what it will do, and refuses what cannot be; it keeps a log, and texts on its way."""

import csv
import re

import numpy as np
import pytest
import torch
from own_text import QUICK, as_a_user  # noqa: F401  (the fixture is used by itself)

from attnlib.data.bpe.files import load_tokenizer
from attnlib.models.ngrams import NGrams
from attnlib.train import command as train
from attnlib.train import outlook, room
from attnlib.train.counting import DISCOUNT, cost_by_counting
from attnlib.train.plan import Plan, config_of


def test_it_says_first_what_it_will_do(capsys):
    assert train.main([*QUICK, "8"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"Text: 6,300 tokens to train on, 700 held out, \d+ different ones", shown)
    assert re.search(
        r"By counting pairs alone it costs \d\.\d\d nats a token, or \d\.\d\d bits a byte", shown
    )
    assert re.search(r"Model: [\d,]+ parameters, depth 1, width 64, context 16; on cpu, \d+ threads?;", shown)
    assert re.search(r"about [\d.]+ GB of memory at most", shown)
    assert "8 steps of 2 rows of 16 tokens, 0.0406 rounds through the text." in shown
    assert re.search(r"It takes about [\d.]+ s in all, by the first 5 steps\.\n", shown)
    assert shown.index("rounds through") < shown.index("step 1 of 8")


def test_without_a_terminal_each_time_is_a_line(capsys):
    assert train.main([*QUICK, "8"]) == 0
    shown = capsys.readouterr().out
    assert "\r" not in shown
    assert len(re.findall(r"^step \d of 8: loss .* to go$", shown, re.M)) == 8  # as many measurements


def test_the_curve_is_a_table_and_the_texts_are_kept(tmp_path):
    assert train.main([*QUICK, "8", "--sample", "def "]) == 0
    with (tmp_path / "my-model/log.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == list(range(1, 9))
    assert rows[-1]["tokens"] == str(8 * 2 * 16) and float(rows[-1]["held_out"]) < float(rows[0]["held_out"])
    assert float(rows[0]["rate"]) > float(rows[-1]["rate"]) > 0
    written = (tmp_path / "my-model/samples.txt").read_text()
    assert re.findall(r"--- step (\d) ---\ndef ", written) == ["4", "8"]


def test_options_reach_the_model(tmp_path):
    more = ["--vocab", "300", "--rate", "0.01", "--seed", "3", "--device", "cpu"]
    assert train.main([*QUICK, "2", *more, "--folder", "a"]) == 0
    assert train.main([*QUICK, "2", *more[:4], "--folder", "b"]) == 0
    assert len(load_tokenizer(tmp_path / "a")) <= 300
    from attnlib.train.sources import load_model

    one, other = (load_model(tmp_path / name)[0] for name in "ab")
    assert one.config.context == 16 and not torch.equal(one.embed.weight, other.embed.weight)
    with (tmp_path / "a/log.csv").open(newline="") as file:
        assert next(csv.DictReader(file))["rate"] in (
            "0.01",
            "0.0055",
        )  # of two steps: the first, then on its way down


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--depth", "400"], "must fit into memory; got about .* GB for .* parameters at depth 400, where"),
        (
            ["--steps", "9" * 20],
            "a training must end within a year at 1e[+]12 operations a second; got 9{2},9",
        ),
        (
            ["--context", "5000"],
            "there must be 20000 tokens or more; got 7000 of my.txt. .*a smaller --context",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_it_is_built(options, sentence, capsys, tmp_path):
    assert train.main(["my.txt", *options]) == 2
    assert re.search(sentence, capsys.readouterr().err)
    assert not (tmp_path / "my-model").exists()


def test_a_limit_of_the_process_counts(capsys, monkeypatch):
    monkeypatch.setattr(room, "of_process", lambda: 100_000_000)
    assert train.main([*QUICK, "2"]) == 2
    assert "where 0.1 GB are free. Take a smaller --depth" in capsys.readouterr().err


def test_a_limit_of_a_container_is_read(tmp_path):
    assert room.of_container(str(tmp_path)) is None
    for name, text in (("max", "1000"), ("current", "700"), ("stat", "anon 5\ninactive_file 200\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    assert room.of_container(str(tmp_path)) == 500
    (tmp_path / "memory.max").write_text("max\n")
    assert room.of_container(str(tmp_path)) is None


def test_a_text_that_is_read_too_often_is_warned_of(capsys):
    assert train.main([*QUICK, "2", "--batch", "3"]) == 0 and "Warning" not in capsys.readouterr().out
    tokens, by = np.arange(64) % 5, load_tokenizer("my-model")
    lines = outlook.outlook(config_of(1, len(by), 16), Plan(1, 1000, "", 16, 2), tokens, tokens, by)
    assert "Warning: a text that is read 500 times is learned by heart." in lines[-1]


@pytest.mark.parametrize(
    ("option", "value", "rule"),
    [
        ("--steps", "-3", "a whole number above zero; got -3"),
        ("--rate", "-1", "a number above zero; got -1"),
        ("--rate", "nan", "a number above zero; got nan"),
        ("--vocab", "100", "257 or more, 256 bytes and an end; got 100"),
        ("--seed", "-1", "a whole number, 0 or more; got -1"),
    ],
)
def test_a_number_out_of_its_range_is_one_line(option, value, rule, capsys):
    with pytest.raises(SystemExit):
        train.main(["my.txt", f"{option}={value}"])
    assert rule in capsys.readouterr().err


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_one_line(capsys):
    assert train.main([*QUICK, "2", "--device", "cuda"]) == 2
    assert 'there must be a GPU for "cuda"; torch finds none' in capsys.readouterr().err


def test_counting_is_that_of_the_n_grams(rng):
    """The book's n-grams, one position at a time, but that their counts of single tokens are smoothed otherwise."""
    text, unseen = rng.integers(0, 5, 300), rng.integers(0, 5, 40)
    single = (np.bincount(text, minlength=5) + 1) / (len(text) + 5)
    expected = []
    for before, after in zip(unseen, unseen[1:], strict=False):
        follows = text[1:][text[:-1] == before]
        seen = max((follows == after).sum() - DISCOUNT, 0)
        expected.append((seen + DISCOUNT * len(set(follows)) * single[after]) / len(follows))
    found = cost_by_counting(text, unseen, vocab=5)
    assert found == pytest.approx(-np.log(expected).mean(), rel=1e-12)
    theirs = NGrams(text, vocab=5, order=2, discount=DISCOUNT)
    other = [theirs(np.array([[one]]))[0, after] for one, after in zip(unseen, unseen[1:], strict=False)]
    assert found == pytest.approx(-np.mean(other), rel=1e-2)
