"""A small text of one's own in a folder of its own, and the options of a training that takes a second."""

import pytest

TEXT = "".join(f"def f_{i % 7}(x):\n    return x + {i % 5}\n\n" for i in range(500))
QUICK = ["my.txt", "--depth", "1", "--context", "16", "--batch", "2", "--steps"]


@pytest.fixture(autouse=True)
def as_a_user(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.txt").write_text(TEXT)
