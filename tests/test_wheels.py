"""Setting up: what is pinned is complete, has wheels on every machine that the README names, and is announced."""

import doctest
import importlib.metadata
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.tags import mac_platforms
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import counted  # noqa: E402
import install  # noqa: E402
import parts  # noqa: E402
import portable  # noqa: E402
import recorder  # noqa: E402
import wheels  # noqa: E402
from wheels import Pin, Wheel  # noqa: E402

COLAB = ROOT / "tests" / "colab-requirements.txt"
PYTHONS = [(3, 11), (3, 12), (3, 13), (3, 14)]
LINUX = [f"manylinux_2_{minor}_x86_64" for minor in range(28, 4, -1)]
LINUX += ["manylinux2014_x86_64", "manylinux2010_x86_64", "manylinux1_x86_64"]
MACHINES = {
    "Linux": (LINUX, {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}),
    "macOS 14": (
        list(mac_platforms((14, 0), "arm64")),
        {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"},
    ),
}


def environment(python: tuple[int, int], machine: str) -> dict[str, str]:
    version = ".".join(map(str, python))
    return MACHINES[machine][1] | {
        "python_version": version,
        "python_full_version": f"{version}.0",
        "extra": "",
    }


# ---- The pins -------------------------------------------------------------------------------------------------------


def test_no_package_is_pinned_twice_and_building_needs_no_torch():
    names = [pin.name for pin in wheels.pins(ROOT / "requirements.txt")]
    assert len(names) == len(set(names)) > 150 and "torch" in names
    assert not named("requirements-book.txt") & {
        "torch",
        "transformers",
        "playwright",
        "pikepdf",
        "matplotlib",
        "pytest",
    }


def named(*files: str) -> set[str]:
    """The packages that these files pin on any machine."""
    return {pin.name for file in files for pin in wheels.pins(ROOT / file)}


def absent(pinned: set[str], place: dict[str, str]) -> set[str]:
    """What these packages need in turn on a machine, and what is not among them."""
    needed = set()
    for name in pinned:
        try:
            lines = importlib.metadata.requires(name) or []
        except importlib.metadata.PackageNotFoundError:
            continue  # one of another platform
        needs = map(Requirement, lines)
        needed |= {canonicalize_name(n.name) for n in needs if not n.marker or n.marker.evaluate(place)}
    cuda = ("nvidia-", "cuda-", "triton")  # what torch brings itself where its build is for CUDA
    return {name for name in needed - pinned if not name.startswith(cuda)}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: f"3.{python[1]}")
def test_the_files_name_all_that_their_packages_need(python, machine):
    place = environment(python, machine)
    assert absent(named("requirements-book.txt"), place) == set()
    assert absent(named("requirements-book.txt", "requirements-pdf.txt"), place) == set()
    assert absent(named("requirements.txt"), place) == set()


def test_a_package_left_out_would_be_seen():
    book = named("requirements-book.txt")
    assert absent(book - {"docutils"}, environment((3, 11), "Linux")) == {"docutils"}
    assert absent(book - {"appnope"}, environment((3, 14), "macOS 14")) == {"appnope"}
    assert absent(book - {"appnope"}, environment((3, 14), "Linux")) == set()


# ---- Wheels for every machine ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def index() -> dict[str, dict[str, Wheel]]:
    """All wheels that the package index has of what is pinned."""
    names = {pin.name for file in (ROOT / "requirements.txt", COLAB) for pin in wheels.pins(file)}
    try:
        with wheels.fetch(wheels.index() + "pip/", patience=10, tries=2):
            pass
    except OSError:
        pytest.skip(
            "the package index cannot be reached: whether the pins have wheels is checked with a network."
        )
    return wheels.all_offered(names, wheels.index())


def without_wheels(file: Path, index, python: tuple[int, int], machine: str) -> list[str]:
    order, place = wheels.machine(python, MACHINES[machine][0]), environment(python, machine)
    wanted = (pin for pin in wheels.pins(file) if pin.wanted(place))
    return [
        f"{pin.name} {pin.version}" for pin in wanted if not wheels.best(index[pin.name], pin.version, order)
    ]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("python", PYTHONS, ids=lambda python: f"3.{python[1]}")
def test_every_pin_has_a_wheel(python, machine, index):
    assert without_wheels(ROOT / "requirements.txt", index, python, machine) == []


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("python", PYTHONS[:3], ids=lambda python: f"3.{python[1]}")
def test_colabs_packages_have_wheels_for_the_pythons_that_colab_has_had(python, machine, index):
    assert without_wheels(COLAB, index, python, machine) == []


def test_a_pin_without_a_wheel_would_be_seen(index, tmp_path):
    (tmp_path / "pins.txt").write_text("numpy==2.4.6\nnumpy==0.0.1\n")
    assert without_wheels(tmp_path / "pins.txt", index, (3, 11), "Linux") == ["numpy 0.0.1"]
    assert without_wheels(tmp_path / "pins.txt", index, (3, 5), "Linux") == ["numpy 2.4.6", "numpy 0.0.1"]


# ---- What is fetched ------------------------------------------------------------------------------------------------

TORCH = Pin("torch", "2.0", "")


@pytest.mark.parametrize("tool", [counted, install, parts, portable, recorder])
def test_the_examples_in_the_tools_hold(tool):
    found = doctest.testmod(tool)
    assert found.attempted and not found.failed


@pytest.fixture
def served(tmp_path):
    """A package index of files in a folder; called with the wheels of torch that it has, it says its address."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    running = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=running.serve_forever, daemon=True).start()

    def index(*files: str) -> str:
        (tmp_path / "torch").mkdir(exist_ok=True)
        links = (f'<a href="{file.replace("+", "%2B")}#sha256=0">{file}</a>' for file in files)
        (tmp_path / "torch" / "index.html").write_text("".join(links))
        return f"http://127.0.0.1:{running.server_address[1]}/"

    yield index
    running.shutdown()


def test_on_linux_the_build_for_cpus_is_taken_where_pytorchs_index_has_it(served):
    at = served("torch-2.0+cpu-py3-none-any.whl", "torch-1.0+cpu-py3-none-any.whl", "torch-2.0.tar.gz")
    found = install.cpu_build(TORCH, "linux", at)
    assert found and found.address.endswith("torch-2.0%2Bcpu-py3-none-any.whl")
    assert install.cpu_build(TORCH, "darwin", at) is None, "PyPI's own is the one for CPUs"
    assert install.cpu_build(TORCH, "linux", served("torch-1.0-py3-none-any.whl")) is None
    assert install.cpu_build(TORCH, "linux", at + "nothing/") is None
    assert install.cpu_build(TORCH, "linux", "http://127.0.0.1:9/") is None, "nobody answers"


def test_what_is_there_is_not_fetched_again_and_a_build_for_cpus_counts_as_there(monkeypatch):
    there = {"torch": "2.0+cpu", "tiny": "1.0"}
    monkeypatch.setattr(importlib.metadata, "version", there.__getitem__)
    assert wheels.missing([TORCH, Pin("tiny", "1.0", "")]) == []
    assert wheels.missing([Pin("tiny", "1.1", "")]) == [Pin("tiny", "1.1", "")]
    assert wheels.missing([Pin("tiny", "1.1", 'sys_platform == "nowhere"')]) == []


def test_nothing_is_said_where_nothing_is_missing(capsys):
    install.install(ROOT / "requirements-book.txt")
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere PyPI's torch is the one for CPUs")
def test_a_torch_that_may_bring_gigabytes_is_announced():
    said = install.announcement([TORCH], {}, None)
    assert "some gigabytes follow" in said and "gigabytes" not in install.announcement(
        [TORCH], {}, Wheel("", 1)
    )


# ---- Other arithmetics ----------------------------------------------------------------------------------------------


def test_a_sample_visits_every_notebook_under_every_arithmetic():
    paths = portable.notebooks()
    runs = [run for turn in range(len(paths)) for run in portable.sample(paths, turn)]
    assert len({(run.arithmetic, *run.notebooks) for run in runs}) == len(paths) * len(portable.ARITHMETICS)
    assert len(portable.ARITHMETICS) >= 3 and {
        a["OMP_NUM_THREADS"] for a in portable.ARITHMETICS.values()
    } == {"1", "2"}
