"""Same file name, same name in both twins, or a row of book/api/twins.yml with what PyTorch has instead, and why."""

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path
from pydoc import locate

import pytest
import torch.distributed.pipelining  # noqa: F401  (some rows name what is in it)
from bs4 import BeautifulSoup

import attnlib.reference

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "book"))

from _ext.package import read_package  # noqa: E402  (the extension lies beside the book)
from _ext.twins import Twin, exceptions, twins  # noqa: E402

LISTED = exceptions(ROOT)
TABLE = list(twins(read_package(ROOT / "attnlib"), LISTED))


def own(package, name, kind):
    """What a file defines itself, without what begins with an underscore."""
    try:
        module = importlib.import_module(f"{package}.{name}")
    except ModuleNotFoundError:
        return set()
    return {
        one
        for one, f in vars(module).items()
        if kind(f) and f.__module__ == module.__name__ and one[0] != "_"
    }


def functions_of(package, name):
    functions = own(package, name, inspect.isfunction)
    return {f"{name}.{one}" for one in functions if not one.endswith("_backward")}


def modules_of(package, name):
    """A module holds the parameters that the function takes: `MultiHeadAttention` is `multi_head_attention`."""
    modules = own(package, name, inspect.isclass)
    return {f"{name}.{re.sub('(?<!^)(?=[A-Z])', '_', one).lower()}" for one in modules}


def forwards():
    names = [module.name for module in pkgutil.iter_modules(attnlib.reference.__path__)]
    return names, set().union(*(functions_of("attnlib.reference", name) for name in names))


def test_every_forward_of_the_reference_has_its_twin_or_a_reason():
    names, mine = forwards()
    functions = set().union(*(functions_of("attnlib.nn", name) for name in names))
    modules = set().union(*(modules_of("attnlib.nn", name) for name in names))
    assert mine - functions - modules == set(LISTED)


@pytest.mark.parametrize("name", LISTED)
def test_what_a_row_names_in_place_of_a_twin_exists(name):
    row = LISTED[name]
    assert row.keys() <= {"torch", "why"} and row["why"]
    assert "torch" not in row or locate(row["torch"]) is not None, row["torch"]


def test_the_table_has_every_forward_once_with_its_twin_or_a_reason():
    shown = [twin.function.removeprefix("reference.") for twin in TABLE]
    assert sorted(shown) == sorted(forwards()[1])
    assert all(twin.torch or twin.why for twin in TABLE)
    for twin in TABLE:
        where = twin.torch if twin.torch.startswith("torch.") else f"attnlib.{twin.torch}"
        assert not twin.torch or locate(where) is not None, twin


def test_the_table_says_a_reason_only_where_the_names_differ():
    by_name = {twin.function: twin for twin in TABLE}
    assert by_name["reference.ops.softmax"] == Twin("reference.ops.softmax", "nn.ops.softmax", "")
    assert by_name["reference.optim.adam"].torch == "torch.optim.Adam"
    module = by_name["reference.multihead.multi_head_attention"]
    assert module.torch == "nn.multihead.MultiHeadAttention" and module.why


@pytest.mark.built
def test_the_built_table_links_every_name_of_attnlib_to_its_entry():
    site = ROOT / "_build" / "html" / "book" / "api"
    rows = BeautifulSoup((site / "index.html").read_text(), "html.parser").select("table.twins tbody tr")
    assert len(rows) == len(TABLE)
    for row, twin in zip(rows, TABLE, strict=True):
        links = [str(link["href"]) for link in row.select("a")]
        listed = [name for name in (twin.function, twin.torch) if name and not name.startswith("torch.")]
        assert len(links) == len(listed), twin
        for href in links:
            page, _, anchor = href.partition("#")
            assert f'id="{anchor}"' in (site / (page or "index.html")).read_text(), href
