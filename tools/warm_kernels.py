"""Kernels that start in a tenth of a second: forks of one process that has loaded what almost all notebooks load.

Loading PyTorch, pyplot and the kernel takes two seconds of processor time, once a notebook. Here they are loaded once:
whoever runs notebooks calls `use()` and gets forks. A fork has a process and a namespace of its own, and imports the
package itself. `make run`, the other arithmetics and the packages of Colab start every notebook in a cold process.
"""

import contextlib
import importlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from typing import Any

LOADED = ("torch", "matplotlib.pyplot", "ipykernel.ipkernel", "ipykernel.kernelapp")
INLINE = (
    "module://matplotlib_inline.backend_inline"  # what a kernel sets before a notebook can import matplotlib
)


# ---- The process that forks ------------------------------------------------------------------------------------------


def become_kernel(connection: str, folder: str | None, environment: dict[str, str]) -> None:
    """What a fork does; it does not return."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder or os.getcwd())
    sys.path[0] = ""  # a notebook's own folder comes first
    parent = f"--IPKernelApp.parent_handle={os.getppid()}"  # the kernel ends when this process is gone
    sys.argv = ["ipykernel_launcher", "-f", connection, parent]
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance()


def serve() -> None:
    """Fork a kernel for each line that asks for one; answer with its number, or with how one has ended."""
    os.environ["MPLBACKEND"] = INLINE
    for name in LOADED:
        importlib.import_module(name)
    ended: dict[int, int] = {}
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # this process ends with its input
    for line in iter(sys.stdin.readline, ""):
        asked = json.loads(line)
        if "connection" in asked:
            answer: int | None = os.fork()
            os.setpgid(
                answer or 0, 0
            )  # a group of its own: an interrupt reaches the kernel and what it started
            if answer == 0:
                status = 1
                try:
                    become_kernel(**asked)
                    status = 0
                except SystemExit as end:
                    status = end.code if isinstance(end.code, int) else 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(status)
        else:
            pid = asked["ended"]
            if pid not in ended:
                found, status = os.waitpid(pid, os.WNOHANG)
                if found:
                    ended[pid] = os.waitstatus_to_exitcode(status)
            answer = ended.get(pid)
        print(json.dumps(answer), flush=True)


# ---- Those who ask it ------------------------------------------------------------------------------------------------


class Warm:
    """The process that forks, begun with the first kernel."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.lock = threading.Lock()
        self.sockets = tempfile.mkdtemp(prefix="kernels-")

    def ask(self, **what: Any) -> int | None:
        with self.lock:
            if self.process is None:
                self.process = subprocess.Popen(
                    [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
                )
            assert self.process.stdin is not None and self.process.stdout is not None
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        shutil.rmtree(self.sockets, ignore_errors=True)
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait(timeout=60)
            self.process = None


class Forked:
    """A kernel's process, as much of `subprocess.Popen` as Jupyter's client asks for."""

    stdin = stdout = stderr = None

    def __init__(self, warm: Warm, pid: int) -> None:
        self.warm, self.pid = warm, pid

    def poll(self) -> int | None:
        return self.warm.ask(ended=self.pid)

    def wait(self) -> int | None:
        return self.poll()  # Jupyter's client waits until `poll` has answered, and then asks for the answer

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):  # it has ended already
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)


def use() -> Warm:
    """From now on a Python kernel that is started in this process is a fork."""
    from jupyter_client.provisioning import local_provisioner

    warm, number = Warm(), itertools.count()
    prepare = local_provisioner.LocalProvisioner.pre_launch

    async def pre_launch(self: Any, **what: Any) -> dict[str, Any]:
        """Sockets are files: a port that is free when it is chosen may be taken when the kernel opens it."""
        manager = self.parent
        manager.transport, manager.cache_ports = "ipc", False
        manager.ip = f"{warm.sockets}/{next(number)}"
        return await prepare(self, **what)

    def launch(
        command: list[str], *, cwd: str | None = None, env: dict[str, str] | None = None, **_: Any
    ) -> Forked:
        environment = dict(os.environ if env is None else env)
        pid = warm.ask(connection=command[command.index("-f") + 1], folder=cwd, environment=environment)
        assert pid is not None
        return Forked(warm, pid)

    local_provisioner.launch_kernel = launch  # type: ignore[assignment]
    local_provisioner.LocalProvisioner.pre_launch = pre_launch  # type: ignore[method-assign]
    return warm


if __name__ == "__main__":
    serve()
