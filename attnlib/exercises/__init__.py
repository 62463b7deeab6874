"""Exercises that name the mistake.

    from attnlib.exercises import check, hint, solution, progress, todo
    check("foundations.softmax", my_softmax)      # python -m attnlib.exercises for those who work in an editor

How to write one. An exercise is data in a file of `attnlib/exercises/<chapter>/`; copy the file that is nearest:
`softmax.py` (write), `attention_matrices.py` (write, several sizes), `scale.py` (predict, repair), `proofs.py` (prove).

1. Write the solution as a function with a one-line docstring. The stub is made from it: for kind "write" its head and
   `...`; for "fill" the texts in `blanks` become `...`; for "repair" the mistakes in `given` are put in.
2. `cases` draws its arguments from `rng` and gives each case a name that a learner can read. Use sizes that differ
   (batch 2, 3 queries, 5 keys), one small plain case with at most 6 columns, which is shown first, and then a case for
   each trap: scores around 800, an empty row, all sizes equal (so that a forgotten transpose runs), float32. A case in
   which everything is wrong in the same way (all nan, all 0) shows no telling numbers: keep some rows plain.
3. A `Mistake` is a name, a sentence, and the text of the solution to replace: `{"axis=-1": "axis=-2"}` (everywhere it
   stands; several entries are made one after the other). A wrong function does too. Edits can be put together, so pairs
   need no writing. Different code for the same mistake: more forms in one `Mistake`. Two mistakes that give the same
   numbers on all cases must become one, or get a case that tells them apart; otherwise neither is ever named.
4. Name what is seen in the numbers ("each column sums to one"), not what the learner may have typed: other code can
   give the same numbers. The sentence is short and kind, tells why, and gives no line of the solution away.
5. `variants`: two or more other right answers, as functions or edits, written as differently as you can.
6. `properties` from `attnlib.exercises.properties` tell which law an unknown mistake breaks; add laws there.
7. Three hints: a question, a direction, almost the answer in words. `task` is 1 to 3 sentences, which the notebook
   repeats; it, hints, the commentary and a proof may contain $...$.
8. PyTorch: `needs=("torch",)`, and `from attnlib.exercises.lazy import torch` at the top, so that nobody else loads it.
9. Predictions and results by hand: `AnswerExercise`, whose `answer` is computed, not typed. Proofs: `ProofExercise`.
10. `python -m attnlib.exercises.guard foundations.softmax` lists what is still missing; no test has to be written.

In the notebook: a block quote that opens with `> **Exercise** · ` and the headline `write · ★ · 8 min ·
foundations.softmax` and says the task; a cell with the stub (`my_answer = ...` for an answer); a cell
`check("foundations.softmax", softmax)`, whose stored output says that nothing was attempted yet.
"""

from attnlib.exercises.learner import (
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
from attnlib.exercises.results import Note, Result, WrongAnswer

__all__ = [
    "Note",
    "Result",
    "WrongAnswer",
    "check",
    "exercise",
    "hint",
    "load_progress",
    "progress",
    "progress_code",
    "progress_on_drive",
    "reset",
    "solution",
    "todo",
]
