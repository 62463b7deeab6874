"""Functions of the standard library, among which copies, leaked test lines and a bad source are planted.

Book: what-to-train-on. The truth is known: each document says what it is. All choices follow from checksums of the
texts, so that another version of Python, with a few other functions, makes nearly the same choices.

    originals    functions of the modules to train on; no two of them are alike
    copies       edited copies of a few originals: one has 300 copies, forty have one
    headed       originals with one licence before them, which makes them a little alike
    leaked       originals with lines of the test inside
    bad          functions with their words in disorder, and tables of hexadecimal numbers
"""

import ast
import re
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from attnlib.data import stdlib
from attnlib.data.duplicates import first_of_each, shingles, similar_pairs, words
from attnlib.shapes import Array, Int

SHORTEST, LONGEST = 60, 400  # words of a function
ALIKE = 0.3  # of two functions that are so alike, the second is left out, and the first is planted
COPIES = (300, 150, 100, 60, *(20,) * 12, *(8,) * 25, *(3,) * 40, *(1,) * 40)  # of the first originals
HEADED, LEAKED, BAD = (
    60,
    (1, 4, 16),
    900,
)  # LEAKED: how often a test function is in the text, a third of them each
TEST = 60  # functions of the test, of which half leak
TEST_MODULES, NEW_MODULES = ("inspect", "difflib"), ("zipfile", "ipaddress", "uuid", "webbrowser")
TRUSTED = 300  # functions of a trusted part
NAMES = ("value", "item", "result", "other", "name", "data", "key", "entry", "index", "total")
LICENCE = '''"""Part of the package tools, version 3.

Permission to use, copy, modify and distribute this software for any purpose and without fee is hereby granted,
provided that this notice appears in all copies and in all documents that come with them. Changed copies must be
marked as such, and must not be passed off as the original. The names of the authors may not be used in
advertising without their permission in writing.

The software comes as it is, without any warranty, expressed or implied, and the authors are not liable for any
damage, loss of data or loss of profit that arises from its use, even if they have been warned of it.
"""
'''


class Document(NamedTuple):
    """One text, and what it is."""

    name: str
    text: str
    kind: str  # "original", "copy", "headed", "leaked" or "bad"
    of: int = -1  # the number of the original that it is a copy of, or of the test function that leaks


def number(text: str) -> int:
    """A checksum, by which documents are put into an order that has nothing to do with what they say."""
    return zlib.crc32(text.encode()) ^ 0x5BD1E995


def functions(split: stdlib.Split) -> Iterator[tuple[str, str]]:
    """Name and source of each function of a split that is neither short nor long nor inside another."""

    def outer(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield child
            else:
                yield from outer(child)

    for name, source in stdlib.texts(split):
        try:
            tree = ast.parse(source)
        except SyntaxError:  # written for another version of Python
            continue
        lines = source.splitlines()
        for node in outer(tree):
            text = "\n".join(lines[node.lineno - 1 : node.end_lineno]) + "\n"
            if SHORTEST <= len(words(text)) <= LONGEST:
                yield f"{name}:{node.name}", text


@cache
def unlike(split: stdlib.Split) -> tuple[tuple[str, str], ...]:
    """The functions of a split by checksum, and by name; of those that are alike only the first, exactly compared."""
    found = sorted(set(functions(split)), key=lambda one: (number(one[1]), one[0]))
    pairs, _ = similar_pairs([shingles(text) for _, text in found], ALIKE)
    return tuple(one for one, kept in zip(found, first_of_each(len(found), pairs), strict=True) if kept)


def edited(text: str, seed: int) -> str:
    """A copy in which a share of the lines, up to a third, is changed: renamed, left out, or with a comment more."""
    rng = np.random.default_rng(seed)
    share, lines = rng.uniform(0, 0.33), []
    for i, line in enumerate(text.splitlines()):
        if i == 0 or not line.strip() or rng.random() >= share:
            lines.append(line)
            continue
        way = rng.integers(4)
        names = [word for word in words(line) if word.isidentifier()]
        indent = line[: len(line) - len(line.lstrip())]
        if way < 2 and names:
            old, new = names[rng.integers(len(names))], NAMES[rng.integers(len(NAMES))]
            lines.append(re.sub(rf"\b{old}\b", new, line))
        elif way == 2:
            lines += [line, f"{indent}# see {NAMES[rng.integers(len(NAMES))]} {rng.integers(100)}"]
    return "\n".join(lines) + "\n"


def in_disorder(text: str, seed: int) -> str:
    """The words of a text in another order, over the lines that it had: what a broken extraction leaves."""
    rng = np.random.default_rng(seed)
    lines = text.splitlines()
    left = list(rng.permutation(np.array(words(text), dtype=object)))
    return "\n".join(" ".join(left.pop() for _ in words(line) if left) for line in lines) + "\n"


def table(seed: int) -> str:
    """A table of hexadecimal numbers, as programs write it."""
    rows = np.random.default_rng(seed).integers(0, 256, size=(12, 6))
    return (
        "TABLE = (\n" + "".join("    " + " ".join(f"0x{n:02x}," for n in row) + "\n" for row in rows) + ")\n"
    )


def held_out() -> tuple[list[str], list[str], list[str]]:
    """A test, a new test of which no line leaks, and other functions; no module is in two of them, or trained on."""

    def of(module: str) -> int:
        return 0 if module in TEST_MODULES else 1 if module in NEW_MODULES else 2

    parts: tuple[list[str], list[str], list[str]] = ([], [], [])
    for name, text in unlike("held out"):
        parts[of(name.split("/")[0].split(":")[0].removesuffix(".py"))].append(text)
    return parts[0][:TEST], parts[1], parts[2]


def trusted(packages: Sequence[str] = (), n: int = 1500) -> list[str]:
    """Functions that stand for good text, and are not in the planted one; of these packages, or of all."""
    rest = unlike("train")[n + sum(LEAKED) * TEST // 2 // len(LEAKED) + BAD :]
    return [text for name, text in rest if not packages or name.split("/")[0] in packages][:TRUSTED]


def lines_of(text: str) -> str:
    """What leaks of a test function: all but its first line."""
    return "".join(text.splitlines(keepends=True)[1:])


@cache
def planted(n: int = 1500) -> tuple[Document, ...]:
    """The whole text, in an order by checksum: n originals, and what is planted among them."""
    source = unlike("train")
    originals = [Document(name, text, "original") for name, text in source[: n - HEADED]]
    headed = [Document(name, LICENCE + text, "headed") for name, text in source[n - HEADED : n]]
    rest = source[n:]
    leaks = [
        i for k, often in enumerate(LEAKED) for i in range(k, TEST // 2, len(LEAKED)) for _ in range(often)
    ]
    test, _, _ = held_out()
    leaked = [
        Document(name, text + lines_of(test[i]), "leaked", i)
        for i, (name, text) in zip(leaks, rest, strict=False)
    ]
    rest = rest[len(leaked) :]
    bad = [
        Document(name, in_disorder(text, number(text)) if i % 2 else table(number(text)), "bad")
        for i, (name, text) in enumerate(rest[:BAD])
    ]
    copies = [
        Document(f"{one.name} {k}", edited(one.text, number(one.text) + k), "copy", number(one.text))
        for one, often in zip(originals, COPIES, strict=False)
        for k in range(often)
    ]
    everything = sorted(
        [*originals, *headed, *leaked, *bad, *copies], key=lambda one: number(one.name + one.text)
    )
    place = {number(one.text): i for i, one in enumerate(everything) if one.kind == "original"}
    return tuple(one._replace(of=place[one.of]) if one.kind == "copy" else one for one in everything)


def families(documents: Sequence[Document]) -> Int[Array, "n"]:
    """For each document the original that it is a copy of, or itself."""
    return np.array([one.of if one.kind == "copy" else i for i, one in enumerate(documents)])
