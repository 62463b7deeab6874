"""GPT-2's three files: fetched, read into our GPT, and equal to Hugging Face's model of the same folder."""

import hashlib
import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import URLError

import pytest
import torch
from safetensors.torch import save_file

from attnlib.data.bpe.files import load_tokenizer, save_tokenizer
from attnlib.data.bpe.tokenizer import train_tokenizer
from attnlib.models import published
from attnlib.models.config import ModelConfig
from attnlib.models.course import FOLDER as COURSE
from attnlib.models.gpt import GPT
from attnlib.models.pretrained import published_gpt2
from attnlib.models.published import fetch_gpt2, gpt2_config, load_gpt2, published_folder
from attnlib.testing import assert_close

N_HEADS, D_HEAD, LAYERS, LONGEST, N = 2, 8, 3, 24, 11


@pytest.fixture
def folder(tmp_path):
    """A small model with random parameters and a small tokenizer, as GPT-2's are published."""
    import transformers

    torch.manual_seed(0)
    tokenizer = train_tokenizer(["the then the hen that then"], 5, ["<|endoftext|>"])
    save_tokenizer(tokenizer, tmp_path)
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=len(tokenizer), n_positions=LONGEST, n_embd=N_HEADS * D_HEAD, n_layer=LAYERS, n_head=N_HEADS,
            initializer_range=0.2, bos_token_id=0, eos_token_id=0,
        )
    )  # fmt: skip
    theirs.save_pretrained(tmp_path)
    return tmp_path


def test_a_folder_as_it_is_published_gives_their_scores_and_a_tokenizer(folder):
    import transformers

    theirs = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    model, tokenizer = load_gpt2(folder, d_head=D_HEAD)
    tokens = torch.randint(len(tokenizer), (2, N))
    with torch.no_grad():
        assert_close(model(tokens), theirs(tokens).logits, "float32")
    assert not model.training
    assert tokenizer.decode(tokenizer.encode("then the hen")) == "then the hen"


def test_the_shapes_say_all_but_the_heads(folder):
    from safetensors.torch import load_file

    named = load_file(folder / "model.safetensors")
    config = gpt2_config(named, d_head=D_HEAD)
    told = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert (config.vocab, config.context, config.d_model) == (
        told["vocab_size"],
        told["n_positions"],
        told["n_embd"],
    )
    assert (config.n_layers, config.n_heads, config.eps) == (
        told["n_layer"],
        told["n_head"],
        told["layer_norm_epsilon"],
    )
    assert config.activation == {"gelu_new": "gelu_tanh"}[told["activation_function"]]
    assert gpt2_config(named, d_head=4).n_heads == 2 * config.n_heads


def test_files_are_fetched_once_and_their_size_is_said_first(folder, tmp_path_factory, capsys):
    goal = tmp_path_factory.mktemp("fetched")
    fetch_gpt2(goal, source=folder.as_uri())
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == list(published.FILES)
    for name in published.FILES:
        assert (goal / name).read_bytes() == (folder / name).read_bytes()
    fetch_gpt2(goal, source="file:///nowhere")  # nothing is left to fetch
    assert capsys.readouterr().out == ""
    assert len(load_tokenizer(goal)) == len(load_tokenizer(folder))


def test_what_cannot_be_fetched_leaves_nothing(tmp_path):
    with pytest.raises(OSError, match="nowhere"):
        fetch_gpt2(tmp_path, source="file:///nowhere")
    assert list(tmp_path.iterdir()) == []


class Served(BaseHTTPRequestHandler):
    """The files of a folder, as they are published: the largest at another address, with its hash on the way there."""

    folder, sent, sha256 = Path(), 1.0, None

    def do_GET(self):
        name = self.path.rpartition("/")[2]
        if name == "model.safetensors" and "there" not in self.path:
            self.send_response(302)
            self.send_header("Location", f"/there/{name}")
            self.send_header("X-Linked-Etag", f'"{self.sha256}"')
            self.end_headers()
            return
        body = (self.folder / name).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: round(self.sent * len(body))] if name == "model.safetensors" else body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(folder):
    """Its address and its handler, of which a test may say what it sends."""
    sha256 = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    handler = type("Handler", (Served,), {"folder": folder, "sha256": sha256})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as one:
        thread = threading.Thread(target=one.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{one.server_port}/main", handler
        one.shutdown()
        thread.join()


def test_a_download_that_breaks_off_is_not_taken_for_the_whole(server, folder, tmp_path_factory):
    goal, (address, handler) = tmp_path_factory.mktemp("fetched"), server
    handler.sent = 0.4
    with pytest.raises(
        URLError, match="model.safetensors broke off: got .* of .* bytes. Nothing is kept; run it again"
    ):
        fetch_gpt2(goal, source=address)
    assert {file.name for file in goal.iterdir()} == {"vocab.json", "merges.txt"}
    handler.sent = 1.0
    fetch_gpt2(goal, source=address)
    assert (goal / "model.safetensors").read_bytes() == (folder / "model.safetensors").read_bytes()


def test_what_an_earlier_download_left_broken_is_fetched_again(server, folder, tmp_path_factory):
    goal, (address, _) = tmp_path_factory.mktemp("fetched"), server
    whole = (folder / "model.safetensors").read_bytes()
    for broken in (whole[: len(whole) // 2], whole[:100], b""):
        (goal / "model.safetensors").write_bytes(broken)
        fetch_gpt2(goal, source=address)
        assert (goal / "model.safetensors").read_bytes() == whole


def test_other_bytes_than_the_published_ones_are_refused(server, tmp_path):
    address, handler = server
    handler.sha256 = "0" * 64
    goal = tmp_path / "fetched"
    with pytest.raises(URLError, match="model.safetensors is not what was published: its SHA-256"):
        fetch_gpt2(goal, source=address)
    assert not list(goal.glob("model*"))


@pytest.mark.parametrize("answer", ["", "n", "no", None])
def test_colab_asks_before_it_fetches(answer, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTNLIB_GPT2", raising=False)
    monkeypatch.setitem(sys.modules, "google.colab", published)
    monkeypatch.setattr(published, "fetch_gpt2", lambda folder: pytest.fail("fetched without a yes"))
    asked = []

    def ask(question):
        asked.append(question)
        if answer is None:
            raise EOFError
        return answer

    assert published_folder(ask) is None
    assert "550 MB" in asked[0] and "not fetched" in capsys.readouterr().out


def test_without_a_network_one_sentence_says_what_it_would_cost(monkeypatch, capsys, folder):
    monkeypatch.delenv("ATTNLIB_GPT2", raising=False)
    assert published_folder() is None
    assert "550 MB" in capsys.readouterr().out
    monkeypatch.setenv("ATTNLIB_GPT2", str(folder))
    assert published_folder() == folder


PAGE = Path(__file__).parents[1] / "book" / "04-transformer" / "8-somebody-elses-weights.ipynb"


def test_the_cells_for_colab_run_on_a_small_folder_of_the_same_layout(tmp_path, monkeypatch, capsys):
    """The page's own cells, with 64 numbers a head as GPT-2 has: the model speaks, and its heads are drawn."""
    tokenizer = load_tokenizer(COURSE)
    torch.manual_seed(0)
    model = GPT(ModelConfig(len(tokenizer), context=128, d_model=128, n_heads=2, n_layers=2))
    save_tokenizer(tokenizer, tmp_path)
    save_file(published_gpt2(model), tmp_path / "model.safetensors")
    monkeypatch.setenv("ATTNLIB_GPT2", str(tmp_path))
    cells = json.loads(PAGE.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    sources = {"".join(cell["source"]): cell["metadata"].get("tags", []) for cell in code}
    needed = [
        s for s in sources if s.startswith("import dataclasses") or "def look(" in s or "def pieces(" in s
    ]
    definitions = [re.split(r"\nn = 50|\nfor example in", source)[0] for source in needed]
    seen: dict = {}
    for source in [*definitions, *(source for source, tags in sources.items() if "gpt2" in tags)]:
        exec(compile(source, "page", "exec"), seen)
    assert "The capital of France" in capsys.readouterr().out
    assert seen["look"](seen["real"])[1].shape == (2, 2)


def test_on_colab_without_a_network_it_says_so_and_goes_on(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTNLIB_GPT2", raising=False)
    monkeypatch.setitem(sys.modules, "google.colab", published)
    monkeypatch.setattr(published, "fetch_gpt2", lambda folder: fetch_gpt2(folder, source="file:///nowhere"))
    assert published_folder(lambda question: "y") is None
    assert "cannot be fetched" in capsys.readouterr().out
