"""The walks in ARCHITECTURE.md are the walks that are taken, and none has more stops or returns than it had."""

import sys

import pytest
import walks
import yaml
from walks import Step

BEFORE = yaml.safe_load(walks.BEFORE.read_text())


def test_first_calls_are_followed_into_the_package_and_nowhere_else():
    import numpy as np

    from attnlib.reference.attention import scaled_dot_product_attention

    X = np.ones((2, 3))
    steps = walks.followed(lambda: [scaled_dot_product_attention(X, X, X) for _ in range(2)])
    assert steps[0] == Step("attnlib/reference/attention.py", "scaled_dot_product_attention")
    assert Step("attnlib/reference/ops.py", "masked_softmax") in steps
    assert len(steps) == len(set(steps)) and not {step.file for step in steps} & walks.CHECKS


def test_a_stop_in_a_file_where_one_has_been_is_a_return():
    steps = [
        Step("a/x.py", "f"),
        Step("a/y.py", "g"),
        Step("a/y.py", "h"),
        Step("b/z.py", "k"),
        Step("a/x.py", "m"),
    ]
    assert walks.counted(steps) == walks.Walk(functions=5, files=3, stops=4, returns=1, rooms=2)


def test_a_long_walk_is_told_by_its_rooms():
    short = [Step("a/x.py", "f"), Step("b/y.py", "g")]
    long = [Step(f"{'ab'[i % 2]}/x{i}.py", "f") for i in range(walks.LONG + 1)]
    assert walks.way("fit", short).endswith("`a/x`, `b/y`")
    assert walks.way("fit", long).endswith(": `a/`, `b/`")


def test_a_page_gets_the_table_between_its_marks():
    text = f"before\n{walks.START}old\n{walks.END}after"
    assert walks.stored(text) == "old\n"


# Engine and extension ask for the system and the version here and there, so the table is that of one of each.
HERE = sys.platform == "linux" and sys.version_info[:2] == (3, 11)


@pytest.fixture(scope="module")
def table():
    if not HERE:
        pytest.skip("the table is measured on Linux with Python 3.11")
    return walks.table()


def test_the_table_in_the_page_is_what_is_measured(table):
    stored = walks.stored(walks.PAGE.read_text())
    assert stored == table, "the walks have changed: `make walks`, read them, commit them"


# The walk of a notebook has grown with the tables that are generated.
# Tokens meet two files more, the positions and the stack, which are parts of every model now; they return no oftener.
STOPS, RETURNS = ("attention", "fit", "check"), ("attention", "gpt", "fit", "check")


@pytest.mark.parametrize("name", RETURNS)
def test_no_walk_returns_oftener_than_it_did_and_few_have_more_stops(name, table):
    told = next(line for line in table.splitlines() if line.startswith(f"| {walks.WALKS[name][0]} |"))
    *_, stops, returns, _, stops_before, returns_before = map(str.strip, told.strip("|").split("|"))
    assert int(returns) <= int(returns_before) == BEFORE[name]["returns"]
    assert int(stops_before) == BEFORE[name]["stops"]
    assert int(stops) <= int(stops_before) or name not in STOPS
