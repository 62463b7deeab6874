"""What importing costs: attnlib nothing, attnlib.reference no torch."""

import subprocess
import sys
import time

import pytest


def modules_after(statement, path=None):
    code = f"import sys; {statement}; print('\\n'.join(sys.modules))"
    environment = None if path is None else {"PYTHONPATH": str(path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    return {name.split(".")[0] for name in done.stdout.split()}


def test_the_package_loads_neither_numpy_nor_torch():
    assert not modules_after("import attnlib") & {"numpy", "torch", "matplotlib"}


REFERENCE = "import " + ", ".join(
    f"attnlib.reference.{name}"
    for name in ("ops", "scores", "attention", "kernel", "hard", "monotonic", "sparse", "recurrent")
)


def test_the_reference_never_loads_torch():
    loaded = modules_after(REFERENCE)
    assert "numpy" in loaded and "torch" not in loaded


def test_data_metrics_and_testing_never_load_torch():
    assert "torch" not in modules_after(
        "import attnlib.data, attnlib.metrics, attnlib.testing, attnlib.data.bilingual"
    )


def test_a_reference_module_that_loads_torch_would_be_seen(tmp_path):
    (tmp_path / "planted.py").write_text("import torch\n")
    assert "torch" in modules_after("import planted", tmp_path)


@pytest.mark.timing
def test_the_package_costs_at_most_30_ms_over_bare_python():
    def fastest(statement):
        times = []
        for _ in range(7):
            started = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)
            times.append(time.perf_counter() - started)
        return min(times)

    assert fastest("import attnlib") - fastest("pass") < 0.030
