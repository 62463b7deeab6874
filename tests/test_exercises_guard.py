"""Every exercise keeps the rules of `attnlib.exercises.kit.guard`; the guard itself catches a breach of each."""

import ast
import json
import re
import statistics
import time
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from attnlib.exercises.engine import grading, interface, store
from attnlib.exercises.engine.definition import defined
from attnlib.exercises.engine.model import AnswerExercise, CodeExercise, Mistake, ProofExercise, Property
from attnlib.exercises.engine.registry import CHAPTERS, chapter, exercises
from attnlib.exercises.kit import guard
from attnlib.exercises.kit.guard import violations
from attnlib.exercises.transformer import channel_norm

ALL = exercises()
BOOK = Path(__file__).resolve().parent.parent / "book"


@pytest.mark.parametrize("id", ALL)
def test_the_exercise_keeps_all_rules(id):
    assert violations(ALL[id]) == []


# Rules about all exercises together


def test_a_check_takes_under_50_ms_in_the_middle():
    seconds = []
    for one in ALL.values():
        if isinstance(one, CodeExercise) and not one.needs:
            guard.timed(one)  # cases and expected results are computed once
            start = time.process_time()  # of the processor, so that a busy machine changes nothing
            interface.graded(one, one.solution)
            seconds.append(time.process_time() - start)
    assert statistics.median(seconds) < 0.05


def test_prerequisites_exist_and_lead_back_to_a_start():
    def depth(id, seen=()):
        assert id in ALL and id not in seen, (
            f"a prerequisite of {seen} does not exist or leads in a circle: {id}"
        )
        return 1 + max((depth(one, (*seen, id)) for one in ALL[id].prerequisites), default=0)

    assert all(depth(id) < 20 for id in ALL)


def test_ids_belong_to_their_chapter_and_have_their_own_mark_in_the_progress_code():
    for name in CHAPTERS:
        assert all(one.chapter == name for one in chapter(name).values())
    assert len({store.mark(id) for id in ALL}) == len(ALL)


# Notebooks say what the registry says

HEAD = re.compile(r"^> \*\*Exercise\*\* · (?P<headline>.* · (?P<id>[a-z-]+\.[a-z0-9-]+))\s*$", re.M)


def exercise_quotes():
    """(notebook, id, headline, text of the quote, code cells from there to the next exercise)."""
    for path in sorted(BOOK.glob("[0-9]*/*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts = [("".join(cell["source"]), cell) for cell in cells]
        for i, (text, cell) in enumerate(texts):
            for found in HEAD.finditer(text) if cell["cell_type"] == "markdown" else ():
                quote = [line.removeprefix(">").strip() for line in text[found.end() :].split("\n")]
                following = []
                for source, later in texts[i + 1 :]:
                    if later["cell_type"] == "markdown" and HEAD.search(source):
                        break
                    if later["cell_type"] == "code":
                        following.append((source, later))
                yield path, found["id"], found["headline"], " ".join(" ".join(quote).split()), following


QUOTES = list(exercise_quotes())


@pytest.mark.parametrize("quote", QUOTES, ids=[f"{quote[0].stem}:{quote[1]}" for quote in QUOTES])
def test_a_notebook_shows_the_exercise_of_the_registry(quote):
    path, id, headline, text, cells = quote
    one = ALL[id]
    assert headline == one.headline
    assert f"{path.parent.name}/{path.stem}" == one.page
    assert " ".join(one.task.split()) in text, "the quote says the task in the words of the registry"
    checks = [(source, cell) for source, cell in cells if f'check("{id}"' in source]
    assert len(checks) == 1, "one cell checks it"
    stored = "".join(checks[0][1]["outputs"][0]["data"]["text/plain"])
    assert stored == interface.graded(one, ...).message, "stored unsolved"
    if isinstance(one, CodeExercise):
        stub = ast.dump(ast.parse(one.stub))  # a notebook may break its lines elsewhere
        same = [
            source for source, _ in cells if "check(" not in source and ast.dump(ast.parse(source)) == stub
        ]
        assert same, "the stub is the one of the registry"


def test_a_page_with_exercises_shows_each_once():
    pages = {path.parent.name + "/" + path.stem for path, *_ in QUOTES}
    shown = [quote[1] for quote in QUOTES]
    assert len(shown) == len(set(shown))
    assert [id for id, one in ALL.items() if one.page in pages and id not in shown] == []


LONGEST = 55  # lines of an exercise with everything that belongs to it


def test_the_pattern_that_contributing_names_is_short_and_whole():
    text = (BOOK.parent / "CONTRIBUTING.md").read_text("utf8")
    (file,) = re.findall(r"`attnlib/exercises/([a-z_]+/[a-z_]+\.py)`\s+is the pattern", text)
    one = ALL[file.removesuffix(".py").replace("/", ".").replace("_", "-")]
    assert len((BOOK.parent / "attnlib" / "exercises" / file).read_text("utf8").splitlines()) <= LONGEST
    assert one.kind == "write" and one.mistakes and len(one.variants) >= 2 and one.reference


# The guard itself


def line(x, y):
    """A number for each x, and y added."""
    z = 2.0 * x + y
    return z + 1.0


def sum_first(x, y):
    return (2.0 * x + 1.0) + y


COMMON = {
    "title": "A line",
    "level": 1,
    "minutes": 5,
    "page": "01-foundations/1-the-bottleneck",
    "task": "Write it.",
    "hints": ("What grows?", "Think of slope and start.", "Slope two, start one."),
    "commentary": "It is straight.",
}
CODE = {
    "id": "foundations.planted",
    "kind": "write",
    "solution": line,
    "cases": lambda rng: {
        "one": (rng.normal(size=3), 1.0),
        "two": (rng.normal(size=(2, 5)), rng.normal(size=5)),
    },
    "variants": (sum_first, {"2.0 * x": "(x + x)"}),
    "mistakes": (
        Mistake("slope", "The slope is too steep.", {"2.0": "3.0"}),
        Mistake("no start", "The start is missing.", {" + 1.0": ""}),
        Mistake("sign", "The sign of y is turned.", {"+ y": "- y"}),
        Mistake("product", "They are multiplied.", {"+ y": "* y"}),
        Mistake("half", "One half was taken.", {"return z": "return z / 2"}),
    ),
}
ANSWER = {
    "id": "foundations.planted",
    "kind": "predict",
    "answer": lambda: 12.0,
    "mistakes": (Mistake("half", "That is one half of it.", 6.0),),
}
PROOF = {
    "id": "foundations.planted",
    "kind": "prove",
    "proof": "Every line is straight because its slope does not change. Hence the claim.",
    "rubric": ("I said what a line is.", "I used its slope."),
}


def code(**changes):
    return CodeExercise(**COMMON | CODE | changes)


def answer(**changes):
    return AnswerExercise(**COMMON | ANSWER | changes)


def proof(**changes):
    return ProofExercise(**COMMON | PROOF | changes)


def test_planted_exercises_without_a_breach_are_clean():
    assert violations(code()) == violations(answer()) == violations(proof()) == []
    assert violations(code(kind="fill", blanks=("2.0 * x + y",))) == []
    assert violations(code(kind="repair", given=("slope", "sign"))) == []


def changing(x, y):
    """A line."""
    x *= 2.0
    return x + y + 1.0


def idle(x, y):
    """A line."""


def four(rng):
    return {str(n): (rng.normal(size=(3, 2)), 1.0 + n) for n in range(4)}


def only_for_these(x, y):
    drawn = four(np.random.default_rng(code().seed)).values()
    return line(x, y) if any(np.array_equal(x, one) for one, _ in drawn) else x


def of_three(x, y):
    z = 3.0 * x - y
    return z / 2 + 1.0


def of_any(*both):
    """A line, of code in which the generator finds nothing to edit; that of a lambda it does not read."""
    return line(*both)


OF_ANY = tuple(
    Mistake(f"mistake {i}", "It is one.", lambda x, y, i=i: line(x, y) + i * x) for i in range(1, 5)
)


def counting():
    calls = []

    def test(f, *arguments):
        calls.append(1)
        return None if np.allclose(f(*arguments), line(*arguments)) else f"call {len(calls)} broke it"

    return Property("it counts", test)


BREACHES = {
    "the solution does nothing": (code(solution=idle), "the solution must pass"),
    "the solution changes its input": (
        code(solution=changing, mistakes=(), variants=()),
        "the solution must pass",
    ),
    "the solution raises": (
        code(cases=lambda rng: {"one": (np.ones(3), np.ones(4))}),
        "the solution must pass",
    ),
    "the solution breaks a law": (
        code(properties=(Property("always", lambda f, *a: "never"),)),
        "the solution must",
    ),
    "the reference disagrees": (code(reference=lambda x, y: x), "must agree with the reference"),
    "a mistake has no effect": (
        code(mistakes=(*CODE["mistakes"], Mistake("none", "Nothing.", {"z + 1.0": "1.0 + z"}))),
        "'none', form 1, must fail",
    ),
    "a second form has no effect": (
        code(mistakes=(*CODE["mistakes"][1:], Mistake("slope", "Steep.", {"2.0": "3.0"}, {"2.0": "(2.0)"}))),
        "'slope', form 2, must fail",
    ),
    "an edit does not apply": (
        code(mistakes=(*CODE["mistakes"], Mistake("none", "Nothing.", {"nowhere": ""}))),
        "must occur in the solution; got 'nowhere'",
    ),
    "two mistakes are one": (
        code(mistakes=(*CODE["mistakes"], Mistake("steep", "Steep.", {"2.0 * x": "3.0 * x"}))),
        "the same results come from: slope. Add a case",
    ),
    "a mistake equals a pair": (
        code(mistakes=(*CODE["mistakes"], Mistake("both", "Both.", lambda x, y: 3.0 * x + y))),
        "the same results come from: no start + slope",
    ),
    "a mistake gives one constant": (
        code(mistakes=(*CODE["mistakes"], Mistake("zero", "Zero.", lambda x, y: 0.0 * (x + y)))),
        "it shows no telling numbers",
    ),
    "a mistake gives errors only": (
        code(
            mistakes=(*CODE["mistakes"], Mistake("error", "Error.", {"return z": "return z @ np.ones(99)"}))
        ),
        "it shows no telling numbers",
    ),
    "three mistakes get another's name": (
        code(
            mistakes=(
                Mistake("slope", "Steep.", {"2.0": "3.0"}),
                Mistake("sign", "Sign.", {"+ y": "- y"}),
                Mistake("half", "Half.", {"return z": "return z / 2"}),
                Mistake("all", "All.", of_three),
                Mistake("no start", "No start.", {" + 1.0": ""}),
            )
        ),
        "slope + sign + half must not be named {'all'}",
    ),
    "a variant fails": (code(variants=(line, lambda x, y: x)), "variant 2 must pass"),
    "a variant does not apply": (code(variants=(line, {"nowhere": ""})), "variant 2 must pass"),
    "two hints": (code(hints=("a", "b")), "there must be 3 hints; got 2"),
    "an empty hint": (code(hints=("a", "b", "")), "there must be 3 hints"),
    "a hint gives the solution": (
        code(hints=("a", "b", "Return `2.0*x + y` and so on.")),
        "hint 3 gives the solution away: '2.0 * x + y'",
    ),
    "a mistake gives the solution": (
        code(mistakes=(*CODE["mistakes"][1:], Mistake("slope", "Try 2.0 * x + y.", {"2.0": "3.0"}))),
        "mistake 'slope' gives the solution away",
    ),
    "four mistakes, and none that is generated": (
        code(
            solution=of_any, mistakes=OF_ANY, variants=(lambda x, y: line(x, y), lambda x, y: sum_first(x, y))
        ),
        "at least 5 wrong answers must have a name, written or generated; got 4",
    ),
    "one variant": (code(variants=(sum_first,)), "at least 2 variants; got 1"),
    "three cases": (
        code(cases=lambda rng: {name: (rng.normal(size=1), 1.0) for name in ("one", "two", "three")}),
        "at least 4 cases, those made by rule included; got 3",
    ),
    "right answers that part on every trap": (
        code(
            cases=four,
            variants=(sum_first, only_for_these),
        ),
        "the right answers part on every trap",
    ),
    "two mistakes of one name": (
        code(mistakes=(*CODE["mistakes"], Mistake("slope", "Steep.", {"2.0": "4.0"}))),
        "each mistake needs its own name",
    ),
    "cases of their own chance": (
        code(cases=lambda rng: {"one": (np.random.normal(size=3), 1.0)}),
        "drawn from the generator that is passed in",
    ),
    "a repair without bugs": (code(kind="repair"), "`given` names the mistakes of a repair"),
    "given in a write": (code(given=("slope",)), "`given` names the mistakes of a repair"),
    "a fill without blanks": (code(kind="fill"), "`blanks` belongs to kind fill"),
    "an unknown kind": (code(kind="guess"), "the kind must be one of"),
    "four stars": (code(level=4), "the level is 1 to 3"),
    "no minutes": (code(minutes=0), "minutes are 1 to 60"),
    "an odd id": (code(id="Foundations.A b"), "an id is chapter.name"),
    "no task": (code(task=""), "must not be empty"),
    "no commentary": (code(commentary=""), "must not be empty"),
    "an answer that is a mistake": (
        answer(mistakes=(Mistake("same", "Same.", 12.001),)),
        "'same' must fail and be named",
    ),
    "two wrong answers are one": (
        answer(mistakes=(Mistake("a", "A.", 6), Mistake("b", "B.", 6.0))),
        "'a' must fail and be named",
    ),
    "a hint says the number": (answer(hints=("a", "b", "It is 12.")), "hint 3 gives the solution away"),
    "a sentence says the number": (
        answer(mistakes=(Mistake("half", "It is 12, not half.", 6),)),
        "gives the solution away",
    ),
    "a hint says the choice": (
        answer(
            answer=lambda: "larger",
            choices=("larger", "smaller"),
            mistakes=(),
            hints=("a", "b", "It is larger."),
        ),
        "hint 3 gives the solution away",
    ),
    "no such choice": (
        answer(answer=lambda: "equal", choices=("larger", "smaller"), mistakes=()),
        "must be one of the choices",
    ),
    "an answer that is no number": (answer(answer=lambda: np.nan), "the answer must pass"),
    "a short rubric": (proof(rubric=("I did.",)), "at least two lines"),
    "no proof": (proof(proof=""), "needs a model proof"),
    "a hint gives the proof": (
        proof(hints=("a", "b", "Every line is straight because its slope does not change.")),
        "hint 3 gives the solution away",
    ),
}


@pytest.mark.parametrize("name", BREACHES)
def test_the_guard_catches(name):
    planted, words = BREACHES[name]
    found = violations(planted)
    assert any(words in text for text in found), found


SLIPS = {
    "minutes in other words": ({" · 10 min": " · 10 minutes"}, "below the title stands `write"),
    "no stars": ({" · ★★": ""}, "below the title stands `write"),
    "a form that is none": (
        {'{"variance + eps": "variance"}': '"variance + eps"'},
        "a form is an edit, `{old: new}`",
    ),
    "no form": (
        {', {"variance + eps": "variance"}': ""},
        "needs at least one form; got none for 'eps is missing'",
    ),
    "hints without numbers": ({"\n1. ": "\n", "\n2. ": "\n", "\n3. ": "\n"}, "must number its hints"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_of_an_author_is_told_in_a_sentence(slip):
    changes, words = SLIPS[slip]
    text = Path(channel_norm.__file__).read_text("utf8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    module = ModuleType(channel_norm.__name__)
    with pytest.raises(ValueError, match=re.escape(words)):
        exec(compile(text, "slip", "exec"), module.__dict__)
        defined(module)


def test_the_guard_catches_a_stub_that_counts_as_attempted(monkeypatch):
    monkeypatch.setattr(grading, "is_untouched", lambda *_: False)
    assert any("the stub must count as not attempted" in text for text in violations(code()))


def test_the_guard_catches_words_that_change(monkeypatch):
    monkeypatch.setattr(
        "attnlib.exercises.engine.child_process.available", lambda needs: False
    )  # the law counts its calls
    unknown = Mistake("slope", "Steep.", {"2.0": "3.0"}, {"2.0 * x": "3.0 * x"})
    twins = [
        Mistake(f"steep {i}", "Steep.", {"2.0 * x": "3.0 * x"}) for i in range(3)
    ]  # too many to be named
    planted = code(mistakes=(unknown, *twins, *CODE["mistakes"][1:]), properties=(counting(),))
    assert any("checking twice must give the same words" in text for text in violations(planted))


def test_the_guard_catches_a_slow_check(monkeypatch):
    monkeypatch.setattr(guard, "SLOWEST", 0.0)
    assert any("a check must take under 0 s" in text for text in violations(code()))


def test_the_guard_catches_a_random_state_that_moves(monkeypatch):
    def restless(exercise, answer):
        np.random.rand()
        return interface.graded(exercise, answer)

    monkeypatch.setattr(guard, "graded", restless)
    assert any("leave the global random state" in text for text in violations(code()))


def test_the_guard_runs_from_the_command_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["guard", "foundations.predict-scale"])
    assert guard.main() == 0
    assert "Looked at 1: all rules are kept." in capsys.readouterr().out
