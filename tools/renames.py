"""Names that changed, in the notebooks: `python tools/renames.py` puts the new ones in, `--since COMMIT` shows that
nothing else of their code, and nothing of their outputs, has changed since then.

The names are data, `docs/renames/*.yml`: was, now, and the kind. A module and a name are replaced as whole
words, a name only in notebooks that import it; an attribute after a dot; an argument in calls of the functions `of`.
"""

import argparse
import ast
import hashlib
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "docs" / "renames"
KINDS = ("module", "name", "attribute", "argument")


@dataclass(frozen=True)
class Rename:
    """One renamed name: the old and the new one, and its kind."""

    kind: str
    was: str
    now: str
    of: tuple[str, ...] = ()  # of an argument: the functions and classes that take it

    def __post_init__(self) -> None:
        if self.kind not in KINDS or (self.kind == "argument") != bool(self.of):
            raise ValueError(
                f"renames: a kind must be one of {', '.join(KINDS)}, an argument needs `of`; got {self}."
            )

    def __call__(self, code: str, notebook: str) -> str:
        """The code of a cell with the new name in it; `notebook` is all of the notebook's code.

        >>> Rename("module", "attnlib.old", "attnlib.new")("from attnlib.old import f", "")
        'from attnlib.new import f'
        >>> Rename("argument", "longest", "clip", of=("f",))("f(longest=3), g(longest=4)", "")
        'f(clip=3), g(longest=4)'
        """
        if self.was not in code:
            return code
        if self.kind == "argument":
            return in_calls(code, self)
        if self.kind == "name" and not re.search(
            rf"^\s*(from|import) [^#]*\b{self.was}\b", imports(notebook), re.M
        ):
            return code
        before = r"(?<=\.)" if self.kind == "attribute" else r"(?<![\w.])"
        return re.sub(rf"{before}{re.escape(self.was)}(?!\w)", self.now, code)


def imports(code: str) -> str:
    """The lines that import, each with all of its names.

    >>> imports("from a import (\\n    b,\\n    c,\\n)\\nb()")
    'from a import b, c'
    """
    tree = parsed(code)
    return "\n".join(
        ast.unparse(node) for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))
    )


def parsed(code: str) -> ast.Module:
    """The syntax tree of the code, without magics and shell commands."""
    return ast.parse(re.sub(r"^(\s*)[%!].*$", r"\1pass", code, flags=re.M))


def in_calls(code: str, one: Rename) -> str:
    """The code with one argument of some functions under its new name, also in a dictionary that a call unpacks.

    >>> in_calls('o = {"a": 1}\\nf(**o)', Rename("argument", "a", "b", of=("f",)))
    'o = {"b": 1}\\nf(**o)'
    """
    lines, tree = code.splitlines(keepends=True), parsed(code)
    keywords = [
        keyword
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and ast.unparse(call.func).rpartition(".")[2] in one.of
        for keyword in call.keywords
    ]
    found = [(keyword.lineno, keyword.col_offset) for keyword in keywords if keyword.arg == one.was]
    unpacked = {ast.unparse(keyword.value) for keyword in keywords if keyword.arg is None}
    found += [
        (key.lineno, key.col_offset + 1)  # after the quotation mark
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and unpacked & {ast.unparse(target) for target in node.targets}
        for key in (node.value.keys if isinstance(node.value, ast.Dict) else [])
        if isinstance(key, ast.Constant) and key.value == one.was
    ]
    for line, column in sorted(found, reverse=True):
        raw = lines[line - 1].encode()  # ast counts columns in bytes
        lines[line - 1] = (raw[:column] + one.now.encode() + raw[column + len(one.was.encode()) :]).decode()
    return "".join(lines)


def table() -> list[Rename]:
    rows = [
        row for file in sorted(TABLES.glob("*.yml")) for row in yaml.safe_load(file.read_text("utf8")) or []
    ]
    return [Rename(row["kind"], row["was"], row["now"], tuple(row.get("of", ()))) for row in rows]


def renamed(text: str, rows: list[Rename]) -> str:
    """The text of a notebook with the new names in its code, and in the Markdown where it names a module."""
    notebook = json.loads(text)
    cells = notebook["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    modules = [one for one in rows if one.kind == "module"]
    for cell in cells:
        source = "".join(cell["source"])
        for one in rows if cell["cell_type"] == "code" else modules:
            source = one(source, code)
        cell["source"] = source.splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def code_of(notebook: Any) -> list[str]:
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs_hash(notebook: Any) -> str:
    """A hash of all outputs of a notebook."""
    shown = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return hashlib.sha256(json.dumps(shown, sort_keys=True).encode()).hexdigest()[:16]


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True, cwd=ROOT).stdout


def differences(commit: str, rows: list[Rename]) -> list[str]:
    """What has changed in the notebooks since a commit, beside the names of the table."""
    listed = git("ls-tree", "-r", "--name-only", commit, "book").split()
    wrong = []
    for name in (name for name in listed if name.endswith(".ipynb")):
        before = git("show", f"{commit}:{name}")
        now = json.loads((ROOT / name).read_text("utf8"))
        if code_of(json.loads(renamed(before, rows))) != code_of(now):
            wrong.append(f"{name}: its code differs by more than the names of the table")
        if outputs_hash(json.loads(before)) != outputs_hash(now):
            wrong.append(f"{name}: its outputs differ")
    return wrong


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--since", metavar="COMMIT", help="compare with this commit, change nothing")
    commit = parser.parse_args(arguments).since
    if commit:
        wrong = differences(commit, table())
        print(
            "\n".join(wrong)
            or f"since {commit}: no code but the names of the table, and no output, has changed"
        )
        return bool(wrong)
    for path in sorted((ROOT / "book").rglob("*.ipynb")):
        old = path.read_text("utf8")
        new = renamed(old, table())
        if new != old:
            path.write_text(new, "utf8")
            print(f"{path.relative_to(ROOT)}: renamed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
