"""Train a language model on your own text, and go on where you stopped.

    python -m attnlib.train my.txt                 # a text, or a folder of .txt, .md and .py files
    python -m attnlib.train my.txt --depth 4       # a larger model, slower and better
    python -m attnlib.train my.txt --workers 2     # two processes, or GPUs, share each batch
    python -m attnlib.generate my-model "def "     # what it writes

All is kept in a folder, my-model for my.txt. After Ctrl-C, or if the machine goes off, the same command goes on.
"""

import argparse
import math
import sys
from pathlib import Path

import torch

from attnlib.metrics.surprise import bits_per_byte, perplexity
from attnlib.train import own
from attnlib.train.checkpoint import CheckpointError
from attnlib.train.elastic import WorkersDied, watched
from attnlib.train.rows import load_tokens
from attnlib.train.training import TrainingStopped


def whole(text: str) -> int:
    """A whole number above zero."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"it must be a whole number above zero; got {text}")
    return int(text)


def run(asked: argparse.Namespace) -> None:
    folder = asked.folder or Path(f"{asked.text.resolve().stem}-model")
    print(f"Reading {asked.text} ...", flush=True)
    plan = own.prepare(asked.text, folder, asked.depth, asked.steps)
    print(f"A model of depth {plan.depth}, {plan.steps} steps, in the folder {folder}.", flush=True)
    half = torch.bfloat16 if asked.bfloat16 else None
    how = {"autocast": half, "recomputed": asked.recompute}
    if asked.workers == 1:
        own.train(folder, plan, **how)
    else:
        sentences = watched(asked.workers, own.train_in_a_crew, folder, plan, how)
        if any(sentences):
            raise TrainingStopped(next(one for one in sentences if one))
    curve = own.looks(folder)
    if curve and curve[-1][0] < plan.steps:
        print(f"Step {curve[-1][0]} was the last: what it has not seen got no better. The best is kept.")
    best = min((value for _, value in curve), default=math.nan)
    tokens, by = load_tokens(folder / own.KEPT).tolist(), own.trained(folder)[1]
    n_bytes = len(by.decode_bytes(token for token in tokens if token != by.numbers[own.END]))
    bits = bits_per_byte(best, len(tokens), n_bytes)
    print(f"On text it has not seen: perplexity {perplexity(best):.1f}, {bits:.2f} bits a byte.")
    print(f'Let it write: python -m attnlib.generate {folder} "def "')


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m attnlib.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("text", type=Path, help="a file, or a folder of .txt, .md and .py files")
    parser.add_argument("--folder", type=Path, help="where all is kept (TEXT-model)")
    parser.add_argument("--depth", type=whole, default=2, help="layers, and heads, and 64 in width each (2)")
    parser.add_argument("--steps", type=whole, default=1000, help="how long to train (1000)")
    parser.add_argument(
        "--bfloat16", action="store_true", help="multiply in half the bits; fast on a new GPU"
    )
    parser.add_argument(
        "--recompute", action="store_true", help="less memory for more time, the same numbers"
    )
    parser.add_argument("--workers", type=whole, default=1, help="processes that share each batch (1)")
    asked = parser.parse_args(arguments)
    try:
        run(asked)
    except (ValueError, OSError, CheckpointError, TrainingStopped, WorkersDied) as error:
        print(f"\n{error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from the last checkpoint.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
