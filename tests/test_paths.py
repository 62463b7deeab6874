"""Where a path is taken, a `str` does; where a state or a model is written, a file that is open for bytes does too."""

import ast
import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch

from attnlib.data.bpe.files import load_tokenizer, save_tokenizer
from attnlib.data.bpe.tokenizer import train_tokenizer
from attnlib.data.results import load_result, save_result
from attnlib.generate.text import generated_text
from attnlib.js.eight_bits import read_safetensors
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT
from attnlib.models.pretrained import load_published, published_gpt2
from attnlib.train import pretraining
from attnlib.train.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from attnlib.train.fit import fit
from attnlib.train.rows import TokenRows, load_tokens, save_tokens

PACKAGE = Path(__file__).parent.parent / "attnlib"
PARTS = ("data", "js", "models", "train", "generate")  # what is given the reader's own files
CONFIG = ModelConfig(vocab=11, context=8, d_model=8, n_heads=2, n_layers=1)


def files():
    found = [PACKAGE / part for part in PARTS]
    return sorted(file for one in found for file in ([one] if one.is_file() else one.rglob("*.py")))


def paths_taken():
    """All arguments of public functions and methods that are annotated with a Path."""
    for file in files():
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef) and (node.name[0] != "_" or node.name == "__init__"):
                for one in (*node.args.args, *node.args.kwonlyargs):
                    words = ast.unparse(one.annotation) if one.annotation else ""
                    if "Path" in words and "Callable" not in words:
                        yield f"{file.stem}.{node.name}({one.arg}: {words})", words


def test_every_path_may_be_a_string():
    found = dict(paths_taken())
    assert len(found) > 25
    assert [name for name, words in found.items() if "str" not in words] == []


def model():
    torch.manual_seed(0)
    return GPT(CONFIG)


def test_a_tokenizer_tokens_a_result_and_parameters_lie_where_a_string_says(tmp_path):
    tokenizer, folder = train_tokenizer(["the then the hen"], 3), str(tmp_path)
    save_tokenizer(tokenizer, folder)
    assert load_tokenizer(folder).merges == tokenizer.merges
    assert list(tokenizer.encode_file(f"{folder}/merges.txt"))
    save_tokens(f"{folder}/tokens.npy", np.arange(5, dtype=np.uint16))
    assert list(load_tokens(f"{folder}/tokens.npy")) == [0, 1, 2, 3, 4]
    save_result("one", {"a": 1}, seeds=[0], command="none", seconds=1, folder=folder)
    assert load_result("one", folder)["a"] == 1

    from safetensors.torch import save_file

    save_file(published_gpt2(model()), f"{folder}/gpt2.safetensors")
    again = GPT(CONFIG)
    load_published(again, f"{folder}/gpt2.safetensors")
    assert torch.equal(again.embed.weight, model().embed.weight)
    save_file({"W": torch.ones(2, 3, dtype=torch.bfloat16)}, f"{folder}/half.safetensors")
    assert read_safetensors(f"{folder}/half.safetensors")["W"].sum() == 6


def test_a_training_goes_on_in_the_folder_that_a_string_names(tmp_path):
    def train(steps):
        rows = TokenRows(np.arange(40, dtype=np.uint16) % 11, n=4, batch=2)
        return fit(model(), pretraining.loss, rows, steps=steps, folder=str(tmp_path / "here"), keep_every=2)

    assert train(2) == train(4)[:2]
    found = load_checkpoint(str(tmp_path / "here"))
    assert found is not None and found.step == 4


@pytest.mark.training
def test_a_gpt_of_ones_own_is_prepared_trained_and_read_by_strings(tmp_path):
    text, folder = tmp_path / "a.txt", str(tmp_path / "made")
    lines = (f"{i} times {j} is {i * j}, and not {i + j}.\n" for i in range(40) for j in range(20))
    text.write_text("".join(lines))
    plan = pretraining.prepare(str(text), folder, depth=1, steps=2)
    pretraining.train(folder, plan, progress=False)
    assert pretraining.held_out_curve(folder) and pretraining.load_trained(folder)[0].config.n_layers == 1
    assert "".join(generated_text(folder, "a", tokens=3, temperature=1.0, seed=0)).startswith("a")


# ---- Open files -----------------------------------------------------------------------------------------------------


def opened(kind, tmp_path):
    """A file to write to, and how the same is read again."""
    if kind == "memory":
        file = io.BytesIO()
        return file, lambda: io.BytesIO(file.getvalue())
    if kind == "temporary":
        file = tempfile.NamedTemporaryFile(dir=tmp_path)  # noqa: SIM115  (it is read again)
        return file, lambda: (file.seek(0), file)[1]
    opener = {"disk": open, "gzip": gzip.open}[kind]
    return opener(tmp_path / kind, "wb"), lambda: opener(tmp_path / kind, "rb")


KINDS = ("memory", "temporary", "disk", "gzip")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("more", [{}, {"tied": False}], ids=["tied", "two tables"])
def test_a_model_is_saved_in_an_open_file_with_its_config(kind, more, tmp_path):
    torch.manual_seed(0)
    saved = GPT(ModelConfig(vocab=11, context=8, d_model=8, n_heads=2, n_layers=1, **more)).bfloat16()
    file, again = opened(kind, tmp_path)
    saved.save(file)
    if kind in ("disk", "gzip"):
        file.close()
    loaded = GPT.load(again())
    assert loaded.config == saved.config and not loaded.training
    pairs = zip(loaded.parameters(), saved.parameters(), strict=True)
    assert all(torch.equal(one, other) and one.dtype == torch.bfloat16 for one, other in pairs)


@pytest.mark.parametrize("kind", KINDS)
def test_checkpoints_follow_one_another_in_an_open_file(kind, tmp_path):
    """The state of a training, with that of its optimiser, comes back to the last bit."""
    trained, file = model(), opened(kind, tmp_path)
    optimizer = torch.optim.AdamW(trained.parameters())
    trained(torch.arange(8)[None]).sum().backward()
    optimizer.step()
    state = {"model": trained.state_dict(), "optimizer": optimizer.state_dict()}
    assert save_checkpoint(file[0], 7, state) is None
    save_checkpoint(file[0], 8, {"more": [1, (2.5, None)]})
    if kind in ("disk", "gzip"):
        file[0].close()
    source = file[1]()
    first, second = load_checkpoint(source), load_checkpoint(source)
    assert first is not None and first.step == 7 and second == (8, {"more": [1, (2.5, None)]})
    again, other = model(), torch.optim.AdamW(model().parameters())
    again.load_state_dict(first.state["model"])
    other.load_state_dict(first.state["optimizer"])
    assert all(torch.equal(*both) for both in zip(again.parameters(), trained.parameters(), strict=True))
    averages = [one["exp_avg_sq"] for one in optimizer.state.values()]
    assert all(
        torch.equal(one["exp_avg_sq"], right)
        for one, right in zip(other.state.values(), averages, strict=True)
    )


@pytest.mark.bad_input
def test_an_open_file_that_holds_something_else_or_a_part_of_it_is_named():
    written = io.BytesIO()
    save_checkpoint(written, 1, {"W": torch.ones(50)})
    data = written.getvalue()
    changed = data[:-1] + bytes([data[-1] ^ 1])
    for broken, came in (
        (b"", "no checkpoint"),
        (b"a text of some length", "no checkpoint"),
        (data[:100], "no checkpoint"),
        (data[:-3], "has .* bytes of"),
        (changed, "the file has changed"),
    ):
        with pytest.raises(CheckpointError, match=f"a file must hold a whole checkpoint; got .*{came}"):
            load_checkpoint(io.BytesIO(broken))
    for nothing in (b"", b"a text of some length", data):
        with pytest.raises(
            ValueError, match="load: an open file must have a model with its config; got none"
        ):
            GPT.load(io.BytesIO(nothing))
