"""The authoring kit: what the file of an exercise is written with, and the guard that reads it.

How to write an exercise, in ten minutes. Copy the file that is nearest to yours in `attnlib/exercises/<chapter>/`:
`foundations/entropy.py` (write), `foundations/scale_repair.py` (repair), `foundations/padded_context.py` (fill),
`foundations/predict_scale.py` (predict), `foundations/variance_proof.py` (prove). The path is the id, and nothing has
to be listed elsewhere. `python -m attnlib.exercises.kit.guard foundations.softmax` says what is still missing.

1. The docstring is what a learner reads: title; `write · ★ · 8 min · page · after ID, ID`; the task in one to three
   sentences, which the notebook repeats; three hints (a question, a direction, almost the answer in words); and what is
   shown once it is solved. It may contain $...$.
2. The first function is the solution, with a docstring of one line. The stub is made from it: for "write" its head and
   `...`; for "fill" the texts in `BLANKS` become `...`; for "repair" the mistakes named in `GIVEN` are put in.
3. `cases(rng)` draws the arguments (`drawn`, `weights` of `kit/drawing.py`) and gives each case a name that a learner
   can read. Use sizes that differ (batch 2, 3 queries, 5 keys), one small plain case with at most 6 columns, which is
   shown first, and then a case for each trap: scores around 800, an empty row, all sizes equal (so that a forgotten
   transpose runs). A case in which everything is wrong in the same way (all nan, all 0) shows no telling numbers:
   keep some rows plain.
4. `MISTAKES` holds `Mistake("name", "sentence", form, ...)`, one for each mistake that is not generated (number 6). A
   form is an edit of the solution's text, `{"axis=-1": "axis=-2"}`, which replaces the text everywhere it stands
   (several at once: `{"a": "b", "c": "d"}`), or a wrong function: one of the file, or `lambda S: ...`. In an answer
   exercise a form is a wrong answer, `2 / 3`. The tuple ends with `# fmt: skip`, so that a mistake keeps its two lines.
5. Name what is seen in the numbers ("each column sums to one"), not what the learner may have typed: other code can
   give the same numbers. The sentence is short and kind, tells why, and gives no line of the solution away. Two
   mistakes that give the same numbers on all cases must become one, or get a case that tells them apart.
6. `VARIANTS`: a tuple of two or more other right answers, each a form as above, written as differently as you can. They
   decide which traps are fair (`engine/derived_cases.py` makes cases from yours wherever all right answers agree),
   and from each of them single mistakes are generated (`engine/generator`). So write by hand only what needs a story.
7. `LAWS` from `attnlib.exercises.kit.laws` tell which law an unknown mistake breaks; `reference` is the function of the
   package that the solution must agree with; `RETURNS` names several results.
8. PyTorch: `NEEDS = ("torch",)`, and `from attnlib.exercises.kit.lazy import torch`, which loads it when it is used.
9. Predictions and results by hand: `answer()`, computed, not typed; `CHOICES` or `WITHIN`. Proofs: `PROOF`, `RUBRIC`.

In the notebook: a block quote that opens with `> **Exercise** · ` and the line of the docstring that follows the title,
with the id in place of the page, and says the task; a cell with the stub (`my_answer = ...` for an answer); a cell
`check("foundations.softmax", softmax)`, whose stored output says that nothing was attempted yet.
"""
