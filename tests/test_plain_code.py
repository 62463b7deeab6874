"""Comments, docstrings, messages and exercises of attnlib use the plain words of textbooks and of PyTorch.

`INSTEAD` says what to write for each word that this project once used with a meaning of its own. `ALLOWED` lists the
phrases in which such a word has its usual meaning.
"""

import ast
import doctest
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

INSTEAD = {
    "place, places": "position; index; entry (of a table)",
    "behind": "after",
    "in front of": "before",
    "bend, bends, bent": "activation (function)",
    "slope, slopes, steeply": "gradient; derivative",
    "way around, ways around, goes around it, the way back": "residual connection; backward",
    "wide room, wider room": "hidden layer",
    "on the mean, in the mean": "on average; mean",
    "bill, bills, dear, dearer, dearest": "cost; memory; slowest, most expensive",
    "hand, hands": "angle; rotation",
    "said, told, tells it": "predicted; given; returned",
    "asks, asked, asking": "queries; calls; requires",
    "hears, heard, listens, ear, deaf": "gets a gradient; reads; gets as input",
    "speaks, spoke, mouth": "predicts; returns",
    "whoever, nobody, somebody, someone, everybody": "a noun: the model, the reader, every worker",
    "who looks where, who looks at, who may look where": "attention weights; which query may attend to which key",
    "one behind the other, one after another of them": "in order",
    "a home for, homes for": "a module that holds",
    "beginnings": "prefixes; partial texts; hypotheses",
    "made small, makes small": "minimised; loss",
    "squash, squashed": "tanh; sigmoid",
    "brother, brothers": "related",
    "road, roads": "path",
    "foretell, foretold, foresee": "predict",
}
ALLOWED = {
    r"in (its |the )?place( of)?": "instead",
    r"last place": "of a ranking",
    r"eq-[\w-]+": "a label of the book",
    r"what-to-say-next|where-am-i": "a page of the book",
    r"by hand|hand-(derived|written)": "without autograd",
    r"hand of a clock|hands of (a )?clocks?": "the picture of rotary positions",
    r"part in the mean": "a mean that is computed",
    r"dot-by-hand|slope-proof": "an exercise's id",
    r"gradients-by-hand|slopes-and-saturation": "a page of the book",
    r"as said": "of a sentence of the documents, whose verdict follows",
    r"in-place": "an operation that overwrites its input",
    r"somebody-elses-weights": "a page of the book",
    r"slope of (the|a) line": "what a fit of a line gives",
    r"(?<=[`\[])(places?|said)(?=[`\]])": "an argument of an exercise, or a table of the model in it",
    r"the words behind them: no mask|padding counts in the mean": "choices that the stored output of a check shows",
    # The docstring of a stub is part of a notebook's code cell.
    r"How many places ahead each place sees": "the stub of how-far-ahead",
    r"each claimed slope from": "the stub of judge-slopes",
    r"The slope of the table of places; dX \(b, n, d\), place": "the stub of packed-places",
    r"each worker hands to": "the stub of share-factors",
    r"Slopes of X, W and b": "the stub of twice-used-repair",
    r"alpha; said and": "the stub of length-score",
    r"Who may look where in both texts": "the stub of prefix-mask",
    r"Mean nats of the words to be said": "the stub of translation-repair",
}
NAMES_KEPT = (  # arguments of exercises are in their tasks and in the cells of their pages
    "attnlib/exercises/transformer",
    "attnlib/exercises/training",
)
SHOWN = ("CHOICES", "PROOF", "RUBRIC", "RETURNS")  # fields of an exercise that are texts
ARGUMENTS = {  # names that had several meanings, each with what to call the argument
    "apart": "center; distance",
    "asked": "the name of what is passed",
    "bend": "activation",
    "longest": "context; max_new_tokens; max_norm",
    "place": "position",
    "places": "positions",
    "said": "output; candidate; annotation",
    "slope": "gradient",
    "told": "the name of what is passed",
    "where": "device; axis; position",
}
ARGUMENTS_ALLOWED = {
    "returning_piece(longest)": "the end of a range that begins with `shortest`",
    "judged(said)": "a sentence of the documents, as it is said there and as it is meant",
}


def held(others: tuple[str, ...] = ()) -> list[Path]:
    files = sorted((ROOT / "attnlib").rglob("*.py"))
    return [file for file in files if not file.relative_to(ROOT).as_posix().startswith(others)]


def is_message(text: str) -> bool:
    """A sentence, not a word, a label or a line of data."""
    return " " in text and bool(re.search(r"\.\s*$|; got|\bmust\b", text))


def prose(docstring: str) -> str:
    """A docstring without its examples."""
    parts = doctest.DocTestParser().parse(docstring)
    return "".join(part for part in parts if isinstance(part, str))


def texts(source: str) -> Iterator[tuple[int, str]]:
    """The line and the text of each docstring, message and comment.

    >>> list(texts('"What."\\nf(f"x must fit; got {x}.")  # why'))
    [(1, 'What.'), (2, 'x must fit; got '), (2, '# why')]
    """
    docstrings = set()
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            first = node.body[0]
            docstrings.add(first.value)  # type: ignore[attr-defined]
            yield first.lineno, prose(first.value.value)  # type: ignore[attr-defined]
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and node not in docstrings else None
        if isinstance(text, str) and is_message(text):
            yield node.lineno, text  # type: ignore[attr-defined]
    yield from texts_of_an_exercise(tree)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def texts_of_an_exercise(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """What a learner reads of an exercise, however short: names of mistakes, laws, results and cases, and choices.

    >>> code = 'CHOICES = ("more", "less")\\nMISTAKES = (Mistake("a bend", "It is one."),)'
    >>> list(texts_of_an_exercise(ast.parse(code)))
    [(1, 'more'), (1, 'less'), (2, 'a bend'), (2, 'It is one.')]
    >>> list(texts_of_an_exercise(ast.parse('def cases(rng): return {"no place": (1,)}')))
    [(1, 'no place')]
    """
    for node in ast.walk(tree):
        inside: Iterable[ast.AST | None] = ()
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("Mistake", "Property"):
            inside = node.args[:2]
        elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in SHOWN:
            inside = ast.walk(node.value)
        elif isinstance(node, ast.FunctionDef) and node.name == "cases":
            inside = (key for one in ast.walk(node) if isinstance(one, ast.Dict) for key in one.keys)
        for one in inside:
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield one.lineno, one.value


def found_in(text: str, allowed: Iterable[str] = tuple(ALLOWED)) -> list[tuple[str, str]]:
    """The words of the table in a text, each with what to write instead.

    >>> found_in("The place behind the key, in place of the mean.")
    [('place', 'position; index; entry (of a table)'), ('behind', 'after')]
    >>> found_in("a hand-derived backward")
    []
    """
    for phrase in allowed:
        text = re.sub(rf"(?i)\b{phrase}\b", " ", text)
    text = " ".join(text.split())
    return [
        (word, better)
        for words, better in INSTEAD.items()
        for word in words.split(", ")
        if re.search(rf"(?i)\b{word}\b", text)
    ]


@pytest.mark.parametrize("file", held(), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_a_text_has_no_word_of_a_private_dialect(file: Path) -> None:
    name = file.relative_to(ROOT).as_posix()
    wrong = [
        f"{name}:{line}: {word!r}, better: {better}\n    {' '.join(text.split())[:200]}"
        for line, text in texts(file.read_text("utf8"))
        for word, better in found_in(text)
    ]
    assert not wrong, "\n".join(wrong)


BY = re.compile(  # "the gradient of a loss by the scores"
    r"\b(gradients?|derivatives?)\b( (of|in|a|the|that|each|all|loss|ln|weights?|\w{1,3}))* by "
    r"(?!a central|the chain rule)(the|a|an|each|another|its|them|these|[A-Z]\w*)\b"
)


def test_a_gradient_is_with_respect_to_something() -> None:
    assert BY.search("the gradient dP of a loss by P") and not BY.search("the gradient divided by P")
    wrong = [
        f"{file.relative_to(ROOT)}:{line}: {found[0]!r}, better: with respect to"
        for file in held()
        for line, text in texts(file.read_text("utf8"))
        for found in [BY.search(" ".join(text.split()))]
        if found
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("file", held(NAMES_KEPT), ids=lambda file: file.relative_to(ROOT).as_posix())
def test_an_argument_has_a_name_with_one_meaning(file: Path) -> None:
    wrong = [
        f"{function.name}({argument.arg}): better {ARGUMENTS[argument.arg]}"
        for function in ast.walk(ast.parse(file.read_text("utf8")))
        if isinstance(function, ast.FunctionDef)
        for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
        if argument.arg in ARGUMENTS and f"{function.name}({argument.arg})" not in ARGUMENTS_ALLOWED
    ]
    assert not wrong, "\n".join(wrong)


def test_every_exception_is_needed() -> None:
    files = (ROOT / "attnlib").rglob("*.py")
    everything = "\n".join(text for file in files for _, text in texts(file.read_text("utf8")))
    unused = [phrase for phrase in ALLOWED if not re.search(rf"(?i){phrase}", everything)]
    assert not unused, "no text has it any more"
