"""Train a language model on your own text, and go on where you stopped.

    python -m attnlib.train my.txt                 # a text, or a folder of .txt, .md and .py files
    python -m attnlib.train my.txt --depth 4       # a larger model, slower and better
    python -m attnlib.train my.txt --workers 2     # two processes, or GPUs, share each batch
    python -m attnlib.generate my-model "def"      # what it writes

Everything is kept in a folder, my-model for my.txt. After Ctrl-C, or if the machine goes off, the same command goes on.
"""

import argparse
import math
import sys
from pathlib import Path

import torch

from attnlib.metrics.surprise import bits_per_byte, perplexity
from attnlib.train import pretraining
from attnlib.train.checkpoint import CheckpointError
from attnlib.train.elastic import WorkersDied, watched
from attnlib.train.rows import load_tokens
from attnlib.train.training import TrainingStopped


def whole(text: str) -> int:
    """A whole number above zero."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"it must be a whole number above zero; got {text}")
    return int(text)


def run(options: argparse.Namespace) -> None:
    folder = options.folder or Path(f"{options.text.resolve().stem}-model")
    print(f"Reading {options.text} ...", flush=True)
    plan = pretraining.prepare(options.text, folder, options.depth, options.steps)
    print(f"A model of depth {plan.depth}, {plan.steps} steps, in the folder {folder}.", flush=True)
    autocast = torch.bfloat16 if options.bfloat16 else None
    memory = {"autocast": autocast, "recompute_blocks": options.recompute, "onednn": True}
    if options.workers == 1:
        pretraining.train(folder, plan, **memory)
    else:
        errors = watched(options.workers, pretraining.train_as_worker, folder, plan, memory)
        if any(errors):
            raise TrainingStopped(next(one for one in errors if one))
    curve = pretraining.held_out_curve(folder)
    if curve and curve[-1][0] < plan.steps:
        print(
            f"Step {curve[-1][0]} was the last, because the held-out loss no longer fell. The best model is kept."
        )
    best = min((value for _, value in curve), default=math.nan)
    tokens, tokenizer = (
        load_tokens(folder / pretraining.HELD_OUT_FILE).tolist(),
        pretraining.load_trained(folder)[1],
    )
    end = tokenizer.numbers[pretraining.END]
    n_bytes = len(tokenizer.decode_bytes(token for token in tokens if token != end))
    bits = bits_per_byte(best, len(tokens), n_bytes)
    print(f"On text it has not seen: perplexity {perplexity(best):.1f}, {bits:.2f} bits a byte.")
    print(f'Let it write: python -m attnlib.generate {folder} "def"')


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m attnlib.train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("text", type=Path, help="a file, or a folder of .txt, .md and .py files")
    parser.add_argument("--folder", type=Path, help="where everything is kept (TEXT-model)")
    parser.add_argument("--depth", type=whole, default=2, help="layers, and heads, and 64 in width each (2)")
    parser.add_argument("--steps", type=whole, default=1000, help="how long to train (1000)")
    parser.add_argument(
        "--bfloat16", action="store_true", help="multiply matrices in bfloat16; fast on a new GPU"
    )
    parser.add_argument(
        "--recompute", action="store_true", help="activation checkpointing: less memory, more time"
    )
    parser.add_argument("--workers", type=whole, default=1, help="processes that share each batch (1)")
    options = parser.parse_args(arguments)
    try:
        run(options)
    except (ValueError, OSError, CheckpointError, TrainingStopped, WorkersDied) as error:
        print(f"\n{error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped. The same command goes on from the last checkpoint.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
