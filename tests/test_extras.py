"""The one command of the package, and what it says where a package is missing that an extra brings."""

import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from attnlib import __main__ as everything
from attnlib import extras

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def without(packages, statement):
    """What Python says in which these packages are not installed."""
    hide = f"import sys; sys.modules.update(dict.fromkeys({packages!r})); {statement}"
    return subprocess.run([sys.executable, "-c", hide], capture_output=True, text=True, timeout=120)


def test_the_extras_are_those_of_the_project():
    listed = {
        name: tuple(re.split("[<>=]", one)[0] for one in packages)
        for name, packages in PROJECT["optional-dependencies"].items()
    }
    assert {name: listed[name] for name in extras.EXTRAS} == extras.EXTRAS
    assert set(listed) - set(extras.EXTRAS) == {"test"}


def test_the_command_says_its_version(capsys):
    assert everything.main(["--version"]) == 0
    assert capsys.readouterr().out == f"attnlib {PROJECT['version']}\n"


@pytest.mark.parametrize("command", ["train", "generate"])
@pytest.mark.parametrize("start", ["attnlib.{}.__main__", "attnlib.__main__"])
def test_a_command_without_torch_is_one_sentence(command, start):
    module = start.format(command)
    arguments = [command, "my.txt"] if module == "attnlib.__main__" else ["my.txt"]
    run = f"from {module} import main; sys.exit(main({arguments!r}))"
    found = without(["torch", "safetensors"], run)
    assert found.returncode == 2 and found.stdout == ""
    line = re.escape('Type: pip install "attnlib[train] @ git+https://github.com/')
    assert re.fullmatch(
        rf"attnlib.{command}: torch and safetensors must be installed; they are not. {line}.*\n", found.stderr
    )


@pytest.mark.parametrize(
    ("statement", "missing", "extra"),
    [
        ("import attnlib.viz", "matplotlib", "viz"),
        ("import attnlib.nn.attention", "torch", "torch"),
        ("from attnlib.models.pretrained import read; read('a')", "safetensors", "pretrained"),
        ("from attnlib.train.checkpoint import save_checkpoint as s; s('a', 1, {})", "safetensors", "train"),
    ],
)
def test_an_import_without_its_extra_ends_in_the_same_sentence(statement, missing, extra):
    found = without([missing], statement)
    last = found.stderr.strip().splitlines()[-1]
    assert found.returncode == 1
    assert f'{missing} must be installed; it is not. Type: pip install "attnlib[{extra}] @ ' in last, last


def test_what_needs_numpy_alone_needs_nothing_else():
    everything_else = ["torch", "matplotlib", "safetensors", "regex", "anywidget"]
    statement = "import attnlib.reference, attnlib.exercises as e; e.check('foundations.predict-scale', 64)"
    found = without(everything_else, statement)
    assert found.returncode == 0 and "the variance" in found.stdout, found.stderr


def test_the_console_script_is_the_command():
    module, _, name = PROJECT["scripts"]["attnlib"].partition(":")
    assert getattr(import_module(module), name) is everything.main


def test_the_command_has_all_four(capsys, tmp_path, monkeypatch):
    assert everything.main([]) == 0
    said = capsys.readouterr().out
    assert all(f"attnlib {name} " in said for name in everything.COMMANDS)
    for name in everything.COMMANDS:
        with pytest.raises(SystemExit) as ended:
            everything.main([name, "--help"])
        assert ended.value.code == 0 and "usage: attnlib" in capsys.readouterr().out
    assert everything.main(["write"]) == 2
    said = "the command must be one of train, generate, exercises, grade; got write."
    assert said in capsys.readouterr().err


def test_ctrl_c_while_pytorch_is_loaded_is_one_sentence(monkeypatch, capsys):
    def stopped(module):
        raise KeyboardInterrupt

    monkeypatch.setattr(extras, "missing", lambda extra: [])
    monkeypatch.setattr(extras.importlib, "import_module", stopped)
    assert extras.run("train", "attnlib.train.command", []) == extras.INTERRUPTED
    assert capsys.readouterr().err == "Stopped before it began.\n"


def test_where_pytorch_is_missing_the_line_without_gpu_libraries_is_said():
    assert extras.CPU_BUILD in extras.sentence("attnlib.train", "train", ["torch"])
    assert extras.CPU_BUILD not in extras.sentence("attnlib.viz", "viz", ["matplotlib"])
    assert extras.CPU_BUILD in (ROOT / "README.md").read_text("utf8")
