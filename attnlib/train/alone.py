"""A trained model alone, as one file: its parameters, its config and its tokenizer.

It is a safetensors file, so that reading it runs no code; config and tokenizer are texts in its metadata. What a
training needs to go on is not in it.
"""

import json
import tempfile
from dataclasses import asdict
from pathlib import Path

from attnlib import rules
from attnlib.data.bpe.files import load_tokenizer, save_tokenizer
from attnlib.data.bpe.tokenizer import Tokenizer
from attnlib.models.config import stored_config
from attnlib.models.gpt import GPT
from attnlib.models.saved import CONFIG, metadata_of, stored_parameters, take_parameters

MODEL = "model.safetensors"
OF_TOKENIZER = ("vocab.json", "merges.txt")


def save_alone(file: str | Path, model: GPT, tokenizer: Tokenizer) -> None:
    """Write the file whole or not at all."""
    from safetensors.torch import save

    file = Path(file)
    with tempfile.TemporaryDirectory() as folder:
        save_tokenizer(tokenizer, folder)
        about = {name: (Path(folder) / name).read_text(encoding="utf-8") for name in OF_TOKENIZER}
    about[CONFIG] = json.dumps(asdict(model.config))
    tensors = {name: one.detach().cpu().contiguous() for name, one in stored_parameters(model)}
    part = file.with_name(f"{file.name}.part")
    try:
        part.write_bytes(save(tensors, about))
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def load_alone(file: str | Path) -> tuple[GPT, Tokenizer]:
    """The model, without dropout, and its tokenizer."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    file = Path(file)
    data = file.read_bytes()
    about = metadata_of(data)
    then = "`attnlib train` writes one, model.safetensors in its folder."
    whole = all(name in about for name in (CONFIG, *OF_TOKENIZER))
    rules.must(whole, "load", f"a file must hold a model with its config and tokenizer; got {file}. {then}")
    try:
        tensors = load(data)
    except SafetensorError as error:
        raise ValueError(f"load: a file must be whole; got {file}, which is not ({error}).") from None
    model = GPT(stored_config(json.loads(about[CONFIG])))
    take_parameters(model, tensors)
    with tempfile.TemporaryDirectory() as folder:
        for name in OF_TOKENIZER:
            (Path(folder) / name).write_text(about[name], encoding="utf-8", newline="\n")
        return model.eval(), load_tokenizer(folder)
