"""A pytest plugin that skips test files whose sources have not changed since they last passed on this machine.

    pytest --changed tests              the files with a changed source
    pytest --changed --within 30 tests  of these as many as take 30 seconds, those nearest to the change first

The sources of a file are the modules that it imports, and what these import; the package's data; the pins. A test that
reads the tree or starts programs may depend on any file. Passes are stored in .venv/green.json, so in a fresh clone
everything runs; with CI=true, too.
"""

import ast
import hashlib
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("", "tests", "tools", "book/_ext")  # where `import name` finds the project's own modules
ALWAYS = re.compile(
    r"(requirements[\w-]*\.txt|pyproject\.toml|(.+/)?conftest\.py|tests/(results\.py|nbval_sanitize\.cfg))"
    r"|attnlib/(data|viz)/.*(?<!\.py)|book/setup-cell\.py"
)
# Code that may read any file or start any program; defining ROOT, or importing from it, is not meant.
WIDE = re.compile(r"\bROOT\b|parent\.parent|subprocess|multiprocessing|__file__")
HARMLESS = re.compile(r"^(ROOT = .*|sys\.path\.insert.*)$", re.M)
BY_NAME = re.compile(r"import_module|pkgutil|find_spec")  # modules found by their names
UNKNOWN = 3.0  # seconds assumed for a file that has never run here
NOTHING_RAN = 5  # pytest's exit status for "no tests collected"
FAR = 1000  # the distance to a change that no import leads to


class Green(NamedTuple):
    """A file of tests that passed: the state of the tree at which it did, and the seconds that it took."""

    state: str
    seconds: float


class Tree:
    """The project's files as they are now."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        said = subprocess.run(listed, cwd=root, capture_output=True, text=True)
        names = said.stdout.split("\0") if said.returncode == 0 else []
        self.files = {name: digest(root / name) for name in names if name and (root / name).is_file()}
        self.state = hashlib.sha256((sys.version + repr(sorted(self.files.items()))).encode()).hexdigest()[
            :16
        ]

    @cache  # noqa: B019 - one tree a run
    def text(self, name: str) -> str:
        """The code of a module or a notebook."""
        raw = (self.root / name).read_text("utf8")
        if not name.endswith(".ipynb"):
            return raw
        cells = [c for c in json.loads(raw)["cells"] if c["cell_type"] == "code"]
        lines = "\n".join("".join(cell["source"]) for cell in cells).splitlines()
        return "\n".join("" if line.startswith(("%", "!")) else line for line in lines)

    @cache  # noqa: B019
    def imports(self, name: str) -> set[str]:
        """The project's files that a file imports, wherever in it; a notebook's magic lines are left out."""
        text, found = self.text(name), set()
        try:
            nodes = list(ast.walk(ast.parse(text)))
        except SyntaxError:
            return set(self.files)
        for node in nodes:
            if isinstance(node, ast.Import):
                found |= {file for alias in node.names for file in self.modules(alias.name)}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found |= self.modules(node.module)
                found |= {
                    file for alias in node.names for file in self.modules(f"{node.module}.{alias.name}")
                }
        if name.startswith("attnlib/") and BY_NAME.search(text):
            found |= {file for file in self.files if file.startswith("attnlib/")}
        return found

    def modules(self, dotted: str) -> set[str]:
        """The files that `import dotted` executes: the module and the packages that contain it."""
        parts, found = dotted.split("."), set()
        for count in range(1, len(parts) + 1):
            path = "/".join(parts[:count])
            for folder in FOLDERS:
                for file in (f"{path}.py", f"{path}/__init__.py"):
                    found |= {name} if (name := f"{folder}/{file}".lstrip("/")) in self.files else set()
        return found

    def sources(self, name: str) -> dict[str, int]:
        """All that a file of tests depends on, and after how many imports each is reached."""
        steps, edge = {name: 0}, [name]
        while edge:
            reached = {file for one in edge if one.endswith((".py", ".ipynb")) for file in self.imports(one)}
            edge = [file for file in reached if file not in steps]
            steps |= dict.fromkeys(edge, max(steps.values()) + 1)
        always = dict.fromkeys((file for file in self.files if ALWAYS.fullmatch(file)), FAR)
        if any(self.wide(file) for file in steps):
            return dict.fromkeys(self.files, FAR) | steps
        return always | steps

    def wide(self, name: str) -> bool:
        """Whether a file may depend on any other file, not only on those that it imports."""
        near = name.startswith(("tests/", "tools/")) and name.endswith(".py")
        return near and bool(WIDE.search(HARMLESS.sub("", self.text(name))))


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


class Memory:
    """The stored passes, each with the state of the tree; the file is replaced as a whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        kept = json.loads(path.read_text()) if path.exists() else {"green": {}, "states": {}}
        self.green = {key: Green(*value) for key, value in kept["green"].items()}
        self.states: dict[str, dict[str, str]] = kept["states"]

    def save(self) -> None:
        used = {green.state for green in self.green.values()}
        states = {name: state for name, state in self.states.items() if name in used}
        if self.path.parent.is_dir():
            beside = self.path.with_suffix(f".{os.getpid()}")
            beside.write_text(json.dumps({"green": self.green, "states": states}))
            beside.replace(self.path)


class Changed:
    """Skips files during collection, and stores those whose tests all passed."""

    def __init__(self, tree: Tree, memory: Memory, marks: str = "", within: float | None = None) -> None:
        self.tree, self.memory, self.marks = tree, memory, marks
        self.seconds: dict[str, float] = defaultdict(float)
        self.failed: set[str] = set()
        self.later = self.beyond(within) if within is not None else []

    def key(self, name: str) -> str:
        return f"{name} {self.marks}".strip()

    def distance(self, name: str) -> int | None:
        """How many imports lie between a file of tests and the nearest change; None if nothing changed."""
        green = self.memory.green.get(self.key(name))
        if green is not None and green.state == self.tree.state:
            return None
        if green is None:
            return FAR
        steps = self.tree.sources(name)
        before = self.memory.states[green.state]
        gone = FAR if before.keys() - self.tree.files.keys() and len(steps) == len(self.tree.files) else None
        changed = [step for file, step in steps.items() if before.get(file) != self.tree.files[file]]
        return min(changed, default=gone)

    def beyond(self, within: float) -> list[str]:
        """The changed files that do not fit into these seconds; those nearest to the change are kept first."""
        names = [name for name in self.tree.files if re.fullmatch(r"tests/test_\w+\.py", name)]
        changed = {name: step for name in names if (step := self.distance(name)) is not None}
        guess = {name: self.memory.green.get(self.key(name), Green("", UNKNOWN)).seconds for name in changed}
        later = []
        for name in sorted(changed, key=lambda name: (changed[name], guess[name])):
            within -= guess[name]
            later += [name] if within < 0 else []
        return later

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        if collection_path.suffix not in (".py", ".ipynb") or collection_path.name == "conftest.py":
            return None
        name = collection_path.relative_to(self.tree.root).as_posix()
        if name not in self.tree.files or not (name.startswith("tests/test_") or name.endswith(".ipynb")):
            return None
        return True if name in self.later or self.distance(name) is None else None

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = report.nodeid.partition("::")[0]
        self.seconds[name] += report.duration
        if report.failed:
            self.failed.add(name)

    def pytest_sessionfinish(self, session: Any, exitstatus: int) -> None:
        if exitstatus == NOTHING_RAN and not self.seconds:  # all tests had passed before
            session.exitstatus = 0
        if exitstatus not in (0, 1):  # interrupted, or collection failed
            return
        self.memory.states[self.tree.state] = self.tree.files
        for name, seconds in self.seconds.items():
            self.memory.green.pop(self.key(name), None)
            if name not in self.failed:
                self.memory.green[self.key(name)] = Green(self.tree.state, round(seconds, 2))
        self.memory.save()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.later:
            names = ", ".join(sorted(Path(name).stem for name in self.later))
            terminalreporter.write_line(f"Left for `make test`, farther from what changed: {names}")


def pytest_addoption(parser: Any) -> None:
    group = parser.getgroup("changes", "what changed decides what is run")
    group.addoption("--changed", action="store_true", help="leave out files of tests without a change")
    group.addoption(
        "--within", type=float, help="with --changed: the nearest to the change, in these seconds"
    )


def register(config: Any, root: Path = ROOT) -> None:
    """Register the plugin if whole files are run: not with CI=true, nor if single tests are selected."""
    chosen = config.option.keyword or any("::" in name for name in config.args)
    if not config.option.changed or chosen or os.environ.get("CI") == "true":
        return
    memory = Memory(root / ".venv" / "green.json")
    plugin = Changed(Tree(root), memory, config.option.markexpr, config.option.within)
    if hasattr(config, "workerinput"):  # in a worker: the main session stores the results
        config.pluginmanager.register(Ignored(plugin))
    else:
        config.pluginmanager.register(plugin)


class Ignored:
    """The part of the plugin that a worker process needs."""

    def __init__(self, plugin: Changed) -> None:
        self.pytest_ignore_collect = plugin.pytest_ignore_collect
