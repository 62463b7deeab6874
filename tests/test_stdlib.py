"""The text that the course's own model reads: a hashed list of the standard library, split by module."""

import sys

import pytest

from attnlib.data import stdlib


def test_the_list_is_about_twelve_megabytes_and_has_no_tests():
    names = stdlib.listed()
    assert len(names) > 700
    assert not any(stdlib.NO_LIBRARY.intersection(name.split("/")) for name in names)


def test_a_twentieth_is_held_out_and_no_package_is_cut_in_two():
    held = {name for name in stdlib.listed() if stdlib.split_of(name) == "held out"}
    assert 0.01 < len(held) / len(stdlib.listed()) < 0.1
    packages = {name.split("/")[0] for name in held}
    assert all(
        stdlib.split_of(name) == "held out" for name in stdlib.listed() if name.split("/")[0] in packages
    )


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the list is of CPython 3.11")
def test_this_python_has_nearly_all_of_the_listed_text():
    text = sum(len(text) for split in ("train", "held out") for _, text in stdlib.texts(split))
    assert text > 11_000_000 and len(stdlib.missing()) < 20


def test_a_changed_text_is_noticed(tmp_path, monkeypatch):
    (tmp_path / "abc.py").write_text("pass\n")
    monkeypatch.setattr(stdlib, "library", lambda: tmp_path)
    assert [name for name, _ in stdlib.texts(stdlib.split_of("abc.py"))] == ["abc.py"]
    assert stdlib.changed() == ["abc.py"] and len(stdlib.missing()) == len(stdlib.listed()) - 1
