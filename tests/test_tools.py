"""The project's own commands: what they leave behind, and what they say when they cannot do it."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent


def a_notebook(path, *sources):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)


def run_notebooks(*paths):
    command = [sys.executable, "tools/run_notebooks.py", *map(str, paths)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_a_second_run_of_a_notebook_leaves_the_same_bytes(tmp_path):
    path = tmp_path / "one.ipynb"
    a_notebook(
        path, "import sys\nprint('a', flush=True)\nprint('b')\nsys.stdout.flush()\nprint('c')", "1 + 1"
    )
    assert run_notebooks(path).returncode == 0
    first = path.read_bytes()
    assert run_notebooks(path).returncode == 0
    assert path.read_bytes() == first
    stored = json.loads(first)
    assert stored["metadata"] == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    assert [cell["execution_count"] for cell in stored["cells"]] == [1, 2]
    assert "".join(stored["cells"][0]["outputs"][0]["text"]) == "a\nb\nc\n"


def test_a_notebook_that_raises_is_left_as_it_was_and_the_error_is_named(tmp_path):
    path = tmp_path / "broken.ipynb"
    a_notebook(path, "1 / 0")
    before = path.read_bytes()
    ran = run_notebooks(path)
    assert ran.returncode == 1
    assert "left as it was, because a cell raised" in ran.stdout and "ZeroDivisionError" in ran.stdout
    assert path.read_bytes() == before


def serve(site, port):
    command = [sys.executable, "tools/serve.py", str(site), "--port", str(port)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=20)


def test_serve_says_that_the_port_is_taken_and_which_to_try(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        served = serve(tmp_path, port)
    assert served.returncode == 1
    assert served.stdout == f"serve: port {port} is taken. Choose another one: make serve PORT={port + 1}\n"


def test_serve_refuses_a_port_that_does_not_exist(tmp_path):
    served = serve(tmp_path, 99999)
    assert served.returncode == 1 and served.stdout.startswith("serve: port 99999 cannot be used")


def test_help_names_every_command_of_the_readme():
    text = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for command in ("book", "serve", "test", "check", "run", "experiments", "help", "address"):
        assert f"make {command} " in text
