"""GPT-2 as it was published, with its tokenizer: fetched once, kept, and read into our GPT (book: Chapter 4)."""

import os
import shutil
import sys
import urllib.request
from pathlib import Path
from urllib.error import URLError

from torch import Tensor

from attnlib.data.bpe.files import load_tokenizer
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.models.pretrained import read, take_published

SOURCE = "https://huggingface.co/openai-community/gpt2/resolve/main"
FILES = ("vocab.json", "merges.txt", "model.safetensors")
D_HEAD = 64  # of every published GPT-2; it cannot be read off the shapes


def gpt2_config(published: dict[str, Tensor], d_head: int = D_HEAD) -> ModelConfig:
    """The config that follows from the shapes of a file of GPT-2; the width of a head does not, so it is given."""
    named = {name.removeprefix("transformer."): W for name, W in published.items()}
    vocab, d_model = named["wte.weight"].shape
    return ModelConfig(
        vocab=vocab,
        context=len(named["wpe.weight"]),
        d_model=d_model,
        n_heads=d_model // d_head,
        n_layers=sum(name.endswith(".ln_1.weight") for name in named),
        d_hidden=named["h.0.mlp.c_fc.weight"].shape[1],
    )


def load_gpt2(folder: str | Path, d_head: int = D_HEAD) -> tuple[GPT, Tokenizer]:
    """The model and the tokenizer of a folder with the three published files."""
    published = read(Path(folder) / "model.safetensors")
    model = GPT(gpt2_config(published, d_head))
    take_published(model, published, str(folder))
    return model.eval(), load_tokenizer(folder)


def fetch_gpt2(folder: str | Path, source: str = SOURCE) -> Path:
    """Fetch the files that are missing, and print their sizes; a file appears only when it is complete."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        if (folder / name).is_file():
            continue
        half = folder / f"{name}.part"
        with urllib.request.urlopen(f"{source}/{name}") as answer, half.open("wb") as file:
            print(f"{name}: {int(answer.headers['Content-Length']) / 1e6:,.1f} MB from {source}")
            shutil.copyfileobj(answer, file, 1 << 20)
        half.replace(folder / name)
    return folder


def published_folder() -> Path | None:
    """The folder of GPT-2: fetched on Colab, elsewhere named by ATTNLIB_GPT2; without either None, and a sentence."""
    named = os.environ.get("ATTNLIB_GPT2")
    if named:
        return Path(named)
    if "google.colab" in sys.modules:
        try:
            return fetch_gpt2("gpt2")
        except URLError as error:
            print(f"GPT-2 cannot be fetched: {error.reason}. Run this cell again with a network.")
            return None
    print(
        "GPT-2 itself is looked at on Colab: 550 MB are fetched there once, and a little more than 1 GB of "
        "memory is used. Here: fetch_gpt2(folder), then set ATTNLIB_GPT2 to the folder."
    )
    return None
