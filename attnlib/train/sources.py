"""A model that is there already, with its tokenizer, to write with or to start a training from.

It may be the folder of a training, the one file that a training writes, or a folder as GPT-2 or a model with Llama's
names is published: model.safetensors, vocab.json, merges.txt, and for the latter config.json.
"""

from pathlib import Path

from attnlib import rules
from attnlib.data.bpe.files import load_tokenizer
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.models.gpt import GPT
from attnlib.models.published import load_published_folder
from attnlib.train.alone import MODEL, load_alone
from attnlib.train.checkpoint import load_checkpoint
from attnlib.train.device import device
from attnlib.train.plan import SETTINGS, read_settings
from attnlib.train.texts import END


def of_training(folder: str | Path) -> tuple[GPT, Tokenizer]:
    """The model of a training's folder, with the best parameters so far, and its tokenizer."""
    folder = Path(folder)
    settings = read_settings(folder)
    found = load_checkpoint(folder / "checkpoints")
    came = f"got none in {folder}."
    if settings is None or found is None:
        raise ValueError(f"load: a training must have come to its first checkpoint; {came}")
    model = GPT(settings["config"])
    model.load_state_dict(found.state["held_out"]["best"] or found.state["model"])
    return model.eval(), load_tokenizer(folder)


def load_model(source: str | Path) -> tuple[GPT, Tokenizer]:
    """The model, where this process computes, and its tokenizer."""
    source = Path(source)
    if source.is_file():
        model, by = load_alone(source)
    elif (source / SETTINGS).is_file():
        model, by = of_training(source)
    else:
        then = "`attnlib train TEXT` makes one."
        there = (source / MODEL).is_file()
        rules.must(there, "load", f"there must be a folder with a trained model; got {source}. {then}")
        model, by = load_published_folder(source)
    came = f"got {source} without it."
    rules.must(END in by.numbers, "load", f"a tokenizer must know the end of a document, {END}; {came}")
    return model.to(device().type), by
