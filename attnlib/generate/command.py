"""The command `attnlib generate`: its options, texts one after the other, and a loop in which one writes in turns."""

import argparse
import contextlib
import math
import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from attnlib import decode
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.generate import text
from attnlib.models.gpt import GPT
from attnlib.train.checkpoint import CheckpointError
from attnlib.train.command import not_negative, whole
from attnlib.train.device import on_device
from attnlib.train.sources import load_model

DESCRIPTION = """Generate text with a model that `attnlib train` has trained, token after token.

    attnlib generate my-model "def"
    attnlib generate my-model "def" --tokens 60 --temperature 0.5 --seed 1
    attnlib generate my-model "def" --temperature 0          the likeliest token each time
    attnlib generate my-model - < beginning.txt              a prompt from standard input
    attnlib generate my-model --interactive                  in turns: you write, the model goes on

MODEL is the folder of a training, its file model.safetensors, or a folder as GPT-2 or a Llama is published.
`python -m attnlib.generate` is the same command."""


def number(text: str, low: float, high: float, rule: str) -> float:
    """A number from low to high."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not low <= found <= high or math.isinf(found):
        raise argparse.ArgumentTypeError(f"it must be {rule}; got {text}")
    return found


temperature = partial(number, low=0, high=math.inf, rule="0 or more")
share = partial(number, low=1e-9, high=1, rule="above 0 and at most 1")


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="attnlib generate", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = made.add_argument
    add("model", type=Path, metavar="MODEL", help="what `attnlib train` made")
    add("prompt", nargs="?", help="the beginning of the text; - reads it from standard input")
    add("--tokens", type=whole, default=100, help="maximal number of new tokens (100)")
    add("--temperature", type=temperature, default=0.8, help="below 1: likely tokens more often (0.8)")
    add("--top-k", type=whole, help="draw from the k likeliest tokens")
    add("--top-p", type=share, help="draw from the fewest tokens that together have this probability")
    add(
        "--min-p", type=share, help="draw from tokens that have this share of the likeliest one's probability"
    )
    add(
        "--stop",
        action="append",
        default=[],
        metavar="TEXT",
        help="end before this text; repeat it for several",
    )
    add("--samples", type=whole, default=1, help="so many texts, with seeds one after the other (1)")
    add("--seed", type=not_negative, default=0, help="another seed, another text (0)")
    add("--device", choices=("cpu", "cuda"), help="where to compute (a GPU where there is one)")
    add("--interactive", action="store_true", help="write in turns with the model")
    return made


def prompt_of(options: argparse.Namespace) -> str:
    """The prompt, which may come from standard input; there, a line end at the very end is no part of it."""
    if options.prompt == "-" or (
        options.prompt is None and not options.interactive and not sys.stdin.isatty()
    ):
        return sys.stdin.read().removesuffix("\n")
    return options.prompt or ""


def show(pieces: Iterable[str], written: list[str]) -> None:
    """Print pieces as they come, and add them to what is written."""
    for piece in pieces:
        print(piece, end="", flush=True)
        written.append(piece)


def choices(options: argparse.Namespace) -> Callable[[int], decode.Choose]:
    """How tokens are chosen, by a seed."""
    filters = {"top_k": options.top_k, "top_p": options.top_p, "min_p": options.min_p}
    return partial(text.choice, temperature=options.temperature, **filters)


def write(options: argparse.Namespace, prompt: str, model: GPT, by: Tokenizer) -> None:
    """All samples."""
    if said := text.about_the_window(model, by, prompt, options.tokens):
        print(said, file=sys.stderr, flush=True)
    choose = choices(options)
    for i in range(options.samples):
        if options.samples > 1:
            print(f"--- {i + 1} of {options.samples}, seed {options.seed + i} ---", flush=True)
        print(prompt, end="", flush=True)
        choice = choose(options.seed + i)
        show(text.continuation(model, by, prompt, choice, tokens=options.tokens, stop=options.stop), [])
        print(flush=True)


def in_turns(options: argparse.Namespace, prompt: str, model: GPT, by: Tokenizer) -> None:
    """One's line, then the model's, each after all that was written; Ctrl-C ends the model's, Ctrl-D the whole."""
    print(
        "Write a line; the model goes on after it. An empty line lets it go on; Ctrl-D ends.", file=sys.stderr
    )
    choose, said = choices(options)(options.seed), prompt
    while True:
        try:
            line = input("> ")
        except (EOFError, KeyboardInterrupt):
            print(file=sys.stderr)
            return
        said += f"{line}\n" if line else ""
        written: list[str] = []
        pieces = text.continuation(model, by, said, choose, tokens=options.tokens, stop=options.stop)
        with contextlib.suppress(KeyboardInterrupt):
            show(pieces, written)
        print(flush=True)
        said += "".join(written) + "\n"


def silence() -> None:
    """Nothing is flushed at the end into an output that cannot be written."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def main(arguments: list[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    try:
        with on_device(options.device):
            model, by = load_model(options.model)
            (in_turns if options.interactive else write)(options, prompt_of(options), model, by)
    except (ValueError, CheckpointError) as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as head, has seen enough
        silence()
        return 0
    except OSError as error:
        what = (
            f"{error.filename} must be read" if error.filename else "the text must be written to the output"
        )
        print(f"generate: {what}; got '{error.strerror or error}'.", file=sys.stderr)
        silence()
        return 2
    except KeyboardInterrupt:
        print()
        return 130
    return 0
