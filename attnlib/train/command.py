"""The command `attnlib train`: its options, its last lines, and an exit code that means something."""

import argparse
import math
import os
import sys
from pathlib import Path

import torch

from attnlib.data.bpe.files import load_tokenizer
from attnlib.metrics.surprise import bits_per_byte, perplexity
from attnlib.train import outlook, pretraining
from attnlib.train.alone import MODEL
from attnlib.train.checkpoint import CheckpointError
from attnlib.train.device import on_device
from attnlib.train.elastic import WorkersDied, watched
from attnlib.train.lock import locked
from attnlib.train.plan import BATCH, BYTES_AND_END, VOCAB, N, config_of, read_settings
from attnlib.train.products import is_intels
from attnlib.train.rows import load_tokens
from attnlib.train.stopping import StopWhenAsked
from attnlib.train.texts import HELD_OUT_FILE, texts_of
from attnlib.train.training import TrainingStopped

DESCRIPTION = """Train a language model on your own text, and go on where you stopped.

    attnlib train my.txt                 a text, or a folder of .txt, .md and .py files
    attnlib train my.txt --depth 4       a larger model, slower and better
    attnlib train my.txt --steps 5000    longer; also a training that has come to its end
    attnlib train new.txt --from my-model    another text, from the model that is there
    attnlib train my.txt --workers 2     two processes, or GPUs, share each batch
    attnlib generate my-model "def"      what it writes

Everything is kept in a folder, my-model for my.txt: log.csv has the curve, samples.txt what the model wrote on its way,
model.safetensors the model alone. Ctrl-C and SIGTERM keep the step where they come, a machine that goes off costs at
most a minute, and the same command goes on. `python -m attnlib.train` is the same command."""
GONE = 128  # and the number of a signal: the exit code of a process that one has ended


def whole(text: str) -> int:
    """A whole number above zero."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"it must be a whole number above zero; got {text}")
    return int(text)


def not_negative(text: str) -> int:
    """A whole number, or zero."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"it must be a whole number, 0 or more; got {text}")
    return int(text)


def positive(text: str) -> float:
    """A number above zero."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"it must be a number above zero; got {text}")
    return number


def vocabulary(text: str) -> int:
    """How many different tokens: bytes, the end of a document, and what merges make."""
    if not text.isdecimal() or int(text) < BYTES_AND_END:
        raise argparse.ArgumentTypeError(
            f"it must be {BYTES_AND_END} or more, 256 bytes and an end; got {text}"
        )
    return int(text)


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="attnlib train", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = made.add_argument
    add(
        "text",
        type=Path,
        help="a file, or a folder of .txt, .md and .py files; hidden and installed ones are left out",
    )
    add(
        "--exclude",
        action="append",
        default=[],
        metavar="PATTERN",
        help="of a folder: leave these out; repeat it",
    )
    add("--folder", type=Path, help="where everything is kept (TEXT-model)")
    add("--from", dest="start", type=Path, metavar="MODEL", help="start from a model that is there: a folder of a "
        "training, its model.safetensors, or a folder as GPT-2 or a Llama is published")  # fmt: skip
    add("--depth", type=whole, help="layers, and heads, and 64 in width each (2)")
    add("--steps", type=whole, default=1000, help="how long to train (1000)")
    add("--context", type=whole, help=f"tokens that are read at once ({N})")
    add("--batch", type=whole, default=BATCH, help=f"rows of such tokens in a step ({BATCH})")
    add("--rate", type=positive, help="the largest learning rate (0.003, less where depth is above 4)")
    add("--vocab", type=vocabulary, help=f"different tokens at most ({VOCAB})")
    add("--seed", type=not_negative, default=0, help="another seed, another start and order (0)")
    add("--device", choices=("cpu", "cuda"), help="where to compute (a GPU where there is one)")
    add("--sample", default="", metavar="TEXT", help="how the texts begin that the model writes on its way")
    add("--bfloat16", action="store_true", help="multiply matrices in bfloat16; fast on a new GPU")
    add("--recompute", action="store_true", help="activation checkpointing: less memory, more time")
    add("--workers", type=whole, default=1, help="processes that share each batch (1)")
    return made


def run(options: argparse.Namespace, stop: StopWhenAsked) -> None:
    """Read, refuse what cannot be, say what will be done, and do it."""
    folder = options.folder
    print(f"Reading {options.text} ...", flush=True)
    texts = texts_of(options.text, options.exclude)
    for line in texts.left_out:
        print(f"Left out: {line}.")
    start = pretraining.start_of(options.start) if options.start else None
    sized = options.depth or options.vocab
    if start and sized:
        raise ValueError(
            "train: with --from the sizes must be the model's; got --depth or --vocab. Leave it out."
        )
    asked = {name: getattr(options, name) for name in ("context", "batch", "rate", "vocab", "seed")}
    plan = pretraining.plan_of(texts, options.depth or 2, options.steps, start, **asked)
    memory = {"recompute": options.recompute, "workers": options.workers}
    config = start.config if start else config_of(plan.depth, plan.vocab, plan.context)
    outlook.must_fit(config, plan, **memory)
    outlook.must_end(config, plan)
    with locked(folder):
        plan = pretraining.prepare(
            options.text, folder, options.depth or 2, options.steps, texts=texts, start=start, **asked
        )
        settings, tokenizer = read_settings(folder), load_tokenizer(folder)
        assert settings is not None
        read, unseen = load_tokens(folder / "train.npy"), load_tokens(folder / HELD_OUT_FILE)
        outlook.say(outlook.outlook(settings["config"], plan, read, unseen, tokenizer, **memory))
        print(f"In the folder {folder}. Ctrl-C stops it, and the same command goes on.", flush=True)
        work(options, folder, plan, stop)
        if not stop.number:
            told_at_the_end(folder, plan.steps)


def work(
    options: argparse.Namespace, folder: str | Path, plan: pretraining.Plan, stop: StopWhenAsked
) -> None:
    """All steps, by this process or by several."""
    autocast = torch.bfloat16 if options.bfloat16 else None
    how = {
        "autocast": autocast, "recompute_blocks": options.recompute, "onednn": not is_intels(),
        "sample": options.sample,
    }  # fmt: skip
    if options.workers == 1:
        with stop.listening():
            pretraining.train(folder, plan, stop=stop, **how)
    else:
        errors = watched(options.workers, pretraining.train_as_worker, folder, plan, how)
        if any(errors):
            raise TrainingStopped(next(one for one in errors if one))


def told_at_the_end(folder: str | Path, steps: int) -> None:
    """What came of it."""
    folder = Path(folder)
    curve = pretraining.held_out_curve(folder)
    if curve and curve[-1][0] < steps:
        print(
            f"Step {curve[-1][0]} was the last, because the held-out loss no longer fell. The best model is kept."
        )
    best = min((value for _, value in curve), default=math.nan)
    tokens, tokenizer = load_tokens(folder / HELD_OUT_FILE), load_tokenizer(folder)
    bits = bits_per_byte(best, len(tokens), outlook.bytes_of(tokens, tokenizer))
    by_counting = outlook.counted(load_tokens(folder / "train.npy"), tokens, tokenizer).bits
    print(
        f"On text it has not seen: perplexity {perplexity(best):.1f}, {bits:.2f} bits a byte "
        f"(by counting pairs: {by_counting:.2f})."
    )
    print(f"The model alone is the file {folder / MODEL}.")
    print(f'Let it write: attnlib generate {folder} "def"')


def stopped(folder: str | Path, signal: int) -> int:
    """What is kept of a training that was stopped, and the exit code."""
    done = pretraining.steps_done(folder)
    kept = f"Stopped. Step {done} is kept; the same command goes on from it."
    print(f"\n{kept if done else 'Stopped before the first step.'}", file=sys.stderr)
    return GONE + signal


def main(arguments: list[str] | None = None) -> int:
    options, stop = parser().parse_args(arguments), StopWhenAsked()
    folder = options.folder = options.folder or Path(f"{options.text.resolve().stem}-model")
    try:
        with on_device(options.device):
            run(options, stop)
    except (ValueError, CheckpointError, TrainingStopped, WorkersDied) as error:
        print(f"\n{error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(
            f"\ntrain: {error.filename or folder} cannot be used: {error.strerror or error}.", file=sys.stderr
        )
        return 2
    except KeyboardInterrupt:
        return stopped(folder, 2)
    return stopped(folder, stop.number) if stop.number else 0
