"""Grading the files of a class: `attnlib grade FILE...`.

Two processes share the work, so that no submission can reach the engine. The *grader* reads the files, computes what is
expected, compares, and names mistakes; it never runs a line of a submission. For each submission it starts a *player*,
a fresh Python that runs the file and then its functions on the arguments that it is sent, and sends back what they
returned. No expected value is ever in the player, and what comes from it is read as plain data (`wire`).

In the grader: `submission` (files), `process` and `surroundings` (the player, from outside), `answers` (one answer),
`grading` (one file), `suspicion` (what a file imports), `reasons` (why, in short), `likeness` (files that are alike),
`tables` and `exports` (reports), `command` (the command line).
In the player: `player`, `channel`, `recorder` (what stands in place of `check`), `watching` (what is flagged).
"""
