"""Where is the bracket still open?

write · ★★ · 12 min · 04-transformer/15-inside-a-gpt

kind (n,) says of each token whether it opens a bracket (1), closes one (-1) or does neither (0). Return an array of
n integers: for each position the position of the innermost bracket that is still open after this token, or -1 where
none is. A closing bracket where none is open changes nothing.

1. What has to be remembered of the brackets that are open, and in which order are they closed?
2. A stack: an opening bracket puts its position on it, a closing one takes the last away.
3. What is on top after the token is the answer; -1 if there is nothing.

A stack is easy for a program and not for a head of attention, which has no memory of its own: it must find the
bracket from what every position has written into the stream. That is why the best head is right in most places and
not in all.
"""

import numpy as np

from attnlib.exercises.engine.model import Mistake


def open_bracket(kind):
    """The position of the innermost bracket that is open after each token, -1 if none is; kind (n,) gives (n,)."""
    found, stack = [], []
    for t, one in enumerate(kind):
        if one == 1:
            stack.append(t)
        elif one == -1 and stack:
            stack.pop()
        found.append(stack[-1] if stack else -1)
    return np.array(found)


def by_depth(kind):
    found = np.full(len(kind), -1)
    before = -1
    outer = {}
    for t, one in enumerate(kind):
        if one == 1:
            outer[t], before = before, t
        elif one == -1 and before >= 0:
            before = outer[before]
        found[t] = before
    return found


def searched(kind):
    def of(t):
        closed = 0
        for j in range(t, -1, -1):
            if kind[j] == -1 and depth[j] > 0:
                closed += 1
            elif kind[j] == 1:
                if closed == 0:
                    return j
                closed -= 1
        return -1

    depth, open_now = [], 0
    for one in kind:
        depth.append(open_now)
        open_now = max(0, open_now + int(one))
    return np.array([of(t) for t in range(len(kind))])


def last_opened(kind):
    """The last bracket that was opened, whether it has been closed or not."""
    at = np.where(np.asarray(kind) == 1, np.arange(len(kind)), -1)
    return np.maximum.accumulate(at)


def outermost(kind):
    found, stack = [], []
    for t, one in enumerate(kind):
        if one == 1:
            stack.append(t)
        elif one == -1 and stack:
            stack.pop()
        found.append(stack[0] if stack else -1)
    return np.array(found)


def all_closed(kind):
    """A closing bracket closes every bracket that is open."""
    found, last = [], -1
    for t, one in enumerate(kind):
        last = t if one == 1 else -1 if one == -1 else last
        found.append(last)
    return np.array(found)


def before_the_token(kind):
    return np.concatenate([[-1], open_bracket(kind)[:-1]])


def depths(kind):
    found, open_now = [], 0
    for one in kind:
        open_now = max(0, open_now + int(one))
        found.append(open_now)
    return np.array(found)


def unguarded(kind):
    """A closing bracket where none is open cancels the next one that opens."""
    found, stack, owed = [], [], 0
    for t, one in enumerate(kind):
        if one == 1 and owed:
            owed -= 1
        elif one == 1:
            stack.append(t)
        elif one == -1 and stack:
            stack.pop()
        elif one == -1:
            owed += 1
        found.append(stack[-1] if stack else -1)
    return np.array(found)


def cases(rng):
    def drawn_kinds(n):
        return (rng.choice([1, -1, 0], size=n, p=[0.35, 0.3, 0.35]),)

    return {
        "f(x, (y, z), w)": (np.array([0, 1, 0, 1, 0, -1, 0, -1]),),
        "no bracket": (np.array([0, 0, 0]),),
        "one closed too many": (np.array([1, -1, -1, 0, 1, 0]),),
        "all open": (np.array([1, 1, 0, 1]),),
        "thirty tokens": drawn_kinds(30),
        "fifty tokens": drawn_kinds(50),
    }


VARIANTS = (by_depth, searched)
MISTAKES = (
    Mistake("closed brackets are still open", "That is the last bracket that was opened, also where it has been "
        "closed since.", last_opened),
    Mistake("all closed at once", "A closing bracket closes the innermost one only; the bracket around it is open "
        "again.", all_closed),
    Mistake("the outermost", "That is the first of the open brackets. The innermost is the one opened last.",
        outermost),
    Mistake("before the token", "Everything is one position late: a token that opens a bracket is its own answer.",
        before_the_token),
    Mistake("a closing bracket owed", "A closing bracket where none is open was kept, and cancelled one that "
        "opens later.",
        unguarded),
    Mistake("how deep", "That is how many brackets are open. Asked for is where the innermost one is.", depths),
)  # fmt: skip
