"""Single edits of the mathematics that a test must notice: `make mutants`, or `python tools/mutants.py --sample 60`.

A mutant is one file with one edit: a sign, a factor, an order, an axis, a comparison, an argument left out. The tests
that import the file are run on it; a mutant that they let pass has survived. Survivors are printed as the line before
and after. Those that compute the same (equivalent mutants) are listed with a reason in `equivalent_mutants.yml`.

    python tools/mutants.py --sample 60 --seed 1               60 of all
    python tools/mutants.py attnlib/reference/ops.py           all of a file
"""

import argparse
import ast
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent
ROOMS = (
    "attnlib/reference",
    "attnlib/nn",
    "attnlib/interpret",
    "attnlib/metrics",
    "attnlib/models",
    "attnlib/data/bpe",
)
ALONE = ("attnlib/decode.py", "attnlib/data/tasks.py", "attnlib/data/pairs.py")
EQUIVALENT = ROOT / "tools" / "equivalent_mutants.yml"
LIMIT = 180  # seconds for the tests of one mutant, also on a busy machine; an endless loop is noticed, too
SLOW = {
    "test_counter_proofs",
    "test_explorables",
    "test_generated",
    "test_wrong_calls",
    "test_works_under",
    "test_api_pages",
    "test_bad_input",
    "test_exercises_grade",
    "test_fit",
    "test_own",
}
OTHER_OPERATOR = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*", ast.FloorDiv: "/"}
OTHER_COMPARE = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
PAIRS = [
    ("maximum", "minimum"),
    ("max", "min"),
    ("sum", "mean"),
    ("all", "any"),
    ("tril", "triu"),
    ("cos", "sin"),
]
OTHER_NAME = {**dict(PAIRS), **{b: a for a, b in PAIRS}, "argmax": "argmin"}


class Mutant(NamedTuple):
    """One edit of one file: from `start` to `end`, `new` stands instead."""

    file: str
    line: int
    start: int
    end: int
    new: str

    def applied(self, text: str) -> str:
        return text[: self.start] + self.new + text[self.end :]

    def shown(self, text: str) -> tuple[str, str]:
        """The statement's line before and after, without its indentation."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        tail = text[self.end : last]
        return " ".join(text[first:last].split()), " ".join(
            (text[first : self.start] + self.new + tail).split()
        )


class Edits(ast.NodeVisitor):
    """All edits of a file, in order; annotations, docstrings, messages and the rules of the wrong call stay."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.text, self.found = file, text, list[Mutant]()
        self.worked_out = set[ast.expr]()
        self.starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self.visit(ast.parse(text))

    def place(self, line: int, column: int) -> int:
        row = self.text[self.starts[line - 1] :].split("\n", 1)[0]
        return self.starts[line - 1] + len(row.encode()[:column].decode())

    def span(self, node: ast.AST) -> tuple[int, int]:
        assert (
            isinstance(node, ast.expr | ast.stmt | ast.keyword)
            and node.end_lineno
            and node.end_col_offset is not None
        )
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def source(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def edit(self, node: ast.AST, new: str) -> None:
        start, end = self.span(node)
        self.found.append(Mutant(self.file, self.text.count("\n", 0, start) + 1, start, end, new))

    def between(self, left: ast.AST, right: ast.AST, new: str) -> None:
        """What stands between two operands becomes `new`; their brackets stay."""
        start, end = self.span(left)[1], self.span(right)[0]
        gap = self.text[start:end]
        operator = re.search(r"\*\*|//|<=|>=|==|!=|[-+*/@<>]", gap)
        if operator:
            at = start + operator.start()
            line = self.text.count("\n", 0, at) + 1
            self.found.append(Mutant(self.file, line, at, start + operator.end(), new))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name.lstrip("_").startswith("check"):  # rules of the wrong call
            return
        for statement in node.body:
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
                self.visit(statement)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef) and not statement.name.startswith("__repr"):
                self.visit(statement)

    def visit_keyword(self, node: ast.keyword) -> None:
        if node.arg != "strict":  # of zip: a rule of the wrong call
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        pass

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value:
            self.visit(node.value)

    def visit_If(self, node: ast.If) -> None:
        if not any(isinstance(statement, ast.Raise) for statement in node.body):
            self.edit(node.test, f"not ({self.source(node.test)})")
            self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in OTHER_OPERATOR:
            self.between(node.left, node.right, OTHER_OPERATOR[type(node.op)])
        if isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Div):
            self.edit(node, f"({self.source(node.left)})")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        if len(node.ops) == 1 and type(node.ops[0]) in OTHER_COMPARE:
            self.between(node.left, node.comparators[0], OTHER_COMPARE[type(node.ops[0])])
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.operand, ast.Constant):
            if node not in self.worked_out:
                self.visit(node.operand)  # the number's own edit is enough
        elif isinstance(node.op, ast.USub | ast.Invert | ast.Not):
            self.edit(node, f"({self.source(node.operand)})")
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.edit(node, str(not node.value))
        elif isinstance(node.value, int):
            self.edit(node, str(node.value + 1))
        elif isinstance(node.value, float):
            self.edit(node, repr(2 * node.value if node.value else 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        if self.source(node.func).startswith("rules."):  # other tests hold what is said to a wrong call
            return
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name == "reshape":  # any negative number is the length to be worked out
            self.worked_out.update(one for one in node.args if isinstance(one, ast.UnaryOp))
        if name in OTHER_NAME:
            start, end = self.span(node.func)
            self.found.append(Mutant(self.file, node.lineno, end - len(name), end, OTHER_NAME[name]))
        if name == "sqrt" and len(node.args) == 1:
            self.edit(node, f"({self.source(node.args[0])})")
        for keyword in node.keywords:
            if keyword.arg in {
                "mask",
                "bias",
                "causal",
                "initial",
                "keepdims",
                "where",
                "cache",
                "positions",
            }:
                start, end = self.span(keyword)
                start = (
                    self.text.rfind(",", 0, start) if "," in self.text[self.span(node)[0] : start] else start
                )
                self.found.append(Mutant(self.file, keyword.value.lineno, start, end, ""))
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        if isinstance(node.value, ast.Tuple) and len(node.value.elts) == 2:
            first, second = (self.source(one) for one in node.value.elts)
            self.edit(node.value, f"{second}, {first}")
        self.generic_visit(node)


def files() -> list[str]:
    """The files of the mathematics."""
    inside = [path for room in ROOMS for path in sorted((ROOT / room).glob("*.py"))]
    return [str(path.relative_to(ROOT)) for path in inside if path.stem != "__init__"] + list(ALONE)


def mutants_of(file: str) -> Iterator[Mutant]:
    """The edits that leave the file valid Python."""
    text = (ROOT / file).read_text(encoding="utf-8")
    for mutant in Edits(file, text).found:
        try:
            changed = ast.parse(mutant.applied(text))
        except SyntaxError:
            continue
        if ast.dump(changed) != ast.dump(ast.parse(text)):
            yield mutant


def tests_of(file: str) -> list[str]:
    """The test files of the module's name, those that import it, and those of the modules that import it.

    A module that has none of these has the tests of the modules that import it. No slow sweeps over everything.
    """
    stem, users = Path(file).stem, importers(file, "attnlib")
    named = {f"tests/test_{one}.py" for one in (stem, *(Path(user).stem for user in users))}
    named = {test for test in named | set(importers(file, "tests")) if _is_quick(test)}
    if not named:
        named = {test for user in users for test in tests_of(user)}
    return sorted(named, key=lambda test: (Path(test).stem != f"test_{stem}", test))


def _is_quick(test: str) -> bool:
    return (ROOT / test).is_file() and Path(test).stem not in SLOW


def importers(file: str, room: str) -> list[str]:
    """The files of a folder, at any depth, that import the module."""
    module = file.removesuffix(".py").replace("/", ".")
    package, _, stem = module.rpartition(".")
    wanted = re.compile(rf"{re.escape(module)}\b|from {re.escape(package)} import [^\n]*\b{stem}\b")
    pattern = "test_*.py" if room == "tests" else "*.py"
    return [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / room).rglob(pattern))
        if path.stem != "__init__"
        and str(path.relative_to(ROOT)) != file
        and wanted.search(path.read_text(encoding="utf-8"))
    ]


def survives(mutant: Mutant, place: Path) -> bool:
    """Whether the tests of the file pass with the edit, on a copy."""
    target = place / mutant.file
    text = target.read_text(encoding="utf-8")
    target.write_text(mutant.applied(text), encoding="utf-8")
    passed = tests_pass(mutant.file, place)
    target.write_text(text, encoding="utf-8")
    return passed


def tests_pass(file: str, place: Path) -> bool:
    """Whether the tests of a file pass; they run in a process of their own."""
    child = os.fork()
    if child == 0:
        os._exit(_tests_pass(file, place))
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code == -signal.SIGALRM:
        print(f"{file}: not ended after {LIMIT} s, counted as noticed", flush=True)
    return code == 0


def _tests_pass(file: str, place: Path) -> int:
    """In the child: 0 if all tests pass."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(LIMIT)
    os.chdir(place)
    sys.path.insert(0, str(place))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    import pytest

    quiet = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not training", "--rootdir", str(place)]
    own, *others = tests_of(file)  # the others are not even collected if its own notice
    if (code := pytest.main([*quiet, "--doctest-modules", file, own])) not in (0, 5):  # 5: no test of its own
        return int(code)
    return int(pytest.main([*quiet, *others])) if others else int(code)


def copy_to(place: Path) -> None:
    """What the tests need."""
    skip = shutil.ignore_patterns("__pycache__", "_build", "_vendor")
    for name in ("attnlib", "tests", "experiments", "benchmarks", "tools", "book"):
        shutil.copytree(ROOT / name, place / name, ignore=skip)
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, place)


def equivalent() -> dict[tuple[str, str, str], str]:
    """The reasons why an edit computes the same, by file and by the line before and after."""
    rows = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")) or [] if EQUIVALENT.is_file() else []
    return {(row["file"], row["old"], row["new"]): row["reason"] for row in rows}


def preload() -> None:
    """What every child would import for itself."""
    os.environ["OMP_NUM_THREADS"] = "1"  # a child of a process with threads would wait for them for ever
    import hypothesis  # noqa: F401
    import numpy  # noqa: F401
    import pytest  # noqa: F401
    import torch  # noqa: F401


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="files to edit; all of the mathematics if none is named")
    parser.add_argument("--sample", type=int, help="so many of all, drawn with the seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--least", type=float, default=0.98, help="the share that must be noticed")
    asked = parser.parse_args()
    every = [mutant for file in asked.files or files() for mutant in mutants_of(file)]
    drawn = random.Random(asked.seed).sample(every, min(asked.sample or len(every), len(every)))
    known, lived, same = equivalent(), 0, 0
    preload()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        copy_to(place)
        for file in sorted({mutant.file for mutant in drawn}):
            if not tests_pass(file, place):
                sys.exit(
                    f"mutants: the tests of {file} must pass without an edit; run {' '.join(tests_of(file))}."
                )
        for i, mutant in enumerate(drawn, 1):
            if survives(mutant, place):
                old, new = mutant.shown((ROOT / mutant.file).read_text(encoding="utf-8"))
                reason = known.get((mutant.file, old, new))
                same, lived = same + bool(reason), lived + (not reason)
                print(
                    f"{mutant.file}:{mutant.line}\n  - {old}\n  + {new}\n    {reason or 'SURVIVED'}",
                    flush=True,
                )
            if i % 25 == 0:
                print(f"{i} of {len(drawn)}: {lived} survived, {same} compute the same", flush=True)
    killed = len(drawn) - lived - same
    share = killed / max(len(drawn) - same, 1)
    print(
        f"{len(drawn)} of {len(every)} edits: {killed} noticed, {same} compute the same, {lived} survived; {share:.1%}"
    )
    return 0 if share >= asked.least else 1


if __name__ == "__main__":
    sys.exit(main())
