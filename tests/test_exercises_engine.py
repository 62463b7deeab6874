"""The engine of the exercises: what a wrong answer gets, what it cannot do to the session, and how progress is kept."""

import _thread
import json
import math
import os
import random
import re
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from attnlib.exercises import (
    WrongAnswer,
    check,
    exercise,
    hint,
    load_progress,
    progress,
    progress_code,
    progress_on_drive,
    reset,
    solution,
    todo,
)
from attnlib.exercises.engine import interface, store
from attnlib.exercises.engine.attempts import is_untouched
from attnlib.exercises.engine.cases import cases_of
from attnlib.exercises.engine.exporting import start_of
from attnlib.exercises.engine.model import AnswerExercise, CodeExercise, Mistake
from attnlib.exercises.engine.naming import naming_of
from attnlib.exercises.engine.outcomes import same
from attnlib.exercises.engine.registry import find
from attnlib.exercises.engine.results import Note, as_html
from attnlib.exercises.engine.tables import SideBySide

ROOT = Path(__file__).resolve().parent.parent
ID = "foundations.softmax"
COMMON = {"level": 1, "minutes": 5, "page": "01-foundations/4-x", "task": "Do it.", "hints": ("a", "b", "c")}


@pytest.fixture(autouse=True)
def own_progress(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLIB_PROGRESS", str(tmp_path / "data" / "progress.json"))
    store._memory.clear()
    store.notices()
    return tmp_path / "data" / "progress.json"


def right(S):
    E = np.exp(S - S.max(axis=-1, keepdims=True))
    return E / E.sum(axis=-1, keepdims=True)


def double(x):
    """Twice x."""
    y = 2 * x
    return y + 1 - 1


def above_two(x):
    """Where x is above two."""
    return x > 2


PLANTED = CodeExercise(
    id="foundations.planted",
    title="Twice",
    kind="write",
    solution=double,
    cases=lambda rng: {"three": (rng.normal(size=3),), "two by two": (rng.normal(size=(2, 2)),)},
    mistakes=(Mistake("three times", "This is three times x.", {"2 * x": "3 * x"}),),
    **COMMON,
)


def graded(answer, planted=PLANTED, **options):
    return interface.graded(planted, answer, **options)


# What a wrong answer gets, in the order in which it is told


def test_an_unwritten_function_is_not_attempted():
    def stub(S):
        """My softmax."""

    def bare(S):
        pass

    def unwritten(S):
        raise NotImplementedError

    for answer in (..., None, stub, bare, unwritten, find(ID, "test").stub_function):
        found = check(ID, answer)
        assert found.status == "not attempted" and not found.passed
    assert found.message == check(ID).message, "always the same words, so that a notebook can store them"


def test_an_unwritten_function_leaves_no_trace(own_progress):
    check(ID, ...)
    assert not own_progress.exists()


def test_a_stub_is_recognised_without_its_docstring_and_without_its_source():
    stub = find("foundations.scale-repair", "test")
    text = "def scaled_scores(Q, K):\n    # my own comment\n" + stub.stub.split('"""\n')[1]
    namespace = {"math": math}
    exec(text, namespace)
    assert check(stub.id, namespace["scaled_scores"]).status == "not attempted"
    exec(text.replace("/ d_k", "/ d_k**0.5"), namespace)
    assert not is_untouched(namespace["scaled_scores"], stub.stub_function, stub.stub)


def test_a_repair_inside_a_text_counts_as_an_attempt():
    def product(Q, K):
        return np.einsum("id,jd->ij", Q, K)

    def repaired(Q, K):
        return np.einsum("id,jd->ji", Q, K)

    namespace = {"np": np}
    for function in (product, repaired):
        text = f'def product(Q, K):\n    """It."""\n    return np.einsum("{function.__code__.co_consts[1]}", Q, K)\n'
        exec(text, namespace)
        assert is_untouched(product, namespace["product"], text) is (function is product)


def test_an_ellipsis_inside_an_index_is_not_a_blank():
    def indexed(S):
        return S[..., 0] / 0 + nothing_of_that_name  # noqa: F821

    assert "of the stub is still in your code" not in check(ID, indexed).message


def test_a_blank_left_in_the_code_is_pointed_at():
    def half_done(S):
        E = ...
        return E / E.sum(axis=-1, keepdims=True)

    found = check(ID, half_done)
    assert found.status == "error" and "A `...` of the stub is still in your code." in found.message


def test_a_result_in_place_of_the_function():
    assert "wants the function itself, `softmax`" in check(ID, np.ones(3)).message


def test_a_wrong_signature():
    found = check(ID, lambda: 1)
    assert "called with 1 argument, `(S)`" in found.message
    assert "called with 3 arguments, `(Q, K, V)`" in check("foundations.attention-matrices", right).message


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda x: (2 * x, None)[1], "returns None; is its `return` missing?"),
        (lambda x: {"y": 2 * x}, "returns a dict, expected a NumPy array"),
        (lambda x: (2 * x, x), "has shape (2, 3), expected (3,)"),
        (lambda x: 2 * x[..., :1], "has shape (1,), expected (3,)"),
        (lambda x: (2 * x) > 0, "is bool, expected float64"),
        (lambda x: np.where(x == x.flat[1], np.nan, 2 * x), "is nan in 1 of 3 entries, first at [1]"),
        (lambda x: 2 * x + (np.arange(x.size).reshape(x.shape) == 2), "differs. At [2] yours is"),
        (lambda x: x[..., None] @ x, "raised an error"),
    ],
)
def test_the_first_trouble_is_told(answer, words):
    found = graded(answer)
    assert not found.passed and not found.named
    assert words in found.message


def test_a_known_mistake_is_named_and_explained():
    found = check(ID, lambda S: np.exp(S) / np.exp(S).sum(axis=-1, keepdims=True))
    assert found.named == ("no maximum subtracted",)
    assert "large scores overflow" in found.message
    assert found.figure is not None and found.figure.first == (1, 0)


def test_two_mistakes_at_once_are_both_named():
    def attention(Q, K, V):
        E = np.exp(Q @ K.swapaxes(-1, -2))
        return E / E.sum(axis=-1, keepdims=True) @ V

    found = check("foundations.attention-matrices", attention)
    assert set(found.named) == {"√d_k is missing", "no maximum subtracted"}
    assert "two mistakes together" in found.message


def test_an_unknown_mistake_gets_numbers_and_a_law_but_no_name():
    def squared(S):
        E = np.exp(S - S.max(axis=-1, keepdims=True))
        return E / np.sqrt((E**2).sum(axis=-1, keepdims=True))

    found = check(ID, squared)
    assert found.named == ()
    assert "each row sums to one" in found.message
    assert "▸" in found.message and "yours" in found.message and "expected" in found.message


def test_of_two_mistakes_that_give_the_same_numbers_both_are_named():
    twins = CodeExercise(
        **{
            **vars_of(PLANTED),
            "mistakes": (Mistake("a", "a.", {"2 *": "3 *"}), Mistake("b", "b.", {"2 *": "x + 2 *"})),
        }
    )
    found = graded(lambda x: 3 * x, twins)
    assert found.named == ("a", "b") and "either of these mistakes" in found.message


def test_a_mistake_that_shows_only_errors_or_one_constant_is_never_named():
    for form in ({"2 * x": "x @ np.ones(7)"}, {"return y": "y = 0 * y\n    return y"}):
        mute = CodeExercise(**{**vars_of(PLANTED), "mistakes": (Mistake("mute", "It is.", form),)})
        wrong = mute.with_mistakes(form)
        found = graded(wrong, mute)
        assert not found.passed and found.named == ()


def test_one_wrong_number_is_named_where_other_cases_are_right():
    def largest(x):
        """The largest positive number, -1 if there is none."""
        return max((x[x > 0]), default=-1.0)

    planted = replace(
        PLANTED,
        solution=largest,
        cases=lambda rng: {str(n): (np.array([-1.0, n, 2 * n]),) for n in range(-2, 3)},
        mistakes=(Mistake("0 for none", "Without a positive number the answer is -1.", {"=-1.0": "=0.0"}),),
    )
    assert graded(lambda x: max(0.0, x.max()), planted).named == ("0 for none",)
    assert graded(lambda x: 0.0, planted).named == graded(lambda x: max(1.0, x.max()), planted).named == ()


def vars_of(planted):
    return {name: getattr(planted, name) for name in planted.__dataclass_fields__}


def test_numbers_that_are_near_are_said_to_be_near():
    def quotient(x):
        return ((x + 1e-3) ** 2 * (1 + 1e-7) - x**2) / 1e-3

    assert "near the right ones" in graded(quotient).message
    assert "near the right ones" not in graded(lambda x: 2.1 * x).message
    assert "near the right ones" not in graded(lambda x: 2 * x[:1]).message


def test_an_infinity_of_the_learners_own_is_not_called_an_overflow_alone():
    found = graded(lambda x: np.where(x.ndim == 2, np.inf, 2 * x))
    assert "put an infinity there itself" in found.message


def test_a_case_of_the_exercise_is_shown_before_a_trap_that_gives_nan():
    with_traps = {
        **vars_of(PLANTED),
        "variants": ({"2 * x": "x + x"},),
        "cases": lambda rng: {"two by two": (rng.normal(size=(2, 2)),)},
    }
    found = graded(lambda x: np.where(abs(x) > 3, np.nan, 2 * x + 1), CodeExercise(**with_traps))
    assert 'On the case "two by two"' in found.message


def capped(x, k):
    """At most one, in the k-th place."""
    return np.minimum(1, x) if k != 0 else x


CAPPED = CodeExercise(
    **{
        **vars_of(PLANTED),
        "solution": capped,
        "mistakes": (),
        "cases": lambda rng: {
            "none": (3 * rng.normal(size=9), 0),
            "the first": (3 * rng.normal(size=9), 1),
            "the second": (3 * rng.normal(size=9), 2),
        },
    }
)


def test_another_bound_is_no_count_that_is_off_by_one():
    assert graded(lambda x, k: np.minimum(2, x) if k != 0 else x, CAPPED).named == ()
    assert graded(lambda x, k: np.minimum(1, x) if k == 0 else x, CAPPED).named == ("equal for unequal",)


def test_what_was_done_to_a_result_is_named():
    assert graded(lambda x: 200 * x).named == ("in per cent",)
    assert graded(lambda x: 2 * x[0]).named == ("only the first of the result",)


def test_the_smallest_failing_case_is_shown_and_can_be_run_again():
    found = graded(lambda x: 2 * x + (x.ndim == 2))
    assert 'On the case "two by two" (x (2, 2)):' in found.message
    assert 'Right already: "three"' in found.message
    (x,) = found.case
    x[:] = 0  # the learner's copy
    assert (graded(lambda x: 2 * x + (x.ndim == 2)).case[0] != 0).all()


def kept(pattern, which, x):
    """How many of these words there are, and which numbers."""
    return len(pattern) + x[which]


def test_a_few_words_or_indices_of_a_case_are_shown():
    words = {"two": (("a", "b"), [0, 2], np.arange(3.0)), "three": (("a", "b", "c"), [1], np.arange(9.0))}
    counted = CodeExercise(
        **{**vars_of(PLANTED), "solution": kept, "mistakes": (), "variants": (), "cases": lambda rng: words}
    )
    found = graded(lambda pattern, which, x: x[which], counted).message
    assert "(pattern = ('a', 'b'), which = [0, 2], x (3,))" in found and "counts as zero" not in found


def test_an_error_shows_the_learners_own_lines_only():
    def helper(S):
        return np.linalg.inv(S)

    def softmax(S):
        return helper(S)

    message = check(ID, softmax).message
    assert "in softmax, line" in message and "in helper, line" in message
    assert "LinAlgError" in message
    assert "exercises" not in message.replace("test_exercises", "") and "site-packages" not in message


def test_exit_in_student_code_is_reported():
    assert "SystemExit" in graded(lambda x: sys.exit()).message


def test_strict_raises():
    with pytest.raises(WrongAnswer, match="wrong axis"):
        check(ID, lambda S: right(S.swapaxes(0, -1)).swapaxes(0, -1), strict=True)
    assert check(ID, right, strict=True).passed


# What student code cannot do to the session


def test_an_endless_loop_is_stopped_and_located():
    def endless(S):
        i = 0
        while True:
            i += 1

    start = time.process_time()  # what the loop burns, however busy the machine is
    found = check(ID, endless, seconds=0.3)
    assert time.process_time() - start < 3
    assert found.status == "stopped" and "0.3 seconds" in found.message
    assert "while True:" in found.message or "i += 1" in found.message


def test_an_endless_loop_is_stopped_outside_the_main_thread():
    def endless(S):
        while True:
            pass

    found = []
    thread = threading.Thread(target=lambda: found.append(check(ID, endless, seconds=0.3)))
    thread.start()
    thread.join(5)
    assert found and found[0].status == "stopped"


@pytest.fixture
def in_thread(monkeypatch):
    """As on a system where no child process can be had."""
    monkeypatch.setattr("attnlib.exercises.engine.child_process.available", lambda needs: False)


def test_a_loop_that_catches_everything_is_stopped_too(in_thread):
    tries = []

    def stubborn(S):
        while len(tries) < 3:
            try:
                while True:
                    pass
            except BaseException:
                tries.append(1)
        return S

    assert check(ID, stubborn, seconds=0.2).status == "stopped"
    assert len(tries) == 3


def test_a_call_that_cannot_be_ended_is_left_behind_and_said(in_thread):
    found = check(ID, lambda S: time.sleep(2.5), seconds=0.2)
    assert found.status == "stopped" and "still runs in the background" in found.message


def test_stop_in_jupyter_also_stops_the_learners_loop(in_thread):
    running = []

    def endless(S):
        running.append(threading.current_thread())
        while True:
            pass

    start = time.process_time()
    threading.Timer(0.3, _thread.interrupt_main).start()
    with pytest.raises(KeyboardInterrupt):
        check(ID, endless)
    assert time.process_time() - start < 5
    running[0].join(20)
    assert not running[0].is_alive()


def test_prints_are_kept_back_and_shown_with_the_result(capsys):
    def talkative(S):
        print("shape", S.shape)
        return S

    found = check(ID, talkative)
    assert capsys.readouterr().out == ""
    assert found.message.count("shape") == 1, "only what was printed on the case that is shown"
    assert "Printed while checking:" in found.message


def test_endless_prints_fill_no_memory(capsys):
    def endless(S):
        while True:
            print("x" * 1000)

    found = check(ID, endless, seconds=0.3)
    assert found.status == "stopped" and len(found.message) < 20000
    assert "xxx" not in capsys.readouterr().out


def test_other_threads_print_as_before(capsys, in_thread):
    done = threading.Event()

    def speak():
        time.sleep(0.05)
        print("from outside")
        done.set()

    threading.Thread(target=speak).start()
    check(ID, lambda S: done.wait(2) and S)
    assert "from outside" in capsys.readouterr().out


def test_random_state_is_put_back_and_the_same_for_each_check(in_thread):
    drawn = []

    def gambler(S):
        drawn.append((random.random(), np.random.rand()))
        np.random.seed(1)
        return right(S)

    random.seed(5)
    np.random.seed(5)
    before = random.getstate(), np.random.get_state()[1].tolist()
    assert check(ID, gambler).passed
    after = random.getstate(), np.random.get_state()[1].tolist()
    assert before[1] == after[1]
    assert before[0] == after[0]
    first = drawn[0]
    check(ID, gambler)
    assert drawn.count(first) == 2


def test_torch_random_state_is_put_back():
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    before = torch.get_rng_state()
    check(ID, lambda S: S * torch.rand(1).item())
    assert torch.equal(before, torch.get_rng_state())


def test_a_result_that_does_not_repeat_is_told():
    assert "two different results" in graded(lambda x: 2 * x + np.random.rand()).message


def test_an_input_changed_in_place_is_found_and_named():
    def softmax(S):
        S -= S.max(axis=-1, keepdims=True)
        return right(S)

    found = check(ID, softmax)
    assert found.named == ("scores changed in place",)
    assert "`S` no longer holds" in found.message

    def doubled(x):
        x *= 2
        return x

    found = graded(doubled)
    assert found.named == ("input changed in place",)
    assert graded(lambda x: double(x)).passed, "the next check sees fresh cases"


def test_in_place_and_another_mistake_are_both_told():
    def three_times(x):
        x *= 3
        return x

    found = graded(three_times)
    assert found.named == ("three times",) and "changed in place" in found.message


def test_warnings_of_student_code_stay_inside():
    found = check(ID, lambda S: np.exp(S * 1e6) / 0)
    assert not found.passed


def test_warnings_of_known_mistakes_stay_inside():
    def warns(x):
        warnings.warn("of the mistake", stacklevel=1)
        return 3 * x

    planted = replace(PLANTED, mistakes=(Mistake("three times", "This is three times x.", warns),))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert graded(lambda x: 3 * x, planted).named == ("three times",)
    assert not seen


def test_an_error_of_the_exercise_itself_is_not_blamed_on_the_learner():
    def broken(rng):
        raise ZeroDivisionError("the author's")

    with pytest.raises(ZeroDivisionError, match="the author's"):
        graded(double, CodeExercise(**{**vars_of(PLANTED), "cases": broken}))


def test_an_exercise_in_torch():
    pytest.importorskip("torch")
    from attnlib.exercises.kit.lazy import torch

    def doubled(x):
        return 2 * x

    planted = CodeExercise(
        **{
            **vars_of(PLANTED),
            "needs": ("torch",),
            "solution": doubled,
            "cases": lambda rng: {"three": (torch.from_numpy(rng.normal(size=3)).requires_grad_(),)},
            "mistakes": (Mistake("three times", "This is three times x.", {"2 * x": "3 * x"}),),
        }
    )
    assert graded(lambda x: x + x, planted).passed
    assert graded(lambda x: x * 3, planted).named == ("three times",)
    assert (
        "returns a NumPy array, expected a torch tensor"
        in graded(lambda x: x.detach().numpy(), planted).message
    )
    assert "is float32 where float64 was expected" in graded(lambda x: 2 * x.float(), planted).message
    assert not graded(lambda x: 2 * x.to(torch.bfloat16), planted).passed


def test_a_missing_package_is_said_in_one_sentence():
    planted = CodeExercise(**{**vars_of(PLANTED), "needs": ("no_such_package",)})
    found = graded(double, planted)
    assert found.status == "not attempted" and "`pip install no_such_package`" in found.message


# Answers, choices, proofs


def answer_exercise(answer, **more):
    return AnswerExercise(
        id="foundations.guess", title="Guess", answer=answer, **{"kind": "predict", **COMMON, **more}
    )


def test_a_prediction_is_compared_and_never_shown():
    found = check("foundations.predict-scale", 12)
    assert not found.passed and not found.named and "8" not in found.message
    assert check("foundations.predict-scale", 64).named == ("the variance",)
    assert check("foundations.predict-scale", 8).passed
    assert check("foundations.predict-scale", "8").passed
    assert "is no number" in check("foundations.predict-scale", "eight").message
    assert "not a function" in check("foundations.predict-scale", right).message
    assert "one number" not in check("foundations.predict-scale", [1, 2]).message.split("Put")[0]


def test_a_whole_number_is_repeated_in_all_its_digits():
    tokens = answer_exercise(lambda: 65_536, kind="predict", within=0.5)
    assert "is 16384." in interface.graded(tokens, 16384.0).message


def test_a_share_that_comes_in_per_cent_is_told():
    share = answer_exercise(lambda: 0.769, kind="predict", within=0.006)
    assert interface.graded(share, 77).named == ("in per cent",)
    assert interface.graded(share, 0.77).passed and not interface.graded(share, 78).named


def test_a_mistake_is_named_in_its_own_size_however_wide_the_reach_of_the_answer():
    hours = Mistake("in hours", "Asked for are seconds.", 0.21)
    seconds = answer_exercise(lambda: 759.0, kind="predict", within=6, mistakes=(hours,))
    assert interface.graded(seconds, 760).passed
    assert interface.graded(seconds, 0.212).named == ("in hours",)
    assert not interface.graded(seconds, 1.0).named and not interface.graded(seconds, 0.05).named


def test_a_result_that_is_called_by_a_plural_has_the_verb_of_a_plural():
    def two(x):
        return 2 * x, x

    planted = replace(PLANTED, solution=two, returns=("kept numbers", "scale"), mistakes=(), variants=())
    assert "Your kept numbers differ. At" in graded(lambda x: (3 * x, x), planted).message
    assert "Your scale differs. At" in graded(lambda x: (2 * x, 2 * x), planted).message
    assert "Your kept numbers have shape" in graded(lambda x: (2 * x[..., :1], x), planted).message
    tiles = replace(planted, returns=("tiles with a pair", "scale"))
    assert "Your tiles with a pair differ. At" in graded(lambda x: (3 * x, x), tiles).message


def test_two_numbers_are_not_called_arrays():
    def two(x):
        return x.size, x.ndim

    planted = replace(PLANTED, solution=two, returns=("size", "axes"), mistakes=(), variants=())
    assert "A tuple of 2 numbers was expected" in graded(lambda x: np.array(two(x)), planted).message
    assert "expected a tuple of 2 numbers." in graded(lambda x: x.size, planted).message


def test_nan_in_exactly_the_rows_that_a_mask_empties_is_called_so():
    def mean_of_seen(x, mask):
        count = np.maximum(mask.sum(axis=-1, keepdims=True), 1)
        return (x * mask).sum(axis=-1, keepdims=True) / count

    def undefined(x, mask):
        return (x * mask).sum(axis=-1, keepdims=True) / mask.sum(axis=-1, keepdims=True)

    def cases(rng):
        mask = np.array([[True, False, True], [False, False, False]])
        return {str(n): (rng.normal(size=(2, 3)), mask) for n in range(3)}

    planted = replace(PLANTED, solution=mean_of_seen, cases=cases, mistakes=(), variants=())
    with np.errstate(invalid="ignore"):
        assert graded(undefined, planted).named == ("nan where a mask leaves nothing",)
        assert graded(lambda x, mask: undefined(x + 1, mask), planted).named == ()
        assert graded(lambda x, mask: undefined(x, mask) * [[np.nan], [0]], planted).named == ()


def test_a_fraction_and_infinity_are_numbers_and_what_is_near_is_called_close():
    third = answer_exercise(lambda: 1 / 3, within=0.001)
    assert (
        interface.graded(third, Fraction(1, 3)).passed and interface.graded(third, Decimal("0.3333")).passed
    )
    assert "Your answer is 0.5. That is not right" in interface.graded(third, Fraction(1, 2)).message
    assert "That is not right" in interface.graded(third, "infinitely many").message
    assert "Close: 0.33 is near, and it should be right to 0.001" in interface.graded(third, 0.33).message
    assert interface.graded(answer_exercise(lambda: np.inf), "Infinitely many.").passed


def test_of_two_wrong_answers_of_one_number_both_are_named():
    both = answer_exercise(lambda: 8.0, mistakes=(Mistake("half", "H.", 4.0), Mistake("the root", "R.", 4.0)))
    found = interface.graded(both, 4)
    assert found.named == ("half", "the root") and "1. H." in found.message and "2. R." in found.message


def test_the_start_of_an_answer_says_how_near_a_number_has_to_be():
    assert "# A number, right to 0.004.\n" in start_of(find("foundations.predict-odds", "test"))


def test_a_count_is_a_whole_number_and_a_fraction_near_it_is_called_close():
    digits = find("foundations.one-vector", "test")
    assert "# A whole number.\n" in start_of(digits)
    found = interface.graded(digits, 616.51)
    assert found.named == () and "Close: 616.5 is near, and the answer is a whole number." in found.message
    assert "# A number, as the task says.\n" in start_of(find("self-attention.predict-saturation", "test"))


def test_an_exercise_that_needs_a_page_says_its_address():
    site = re.search(r'^Book = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf8"), re.MULTILINE)
    address = f"{site[1]}book/04-transformer/15-inside-a-gpt.html"
    for name in ("head-in-bits", "first-read", "which-bracket"):
        assert address in start_of(find(f"transformer.{name}", "test"))
    assert "http" not in start_of(find("foundations.one-vector", "test"))


def test_a_tensor_is_right_where_an_array_is_asked_for():
    torch = pytest.importorskip("torch")
    found = graded(lambda x: torch.as_tensor(2 * x))
    assert found.passed and "your tensor does as well" in found.message
    assert graded(lambda x: torch.as_tensor(3 * x)).named == graded(lambda x: 3 * x).named


def test_floats_that_are_whole_are_right_where_whole_numbers_are_asked_for():
    def planted(solution):
        whole = {"three": (np.array([3, 1, 2]),), "four": (np.array([5, 2, 4, 4]),)}
        return replace(PLANTED, solution=solution, cases=lambda rng: whole, mistakes=())

    found = graded(lambda x: 2.0 * x, planted(double))
    assert found.passed and "float64 where int64 was expected" in found.message
    assert not graded(lambda x: 2.0 * x + 0.3, planted(double)).passed
    found = graded(lambda x: x > 2, planted(double))
    assert "is bool, expected int64" in found.message and not found.named
    found = graded(lambda x: 1.0 * (x > 2), planted(above_two))
    assert found.named == ("numbers, not True and False",)


def test_an_array_worked_out_by_hand():
    hand = answer_exercise(lambda: np.array([[0.25, 0.75], [0.5, 0.5]]), kind="by hand")
    assert graded([[..., ...], [..., ...]], hand).status == "not attempted"
    assert graded([[0.25, 0.75], [0.5, 0.5]], hand).passed
    found = graded([[0.25, 0.75], [0.4, 0.6]], hand)
    assert "2 of 4 numbers are not right; the first is your 0.4 at [1, 0]" in found.message
    assert "0.5" not in found.message
    assert "an array of shape (2, 2)" in graded([1, 2], hand).message


def test_a_choice():
    choice = answer_exercise(lambda: "larger", choices=("larger", "smaller"))
    assert graded("Larger ", choice).passed
    assert "That is not right" in graded("smaller", choice).message
    assert '"larger", "smaller"' in graded("bigger", choice).message


def test_an_open_question_takes_any_answer():
    assert graded("I saw that ...", answer_exercise(None, kind="explore")).passed


def test_a_proof_is_marked_by_its_writer():
    id = "foundations.hull-proof"
    assert "1. I showed that every weight is positive" in check(id, [...] * 4).message
    found = check(id, [True, True, False, True])
    assert "3 of 4. Still open" in found.message and "3. I concluded" in found.message
    assert check(id, [True] * 4).passed
    assert "a list of 4 marks" in check(id, "done").message


# How it is shown


def test_results_are_shown_in_html_and_as_text():
    found = check(ID, lambda S: S)
    html = found._repr_html_()
    assert "<table" in html and "<caption" in html and "▸" in html
    assert "<script" not in Note(("`<script>` & **bold**",))._repr_html_()
    assert as_html("`a ** b` and **bold**") == (
        '<p style="margin:.3em 0"><code>a ** b</code> and <strong>bold</strong></p>'
    )
    assert repr(Note(("`a ** b` and **bold**",))) == "`a ** b` and bold"


def test_a_large_array_is_shown_by_the_part_that_differs():
    expected = np.zeros((3, 50, 40))
    yours = expected.copy()
    yours[1, 30, 20] = 1e-7
    side = SideBySide(yours, expected, yours != expected)
    assert "yours[1, 27:33, 17:23]" in str(side) and "▸1e-07" in str(side)
    assert side.difference == "At [1, 30, 20] yours is 1e-07, expected 0."


def test_numbers_that_differ_late_are_told_with_enough_digits():
    side = SideBySide(np.array(0.1234561), np.array(0.1234562), np.array(True))
    assert side.difference == "Your result is 0.1234561, expected 0.1234562."
    assert "▸0.1235" in str(side)


def test_the_decorator_checks_each_definition(capsys):
    @exercise(ID)
    def softmax(S):
        return S

    assert "✗ foundations.softmax" in capsys.readouterr().out
    assert softmax(3) == 3


# Hints, solutions, progress


def test_hints_climb_and_stay_on_the_last():
    seen = [hint(ID).message.splitlines()[0] for _ in range(4)]
    assert [line.split(" ·")[0] for line in seen] == [
        "Hint 1 of 3",
        "Hint 2 of 3",
        "Hint 3 of 3",
        "Hint 3 of 3",
    ]
    assert hint(ID, 1).message.splitlines()[0].startswith("Hint 1")
    with pytest.raises(ValueError, match="hints 1 to 3; got n=4"):
        hint(ID, 4)


def test_the_solution_asks_first():
    assert "np.exp" not in solution(ID).message
    assert "np.exp" in solution(ID, confirm=True).message
    check(ID, lambda S: S)
    shown = solution(ID).message
    assert "return E / E.sum" in shown and "wrong axis" in shown


def test_progress_survives_and_counts(own_progress):
    check(ID, lambda S: S)
    check(ID, right)
    hint(ID)
    content = json.loads(own_progress.read_text())
    assert content["version"] == 1
    assert content["exercises"][ID] == {"attempts": 2, "hints": 1, "passed": True, "solution": False}
    assert "✓ foundations.softmax  2 tries, 1 hint" in progress().message
    check(ID, lambda S: S)
    assert store.load()[ID]["passed"], "once passed stays passed"
    assert [path.name for path in own_progress.parent.iterdir()] == ["progress.json"]


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"version": 1, "exercises": {"a": 3}}', '{"version": 1}', "\x00"]
)
def test_a_corrupt_file_is_set_aside_and_said(own_progress, content):
    own_progress.parent.mkdir()
    own_progress.write_text(content)
    found = check(ID, right)
    aside = own_progress.with_name("progress.json.unreadable-1")
    assert "could not be read. It was set aside as" in found.message and found.passed
    assert aside.read_text() == content
    assert json.loads(own_progress.read_text())["exercises"][ID]["passed"]
    assert "set aside" not in check(ID, right).message, "it is said once"


def test_a_file_of_a_later_version_is_left_alone(own_progress):
    own_progress.parent.mkdir()
    own_progress.write_text('{"version": 99, "new": true}')
    assert "later attnlib" in check(ID, right).message
    assert own_progress.read_text() == '{"version": 99, "new": true}'
    assert store.load()[ID]["passed"]


def test_nothing_is_said_where_progress_is_switched_off(monkeypatch):
    for place in ("off", ""):
        monkeypatch.setenv("ATTNLIB_PROGRESS", place)
        store._memory.clear()
        found = check(ID, right)
        assert found.passed and "progress" not in found.message.lower()
        assert store.load()[ID]["passed"], "it lasts as long as the session"


def test_a_crash_while_writing_leaves_the_old_file(own_progress, monkeypatch):
    check(ID, lambda S: S)
    before = own_progress.read_text()

    def crash(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", crash)
    check(ID, right)
    assert own_progress.read_text() == before
    assert [path.name for path in own_progress.parent.iterdir()] == ["progress.json"]


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [
        ("linux", "XDG_DATA_HOME", "data"),
        ("win32", "LOCALAPPDATA", "data"),
        ("darwin", None, "Application Support"),
    ],
)
def test_the_file_lies_where_the_system_keeps_data(monkeypatch, tmp_path, platform, variable, expected):
    monkeypatch.delenv("ATTNLIB_PROGRESS")
    monkeypatch.setattr(sys, "platform", platform)
    if variable:
        monkeypatch.setenv(variable, str(tmp_path / "data"))
    assert store.place().parts[-3:] == (expected, "attnlib", "progress.json")


def test_a_code_carries_progress_to_another_machine(own_progress):
    check(ID, right)
    check("foundations.predict-scale", 1)
    code = progress_code().message.splitlines()[-1].strip()
    assert len(code) <= 30
    own_progress.unlink()
    assert "2 exercises added, 1 of them passed" in load_progress(code.lower()).message
    assert store.load()[ID]["passed"] and not store.load()["foundations.predict-scale"]["passed"]
    with pytest.raises(ValueError, match="must be one that progress_code"):
        load_progress(code[:-1] + ("A" if code[-1] != "A" else "B"))
    with pytest.raises(ValueError, match="Copy it whole"):
        load_progress("hello")


def test_a_code_may_know_more_exercises_than_this_version():
    code = store.encoded({ID: True, "later.exercise": True})
    assert "1 are not known" in load_progress(code).message


def test_a_copy_that_the_pages_saved_is_loaded_and_what_stands_beside_it_stays(own_progress, tmp_path):
    copy = tmp_path / "attention-executed-progress.json"
    record = {"attempts": 3, "passed": True, "hints": 1, "solution": False}
    saved = {
        "version": 1,
        "exercises": {ID: record, "later.exercise": record},
        "read": {"book/x": "2026-11-22"},
    }
    copy.write_text(json.dumps(saved))
    assert "1 exercises added, 1 of them passed.\n1 are not known" in load_progress(copy).message
    assert store.load()[ID] == record and json.loads(copy.read_text()) == saved
    own_progress.write_text(json.dumps(saved))
    check(ID, right)
    now = json.loads(own_progress.read_text())
    assert now["read"] == saved["read"] and now["exercises"][ID]["attempts"] == 4
    copy.write_text("no JSON")
    with pytest.raises(ValueError, match=r"saved; .* makes no sense"):
        load_progress(str(copy))
    assert copy.read_text() == "no JSON", "a copy is not set aside"
    with pytest.raises(ValueError, match="No such file"):
        load_progress(tmp_path / "none.json")


def test_todo_follows_prerequisites():
    assert "foundations.masked-softmax" not in todo(500).message
    check(ID, right)
    assert "foundations.masked-softmax" in todo(500).message and f"  {ID}  " not in todo(500).message


def test_reset_asks_before_it_forgets_everything():
    check(ID, right)
    assert "confirm=True" in reset().message and store.load()
    reset(ID)
    assert ID not in store.load()
    check(ID, right)
    reset(confirm=True)
    assert store.load() == {}


def test_drive_is_for_colab(monkeypatch, tmp_path):
    with pytest.raises(RuntimeError, match="on Colab only"):
        progress_on_drive()


def test_a_chosen_place_takes_what_was_known(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ATTNLIB_PROGRESS")
    monkeypatch.setattr(store, "_chosen", [])
    monkeypatch.setattr(sys, "platform", "linux")
    check(ID, right)
    store.choose(tmp_path / "drive" / "progress.json")
    assert ID in json.loads((tmp_path / "drive" / "progress.json").read_text())["exercises"]


def test_an_unknown_id_says_which_are_near():
    with pytest.raises(ValueError, match=r"Did you mean foundations\.softmax"):
        check("foundations.sofmax", right)
    with pytest.raises(TypeError, match="the id comes first"):
        find(right, "check")


# What it costs


def test_importing_is_cheap_and_loads_no_torch():
    code = (
        "import numpy, time, sys; t = time.process_time(); import attnlib.exercises; "
        "print(time.process_time() - t); assert 'torch' not in sys.modules and 'matplotlib' not in sys.modules"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    assert min(float(run.stdout) for run in runs) < 0.2


def test_checking_numpy_exercises_loads_no_torch():
    code = (
        "import sys; from attnlib.exercises import check, todo, progress;"
        "from attnlib.exercises.engine.registry import exercises;"
        "todo(); progress(); [check(i, lambda S: S) for i, e in exercises().items() if not e.needs];"
        "assert 'torch' not in sys.modules"
    )
    environment = {**os.environ, "ATTNLIB_PROGRESS": "off"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def test_a_generated_mistake_whose_loop_never_ends_is_ended():
    """`kernel` counted as one: the solution's loop makes no step. Without a limit a check would hang for ever."""
    exercise = find("self-attention.layers-to-reach", "test")
    made = next(
        one
        for one in naming_of(exercise).generated.listed
        if one.mistakes[0].name == "`kernel` counts as one"
    )
    assert any(outcome.error for outcome in made.outcomes)


def nudged(array, number):
    """The same numbers in a narrower type, or off by about what is allowed."""
    kinds = [array.dtype, np.float32, np.float16] if array.dtype.kind == "f" else [array.dtype, np.float64]
    with np.errstate(all="ignore"):
        array = np.array(array, dtype=kinds[number % len(kinds)])
        return array * (1 + 1e-8 * (number % 5)) if array.dtype == np.float64 else array


@pytest.mark.parametrize(
    "id", ["foundations.softmax", "foundations.masked-softmax", "transformer.length-score"]
)
def test_what_is_looked_up_is_what_a_comparison_one_by_one_finds(id):
    exercise = find(id, "test")
    written, found = naming_of(exercise).written, 0
    for number, one in enumerate(written.listed):
        theirs = [
            replace(outcome, arrays=tuple(nudged(array, number) for array in outcome.arrays))
            for outcome in one.outcomes
        ]
        ran = [i for i, outcome in enumerate(theirs) if outcome.kind != "error"]
        limits = cases_of(exercise).tolerances
        fits = [
            other
            for other in written.listed
            if all(same(other.outcome(i), theirs[i], *limits[i]) for i in ran)
        ]
        assert written.fitting(theirs, [*range(len(theirs))]) == fits
        found += bool(ran and fits)
    assert 0 < found < len(written.listed)  # some are too far off


def test_a_list_of_numbers_is_an_array_to_the_laws_too():
    def attention_by_loops(Q, K, V):
        rows = []
        for q in Q:
            scores = [sum(q * k) / len(q) ** 0.5 for k in K]
            powers = [np.exp(score - max(scores)) for score in scores]
            rows.append(sum(power * v for power, v in zip(powers, V, strict=True)) / sum(powers))
        return rows

    assert check("foundations.attention-loops", attention_by_loops).passed
