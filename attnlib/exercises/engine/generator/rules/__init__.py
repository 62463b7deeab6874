"""The table of single edits: by the type of the node that they edit, rules that yield replacements with a name.

One file a kind of node: `calls`, `operators`, `numbers_and_names`; `further` has those that are tried last. To add a
family, write a rule that yields `Change(new node, name, sentence)` and list it here;
`tests/test_exercises_generated.py` has one small answer for each family. Edits of `FURTHER` change more of the code, or
say less of it: they are tried only where nothing else fits.
"""

import ast

from attnlib.exercises.engine.generator.generated import Rules
from attnlib.exercises.engine.generator.rules import calls, further, numbers_and_names, operators

RULES: Rules = {
    ast.Call: (
        numbers_and_names.lengths,
        calls.axes,
        calls.functions,
        calls.logarithms,
        calls.repetitions,
        calls.rearranged,
        calls.masks,
        calls.ranges,
    ),
    ast.BinOp: (
        operators.terms,
        operators.powers,
        operators.factors,
        operators.matrix_products,
        operators.conditions,
    ),
    ast.UnaryOp: (operators.inversions,),
    ast.Compare: (operators.comparisons,),
    ast.AugAssign: (operators.additions,),
    ast.Attribute: (calls.transposes,),
    ast.Constant: (numbers_and_names.counts, numbers_and_names.numbers),
    ast.Name: (numbers_and_names.names,),
    ast.Subscript: (numbers_and_names.lengths,),
}
FURTHER: Rules = {
    ast.Call: (
        further.functions,
        further.swapped,
        further.copies,
        further.equals,
        further.axes,
        further.blocks,
        further.diagonals,
        further.padded,
        further.undone,
    ),
    ast.BinOp: (further.terms,),
    ast.Attribute: (further.transposes,),
    ast.UnaryOp: (further.infinities,),
    ast.Name: (further.once, further.lengths),
    ast.Subscript: (further.ordered, further.slices),
    ast.Assign: (further.written,),
}
