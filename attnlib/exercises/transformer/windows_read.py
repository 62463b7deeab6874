"""Windows of a long text

predict · ★★ · 6 min · 04-transformer/15-inside-a-gpt

The model reads at most 256 tokens. For a file of 640 tokens the page reads windows of 256 that begin 128 tokens
apart, the first at token 0, until the last token has been read. It counts all of the first window's tokens, and of
each later one those that no window has read before. How many tokens are read in all, those read twice included?

1. At which tokens do the windows begin, and where does the last one have to end?
2. They begin at 0, 128, 256 and 384.
3. Four windows are full: the last one ends at token 640.

Reading with half a window of overlap costs almost twice the work. What it buys: each token after the first window
has at least 128 tokens before it, so no line looks surprising only because a window began there.
"""

from attnlib.exercises.engine.model import Mistake

TOKENS, WINDOW, STEP = 640, 256, 128


def answer():
    begins = range(0, TOKENS - WINDOW + STEP, STEP)
    return sum(min(WINDOW, TOKENS - begin) for begin in begins)


WITHIN = 0
MISTAKES = (
    Mistake("each token once", "That is the length of the file. Half of each window is read again by the next one.",
        TOKENS),
    Mistake("one window too many", "The window that begins at 384 ends with the file: no other one is needed.",
        5 * WINDOW),
    Mistake("a short window too many", "The window that begins at 384 ends with the file: none begins at 512.",
        4 * WINDOW + STEP),
    Mistake("windows side by side", "Windows side by side would begin 256 apart; these begin 128 apart.",
        3 * WINDOW),
    Mistake("the number of windows", "That is how many windows there are. Each has 256 tokens.", 4),
)  # fmt: skip
