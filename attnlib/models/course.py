"""The course's own model: a small GPT that has read the standard library of CPython 3.11 (book: Chapter 4).

It is stored with the package, in bfloat16 as safetensors, beside the merges of its tokenizer. `MODEL_CARD.md` in the
same folder says what it was trained on and what it cannot do; `experiments/course_model.py` trains it again.
"""

from pathlib import Path

from attnlib.data.bpe.files import load_tokenizer
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT

FOLDER = Path(__file__).parents[1] / "data" / "course"
END = "<|endoftext|>"  # stands before each file
CONFIG = ModelConfig(vocab=2048, context=256, d_model=256, n_heads=4, n_layers=4)


def course_tokenizer() -> Tokenizer:
    """Its 2,048 tokens: the bytes, 1,791 merges and `END`."""
    return load_tokenizer(FOLDER)


def course_model() -> GPT:
    """The trained model, with parameters in float32, ready to be used."""
    from safetensors.torch import load_file

    model = GPT(CONFIG)
    stored = load_file(FOLDER / "model.safetensors")
    model.load_state_dict({**stored, "unembed.weight": stored["embed.weight"]})
    return model.float().eval()
