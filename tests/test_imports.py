"""What importing costs: attnlib nothing, attnlib.reference no torch."""

import os
import resource
import subprocess
import sys

import pytest


def modules_after(statement, *arguments, path=None):
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    environment = dict(os.environ) | ({"PYTHONPATH": str(path)} if path else {})
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True, env=environment
    )
    return {name.split(".")[0] for name in done.stdout.split()}


def test_the_package_loads_neither_numpy_nor_torch():
    assert not modules_after("import attnlib") & {"numpy", "torch", "matplotlib"}


# imports attnlib.reference with every module in it, and whatever else lies in the folders of its path
WHOLE_REFERENCE = (
    "import importlib, pkgutil, attnlib.reference as r; r.__path__ += sys.argv[1:]; "
    "[importlib.import_module('attnlib.reference.' + m.name) for m in pkgutil.iter_modules(r.__path__)]"
)


def test_the_reference_never_loads_torch():
    loaded = modules_after(WHOLE_REFERENCE)
    assert "numpy" in loaded and "torch" not in loaded


def test_data_metrics_decoding_and_testing_never_load_torch():
    assert "torch" not in modules_after(
        "import attnlib.data, attnlib.metrics, attnlib.decode, attnlib.testing, attnlib.data.bilingual"
    )


def test_a_model_does_not_load_the_compiler_of_pytorch():
    """It takes as long as PyTorch itself, and brings SymPy with it."""
    loaded = modules_after("import attnlib.models.gpt")
    assert "torch" in loaded and "sympy" not in loaded


def test_a_reference_module_that_loads_torch_would_be_seen(tmp_path):
    (tmp_path / "planted.py").write_text("def f():\n    pass\n\n\nimport torch\n")
    (tmp_path / "stand_in").mkdir()
    (tmp_path / "stand_in" / "torch.py").write_text("")  # the real one takes seconds to load
    assert "torch" in modules_after(WHOLE_REFERENCE, str(tmp_path), path=tmp_path / "stand_in")
    (tmp_path / "planted.py").write_text("import numpy\n")
    assert "torch" not in modules_after(WHOLE_REFERENCE, str(tmp_path), path=tmp_path / "stand_in")


@pytest.mark.timing
def test_the_package_costs_at_most_30_ms_over_bare_python():
    def seconds(statement):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", statement], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    bare, package = zip(*((seconds("pass"), seconds("import attnlib")) for _ in range(9)), strict=True)
    assert min(package) - min(bare) < 0.030  # of the processor, run in turn: both meet the same noise
