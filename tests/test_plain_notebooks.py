"""What a notebook's code says and prints has the plain words of its prose: strings, comments, output, names.

The words are those of `test_plain_code`. `ALLOWED_HERE` has further phrases in which such a word has its usual meaning,
`ALLOWED_ON` those of single pages. Pages are named without their number, which changes when one is added before them.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from test_plain_code import ALLOWED, found_in

ROOT = Path(__file__).resolve().parent.parent

ALLOWED_HERE = {
    r"slope (about |minus )?(one|two|three)": "of a line in a figure with logarithmic axes",
    r"places\.weight": "a parameter of the package's GPT",
    r"(foundations|self-attention|multi-head|transformer|training)\.[a-z0-9-]+": "an exercise's id",
}
ONLY = r"(?<!.){}(?!.)"  # the whole string: a key
ALLOWED_ON = {
    "05-training/train-your-own-gpt": {
        "two places": "a key of the stored result, printed as `the right two`"
    },
    "01-foundations/the-bottleneck": {ONLY.format("said"): "a key of the stored result"},
    "02-self-attention/permutation": {ONLY.format("places"): "the name of a stored result"},
    "03-multi-head/memory": {"asked for the weights": "a key of the stored result"},
    "03-multi-head/a-circuit": {ONLY.format("place"): "a word of the stored result, printed as `position`"},
    "04-transformer/from-text-to-vectors": {"heard": "a word of the sentence that is cut into tokens"},
    "04-transformer/the-block": {"no bend": "an arm of the stored result, printed as `no activation`"},
    "04-transformer/where-am-i": {"hands?": "of a clock, which the page explains"},
    "04-transformer/positions-compared": {
        "steep slope|different slopes": "the factor of ALiBi, so called by its authors",
        "divided places": "an arm of the stored result, printed as `divided`",
    },
}
NAMES = re.compile(  # words that a name in visible code may not have
    r"(?i)(?<![a-z])(places?|behind|bends?|bent|slopes?|bills?|hands?|said|told|ask(s|ed|ing)?|hears?|heard|listens"
    r"|speaks|spoke|whoever|nobody|somebody|beginnings|squash|roads?|foretold)(?![a-z])"
)
NAMES_ALLOWED = {"by_hand": "without autograd", "hands": "of a clock"}


def page(path: Path) -> str:
    """Chapter and page, without the number.

    >>> page(Path("book/04-transformer/3-where-am-i.ipynb"))
    '04-transformer/where-am-i'
    """
    return f"{path.parent.name}/{re.sub(r'^[0-9]+-(?=[a-z])', '', path.stem)}"


PATHS = sorted((ROOT / "book").glob("[0-9]*/*.ipynb"))


def code_of(path: Path) -> list[tuple[int, nbformat.NotebookNode]]:
    cells = enumerate(nbformat.read(path, as_version=4).cells)
    return [
        (number, cell)
        for number, cell in cells
        if cell.cell_type == "code" and "remove-cell" not in cell.metadata.get("tags", [])
    ]


def tree_of(source: str) -> ast.Module:
    return ast.parse(re.sub(r"^[%!].*$", "pass", source, flags=re.M))


def texts(source: str) -> Iterator[str]:
    """Strings, docstrings among them, and comments.

    >>> list(texts('"What."\\nprint(f"at {x} bits")  # why'))
    ['What.', 'at ', ' bits', '# why']
    """
    for node in ast.walk(tree_of(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def words_of(path: Path) -> Iterator[tuple[int, str]]:
    """The number of the cell, and each text that it says or prints."""
    for number, cell in code_of(path):
        printed = "\n".join(output.get("text", "") for output in cell.outputs)
        for text in (*texts(cell.source), *printed.splitlines()):
            yield number, text


def wrong_words(path: Path) -> list[str]:
    allowed = *ALLOWED, *ALLOWED_HERE, *ALLOWED_ON.get(page(path), {})
    return [
        f"{path.name}[{number}]: {word!r}, better: {better}\n    {' '.join(text.split())[:200]}"
        for number, text in words_of(path)
        for word, better in found_in(text, allowed)
    ]


def side_by_side(output: nbformat.NotebookNode) -> bool:
    """Whether a figure has panels, which a phone shows one above the other."""
    windows = re.search(r'data-windows="([^"]*)"', output.get("data", {}).get("image/svg+xml", ""))
    return bool(windows) and any("," in row for row in windows[1].split(";"))


def panels_by_side(path: Path) -> list[str]:
    """Descriptions that call a panel the left or the right one."""
    return [
        f"{path.name}[{number}]: say first and second panel\n    {output.data['text/plain'][:120]}"
        for number, cell in code_of(path)
        for output in cell.outputs
        if side_by_side(output) and re.search(r"\b(Left|Middle|Right)\b[,:]", output.data["text/plain"])
    ]


def names_given(path: Path) -> Iterator[tuple[int, str]]:
    """Names that visible code gives, before the exercises, whose names their tasks fix."""
    exercises = False
    for number, cell in enumerate(nbformat.read(path, as_version=4).cells):
        exercises = exercises or cell.source.startswith("> **Exercise**")
        tags = cell.metadata.get("tags", [])
        if cell.cell_type != "code" or exercises or {"hide-input", "remove-cell"} & {*tags}:
            continue
        for node in ast.walk(tree_of(cell.source)):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield number, node.id
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                yield number, node.attr
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield number, node.name
            elif isinstance(node, ast.arg):
                yield number, node.arg


def wrong_names(path: Path) -> list[str]:
    given = {(number, name) for number, name in names_given(path) if NAMES.search(name)}
    return [f"{path.name}[{number}]: {name}" for number, name in sorted(given) if name not in NAMES_ALLOWED]


@pytest.mark.parametrize("path", PATHS, ids=page)
def test_code_and_its_output_have_no_word_of_a_private_dialect(path: Path) -> None:
    wrong = wrong_words(path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", PATHS, ids=page)
def test_a_description_names_panels_by_their_order(path: Path) -> None:
    wrong = panels_by_side(path)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", [path for path in PATHS if "checked" not in path.stem], ids=page)
def test_a_name_in_visible_code_has_one_meaning(path: Path) -> None:
    wrong = wrong_names(path)
    assert not wrong, "\n".join(wrong)


def test_every_exception_is_needed() -> None:
    texts_on = {page(path): [text for _, text in words_of(path)] for path in PATHS}
    unused = [
        phrase
        for where, phrases in {"": ALLOWED_HERE, **ALLOWED_ON}.items()
        for phrase in phrases
        if not any(
            re.search(phrase, text, re.I)
            for text in sum(texts_on.values(), [])
            if not where or text in texts_on[where]
        )
    ]
    assert not unused, "no page has it any more"
