"""A forked kernel is a kernel: of its own, in its folder, it can be interrupted, and it ends."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
import warm_kernels
from jupyter_client.manager import KernelManager
from jupyter_client.provisioning import local_provisioner
from nbclient import NotebookClient
from waits import limit


@pytest.fixture(scope="module")
def warm() -> Iterator[warm_kernels.Warm]:
    with pytest.MonkeyPatch.context() as put_back:
        put_back.setattr(local_provisioner, "launch_kernel", local_provisioner.launch_kernel)
        kind = local_provisioner.LocalProvisioner
        put_back.setattr(kind, "pre_launch", kind.pre_launch)
        running = warm_kernels.use()
        yield running
        running.close()


def shown(folder: Path, *cells: str) -> list[str]:
    """What the cells of a notebook print."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    resources: dict[str, Any] = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, kernel_name="python3", resources=resources).execute()
    return ["".join(output.get("text", "") for output in cell.outputs).strip() for cell in notebook.cells]


def test_a_fork_has_a_folder_a_namespace_and_a_process_of_its_own(warm: Any, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("here = 'found'")
    asked = (
        "import beside, os, sys; print(beside.here, os.getcwd())",
        "print('torch' in dir(), os.getpid())",
        "x = 1",
    )
    one, other = (
        shown(tmp_path, *asked),
        shown(tmp_path, *asked, "print('y' in dir(), 'attnlib' in sys.modules)"),
    )
    assert one[0] == other[0] == f"found {tmp_path}"
    assert one[1].split()[0] == other[1].split()[0] == "False"
    assert one[1] != other[1]
    assert other[3] == "False False"


def test_a_picture_is_shown_as_in_a_cold_kernel(warm: Any, tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell("import matplotlib.pyplot as plt\nplt.plot([1, 2]);")]
    )
    NotebookClient(notebook, kernel_name="python3").execute()
    assert [list(output.get("data", {})) for output in notebook.cells[0].outputs] == [
        ["text/plain", "image/png"]
    ]


def test_a_fork_opens_no_port_that_another_program_could_take(warm: Any) -> None:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    assert all(Path(f"{manager.ip}-{port}").is_socket() for port in manager.ports)
    gone = warm_kernels.Forked(warm, manager.provisioner.pid)
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    gone.kill()  # it has ended already: no error


def test_a_fork_can_be_interrupted_and_ends(warm: Any) -> None:
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    client.execute("while True: pass")
    time.sleep(0.2)
    manager.interrupt_kernel()
    reply = client.get_shell_msg(timeout=60)
    while reply["msg_type"] != "execute_reply":
        reply = client.get_shell_msg(timeout=60)
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert manager.is_alive()
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    assert not manager.is_alive()


def test_a_fork_ends_when_those_who_asked_for_it_are_gone(tmp_path: Path) -> None:
    alone, connection = warm_kernels.Warm(), tmp_path / "kernel.json"
    pid = alone.ask(connection=str(connection), folder=None, environment=dict(os.environ))
    running = psutil.Process(pid)
    while not connection.exists():  # a kernel that has begun writes where it can be reached
        assert running.is_running()
        time.sleep(0.05)
    alone.close()
    end = time.monotonic() + limit() / 1000
    while running.is_running() and running.status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < end, "the fork lives on"
        time.sleep(0.05)
