"""`attnlib generate`: how tokens are chosen, texts of any length, prompts from elsewhere, and what is in its way."""

import io
import os
import re
import subprocess
import sys

import pytest
import torch

from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.generate import command as generate
from attnlib.generate import text
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.train.alone import save_alone
from attnlib.train.texts import END

CONTEXT = 8


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    """A model that was never trained: how it writes is not the question."""
    by = Tokenizer([(b"h", b"e"), (b"t", b"he")], [END])
    torch.manual_seed(0)
    config = ModelConfig(len(by), context=CONTEXT, d_model=16, n_heads=2, n_layers=1)
    model = GPT(config)
    with torch.no_grad():
        model.embed.weight *= 30  # far from uniform, so that a temperature matters
        model.embed.weight[by.numbers[END]] = 0  # it does not end by itself
    file = tmp_path_factory.mktemp("model") / "model.safetensors"
    save_alone(file, model.eval(), by)
    return file


@pytest.fixture
def written(model_file, capsys):
    def write(*options, code=0):
        assert generate.main([str(model_file), *options]) == code
        found = capsys.readouterr()
        return (found.out, found.err) if code == 0 else found.err

    return write


def test_temperature_zero_is_the_likeliest_token_each_time(model_file, written):
    text_, _ = written("the", "--tokens", "4", "--temperature", "0", "--seed", "1")
    assert text_ == written("the", "--tokens", "4", "--temperature", "0", "--seed", "2")[0]
    from attnlib.train.sources import load_model

    model, by = load_model(model_file)
    read = torch.tensor([[by.numbers[END], *by.encode("the")]])
    assert text_ == "the" + by.decode(model.generate(read, max_new_tokens=4)[0].tolist()) + "\n"


def test_filters_of_one_token_are_the_likeliest_one(written):
    greedy = written("the", "--tokens", "4", "--temperature", "0")[0]
    hot = ["the", "--tokens", "4", "--temperature", "3"]
    assert written(*hot)[0] != greedy
    for one in (["--top-k", "1"], ["--top-p", "0.000001"], ["--min-p", "1"]):
        assert written(*hot, *one)[0] == greedy


def test_beyond_the_context_a_window_slides_and_it_is_said(model_file, written):
    said, about = written("the", "--tokens", "30", "--temperature", "0")
    assert "the model reads 8 tokens; beyond them it sees the last 6 to 8 of its text" in about
    assert written("the", "--tokens", "3", "--temperature", "0")[1] == ""
    from attnlib.train.sources import load_model

    model, by = load_model(model_file)
    seen: list[list[int]] = []
    real = model.predictor

    def watched():
        predict = real()

        def call(prefix):
            seen.append(prefix[0].tolist())
            return predict(prefix)

        return call

    model.predictor = watched  # type: ignore[method-assign]
    read = [by.numbers[END], *by.encode("the")]
    new = list(text.numbers(model, read, text.choice(0, temperature=0), tokens=30, end=by.numbers[END]))
    assert len(new) == 30 == len(seen) and max(map(len, seen)) == CONTEXT
    whole = [*read, *new]
    for i, one in enumerate(seen):
        assert one == whole[: len(read) + i][-len(one) :], "what it reads is the end of the text"
        assert len(one) >= min(len(read) + i, text.kept(CONTEXT))


def test_a_prompt_that_is_too_long_is_said_to_be_cut(written):
    said, about = written("x" * 50, "--tokens", "3")
    assert "the prompt has 51 tokens, and the model reads 8: it sees the last 6." in about
    assert said.startswith("x" * 50)


def test_it_stops_before_a_text(written):
    said = written("the", "--tokens", "20", "--temperature", "0")[0].removesuffix("\n")
    stop = said[8:10]
    assert (
        written("the", "--tokens", "20", "--temperature", "0", "--stop", stop)[0]
        == said[: 3 + said[3:].index(stop)] + "\n"
    )


def test_several_samples_are_those_of_several_seeds(written):
    alone = [written("the", "--tokens", "5", "--seed", str(seed))[0] for seed in (3, 4)]
    together = written("the", "--tokens", "5", "--seed", "3", "--samples", "2")[0]
    assert together == f"--- 1 of 2, seed 3 ---\n{alone[0]}--- 2 of 2, seed 4 ---\n{alone[1]}"


def test_a_prompt_comes_from_standard_input(written, monkeypatch):
    expected = written("the\nhe", "--tokens", "3")[0]
    for prompt in (["-"], []):
        monkeypatch.setattr(sys, "stdin", io.StringIO("the\nhe\n"))
        assert written(*prompt, "--tokens", "3")[0] == expected


def test_in_turns_the_model_goes_on_after_all_that_was_written(written, monkeypatch):
    lines, prompts = iter(["the", ""]), []
    real = text.continuation

    def watched(model, by, prompt, choose, **options):
        prompts.append(prompt)
        return real(model, by, prompt, choose, **options)

    def answer(question):
        try:
            return next(lines)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr(text, "continuation", watched)
    said = written("--interactive", "--tokens", "3")[0]
    assert prompts[0] == "the\n" and prompts[1].startswith("the\n") and len(prompts[1]) > 4
    assert said.startswith(prompts[1].removeprefix("the\n"))


@pytest.mark.parametrize(
    ("option", "rule"),
    [
        ("--tokens=-5", "a whole number above zero; got -5"),
        ("--temperature=-1", "0 or more; got -1"),
        ("--temperature=nan", "0 or more; got nan"),
        ("--top-p=2", "above 0 and at most 1; got 2"),
        ("--top-k=0", "a whole number above zero; got 0"),
        ("--min-p=-0.1", "above 0 and at most 1; got -0.1"),
        ("--seed=-1", "a whole number, 0 or more; got -1"),
    ],
)
def test_a_number_out_of_its_range_is_one_line(option, rule, capsys):
    with pytest.raises(SystemExit):
        generate.main(["nowhere", "a", option])
    assert rule in capsys.readouterr().err


def test_what_is_no_model_is_named(capsys, tmp_path):
    (tmp_path / "a.txt").write_text("a text")
    (tmp_path / "m").mkdir()
    (tmp_path / "m/settings.json").write_text("{")
    for name, sentence in (
        ("a.txt", "a file must hold a model with its config and tokenizer; got .*a.txt"),
        ("m", "m/settings.json must be the settings that a training wrote"),
        ("nowhere", "there must be a folder with a trained model; got .*nowhere"),
    ):
        assert generate.main([str(tmp_path / name), "a"]) == 2
        assert re.search(sentence, capsys.readouterr().err)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no disk that is full")
def test_a_full_disk_and_a_closed_pipe_end_without_a_traceback(model_file):
    command = [sys.executable, "-m", "attnlib.generate", str(model_file), "the", "--tokens", "2000"]
    with open("/dev/full", "w") as full:
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert found.returncode == 2
    last = found.stderr.strip().splitlines()[-1]
    assert last == "generate: the text must be written to the output; got 'No space left on device'."
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout and process.stderr
        process.stdout.read(4)
        process.stdout.close()
        assert "Error" not in process.stderr.read() and process.wait(120) == 0
