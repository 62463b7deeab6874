"""The files of a folder that `attnlib train` reads, and those that it leaves out and says so."""

import re

import pytest

from attnlib.train import command as train
from attnlib.train import texts

TEXT = "".join(f"def f_{i % 7}(x):\n    return x + {i % 5}\n\n" for i in range(500))
FILES = {
    "a.py": TEXT, "notes/b.md": TEXT, "tests/c.py": TEXT, "latin.txt": b"caf\xe9 " * 9, "empty.py": "",
    "picture.png": b"\x89PNG\0", "table.csv": "1,2", ".git/d.txt": TEXT, ".hidden.py": TEXT,
    "env/lib/site-packages/e.py": TEXT, "web/node_modules/f.md": TEXT,
}  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "src" / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return tmp_path / "src"


def names(found, folder):
    return [one.relative_to(folder).as_posix() for one in found.files]


def test_what_is_left_out_is_named_and_counted(folder):
    found = texts.texts_of(folder)
    assert names(found, folder) == ["a.py", "notes/b.md", "tests/c.py"]
    assert sorted(found.left_out) == [
        "1 file empty",
        "1 file not UTF-8: latin.txt",
        "2 files hidden",
        "2 files of installed packages",
        "2 files with other endings",
    ]


def test_what_is_left_out_is_as_if_it_were_not_there(folder, tmp_path):
    before = texts.texts_of(folder)
    (folder / "latin.txt").unlink()
    assert texts.texts_of(folder)._replace(left_out=[]) == before._replace(left_out=[])


def test_patterns_are_left_out(folder):
    found = texts.texts_of(folder, exclude=["tests", "*.md"])
    assert names(found, folder) == ["a.py"] and "2 files excluded" in found.left_out


def test_hidden_and_installed_ones_are_read_where_one_asks_for_their_folder(folder):
    assert len(texts.texts_of(folder / ".git").files) == 1
    assert len(texts.texts_of(folder / "env/lib/site-packages").files) == 1


def test_the_command_says_it(folder, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    quick = ["--depth", "1", "--context", "16", "--batch", "2", "--steps", "1"]
    assert train.main(["src", *quick, "--exclude", "tests"]) == 0
    shown = capsys.readouterr().out
    assert "Left out: 1 file not UTF-8: latin.txt.\n" in shown and "Left out: 1 file excluded.\n" in shown
    assert train.main(["src", *quick, "--exclude", "*", "--folder", "other"]) == 2
    assert re.search(
        "a folder must have files that end in .* got src, where there is none", capsys.readouterr().err
    )
