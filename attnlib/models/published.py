"""GPT-2 as it was published, with its tokenizer: fetched once, kept, and read into our GPT (book: Chapter 4)."""

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import HTTPRedirectHandler, build_opener

from torch import Tensor

from attnlib import rules
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


def llama_config(fields: dict[str, Any], published: dict[str, Tensor]) -> ModelConfig:
    """The config of a model with Llama's names: sizes from the shapes, the rest from the fields of its config.json."""
    named = {name.removeprefix("model."): W for name, W in published.items()}
    vocab, d_model = named["embed_tokens.weight"].shape
    n_heads = int(fields["num_attention_heads"])
    d_k = int(fields.get("head_dim") or d_model // n_heads)
    rotary = fields.get("rope_parameters") or fields.get("rope_scaling") or {}
    kind = rotary.get("rope_type", rotary.get("type", "default"))
    came = f"got {kind!r}, which stretches them."
    rules.must(kind == "default", "llama_config", f"rotary positions must be plain; {came}")
    return ModelConfig(
        vocab=vocab,
        context=int(fields["max_position_embeddings"]),
        d_model=d_model,
        n_heads=n_heads,
        n_kv_heads=named["layers.0.self_attn.k_proj.weight"].shape[0] // d_k,
        d_k=d_k,
        n_layers=sum(name.endswith(".input_layernorm.weight") for name in named),
        d_hidden=named["layers.0.mlp.up_proj.weight"].shape[0],
        positions="rotary",
        layout="halves",
        base=float(fields.get("rope_theta") or rotary.get("rope_theta", 10_000.0)),
        norm="rms",
        eps=float(fields.get("rms_norm_eps", 1e-6)),
        qk_norm="layers.0.self_attn.q_norm.weight" in named,
        activation="swish",
        gated=True,
        bias="layers.0.self_attn.o_proj.bias" in named,
        tied="lm_head.weight" not in named,
    )


def load_published_folder(folder: str | Path) -> tuple[GPT, Tokenizer]:
    """GPT-2 or a model with Llama's names, and its tokenizer: vocab.json and merges.txt beside model.safetensors."""
    folder = Path(folder)
    published = read(folder / "model.safetensors")
    fields = _fields(folder / "config.json")
    short = {name.removeprefix("transformer.").removeprefix("model.") for name in published}
    if "embed_tokens.weight" in short:
        then = "It is published beside the parameters."
        rules.must(bool(fields), "load", f"there must be {folder / 'config.json'}; got none. {then}")
        config = llama_config(fields, published)
    else:
        came = f"got {', '.join(sorted(published)[:2])} in {folder}."
        rules.must("wte.weight" in short, "load", f"parameters must have the names of GPT-2 or Llama; {came}")
        heads = fields.get("n_head")
        width = next(W.shape[1] for name, W in published.items() if name.endswith("wte.weight"))
        config = gpt2_config(published, width // heads if heads else D_HEAD)
    model = GPT(config)
    take_published(model, published, str(folder))
    return model.eval(), load_tokenizer(folder)


def _fields(file: Path) -> dict[str, Any]:
    """What a config.json says; nothing where there is none."""
    if not file.is_file():
        return {}
    try:
        return dict(json.loads(file.read_text(encoding="utf-8")))
    except (ValueError, TypeError):
        raise ValueError(
            f"load: {file} must be the config of a model, as JSON; got something else."
        ) from None


def load_gpt2(folder: str | Path, d_head: int = D_HEAD) -> tuple[GPT, Tokenizer]:
    """The model and the tokenizer of a folder with the three published files."""
    published = read(Path(folder) / "model.safetensors")
    model = GPT(gpt2_config(published, d_head))
    take_published(model, published, str(folder))
    return model.eval(), load_tokenizer(folder)


def fetch_gpt2(folder: str | Path, source: str = SOURCE) -> Path:
    """Fetch the files that are missing or broken off, and print their sizes; a file appears only when it is whole.

    Its length is compared with the one that the server announced, and its hash with the one that is published.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        if not _is_whole(folder / name):
            half = folder / f"{name}.part"
            try:
                _fetch(f"{source}/{name}", half)
                half.replace(folder / name)
            finally:
                half.unlink(missing_ok=True)
    return folder


def _is_whole(file: Path) -> bool:
    """There is such a file, and one of parameters is as long as its own table of contents says."""
    if not file.is_file() or file.suffix != ".safetensors":
        return file.is_file()
    with file.open("rb") as opened:
        contents = int.from_bytes(opened.read(8), "little")
        try:
            table = json.loads(opened.read(contents))
        except ValueError:
            return False
    ends = (one["data_offsets"][1] for name, one in table.items() if name != "__metadata__")
    return file.stat().st_size == 8 + contents + max(ends, default=0)


class _Published(HTTPRedirectHandler):
    """Follows to another address, and keeps the hash that the first one publishes."""

    sha256: str | None = None

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        tag = headers.get("X-Linked-Etag", "").strip('"')
        self.sha256 = tag if re.fullmatch("[0-9a-f]{64}", tag) else self.sha256
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fetch(address: str, half: Path) -> None:
    """Write what is at an address to a file; an error where less of it came, or something else."""
    redirects, came, digest = _Published(), 0, hashlib.sha256()
    with build_opener(redirects).open(address) as answer, half.open("wb") as file:
        announced = answer.headers["Content-Length"]
        size = f"{int(announced) / 1e6:,.1f} MB" if announced else "size unknown"
        print(f"{half.stem}: {size} from {address.rpartition('/')[0]}")
        while block := answer.read(1 << 20):
            came += file.write(block)
            digest.update(block)
    then = "Nothing is kept; run it again."
    if announced and came != int(announced):
        raise URLError(f"{half.stem} broke off: got {came:,} of {int(announced):,} bytes. {then}")
    if redirects.sha256 not in (None, digest.hexdigest()):
        raise URLError(f"{half.stem} is not what was published: its SHA-256 is another one. {then}")


QUESTION = "Fetch GPT-2 now, 550 MB, once? It uses a little more than 1 GB of memory. [y/N] "


def published_folder(ask: Callable[[str], str] = lambda question: input(question)) -> Path | None:
    """The folder of GPT-2: named by ATTNLIB_GPT2, or fetched on Colab after a yes; else None, and a sentence."""
    named = os.environ.get("ATTNLIB_GPT2")
    if named:
        return Path(named)
    if "google.colab" in sys.modules:
        return _fetched_after_a_yes(ask)
    print(
        "GPT-2 itself is looked at on Colab: 550 MB are fetched there once, and a little more than 1 GB of "
        "memory is used. Here: fetch_gpt2(folder), then set ATTNLIB_GPT2 to the folder."
    )
    return None


def _fetched_after_a_yes(ask: Callable[[str], str]) -> Path | None:
    folder = Path("gpt2")
    try:
        wanted = all(_is_whole(folder / name) for name in FILES) or ask(QUESTION).strip().lower() in (
            "y",
            "yes",
        )
    except (EOFError, OSError, RuntimeError):  # no input: the cells run without a reader
        wanted = False
    if not wanted:
        print("GPT-2 is not fetched. Run this cell again for the same question.")
        return None
    try:
        return fetch_gpt2(folder)
    except URLError as error:
        print(f"GPT-2 cannot be fetched: {error.reason}. Run this cell again with a network.")
        return None
