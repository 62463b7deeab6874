"""The course's own model: a small GPT that has read the standard library of CPython 3.11 (book: Chapter 4).

It is stored with the package, in bfloat16 as safetensors, beside the merges of its tokenizer. `MODEL_CARD.md` in the
same folder says what it was trained on and what it cannot do; `experiments/course_model.py` trains it again.
"""

from pathlib import Path

import torch
from torch import Tensor

from attnlib import rules
from attnlib.data.bpe.files import load_tokenizer
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.js.eight_bits import Rows, quantised, read_safetensors, restored
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT

FOLDER = Path(__file__).parents[1] / "data" / "course"
END = "<|endoftext|>"  # stands before each file
CONFIG = ModelConfig(vocab=2048, context=256, d_model=256, n_heads=4, n_layers=4)


def course_tokenizer() -> Tokenizer:
    """Its 2,048 tokens: the bytes, 1,791 merges and `END`."""
    return load_tokenizer(FOLDER)


def course_model(*, bits: int = 16) -> GPT:
    """The trained model, with parameters in float32, ready to be used.

    bits    16: as it is stored. 8: each row of a matrix as integers from -127 to 127 and a scale, which is what the
            page *Inside a GPT* loads into a browser
    """
    rules.must(bits in (8, 16), "course_model", f"bits must be 8 or 16; got {bits=}.")
    model = GPT(CONFIG)
    stored = _sixteen_bits() if bits == 16 else _eight_bits()
    model.load_state_dict({**stored, "unembed.weight": stored["embed.weight"]})
    return model.float().eval()


def _sixteen_bits() -> dict[str, Tensor]:
    from safetensors.torch import load_file

    return load_file(FOLDER / "model.safetensors")


def _eight_bits() -> dict[str, Tensor]:
    stored = quantised(read_safetensors(FOLDER / "model.safetensors"))
    return {
        name: torch.from_numpy(restored(array) if isinstance(array, Rows) else array)
        for name, array in stored.items()
    }
