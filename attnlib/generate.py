"""Generate text with a model that `attnlib.train` has trained, token after token.

python -m attnlib.generate my-model "def"
python -m attnlib.generate my-model "def" --tokens 60 --temperature 0.5 --seed 1
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from attnlib import decode
from attnlib.train import pretraining
from attnlib.train.checkpoint import CheckpointError


def generated_text(
    folder: str | Path, prompt: str, *, tokens: int, temperature: float, seed: int
) -> Iterator[str]:
    """The prompt and its continuation, piece by piece, up to the end of a document or of the model's context."""
    model, by = pretraining.load_trained(folder)
    end = by.numbers[pretraining.END]
    read = [end, *by.encode_ordinary(prompt)][-model.config.context // 2 :]
    prefix = torch.tensor([read], device=model.embed.weight.device)
    choose = decode.sampler(np.random.default_rng(seed), temperature=temperature)
    most = min(tokens, model.config.context - len(read))
    new = decode.stream(model.predictor(), prefix, choose, max_new_tokens=most, stop=[end])
    yield prompt
    yield from by.decode_stream(number for token in new if (number := int(token)) != end)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m attnlib.generate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, help="what python -m attnlib.train made")
    parser.add_argument("prompt", nargs="?", default="", help="the beginning of the text")
    parser.add_argument("--tokens", type=int, default=100, help="maximal number of new tokens (100)")
    parser.add_argument(
        "--temperature", type=float, default=0.8, help="below 1: likely tokens more often (0.8)"
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed, another text (0)")
    asked = parser.parse_args(arguments)
    options = {"tokens": asked.tokens, "temperature": asked.temperature, "seed": asked.seed}
    try:
        for piece in generated_text(asked.folder, asked.prompt, **options):
            print(piece, end="", flush=True)
        print()
    except (ValueError, OSError, CheckpointError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
