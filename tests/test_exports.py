"""What a user meets first: names that are imported from the package, signatures, printed layers, empty batches."""

import ast
import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest
import torch
from test_imports import modules_after

import attnlib.nn
import attnlib.reference
from attnlib.models.config import ModelConfig
from attnlib.models.gpt import GPT

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = {"nn": attnlib.nn, "reference": attnlib.reference}
SHADOWED = {("reference", "GatedCache", "glu"), ("reference", "linear", "schedules")}  # a name of two files


def defined(package):
    """Every public function and class of a package, with its file."""
    for file in sorted((ROOT / "attnlib" / package).glob("*.py")):
        for node in ast.parse(file.read_text()).body:
            named = isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
            if (
                named and not (file.parent / f"{node.name}.py").exists()
            ):  # the package has the file under that name
                yield package, node.name, file.stem


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_exports_what_its_files_define(package):
    for _, name, file in set(defined(package)) - SHADOWED:
        home = importlib.import_module(f"attnlib.{package}.{file}")
        assert getattr(PACKAGES[package], name) is getattr(home, name), f"{name}: a line in __init__.pyi"
    names = {name for _, name, _ in defined(package)}
    assert set(dir(PACKAGES[package])) == set(PACKAGES[package].__all__) == names
    with pytest.raises(AttributeError, match=f"module 'attnlib.{package}' has no attribute 'softmix'"):
        getattr(PACKAGES[package], "softmix")  # noqa: B009


def test_exporting_loads_nothing_before_a_name_is_asked_for():
    assert not modules_after("import attnlib.nn, attnlib.reference") & {"numpy", "torch"}
    assert "torch" not in modules_after("from attnlib.reference import softmax")
    assert "torch" in modules_after("from attnlib.nn import MultiHeadAttention")


def test_the_stubs_and_the_mark_for_type_checkers_travel_with_the_package():
    with (ROOT / "pyproject.toml").open("rb") as file:
        travels = tomllib.load(file)["tool"]["setuptools"]["package-data"]["attnlib"]
    here = {path.relative_to(ROOT / "attnlib").as_posix() for path in (ROOT / "attnlib").rglob("*.pyi")}
    assert here == {"nn/__init__.pyi", "reference/__init__.pyi"} and here | {"py.typed"} <= set(travels)


def test_a_signature_can_be_read():
    said = str(inspect.signature(attnlib.nn.MultiHeadAttention.forward))
    assert "torch.Tensor, float (*b, m, d_model)]" in said
    for package, name, _ in set(defined("nn")) | set(defined("reference")):
        said = str(inspect.signature(getattr(PACKAGES[package], name)))
        assert not re.search(r"Annotation\(|self\.|text=", said)


def test_a_layer_prints_what_it_is():
    layer = attnlib.nn.MultiHeadAttention(d_model=8, n_heads=4, n_kv_heads=2, causal=True, dropout=0.1)
    assert "d_model=8, n_heads=4, n_kv_heads=2, causal=True, dropout=0.1" in repr(layer)
    assert "n_heads=4" in repr(GPT(ModelConfig(7, d_model=8)))


def test_an_empty_batch_of_tensors_passes():
    layer, X = attnlib.nn.MultiHeadAttention(d_model=8, n_heads=2, causal=True), torch.zeros(0, 3, 8)
    assert layer(X).shape == layer(X, key_mask=torch.ones(0, 3) > 0).shape == (0, 3, 8)
    assert layer.attention_weights(X).shape == (0, 2, 3, 3)
    assert attnlib.nn.scaled_dot_product_attention(X, X, X).shape == X.shape
    model = GPT(ModelConfig(7, d_model=8, n_layers=1))
    assert model(torch.zeros(0, 5, dtype=torch.int64)).shape == (0, 5, 7)
