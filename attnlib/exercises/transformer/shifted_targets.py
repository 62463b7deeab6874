"""Shifted inputs and targets

write · ★★ · 12 min · 04-transformer/1-from-text-to-vectors

tokens (b, n) are b texts, of which text i has lengths[i] tokens; any numbers after them are padding. Return two
arrays of (b, n + 1), the inputs and the targets. The inputs are a start token and then the tokens as they are,
padding included. The targets are what must be predicted at each position, with the stop token where the text ends,
and -1 where nothing is to be predicted.

1. What is predicted along a text of three tokens, and how many predictions are that?
2. At position i the model has read start and i tokens, so it must predict token i, counted from zero.
3. Fill with -1 what comes after each length; at the position that is the length the stop token is predicted.

The loss leaves the positions with -1 out (`ignore_index` in PyTorch). A stop after the padding would never be
learned as an end, and targets that are not shifted are learned at once, and teach to repeat.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def inputs_and_targets(tokens, lengths, start, stop):
    """What is read and what must be predicted; both (b, n + 1)."""
    b, n = tokens.shape
    inputs = np.concatenate([np.full((b, 1), start), tokens], axis=1)
    targets = np.concatenate([tokens, np.full((b, 1), stop)], axis=1)
    positions, ends = np.arange(n + 1), lengths[:, None]
    targets = np.where(positions < ends, targets, -1)
    targets = np.where(positions == ends, stop, targets)
    return inputs, targets


def text_by_text(tokens, lengths, start, stop):
    inputs, targets = [], []
    for text, length in zip(tokens, lengths, strict=True):
        inputs.append([start, *text])
        targets.append([*text[:length], stop] + [-1] * (len(text) - length))
    return np.array(inputs), np.array(targets)


def written_into(tokens, lengths, start, stop):
    b, n = tokens.shape
    inputs, targets = np.full((b, n + 1), start), np.full((b, n + 1), -1)
    inputs[:, 1:] = tokens
    for i in range(b):
        targets[i, : lengths[i]] = tokens[i, : lengths[i]]
        targets[i, lengths[i]] = stop
    return inputs, targets


def cases(rng):
    def case(b, n, lengths, padding=0):
        tokens = rng.integers(10, 99, size=(b, n))
        tokens[np.arange(n) >= np.array(lengths)[:, None]] = padding
        return tokens, np.array(lengths), 5, 7

    return {
        "one text": case(1, 3, [3]),
        "two texts, one shorter": case(2, 4, [4, 2]),
        "a text of nothing": case(3, 5, [1, 0, 5]),
        "no text is full": case(2, 3, [2, 1]),
        "padding that is not 0": case(2, 4, [3, 1], padding=88),
    }


RETURNS = ("inputs", "targets")
VARIANTS = (text_by_text, written_into)
MISTAKES = (
    Mistake("target not shifted", "Each position must predict the token that it has just read. The target is the token "
        "after it.", {"return inputs, targets": "return inputs, np.where(targets == -1, -1, inputs)"}),
    Mistake("shifted twice", "The target is two tokens later. It is the next one.",
        {"return inputs, targets":
             "targets[:, :-1] = targets[:, 1:].copy(); targets[:, -1] = -1; return inputs, targets"}),
    Mistake("wraps around", "The start token, or a padding, is the target after the last token, as `np.roll` puts it. "
        "The stop token is.",
        {"return inputs, targets": "return inputs, np.where(positions <= ends, np.roll(inputs, -1, axis=1), -1)"}),
    Mistake("no stop token", "The end is never a target, so the model never learns to predict it.",
        {"np.where(positions == ends, stop, targets)": "np.where(positions == ends, -1, targets)"}),
    Mistake("the stop comes after the padding", "The stop token is in the last position of every row. It belongs "
        "where the text ends.", {"positions == ends": "positions == n"}),
    Mistake("the padding is a target", "After the end of a text the target must be -1: nothing is predicted there.",
        {"targets = np.where(positions < ends, targets, -1)": "targets = targets + 0"}),
    Mistake("the stop is a target at every position after the text", "The stop token is predicted once, and nothing "
        "after it.", {"positions == ends": "positions >= ends"}),
    Mistake("one token too few", "The last token of each text is no target.",
        {"positions < ends": "positions < ends - 1"}),
)  # fmt: skip
