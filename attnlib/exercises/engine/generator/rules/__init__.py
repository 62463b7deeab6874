"""The table of single edits: each rule takes a node and the letters of the task, and yields replacements with a name.

One file a part of the code: `functions`, `arithmetic`, `arrays`, `choices`, `numbers_and_names`, `steps`. To add a
family, write a rule that yields `Change(new node, name, sentence)` and list it here;
`tests/test_exercises_generated.py` has one small answer for each family.
"""

from attnlib.exercises.engine.generator.rules import (
    arithmetic,
    arrays,
    choices,
    functions,
    numbers_and_names,
    steps,
)
from attnlib.exercises.engine.generator.rules.further import FURTHER as FURTHER

RULES = (
    functions.axes,
    functions.functions,
    arithmetic.terms,
    arithmetic.factors,
    functions.logarithms,
    arrays.products,
    arrays.transposes,
    choices.masks,
    choices.comparisons,
    numbers_and_names.counts,
    numbers_and_names.names,
    steps.statements,
)
