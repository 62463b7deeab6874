"""Install missing packages from a file of pins, and print first what is fetched: `python tools/install.py FILE`.

The files list every package, so no dependency is added, with one exception: on Linux torch from PyPI depends on CUDA
libraries, which take gigabytes and are not needed. There the CPU build is taken from PyTorch's own index if it answers.
"""

import subprocess
import sys
from pathlib import Path

import wheels
from wheels import Pin

CPU_BUILDS = "https://download.pytorch.org/whl/cpu/"
PATIENCE = 5  # seconds to wait for an index that may be unreachable


def pip(*arguments: str) -> None:
    quietly = ["--quiet", "--disable-pip-version-check", "--no-warn-script-location"]
    done = subprocess.run([sys.executable, "-m", "pip", "install", *quietly, *arguments])
    if done.returncode:
        sys.exit(
            "setup: pip could not install everything; the reason is printed above. Fix it and run this again."
        )


def cpu_build(torch: Pin, platform: str = sys.platform, at: str = CPU_BUILDS) -> wheels.Wheel | None:
    """The CPU build of torch, where PyPI's build is for CUDA and PyTorch's index answers; else None."""
    if not platform.startswith("linux"):
        return None
    try:
        return wheels.best(wheels.offered("torch", at, PATIENCE), torch.version, wheels.here())
    except OSError:
        return None


def announcement(needed: list[Pin], known: dict[str, int], cpu: wheels.Wheel | None) -> str:
    """
    >>> tiny = Pin("tiny", "1.0", "")
    >>> print(announcement([tiny], {"tiny": 2_500_000}, None))
    setup: fetches 1 package, 2.5 MB
    >>> print(announcement([tiny, Pin("torch", "2.0", "")], {}, wheels.Wheel("address", 1)))
    setup: fetches 2 packages, 0.0 MB and 2 of unknown size; torch is the build for CPUs
    """
    unknown = sum(pin.name not in known for pin in needed)
    text = (
        f"setup: fetches {len(needed)} package{'s' * (len(needed) > 1)}, {sum(known.values()) / 1e6:.1f} MB"
    )
    text += f" and {unknown} of unknown size" * bool(unknown)
    if cpu:
        return text + "; torch is the build for CPUs"
    if sys.platform.startswith("linux") and any(pin.name == "torch" for pin in needed):
        text += (
            f"\nsetup: torch comes as your index has it, because {CPU_BUILDS} does not answer. If that is a build for "
            "CUDA, some gigabytes follow; to avoid them, stop now and install a build for CPUs into .venv first."
        )
    return text


def install(file: Path) -> None:
    needed = wheels.missing(wheels.pins(file))
    if not needed:
        return
    torch = [pin for pin in needed if pin.name == "torch"]
    cpu = cpu_build(torch[0]) if torch else None
    known = wheels.sizes(needed) | ({"torch": wheels.size(cpu)} if cpu else {})
    print(announcement(needed, known, cpu), flush=True)
    rest = [f"{pin.name}=={pin.version}" for pin in needed if pin.name != "torch"]
    if rest:
        pip("--no-deps", *rest)
    if torch and cpu:
        pip("--no-deps", "--index-url", CPU_BUILDS, f"torch=={torch[0].version}")
    elif torch:
        pip("--constraint", str(file), f"torch=={torch[0].version}")


if __name__ == "__main__":
    install(Path(sys.argv[1]))
